//! The nodes of a YAML document, and what keeps one from being JSON.

use std::borrow::Cow;

use serde_json::Value;
use serde_saphyr::granit_parser::{Marker, ScalarStyle, Tag as YamlTag};

use crate::base64;
use crate::problem::{ProblemKind, Template};
use crate::yaml::scalar::{self, Scalar, Tag};

/// What ends the reading of a document.
pub(super) struct Wrong {
    pub(super) at: Marker,
    pub(super) kind: ProblemKind,
}

impl Wrong {
    pub(super) fn bound(at: Marker, what: &'static str, bound: String) -> Self {
        Self { at, kind: ProblemKind::Bound { what, bound } }
    }

    pub(super) fn not_json(at: Marker, what: impl Into<String>, expected: &'static str) -> Self {
        Self { at, kind: ProblemKind::NotJson { what: what.into(), expected } }
    }

    pub(super) fn yaml(at: Marker, message: &str) -> Self {
        Self { at, kind: ProblemKind::Yaml { message: message.into(), template: Template::No } }
    }

    /// Templates are often valid YAML up to a point: `{{name}}` is a mapping with a mapping as its key.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other problem stays as it is")]
    pub(super) fn in_template(self, text: &str) -> Self {
        let message = match self.kind {
            ProblemKind::Yaml { message, .. } => message,
            ProblemKind::NotJson { what, .. } if text.contains("{{") => {
                format!("{what} cannot be written in JSON")
            }
            kind => return Self { kind, ..self },
        };
        let template = if text.contains("{{") { Template::Likely } else { Template::No };
        Self { kind: ProblemKind::Yaml { message, template }, ..self }
    }
}

/// A node that is complete.
pub(super) enum Node<'t> {
    /// What it comes to depends on whether it is a key.
    Scalar(Scalar, Cow<'t, str>),
    /// `<<`
    Merge,
    Value(Value),
}

impl Node<'_> {
    pub(super) fn value(self, at: Marker) -> Result<Value, Wrong> {
        match self {
            Node::Value(value) => Ok(value),
            Node::Merge => Ok(Value::String("<<".into())),
            Node::Scalar(scalar, text) => scalar.value(text.into_owned()).ok_or_else(|| {
                let Scalar::Float(number) = scalar else {
                    return Wrong::not_json(at, "a number", "a number");
                };
                let what = if number.is_nan() { "`.nan`" } else { "`.inf`" };
                Wrong::not_json(at, what, "a finite number, or text in quotes")
            }),
        }
    }

    pub(super) fn clone_value(&self, at: Marker) -> Result<Value, Wrong> {
        match self {
            Node::Value(value) => Ok(value.clone()),
            Node::Merge => Node::Merge.value(at),
            Node::Scalar(scalar, text) => Node::Scalar(*scalar, Cow::Borrowed(text.as_ref())).value(at),
        }
    }

    pub(super) fn key(self, at: Marker) -> Result<String, Wrong> {
        let what = match &self {
            Node::Scalar(Scalar::Null, _) | Node::Value(Value::Null) => "null as a key",
            Node::Scalar(..) | Node::Value(Value::Number(_)) => "an integer beyond 2^63 as a key",
            Node::Merge | Node::Value(_) => "a list or mapping as a key",
        };
        let key = match self {
            Node::Scalar(scalar, text) => scalar.key(text),
            Node::Merge => Some("<<".to_owned()),
            Node::Value(Value::String(text)) => Some(text),
            Node::Value(Value::Bool(value)) => Scalar::Bool(value).key(""),
            Node::Value(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => Scalar::Int(value).key(""),
                (None, Some(value)) if number.is_f64() => Scalar::Float(value).key(""),
                (None, _) => None,
            },
            Node::Value(Value::Null | Value::Array(_) | Value::Object(_)) => None,
        };
        key.ok_or_else(|| Wrong::not_json(at, what, "text"))
    }
}

/// Values and bytes of text in a tree.
pub(super) fn weigh(value: &Value) -> (usize, usize) {
    let add = |(nodes, bytes): (usize, usize), (n, b): (usize, usize)| (nodes + n, bytes + b);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => (1, 0),
        Value::String(text) => (1, text.len()),
        Value::Array(values) => values.iter().map(weigh).fold((1, 0), add),
        Value::Object(map) => {
            map.iter().map(|(key, value)| add((0, key.len()), weigh(value))).fold((1, 0), add)
        }
    }
}

const YAML_TAGS: &str = "tag:yaml.org,2002:";

pub(super) fn scalar_node<'t>(
    text: Cow<'t, str>,
    style: ScalarStyle,
    tag: Option<&YamlTag>,
    at: Marker,
) -> Result<Node<'t>, Wrong> {
    let Some(tag) = tag else {
        return Ok(match style {
            ScalarStyle::Plain if text == "<<" => Node::Merge,
            ScalarStyle::Plain => Node::Scalar(scalar::plain(&text), text),
            ScalarStyle::SingleQuoted
            | ScalarStyle::DoubleQuoted
            | ScalarStyle::Literal
            | ScalarStyle::Folded => Node::Scalar(Scalar::Text, text),
        });
    };
    let name = tag.suffix_in_namespace(YAML_TAGS);
    let tag = match name.as_deref() {
        Some("merge") if text == "<<" => return Ok(Node::Merge),
        Some("binary") => {
            let Some(decoded) = base64::decode(&text).and_then(|bytes| String::from_utf8(bytes).ok()) else {
                return Err(Wrong::not_json(
                    at,
                    "`!!binary` that is not base64 of UTF-8 text",
                    "the base64 text without the tag",
                ));
            };
            return Ok(Node::Value(Value::String(decoded)));
        }
        Some("null") => Tag::Null,
        Some("bool") => Tag::Bool,
        Some("int") => Tag::Int,
        Some("float") => Tag::Float,
        _ => Tag::Text,
    };
    match scalar::tagged(tag, &text) {
        Ok(scalar) => Ok(Node::Scalar(scalar, text)),
        Err(wanted) => Err(Wrong::yaml(at, &format!("`{text}` is not {wanted}, although its tag says so"))),
    }
}
