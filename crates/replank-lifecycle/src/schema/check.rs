//! Whether an object is of its type.

use replank_model::time::Time;
use serde_json::Value;

use super::read::{Field, Leaf, Shape};
use super::{Path, Problem, Schema, Wrong};
use crate::table::Gvk;
use crate::tree::Plain;

/// Levels of schemas within schemas that are followed: a CRD's schema may nest as deep as etcd holds it.
const DEPTH_MAX: u32 = 200;

impl Schema {
    /// Everything for which a server would refuse an object; empty where it is accepted. A `List` is not an object: its
    /// items are asked one by one.
    pub fn check(&self, object: &Value) -> Vec<Problem> {
        self.check_plain(&Plain::of_value(object))
    }

    /// The same of what a tree says.
    pub(crate) fn check_plain(&self, object: &Plain<'_>) -> Vec<Problem> {
        let text = |key: &str| object.get(key).and_then(Plain::as_text).filter(|text| !text.is_empty());
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            return vec![Problem { path: Path::default(), wrong: Wrong::NoObject }];
        };
        let gvk = Gvk::of(api_version, kind);
        let Some(&index) = self.kinds.get(&gvk) else {
            return vec![Problem { path: Path::default(), wrong: Wrong::NotServed(gvk) }];
        };
        let problems = |tells: bool| {
            let mut walk = Walk { schema: self, tells, problems: Vec::new() };
            walk.shape(self.field_of(index), object, &Path::default(), DEPTH_MAX);
            walk.problems
        };
        // Paths only matter where something is wrong.
        if problems(false).is_empty() { Vec::new() } else { problems(true) }
    }
}

struct Walk<'s> {
    schema: &'s Schema,
    /// Whether paths are told; without them all have that of the root.
    tells: bool,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn key(&self, path: &Path, key: &str) -> Path {
        if self.tells { path.key(key) } else { Path::default() }
    }

    fn item(&self, path: &Path, index: usize) -> Path {
        if self.tells { path.item(index) } else { Path::default() }
    }

    fn wrong(&mut self, path: &Path, wrong: Wrong) {
        self.problems.push(Problem { path: path.clone(), wrong });
    }

    fn expected(&mut self, path: &Path, expected: &'static str, value: &Plain<'_>) {
        self.wrong(path, Wrong::Type { expected, found: sort(value) });
    }

    fn shape(&mut self, shape: &Shape, value: &Plain<'_>, path: &Path, depth: u32) {
        if depth == 0 {
            return self.wrong(path, Wrong::TooDeep);
        }
        let schema = self.schema;
        match (shape, value) {
            (Shape::Members { members, required }, Plain::Map(_)) => {
                self.members(members, required, value, path, depth);
            }
            (Shape::Leaf(leaf), value) => self.leaf(leaf, value, path),
            (Shape::Any, _) | (Shape::AnyObject, Plain::Map(_)) => {}
            (Shape::SchemaOrArray(index), Plain::List(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let path = self.item(path, at);
                    self.shape(schema.field_of(*index), item, &path, depth - 1);
                }
            }
            (Shape::SchemaOrBool(_), Plain::Bool(_)) => {}
            (Shape::SchemaOrTexts(_), Plain::List(items)) if items.iter().all(Plain::is_text) => {}
            (
                Shape::SchemaOrArray(index) | Shape::SchemaOrBool(index) | Shape::SchemaOrTexts(index),
                Plain::Map(_),
            ) => self.shape(schema.field_of(*index), value, path, depth - 1),
            (Shape::SchemaOrBool(_), value) => self.expected(path, "a schema or a boolean", value),
            (Shape::SchemaOrArray(_), value) => self.expected(path, "a schema or a list of them", value),
            (Shape::SchemaOrTexts(_), value) => self.expected(path, "a schema or a list of texts", value),
            (Shape::Members { .. } | Shape::AnyObject, value) => self.expected(path, "an object", value),
        }
    }

    fn members(
        &mut self,
        members: &[(String, Field)],
        required: &[String],
        value: &Plain<'_>,
        path: &Path,
        depth: u32,
    ) {
        // `null` is what a field has that is not written: Go decodes neither.
        let there = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
        for key in required {
            if !there(key) {
                self.wrong(&self.key(path, key), Wrong::Missing);
            }
        }
        let is_required = |key: &str| required.iter().any(|name| name == key);
        let Plain::Map(map) = value else { return };
        for (key, value) in map {
            let path = self.key(path, key);
            match members.binary_search_by(|(name, _)| (**name).cmp(key)) {
                Ok(at) => {
                    let field = &members[at].1;
                    // Nor does it tell an empty text from none, where the field may be left out.
                    let unset = value.is_null()
                        || (value.as_text() == Some("")
                            && matches!(field, Field::Leaf(Leaf::Text { .. }))
                            && !is_required(key));
                    if !unset {
                        self.field(field, value, &path, depth);
                    }
                }
                Err(_) => self.wrong(&path, Wrong::UnknownField),
            }
        }
    }

    fn field(&mut self, field: &Field, value: &Plain<'_>, path: &Path, depth: u32) {
        match (field, value) {
            (Field::Of(index), value) => {
                let schema = self.schema;
                self.shape(schema.field_of(*index), value, path, depth - 1);
            }
            (Field::Leaf(leaf), value) => self.leaf(leaf, value, path),
            (Field::List(item), Plain::List(items)) => {
                for (at, value) in items.iter().enumerate() {
                    let path = self.item(path, at);
                    self.field(item, value, &path, depth);
                }
            }
            (Field::Values(of), Plain::Map(map)) => {
                for (key, value) in map {
                    let path = self.key(path, key);
                    self.field(of, value, &path, depth);
                }
            }
            (Field::List(_), value) => self.expected(path, "a list", value),
            (Field::Values(_), value) => self.expected(path, "an object", value),
        }
    }

    fn leaf(&mut self, leaf: &Leaf, value: &Plain<'_>, path: &Path) {
        match (leaf, value) {
            (Leaf::Text { one_of }, Plain::Text(text)) => {
                if !one_of.is_empty() && !one_of.iter().any(|one| one == text) {
                    let wrong = Wrong::NotOneOf { found: (*text).to_owned(), allowed: one_of.clone() };
                    self.wrong(path, wrong);
                }
            }
            (Leaf::Moment, Plain::Text(text)) => {
                if text.parse::<Time>().is_err() {
                    self.expected(path, "a time such as 2026-01-31T12:00:00Z", value);
                }
            }
            (Leaf::Bytes, Plain::Text(text)) => {
                let is_symbol = |byte: u8| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r')
                };
                if !text.bytes().all(is_symbol) {
                    self.expected(path, "base64", value);
                }
            }
            (Leaf::Int32, Plain::Number(number)) => match number.as_i64() {
                Some(number) if i32::try_from(number).is_err() => self.wrong(path, Wrong::OutOfRange),
                Some(_) => {}
                None => self.expected(path, "an integer", value),
            },
            (Leaf::Int64, Plain::Number(number)) if !number.is_i64() => {
                self.expected(path, "an integer", value);
            }
            (Leaf::IntOrText, Plain::Number(number)) => match number.as_i64() {
                Some(number) if i32::try_from(number).is_err() => self.wrong(path, Wrong::OutOfRange),
                Some(_) => {}
                None => self.expected(path, "an integer or text", value),
            },
            (Leaf::Bool, Plain::Bool(_))
            | (Leaf::Int64 | Leaf::Number | Leaf::Quantity, Plain::Number(_))
            | (Leaf::IntOrText, Plain::Text(_)) => {}
            (Leaf::Quantity, Plain::Text(text)) => {
                if text.parse::<replank_model::quantity::Quantity>().is_err() {
                    self.expected(path, "a quantity such as 500m or 2Gi", value);
                }
            }
            (Leaf::Text { .. }, value) => self.expected(path, "text", value),
            (Leaf::Moment, value) => self.expected(path, "a time", value),
            (Leaf::Bytes, value) => self.expected(path, "base64", value),
            (Leaf::Bool, value) => self.expected(path, "true or false", value),
            (Leaf::Int32 | Leaf::Int64, value) => self.expected(path, "an integer", value),
            (Leaf::Number, value) => self.expected(path, "a number", value),
            (Leaf::IntOrText, value) => self.expected(path, "an integer or text", value),
            (Leaf::Quantity, value) => self.expected(path, "a quantity", value),
        }
    }
}

/// What a value is, in words.
fn sort(value: &Plain<'_>) -> &'static str {
    match value {
        Plain::Null => "null",
        Plain::Bool(_) => "a boolean",
        Plain::Number(_) => "a number",
        Plain::Text(_) => "text",
        Plain::List(_) => "a list",
        Plain::Map(_) => "an object",
    }
}
