//! What a typed object says of the tree it was read from, and the text of the rest.
//!
//! The same as to take the object's JSON out of the tree (`object::difference::subtract`), without making that JSON.

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};

use super::node::{Below, Content, Item, State};
use super::read::Odd;
use crate::wire::MERGE_KEYS;

/// Notes what a typed value says of the item that it was read from.
pub(crate) fn say<T: Serialize + ?Sized>(item: Item<'_, '_>, typed: &T) -> Result<(), Odd> {
    typed.serialize(Said { item: Some(item), is_item: false })
}

/// The text of what nobody has said of an object, as `serde_json` writes it; `None` where nothing is left.
pub(crate) fn rest(root: Item<'_, '_>) -> Option<String> {
    close(root);
    if root.state() == State::Said {
        return None;
    }
    let mut text = String::with_capacity(512);
    write(root, &mut text)?;
    Some(text)
}

/// An object, once all of its members have been told of.
fn close(object: Item<'_, '_>) {
    object.set(if object.members().all(Item::is_gone) { State::Said } else { State::InPart });
}

/// A list of which the items have been told of.
fn close_list(list: Item<'_, '_>) {
    list.set(if list.items().all(Item::is_gone) { State::Said } else { State::ListInPart(merge_key(list)) });
}

/// The first key by which what was said tells all items apart.
fn merge_key(list: Item<'_, '_>) -> Option<&'static str> {
    MERGE_KEYS.into_iter().find(|key| {
        list.items().enumerate().all(|(at, item)| {
            told(item, key).is_some_and(|one| {
                list.items().take(at).all(|other| told(other, key).is_none_or(|other| !is_same(one, other)))
            })
        })
    })
}

/// A member of which all has been said.
fn told<'a, 't>(item: Item<'a, 't>, key: &str) -> Option<Item<'a, 't>> {
    item.get(key).filter(|member| member.is_gone())
}

fn is_same(one: Item<'_, '_>, other: Item<'_, '_>) -> bool {
    match (&one.node().content, &other.node().content) {
        (Content::Text(one), Content::Text(other)) => one == other,
        (Content::Unsigned(one), Content::Unsigned(other)) => one == other,
        _ => false,
    }
}

/// Writes an item that is there in whole or in part.
fn write(item: Item<'_, '_>, to: &mut String) -> Option<()> {
    match &item.node().content {
        Content::Null => to.push_str("null"),
        Content::Bool(true) => to.push_str("true"),
        Content::Bool(false) => to.push_str("false"),
        Content::Unsigned(number) => to.push_str(&number.to_string()),
        Content::Signed(number) => to.push_str(&number.to_string()),
        Content::Text(text) => write_text(text, matches!(text, std::borrow::Cow::Borrowed(_)), to)?,
        Content::List => {
            to.push('[');
            for (at, part) in item.items().enumerate() {
                if at > 0 {
                    to.push(',');
                }
                match item.state() {
                    State::ListInPart(key) => write_members(part, key, to)?,
                    State::Untold | State::Said | State::InPart => write(part, to)?,
                }
            }
            to.push(']');
        }
        Content::Object { .. } => write_members(item, None, to)?,
    }
    Some(())
}

/// Writes what is left of an object, beside the member that tells it apart.
fn write_members(object: Item<'_, '_>, key: Option<&str>, to: &mut String) -> Option<()> {
    let Content::Object { is_sorted } = object.node().content else { return None };
    let is_kept = |member: &Item<'_, '_>| !member.is_gone() || key == Some(member.key());
    to.push('{');
    if is_sorted {
        write_each(object.members().filter(is_kept), to)?;
    } else {
        let mut members: Vec<Item<'_, '_>> = object.members().filter(is_kept).collect();
        members.sort_by_key(|member| member.key());
        write_each(members.into_iter(), to)?;
    }
    to.push('}');
    Some(())
}

fn write_each<'a, 't: 'a>(members: impl Iterator<Item = Item<'a, 't>>, to: &mut String) -> Option<()> {
    for (at, member) in members.enumerate() {
        if at > 0 {
            to.push(',');
        }
        write_text(member.key(), true, to)?;
        to.push(':');
        write(member, to)?;
    }
    Some(())
}

/// Writes a string; one that stands in the text as it is has nothing in it that must be escaped.
fn write_text(text: &str, is_plain: bool, to: &mut String) -> Option<()> {
    if !is_plain {
        to.push_str(&serde_json::to_string(text).ok()?);
        return Some(());
    }
    to.push('"');
    to.push_str(text);
    to.push('"');
    Some(())
}

/// Where a typed value is told of, if there is such a place.
#[derive(Clone, Copy)]
struct Said<'a, 't> {
    item: Option<Item<'a, 't>>,
    /// Whether it is an item of a list.
    is_item: bool,
}

impl Said<'_, '_> {
    /// A value without parts: it is said, however it is written.
    fn whole(self) -> Result<(), Odd> {
        if let Some(item) = self.item {
            item.set(State::Said);
        }
        Ok(())
    }
}

macro_rules! scalars {
    ($($method:ident: $of:ty),*) => { $(
        fn $method(self, _: $of) -> Result<(), Odd> {
            self.whole()
        }
    )* };
}

impl<'a, 't> Serializer for Said<'a, 't> {
    type Ok = ();
    type Error = Odd;
    type SerializeSeq = List<'a, 't>;
    type SerializeTuple = List<'a, 't>;
    type SerializeTupleStruct = List<'a, 't>;
    type SerializeTupleVariant = Impossible<(), Odd>;
    type SerializeMap = Members<'a, 't>;
    type SerializeStruct = Members<'a, 't>;
    type SerializeStructVariant = Impossible<(), Odd>;

    scalars! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
        serialize_unit_struct: &'static str
    }

    fn serialize_none(self) -> Result<(), Odd> {
        self.whole()
    }

    fn serialize_unit(self) -> Result<(), Odd> {
        self.whole()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Odd> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Odd> {
        self.whole()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Odd> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Odd> {
        Err(Odd)
    }

    /// A list of as many objects is told of item by item, any other as a whole.
    fn serialize_seq(self, len: Option<usize>) -> Result<List<'a, 't>, Odd> {
        let len = len.ok_or(Odd)?;
        let is_like = |item: Item<'_, '_>| {
            item.is_list() && item.items().count() == len && item.items().all(Item::is_object)
        };
        let list = self.item.filter(|item| is_like(*item));
        if list.is_none() {
            self.whole()?;
        }
        Ok(List { list, items: list.map(Item::items) })
    }

    fn serialize_tuple(self, len: usize) -> Result<List<'a, 't>, Odd> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<List<'a, 't>, Odd> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Odd>, Odd> {
        Err(Odd)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a, 't>, Odd> {
        let object = self.item.filter(|item| item.is_object());
        if object.is_none() {
            self.whole()?;
        }
        Ok(Members { object, member: None, is_item: self.is_item })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Members<'a, 't>, Odd> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Odd>, Odd> {
        Err(Odd)
    }

    /// Nobody looks at what is written.
    fn collect_str<T: std::fmt::Display + ?Sized>(self, _: &T) -> Result<(), Odd> {
        self.whole()
    }
}

/// A list that is told of.
struct List<'a, 't> {
    list: Option<Item<'a, 't>>,
    items: Option<Below<'a, 't>>,
}

impl List<'_, '_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
        match self.items.as_mut().and_then(Iterator::next) {
            Some(item) => value.serialize(Said { item: Some(item), is_item: true }),
            None => Ok(()),
        }
    }

    fn close(self) {
        if let Some(list) = self.list {
            close_list(list);
        }
    }
}

macro_rules! lists {
    ($($of:ident :: $method:ident),*) => { $(
        impl $of for List<'_, '_> {
            type Ok = ();
            type Error = Odd;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
                self.item(value)
            }

            fn end(self) -> Result<(), Odd> {
                self.close();
                Ok(())
            }
        }
    )* };
}

lists! { SerializeSeq::serialize_element, SerializeTuple::serialize_element, SerializeTupleStruct::serialize_field }

/// An object that is told of.
struct Members<'a, 't> {
    object: Option<Item<'a, 't>>,
    /// The one of which the key has been told.
    member: Option<Item<'a, 't>>,
    is_item: bool,
}

impl<'a, 't> Members<'a, 't> {
    /// The member that is told of, unless all of it has been.
    fn find(&self, key: &str) -> Result<Option<Item<'a, 't>>, Odd> {
        let found = self.object.and_then(|object| object.get(key));
        // What tells items apart is written as it stands, so it must stand there.
        if found.is_none() && self.is_item && MERGE_KEYS.contains(&key) {
            return Err(Odd);
        }
        Ok(found.filter(|member| !member.is_gone()))
    }

    fn close(self) {
        if let Some(object) = self.object {
            close(object);
        }
    }
}

impl SerializeStruct for Members<'_, '_> {
    type Ok = ();
    type Error = Odd;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Odd> {
        match self.find(key)? {
            Some(member) => say(member, value),
            None => Ok(()),
        }
    }

    fn end(self) -> Result<(), Odd> {
        self.close();
        Ok(())
    }
}

impl SerializeMap for Members<'_, '_> {
    type Ok = ();
    type Error = Odd;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Odd> {
        self.member = match serde_json::to_value(key) {
            Ok(serde_json::Value::String(key)) => self.find(&key)?,
            Ok(_) | Err(_) => return Err(Odd),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Odd> {
        match self.member.take() {
            Some(member) => say(member, value),
            None => Ok(()),
        }
    }

    fn end(self) -> Result<(), Odd> {
        self.close();
        Ok(())
    }
}
