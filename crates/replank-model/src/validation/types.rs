//! The Go types that the API server decodes an object into, as far as JSON shows them.
//!
//! `types.txt` is made from Kubernetes 1.36.2 by reflection (`peers/kube-validation types`): a line per struct, under it a
//! line per JSON member with its Go type and the Go structs between if it is embedded; ` = ` where a type is another one
//! by name, or reads itself.

use std::cmp::Ordering;

const TEXT: &str = include_str!("types.txt");

/// A JSON member of a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    /// In Go's words: `*int32`, `[]v1.Container`, `map[string]string`.
    pub(super) of: &'a str,
    /// Names of the embedded structs in which Go has it, if any.
    pub(super) embedded: Option<&'a str>,
}

/// A named type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Named {
    /// Another type by name.
    Alias(&'static str),
    /// It reads its JSON itself.
    Own,
    /// A struct.
    Struct(Members),
}

/// The members of a struct, as their lines stand in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members(&'static str);

impl Members {
    pub(super) fn named(self, name: &str) -> Option<Member<'static>> {
        let lines = self.0.lines().map_while(|line| line.strip_prefix(' '));
        let mut own =
            lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(|rest| (line, rest)));
        let (line, rest) = own.next()?;
        let (of, embedded) = rest.split_once(' ').map_or((rest, None), |(of, embedded)| (of, Some(embedded)));
        Some(Member { name: &line[..name.len()], of, embedded })
    }

    #[cfg(test)]
    pub(super) fn iter(self) -> impl Iterator<Item = Member<'static>> {
        self.0.lines().map_while(|line| {
            let mut words = line.strip_prefix(' ')?.split(' ');
            Some(Member { name: words.next()?, of: words.next()?, embedded: words.next() })
        })
    }
}

/// A type by name. The table is sorted and looked up as it is: to read all of it takes longer than to validate an object.
pub(super) fn named(name: &str) -> Option<Named> {
    // Go's own types have no package, and are most of what is asked for.
    if !name.contains('.') {
        return None;
    }
    let (mut low, mut high) = (0, TEXT.len());
    while low < high {
        let at = type_at(low + (high - low) / 2);
        let line = TEXT[at..].lines().next().unwrap_or_default();
        let (found, is) = line.split_once(" = ").map_or((line, None), |(found, is)| (found, Some(is)));
        match found.cmp(name) {
            Ordering::Less => low = next_type(at),
            Ordering::Greater => high = at,
            Ordering::Equal => {
                return Some(match is {
                    Some("own") => Named::Own,
                    Some(of) => Named::Alias(of),
                    None => Named::Struct(Members(TEXT[at + line.len()..].trim_start_matches('\n'))),
                });
            }
        }
    }
    None
}

/// Where the type begins whose lines a place is in.
fn type_at(place: usize) -> usize {
    let mut end = place;
    loop {
        let start = TEXT[..end].rfind('\n').map_or(0, |newline| newline + 1);
        if start == 0 || !TEXT[start..].starts_with(' ') {
            return start;
        }
        end = start - 1;
    }
}

/// Where the next type begins.
fn next_type(at: usize) -> usize {
    let mut start = at;
    loop {
        let Some(newline) = TEXT[start..].find('\n') else { return TEXT.len() };
        start += newline + 1;
        if !TEXT[start..].starts_with(' ') {
            return start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = &'static str> {
        let lines = TEXT.lines().filter(|line| !line.starts_with(' '));
        lines.map(|line| line.split_once(" = ").map_or(line, |(name, _)| name))
    }

    #[test]
    fn every_type_is_found() {
        assert!(all().is_sorted());
        for name in all() {
            assert!(named(name).is_some(), "{name}");
            assert!(
                named(&format!("{name}x")).is_none() && named(&name[..name.len() - 1]).is_none(),
                "{name}"
            );
        }
        assert!(named("").is_none() && named("zzz").is_none());
        assert!(matches!(named("types.UID"), Some(Named::Alias("string"))));
        assert!(matches!(named("resource.Quantity"), Some(Named::Own)));
    }

    /// Every type that a member names is there or is Go's own.
    #[test]
    fn the_table_is_closed() {
        let mut members = 0;
        for name in all() {
            let Some(Named::Struct(of)) = named(name) else { continue };
            assert!(of.iter().next().is_some(), "{name} has no members");
            for member in of.iter() {
                members += 1;
                let found = of.named(member.name).expect("it is there");
                assert_eq!((found.name, found.of, found.embedded), (member.name, member.of, member.embedded));
                let mut inner = member.of;
                while let Some(rest) = ["*", "[]", "map[string]", "map[v1.ResourceName]"]
                    .iter()
                    .find_map(|p| inner.strip_prefix(p))
                {
                    inner = rest;
                }
                let is_known = named(inner).is_some()
                    || matches!(inner, "string" | "bool" | "int32" | "int64" | "uint8");
                assert!(is_known, "{name}.{}: {inner}", member.name);
            }
        }
        assert!(members > 500, "{members} members");
    }
}
