//! The Go types that the API server decodes an object into, as far as JSON shows them.
//!
//! `types.txt` is made from Kubernetes 1.36.2 by reflection (`peers/kube-validation types`): a line per struct, under it a
//! line per JSON member with its Go type and the Go structs between if it is embedded; ` = ` where a type is another one
//! by name, or reads itself.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

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
#[derive(Debug)]
pub(super) enum Named<'a> {
    /// Another type by name.
    Alias(&'a str),
    /// It reads its JSON itself.
    Own,
    /// A struct.
    Struct(Vec<Member<'a>>),
}

/// All types of the kinds that are validated.
#[derive(Debug)]
pub(super) struct Types(FxHashMap<&'static str, Named<'static>>);

/// Read once: reading takes longer than the validation of an object.
static TYPES: LazyLock<Types> = LazyLock::new(Types::load);

impl Types {
    /// The types, read by whoever asks first.
    pub(super) fn all() -> &'static Self {
        &TYPES
    }

    fn load() -> Self {
        let mut types: FxHashMap<&'static str, Named<'static>> = FxHashMap::default();
        let mut name = "";
        for line in TEXT.lines() {
            if let Some(member) = line.strip_prefix(' ') {
                let mut words = member.split(' ');
                if let (Some(Named::Struct(members)), Some(member), Some(of)) =
                    (types.get_mut(name), words.next(), words.next())
                {
                    members.push(Member { name: member, of, embedded: words.next() });
                }
            } else if let Some((alias, of)) = line.split_once(" = ") {
                types.insert(alias, if of == "own" { Named::Own } else { Named::Alias(of) });
            } else {
                name = line;
                types.insert(name, Named::Struct(Vec::new()));
            }
        }
        Self(types)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Named<'static>> {
        self.0.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every type that a member names is there or is Go's own.
    #[test]
    fn the_table_is_closed() {
        let types = Types::all();
        let mut members = 0;
        for (name, of) in types.0.iter().filter_map(|(name, named)| match named {
            Named::Struct(members) => Some((name, members)),
            Named::Alias(_) | Named::Own => None,
        }) {
            assert!(!of.is_empty(), "{name} has no members");
            for member in of {
                members += 1;
                let mut inner = member.of;
                while let Some(rest) = ["*", "[]", "map[string]", "map[v1.ResourceName]"]
                    .iter()
                    .find_map(|p| inner.strip_prefix(p))
                {
                    inner = rest;
                }
                let is_known = types.get(inner).is_some()
                    || matches!(inner, "string" | "bool" | "int32" | "int64" | "uint8");
                assert!(is_known, "{name}.{}: {inner}", member.name);
            }
        }
        assert!(members > 500, "{members} members");
    }
}
