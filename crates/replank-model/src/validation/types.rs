//! The Go types that the API server decodes an object into, as far as JSON shows them.
//!
//! `types.txt` is made from Kubernetes 1.36.2 by reflection (`peers/kube-validation types`): a line per struct, under it a
//! line per JSON member with its Go type and the Go structs between if it is embedded; ` = ` where a type is another one
//! by name, or reads itself.

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

/// A type by name.
pub(super) fn named(name: &str) -> Option<Named> {
    // Go's own types have no package, and are most of what is asked for.
    if !name.contains('.') {
        return None;
    }
    let found = STARTS.binary_search_by(|start| type_at(*start).0.cmp(name)).ok()?;
    let (name, is) = type_at(STARTS[found]);
    Some(match is {
        Some("own") => Named::Own,
        Some(of) => Named::Alias(of),
        None => Named::Struct(Members(TEXT[STARTS[found] + name.len()..].trim_start_matches('\n'))),
    })
}

/// The name of the type whose line begins at a place, and what stands after ` = `.
fn type_at(start: usize) -> (&'static str, Option<&'static str>) {
    let line = TEXT[start..].lines().next().unwrap_or_default();
    line.split_once(" = ").map_or((line, None), |(name, is)| (name, Some(is)))
}

/// Where types begin, in the order of their names. Found when the program is compiled: to read the table takes longer than to validate an object.
static STARTS: [usize; COUNT] = {
    let (mut starts, mut found, mut at) = ([0; COUNT], 0, 0);
    while at < TEXT.len() {
        if is_start(at) {
            starts[found] = at;
            found += 1;
        }
        at += 1;
    }
    starts
};

const COUNT: usize = {
    let (mut count, mut at) = (0, 0);
    while at < TEXT.len() {
        if is_start(at) {
            count += 1;
        }
        at += 1;
    }
    count
};

/// Whether a line begins here that is no member.
const fn is_start(at: usize) -> bool {
    let text = TEXT.as_bytes();
    text[at] != b' ' && text[at] != b'\n' && (at == 0 || text[at - 1] == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = &'static str> {
        STARTS.iter().map(|start| type_at(*start).0)
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
