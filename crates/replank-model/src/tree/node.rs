//! Nodes of a tree, and how they are asked.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::Value;

/// A tree: its nodes from the root on, each before those below it.
#[derive(Debug, Default)]
pub struct Tree<'t> {
    pub(super) nodes: Vec<Node<'t>>,
}

#[derive(Debug)]
pub(super) struct Node<'t> {
    /// Its key, if it is a member of an object.
    pub(super) key: &'t str,
    pub(super) content: Content<'t>,
    /// Where its text begins and ends.
    pub(super) span: (u32, u32),
    /// The first node that is not below it.
    pub(super) next: u32,
    /// What a typed object says of it.
    pub(super) state: Cell<State>,
}

#[derive(Debug)]
pub(super) enum Content<'t> {
    Null,
    Bool(bool),
    /// Not below zero.
    Unsigned(u64),
    /// Below zero.
    Signed(i64),
    Text(Cow<'t, str>),
    List,
    /// Whether the members stand in the order of their keys.
    Object {
        is_sorted: bool,
    },
}

/// What a typed object says of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Untold,
    /// All that is to be kept.
    Said,
    /// Some of what is below it.
    InPart,
    /// Some of what is in its items, which this member tells apart.
    ListInPart(Option<&'static str>),
}

/// A value of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a, 't> {
    tree: &'a Tree<'t>,
    at: u32,
}

impl<'t> Tree<'t> {
    /// The object itself.
    pub fn root(&self) -> Item<'_, 't> {
        Item { tree: self, at: 0 }
    }
}

impl<'a, 't> Item<'a, 't> {
    pub(super) fn node(self) -> &'a Node<'t> {
        &self.tree.nodes[self.at as usize]
    }

    /// Its key, if it is a member of an object.
    pub fn key(self) -> &'t str {
        self.node().key
    }

    /// What stands in a string.
    pub fn text(self) -> Option<&'a str> {
        match &self.node().content {
            Content::Text(text) => Some(text),
            Content::Null
            | Content::Bool(_)
            | Content::Unsigned(_)
            | Content::Signed(_)
            | Content::List
            | Content::Object { .. } => None,
        }
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        matches!(self.node().content, Content::Object { .. })
    }

    /// Whether it is a list.
    pub fn is_list(self) -> bool {
        matches!(self.node().content, Content::List)
    }

    /// The member of an object that has a key, unless it is `null`.
    pub fn get(self, key: &str) -> Option<Self> {
        self.members().find(|member| member.key() == key).filter(|member| !member.is_null())
    }

    fn is_null(self) -> bool {
        matches!(self.node().content, Content::Null)
    }

    /// The members of an object, as they stand.
    pub fn members(self) -> Below<'a, 't> {
        self.below(self.is_object())
    }

    /// The items of a list.
    pub fn items(self) -> Below<'a, 't> {
        self.below(self.is_list())
    }

    fn below(self, is: bool) -> Below<'a, 't> {
        let end = if is { self.node().next } else { self.at + 1 };
        Below { tree: self.tree, next: self.at + 1, end }
    }

    /// As `serde_json` reads it, members that are `null` included.
    pub(crate) fn value(self) -> Value {
        match &self.node().content {
            Content::Null => Value::Null,
            Content::Bool(is) => Value::Bool(*is),
            Content::Unsigned(number) => Value::from(*number),
            Content::Signed(number) => Value::from(*number),
            Content::Text(text) => Value::from(&**text),
            Content::List => Value::Array(self.items().map(Self::value).collect()),
            Content::Object { .. } => Value::Object(
                self.members().map(|member| (member.key().to_owned(), member.value())).collect(),
            ),
        }
    }

    pub(super) fn state(self) -> State {
        self.node().state.get()
    }

    pub(super) fn set(self, state: State) {
        self.node().state.set(state);
    }

    /// The text of it, of the text that was read.
    pub(crate) fn source(self, text: &'t str) -> &'t str {
        let (from, to) = self.node().span;
        &text[from as usize..to as usize]
    }

    /// Whether all of it has been said.
    pub(crate) fn is_gone(self) -> bool {
        self.state() == State::Said
    }

    /// All of it has been said: nothing of it is left, and reading passes it by.
    pub(crate) fn pass_by(self) {
        self.set(State::Said);
    }
}

/// What is directly below a value.
#[derive(Clone, Debug)]
pub struct Below<'a, 't> {
    tree: &'a Tree<'t>,
    next: u32,
    end: u32,
}

impl<'a, 't> Iterator for Below<'a, 't> {
    type Item = Item<'a, 't>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let item = Item { tree: self.tree, at: self.next };
        self.next = item.node().next;
        Some(item)
    }
}
