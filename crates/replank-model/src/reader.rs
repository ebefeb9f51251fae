//! Reads typed values from JSON, and says where one of them is wrong: `spec.containers[0].name`.
//!
//! One deserializer of its own rather than a layer around `serde_json`'s: such a layer wraps each visitor and each seed in types of its own, and then half of this crate's machine code was
//! wrappers (docs/benchmarks.md, "Building").

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde_json::{Map, Value};

/// Reads a value.
///
/// # Errors
/// If a member has another type or value than the type's.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Wrong> {
    T::deserialize(At(value))
}

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// From the inside out.
    path: Vec<Step>,
    message: String,
}

/// One step from the outside in.
#[derive(Debug)]
enum Step {
    Member(String),
    Item(usize),
}

impl Wrong {
    /// Where, from the value that was read: `spec.containers[0].name`; empty for that value itself.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        for step in self.path.iter().rev() {
            match step {
                Step::Member(key) if path.is_empty() => path.push_str(key),
                Step::Member(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                Step::Item(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }

    /// What was expected, and what was found.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    fn under(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: Vec::new(), message: message.to_string() }
    }
}

/// A value that is read.
#[derive(Clone, Copy)]
struct At<'de>(&'de Value);

impl At<'_> {
    fn is_not(self, expected: &dyn serde::de::Expected) -> Wrong {
        Wrong::invalid_type(unexpected(self.0), expected)
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(is) => Unexpected::Bool(*is),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

fn visit_number<'de, V: Visitor<'de>>(at: At<'de>, visitor: V) -> Result<V::Value, Wrong> {
    let Value::Number(number) = at.0 else { return Err(at.is_not(&visitor)) };
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => visitor.visit_u64(number),
        (None, Some(number)) => visitor.visit_i64(number),
        (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
    }
}

/// Each kind of number is read by one function.
macro_rules! numbers {
    ($($method:ident)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            visit_number(self, visitor)
        }
    )* };
}

impl<'de> Deserializer<'de> for At<'de> {
    type Error = Wrong;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(is) => visitor.visit_bool(*is),
            Value::Number(_) => visit_number(self, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Bool(is) => visitor.visit_bool(*is),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                Err(self.is_not(&visitor))
            }
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(self.is_not(&visitor))
            }
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.0.is_null() { visitor.visit_unit() } else { Err(self.is_not(&visitor)) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let Value::Array(items) = self.0 else { return Err(self.is_not(&visitor)) };
        visitor.visit_seq(Items { items, next: 0 })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let Value::Object(members) = self.0 else { return Err(self.is_not(&visitor)) };
        visitor.visit_map(Members { rest: members.iter(), member: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(word) => visitor.visit_enum(Choice { word, content: None }),
            Value::Object(members) => visitor.visit_enum(one_of(members)?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(Wrong::invalid_type(unexpected(self.0), &"string or map"))
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_unit()
    }
}

/// The items of a list.
struct Items<'de> {
    items: &'de [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(At(item)).map(Some).map_err(|wrong| wrong.under(Step::Item(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

/// The members of an object.
struct Members<'de> {
    rest: serde_json::map::Iter<'de>,
    /// The one of which the key has been read.
    member: Option<(&'de String, &'de Value)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        self.member = self.rest.next();
        let Some((key, _)) = self.member else { return Ok(None) };
        let reader = serde::de::value::BorrowedStrDeserializer::new(key);
        seed.deserialize(reader).map(Some).map_err(|wrong: Wrong| wrong.under(Step::Member(key.clone())))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Wrong> {
        let Some((key, value)) = self.member else {
            return Err(Wrong::custom("a value was asked for before its key"));
        };
        seed.deserialize(At(value)).map_err(|wrong| wrong.under(Step::Member(key.clone())))
    }
}

/// An object with exactly one member: a variant and its content.
fn one_of(members: &Map<String, Value>) -> Result<Choice<'_>, Wrong> {
    let mut members_left = members.iter();
    match (members_left.next(), members_left.next()) {
        (Some((word, content)), None) => Ok(Choice { word, content: Some(content) }),
        _ => Err(Wrong::invalid_value(Unexpected::Map, &"map with a single key")),
    }
}

/// A variant of an enum.
struct Choice<'de> {
    word: &'de str,
    content: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Wrong> {
        let reader: serde::de::value::StrDeserializer<'de, Wrong> = self.word.into_deserializer();
        Ok((seed.deserialize(reader)?, self))
    }
}

impl<'de> Choice<'de> {
    fn content(self, expected: &dyn serde::de::Expected) -> Result<At<'de>, Wrong> {
        self.content.map(At).ok_or_else(|| Wrong::invalid_type(Unexpected::UnitVariant, expected))
    }

    fn under(word: &str) -> impl FnOnce(Wrong) -> Wrong {
        move |wrong| wrong.under(Step::Member(word.to_owned()))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(content) => Err(Wrong::invalid_type(unexpected(content), &"unit variant")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        let word = self.word;
        seed.deserialize(self.content(&"newtype variant")?).map_err(Self::under(word))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        let word = self.word;
        self.content(&"tuple variant")?.deserialize_seq(visitor).map_err(Self::under(word))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let word = self.word;
        self.content(&"struct variant")?.deserialize_map(visitor).map_err(Self::under(word))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        list: Vec<Inner>,
        #[serde(default)]
        choice: Option<Kind>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        count: i32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Kind {
        Plain,
        Of(bool),
        With { name: String },
    }

    fn wrong(value: &Value) -> String {
        read::<Outer>(value).expect_err("it is wrong").to_string()
    }

    #[test]
    fn an_error_says_where_and_what() {
        assert_eq!(wrong(&json!([])), "invalid type: sequence, expected struct Outer");
        assert_eq!(wrong(&json!({})), "missing field `list`");
        assert_eq!(wrong(&json!({"list": 1})), "list: invalid type: integer `1`, expected a sequence");
        assert_eq!(
            wrong(&json!({"list": [{"count": 1}, {"count": "x"}]})),
            "list[1].count: invalid type: string \"x\", expected i32"
        );
        assert_eq!(
            wrong(&json!({"list": [{"count": 3_000_000_000_u32}]})),
            "list[0].count: invalid value: integer `3000000000`, expected i32"
        );
        assert_eq!(
            wrong(&json!({"list": [], "choice": "Other"})),
            "choice: unknown variant `Other`, expected one of `Plain`, `Of`, `With`"
        );
        assert_eq!(
            wrong(&json!({"list": [], "choice": {"With": {"name": 1}}})),
            "choice.With.name: invalid type: integer `1`, expected a string"
        );
    }

    /// What `serde_json` reads is read here, too, and to the same.
    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        for choice in [json!("Plain"), json!({"Of": true}), json!({"With": {"name": "n"}}), json!(null)] {
            let value = json!({"list": [{"count": -1, "more": [{}]}], "choice": choice});
            assert_eq!(read::<Outer>(&value).expect("valid"), Outer::deserialize(&value).expect("valid"));
        }
        let any = json!({"a": [1, -1, 1.5, null, true, "x", {"b": []}]});
        assert_eq!(read::<Value>(&any).expect("valid"), any);
    }
}
