//! The Go types of the API, as far as JSON shows them: which members a struct has, which of them are pointers, and what is
//! written of a member that is zero.
//!
//! `gotypes.txt` is made from the 0.36.2 modules by reflection (`peers/kube-types`). OpenAPI does not tell a pointer from a
//! plain member, nor `omitempty` from none, but what the server writes depends on both.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use rustc_hash::FxHashMap;

/// A type, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoId(u32);

/// A type.
#[derive(Debug)]
pub struct GoType {
    /// What Go's errors call it: `int32`, `v1.ObjectMeta`, `[]v1.Container`.
    pub shown: String,
    /// What it is made of.
    pub form: GoForm,
}

/// What a type is made of.
#[derive(Debug)]
pub enum GoForm {
    /// A pointer.
    Pointer(GoId),
    /// A slice.
    List(GoId),
    /// `[]byte`, base64 in JSON.
    Bytes,
    /// A map with texts as keys.
    Map(GoId),
    /// A struct.
    Struct(GoStruct),
    /// It reads and writes itself; the name tells which.
    Own(GoOwn),
    /// A text.
    Text,
    /// A boolean.
    Bool,
    /// A whole number of so many bits.
    Int(u32),
    /// A number.
    Float,
}

/// Types that read and write themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoOwn {
    /// resource.Quantity.
    Quantity,
    /// intstr.IntOrString.
    IntOrString,
    /// meta/v1 Time.
    Time,
    /// meta/v1 MicroTime.
    MicroTime,
    /// meta/v1 Duration.
    Duration,
    /// Anything: JSON that is kept as it comes.
    Any,
}

/// A struct's members, in its order.
#[derive(Debug)]
pub struct GoStruct {
    /// Its name without the package.
    pub name: String,
    /// The members.
    pub members: Vec<GoMember>,
    by_name: FxHashMap<String, u32>,
}

impl GoStruct {
    /// The member of a name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&GoMember> {
        self.by_name.get(name).map(|at| &self.members[*at as usize])
    }
}

/// A member of a struct.
#[derive(Debug)]
pub struct GoMember {
    /// Its name in JSON.
    pub name: String,
    /// Its name in Go.
    pub go_name: String,
    /// Its type.
    pub of: GoId,
    /// What is written where it is zero.
    pub zero: GoZero,
    /// Embedded structs that Go has it in, as its errors name them.
    pub embedded: Vec<String>,
}

/// What is written of a member that is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoZero {
    /// It is written.
    Kept,
    /// It is left out where it is empty (`omitempty`); structs never are.
    OmitEmpty,
    /// It is left out where it is zero (`omitzero`), structs too.
    OmitZero,
}

/// All types.
#[derive(Debug)]
pub struct GoTypes {
    types: Vec<GoType>,
    by_name: FxHashMap<String, GoId>,
}

impl GoTypes {
    /// The type of an OpenAPI name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<GoId> {
        self.by_name.get(name).copied()
    }

    /// What is behind an id.
    #[must_use]
    pub fn get(&self, id: GoId) -> &GoType {
        &self.types[id.0 as usize]
    }

    /// The Go type of a kind of the API.
    #[must_use]
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<GoId> {
        self.named(crate::types().name_of(group, version, kind)?)
    }
}

/// The Go types of 1.36.
#[must_use]
pub fn go_types() -> &'static GoTypes {
    static TYPES: LazyLock<GoTypes> = LazyLock::new(|| {
        let mut text = String::new();
        let gzip: &[u8] = include_bytes!("../data/gotypes.txt.gz");
        GzDecoder::new(gzip).read_to_string(&mut text).expect("an embedded table is gzip");
        Reader::read(&text)
    });
    &TYPES
}

/// Reads the table: first which names there are, then what they are made of.
struct Reader<'t> {
    texts: FxHashMap<&'t str, Text<'t>>,
    types: Vec<GoType>,
    by_name: FxHashMap<String, GoId>,
}

/// What the table says of a name.
enum Text<'t> {
    Alias(&'t str),
    Struct(Vec<&'t str>),
}

impl<'t> Reader<'t> {
    fn read(text: &'t str) -> GoTypes {
        let mut texts: FxHashMap<&str, Text<'_>> = FxHashMap::default();
        let mut names = Vec::new();
        let mut name = "";
        for line in text.lines() {
            if let Some(member) = line.strip_prefix(' ') {
                if let Some(Text::Struct(members)) = texts.get_mut(name) {
                    members.push(member);
                }
                continue;
            }
            name = match line.split_once(" = ") {
                Some((alias, of)) => {
                    texts.insert(alias, Text::Alias(of));
                    alias
                }
                None => {
                    texts.insert(line, Text::Struct(Vec::new()));
                    line
                }
            };
            names.push(name);
        }
        let mut reader = Self { texts, types: Vec::new(), by_name: FxHashMap::default() };
        for name in names {
            reader.of(name);
        }
        GoTypes { types: reader.types, by_name: reader.by_name }
    }

    /// The type of a name or of a Go expression such as `*int32`.
    fn of(&mut self, name: &'t str) -> GoId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        // A type may lead back to itself: its place is taken before its parts are read.
        let id = GoId(u32::try_from(self.types.len()).expect("types are few"));
        self.types.push(GoType { shown: shown(name), form: GoForm::Text });
        self.by_name.insert(name.to_owned(), id);
        let form = self.form(name);
        self.types[id.0 as usize].form = form;
        id
    }

    fn form(&mut self, name: &'t str) -> GoForm {
        if name == "[]uint8" {
            return GoForm::Bytes;
        }
        if let Some(inner) = name.strip_prefix('*') {
            return GoForm::Pointer(self.of(inner));
        }
        if let Some(item) = name.strip_prefix("[]") {
            return GoForm::List(self.of(item));
        }
        if let Some((_, item)) = name.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            return GoForm::Map(self.of(item));
        }
        match name {
            "string" => return GoForm::Text,
            "bool" => return GoForm::Bool,
            "int" | "int64" => return GoForm::Int(64),
            "int32" => return GoForm::Int(32),
            "float64" => return GoForm::Float,
            _ => {}
        }
        let members = match self.texts.get(name) {
            None => return GoForm::Own(GoOwn::Any),
            Some(Text::Alias("own")) => return GoForm::Own(own(name)),
            Some(Text::Alias(of)) => {
                let of = *of;
                return self.form(of);
            }
            Some(Text::Struct(members)) => members.clone(),
        };
        let members: Vec<GoMember> = members.into_iter().map(|line| self.member(line)).collect();
        let numbered = members.iter().zip(0..).map(|(member, at)| (member.name.clone(), at));
        let by_name = numbered.collect();
        let last = name.rsplit('.').next().unwrap_or(name);
        GoForm::Struct(GoStruct { name: last.to_owned(), members, by_name })
    }

    fn member(&mut self, line: &'t str) -> GoMember {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (name, of, zero, embedded) = (word(), word(), word(), word());
        let (name, go_name) = match name.split_once(':') {
            Some((name, go_name)) => (name, go_name.to_owned()),
            None => (name, capital(name)),
        };
        GoMember {
            name: name.to_owned(),
            go_name,
            of: self.of(of),
            zero: match zero {
                "k" => GoZero::Kept,
                "z" => GoZero::OmitZero,
                _ => GoZero::OmitEmpty,
            },
            embedded: embedded.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        }
    }
}

/// The name with a capital.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

/// What Go's errors call a type: packages by their last name, pointers by what they point to.
fn shown(name: &str) -> String {
    if let Some(inner) = name.strip_prefix('*') {
        return shown(inner);
    }
    if let Some(item) = name.strip_prefix("[]") {
        return format!("[]{}", shown_inside(item));
    }
    if let Some((key, item)) = name.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        return format!("map[{}]{}", shown_inside(key), shown_inside(item));
    }
    let mut parts = name.rsplitn(3, '.');
    match (parts.next(), parts.next()) {
        (Some(last), Some(package)) => format!("{package}.{last}"),
        _ => name.to_owned(),
    }
}

fn shown_inside(name: &str) -> String {
    let star = if name.starts_with('*') { "*" } else { "" };
    format!("{star}{}", shown(name))
}

fn own(name: &str) -> GoOwn {
    match name.rsplit('.').next().unwrap_or(name) {
        "Quantity" => GoOwn::Quantity,
        "IntOrString" => GoOwn::IntOrString,
        "Time" => GoOwn::Time,
        "MicroTime" => GoOwn::MicroTime,
        "Duration" => GoOwn::Duration,
        _ => GoOwn::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(kind: (&str, &str, &str)) -> &'static GoStruct {
        let types = go_types();
        let form = &types.get(types.of_kind(kind.0, kind.1, kind.2).expect("it is served")).form;
        let GoForm::Struct(members) = form else { panic!("{kind:?} is {form:?}") };
        members
    }

    #[test]
    fn a_pointer_and_what_is_never_left_out_are_told_apart() {
        let types = go_types();
        let deployment = members(("apps", "v1", "Deployment"));
        let GoForm::Struct(spec) = &types.get(deployment.member("spec").expect("it has one").of).form else {
            panic!("a spec is a struct");
        };
        let replicas = types.get(spec.member("replicas").expect("it has them").of);
        assert!(matches!(replicas.form, GoForm::Pointer(_)));
        assert_eq!(replicas.shown, "int32");
        let budget = members(("policy", "v1", "PodDisruptionBudget"));
        let GoForm::Struct(status) = &types.get(budget.member("status").expect("it has one").of).form else {
            panic!("a status is a struct");
        };
        assert_eq!(status.member("expectedPods").map(|one| one.zero), Some(GoZero::Kept));
        assert_eq!(status.member("conditions").map(|one| one.zero), Some(GoZero::OmitEmpty));
    }

    #[test]
    fn every_kind_of_discovery_has_its_go_type() {
        for group in crate::discovery().all() {
            for version in &group.versions {
                for resource in &version.resources {
                    let kind = &resource.response_kind;
                    let name = if kind.version.is_empty() { &version.version } else { &kind.version };
                    let found = go_types().of_kind(group.name(), name, &kind.kind);
                    assert!(found.is_some(), "{}/{name} {}", group.name(), kind.kind);
                }
            }
        }
    }
}
