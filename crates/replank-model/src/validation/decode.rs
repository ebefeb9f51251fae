//! From JSON to an object of the kind's Go type: what the API server cannot even read (`sigs.k8s.io/json`, and the own
//! readers of `resource.Quantity`, `intstr.IntOrString` and `metav1.Time`).
//!
//! Members are read in the order of their names, as kubectl sends them. The first member of a wrong type is reported,
//! unless a type that reads itself (a quantity) fails anywhere: that ends the reading and is what is reported.

use serde_json::{Map, Number, Value};

use super::field::quantity_text;
use super::types::{Members, Named, named};
use crate::quantity::Quantity;

/// An object in normal form.
pub(super) struct Decoded {
    /// Without unknown members and nulls.
    pub(super) object: Value,
    /// Paths of members that the type does not have, in the order in which they are read.
    pub(super) unknown: Vec<String>,
}

/// Reads an object as the Go type `of`.
///
/// # Errors
/// What Go says of it.
pub(super) fn decode(of: &str, value: &Value) -> Result<Decoded, String> {
    let mut reader = Reader {
        structs: Vec::new(),
        go_path: Vec::new(),
        path: String::new(),
        first: None,
        unknown: Vec::new(),
    };
    match reader.value(of, value) {
        Err(error) => Err(error),
        Ok(object) => match reader.first {
            Some(error) => Err(error),
            None => Ok(Decoded {
                object: object.unwrap_or_else(|| Value::Object(Map::new())),
                unknown: reader.unknown,
            }),
        },
    }
}

struct Reader<'a> {
    /// Names of the Go structs that are being read, without their package.
    structs: Vec<&'a str>,
    /// Names of the members that lead here, as Go's errors have them.
    go_path: Vec<&'a str>,
    /// The same with indices and keys, as strict errors have them.
    path: String,
    /// The first member of a wrong type.
    first: Option<String>,
    unknown: Vec<String>,
}

impl<'a> Reader<'a> {
    /// The value in normal form; `None` for what Go has as its zero value then.
    fn value(&mut self, of: &'a str, value: &Value) -> Result<Option<Value>, String> {
        if value.is_null() {
            return Ok(None);
        }
        if let Some(inner) = of.strip_prefix('*') {
            return self.value(inner, value);
        }
        if let Some(item) = of.strip_prefix("[]") {
            return self.list(of, item, value);
        }
        if let Some((_, item)) = of.strip_prefix("map[").and_then(|of| of.split_once(']')) {
            return self.map(of, item, value);
        }
        match named(of) {
            Some(Named::Struct(members)) => self.object(of, members, value),
            Some(Named::Own) => self.own(of, value).map(Some),
            Some(Named::Alias(plain)) if plain.starts_with("map[") => self.named_map(of, plain, value),
            Some(Named::Alias(plain)) => Ok(self.plain(plain, of, value)),
            None => Ok(self.plain(of, of, value)),
        }
    }

    fn list(&mut self, of: &str, item: &'a str, value: &Value) -> Result<Option<Value>, String> {
        let Value::Array(items) = value else {
            self.wrong(value, of);
            return Ok(None);
        };
        let length = self.path.len();
        let mut list = Vec::with_capacity(items.len());
        for (index, one) in items.iter().enumerate() {
            self.path.push_str(&format!("[{index}]"));
            list.push(self.value(item, one)?.unwrap_or_else(|| Self::zero(item)));
            self.path.truncate(length);
        }
        Ok(Some(Value::Array(list)))
    }

    fn map(&mut self, of: &str, item: &'a str, value: &Value) -> Result<Option<Value>, String> {
        let Value::Object(members) = value else {
            self.wrong(value, of);
            return Ok(None);
        };
        let mut map = Map::new();
        for (key, one) in members {
            let read = self.value(item, one)?.unwrap_or_else(|| Self::zero(item));
            map.insert(key.clone(), read);
        }
        Ok(Some(Value::Object(map)))
    }

    fn named_map(&mut self, of: &str, plain: &'a str, value: &Value) -> Result<Option<Value>, String> {
        let item = plain.split_once(']').map_or("string", |(_, item)| item);
        self.map(of, item, value)
    }

    fn object(&mut self, of: &'a str, members: Members, value: &Value) -> Result<Option<Value>, String> {
        let Value::Object(given) = value else {
            self.wrong(value, of);
            return Ok(None);
        };
        let mut object = Map::new();
        let length = self.path.len();
        let depth = self.go_path.len();
        self.structs.push(of.rsplit('.').next().unwrap_or(of));
        for (name, one) in given {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            match members.named(name) {
                Some(member) => {
                    self.go_path.extend(member.embedded.into_iter().flat_map(|path| path.split('.')));
                    self.go_path.push(member.name);
                    if let Some(read) = self.value(member.of, one)? {
                        object.insert(name.clone(), read);
                    }
                    self.go_path.truncate(depth);
                }
                None => self.unknown.push(self.path.clone()),
            }
            self.path.truncate(length);
        }
        self.structs.pop();
        Ok(Some(Value::Object(object)))
    }

    /// A string, number, boolean or bytes; `of` is what the error calls it.
    fn plain(&mut self, plain: &str, of: &str, value: &Value) -> Option<Value> {
        let fits = match (plain, value) {
            ("string", Value::String(_)) | ("bool", Value::Bool(_)) => true,
            ("int32", Value::Number(number)) => {
                number.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
            }
            ("int64", Value::Number(number)) => number.as_i64().is_some(),
            _ => false,
        };
        if fits {
            return Some(value.clone());
        }
        match (plain, value) {
            ("int32" | "int64", Value::Number(number)) => self.mismatch(&format!("number {number}"), of),
            _ => self.wrong(value, of),
        }
        None
    }

    /// Types that read themselves; an error ends the reading.
    fn own(&mut self, of: &str, value: &Value) -> Result<Value, String> {
        match of {
            "resource.Quantity" => {
                let text = quantity_text(value).unwrap_or_default();
                let quantity: Quantity = text.trim().parse().map_err(|error| format!("{error}"))?;
                Ok(Value::String(quantity.to_string()))
            }
            "intstr.IntOrString" => match value {
                Value::String(_) => Ok(value.clone()),
                Value::Number(number)
                    if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) =>
                {
                    Ok(value.clone())
                }
                Value::Number(number) => Err(self.message(&format!("number {number}"), "int32")),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                    Err(self.message(word_for(value), "int32"))
                }
            },
            "v1.Time" => match value {
                Value::String(text) => time(text).map(|()| value.clone()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    Err(self.message(word_for(value), "string"))
                }
            },
            // Fields of a manager are taken as they come.
            _ => Ok(value.clone()),
        }
    }

    /// What an item of a list or map is where JSON says null.
    fn zero(of: &str) -> Value {
        if of.starts_with(['*', '[']) || of.starts_with("map[") {
            return Value::Null;
        }
        match named(of) {
            Some(Named::Struct(_)) => Value::Object(Map::new()),
            Some(Named::Own) => Value::String("0".to_owned()),
            Some(Named::Alias(plain)) => Self::zero(plain),
            None => match of {
                "string" => Value::String(String::new()),
                "bool" => Value::Bool(false),
                _ => Value::Number(Number::from(0)),
            },
        }
    }

    /// Remembers a member of a wrong type, if it is the first.
    fn wrong(&mut self, value: &Value, of: &str) {
        self.mismatch(word_for(value), of);
    }

    fn mismatch(&mut self, what: &str, of: &str) {
        if self.first.is_none() {
            self.first = Some(self.message(what, of));
        }
    }

    fn message(&self, what: &str, of: &str) -> String {
        match self.structs.last() {
            Some(of_struct) => format!(
                "json: cannot unmarshal {what} into Go struct field {of_struct}.{} of type {of}",
                self.go_path.join(".")
            ),
            None => format!("json: cannot unmarshal {what} into Go value of type {of}"),
        }
    }
}

fn word_for(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a time can be read. Of what Go says of one that cannot, only the commonest is told apart: what it does not
/// begin with.
fn time(text: &str) -> Result<(), String> {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    if text.parse::<jiff::Timestamp>().is_ok() && text.contains('T') {
        return Ok(());
    }
    let quoted = crate::go::Quoted(text);
    Err(format!("parsing time {quoted} as \"{LAYOUT}\": cannot parse {quoted} as \"2006\""))
}
