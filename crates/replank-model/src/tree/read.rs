//! Typed values from a tree.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::node::{Below, Content, Item, State};

/// Something is not as it must be: what, says who reads the text anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Odd;

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not as it must be")
    }
}

impl std::error::Error for Odd {}

impl serde::de::Error for Odd {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl serde::ser::Error for Odd {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// Reads a value, apart from what has been said of it.
pub(crate) fn read<'a, T: Deserialize<'a>>(item: Item<'a, '_>) -> Result<T, Odd> {
    T::deserialize(item)
}

impl<'de> Deserializer<'de> for Item<'de, '_> {
    type Error = Odd;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        match &self.node().content {
            Content::Null => visitor.visit_unit(),
            Content::Bool(is) => visitor.visit_bool(*is),
            Content::Unsigned(number) => visitor.visit_u64(*number),
            Content::Signed(number) => visitor.visit_i64(*number),
            Content::Text(text) => visitor.visit_borrowed_str(text),
            Content::List => visitor.visit_seq(Values { below: self.items(), member: None }),
            Content::Object { .. } => visitor.visit_map(Values { below: self.members(), member: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        match self.node().content {
            Content::Null => visitor.visit_none(),
            Content::Bool(_)
            | Content::Unsigned(_)
            | Content::Signed(_)
            | Content::Text(_)
            | Content::List
            | Content::Object { .. } => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Odd> {
        visitor.visit_newtype_struct(self)
    }

    /// Words alone: nothing that is read has variants with contents.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Odd> {
        visitor.visit_enum(self.text().ok_or(Odd)?.into_deserializer())
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Odd> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier
    }
}

struct Values<'a, 't> {
    below: Below<'a, 't>,
    member: Option<Item<'a, 't>>,
}

impl<'a> SeqAccess<'a> for Values<'a, '_> {
    type Error = Odd;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, Odd> {
        self.below.next().map(|item| seed.deserialize(item)).transpose()
    }
}

impl<'a> MapAccess<'a> for Values<'a, '_> {
    type Error = Odd;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Odd> {
        self.member = self.below.find(|member| member.state() != State::Said);
        let key = self.member.map(|member| seed.deserialize(BorrowedStrDeserializer::new(member.key())));
        key.transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<T::Value, Odd> {
        seed.deserialize(self.member.ok_or(Odd)?)
    }
}
