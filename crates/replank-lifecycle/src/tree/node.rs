//! Trees of values that know where they come from.

use std::sync::Arc;

use serde_json::Number;

/// Number of a node or of an entry within [`Origins`].
pub(crate) type OriginIndex = usize;

/// A value, and where it is written.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The value.
    pub what: What,
    /// The node of the text that says it, if one does.
    pub(crate) from: Option<OriginIndex>,
}

/// A value.
#[derive(Clone, Debug)]
pub enum What {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text. What moves, and what is said again elsewhere, shares it.
    Text(Arc<str>),
    /// A list.
    List(Vec<Tree>),
    /// A mapping; each key once.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: Arc<str>,
    /// The value.
    pub value: Tree,
    /// What says it.
    pub(crate) from: From,
}

/// What says an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// Nothing: it was made.
    Nowhere,
    /// An entry of the text.
    Text(OriginIndex),
    /// A mapping that is merged in by `<<`.
    Merged,
}

impl What {
    /// Whether both are scalars and say the same.
    pub(crate) fn is_same_scalar(&self, other: &What) -> bool {
        match (self, other) {
            (What::Null, What::Null) => true,
            (What::Bool(a), What::Bool(b)) => a == b,
            (What::Number(a), What::Number(b)) => a == b,
            (What::Text(a), What::Text(b)) => a == b,
            (
                What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::List(_) | What::Map(_),
                _,
            ) => false,
        }
    }
}

impl Tree {
    /// Items of a list, values of a mapping that are not merged in; none of a scalar.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Tree> {
        let written = self.entries().iter().filter(|entry| entry.from != From::Merged);
        self.items().iter().chain(written.map(|entry| &entry.value))
    }

    /// A value that no text says.
    pub fn of(what: What) -> Self {
        Self { what, from: None }
    }

    /// Text that was not written before.
    pub fn text(text: &str) -> Self {
        Self::of(What::Text(text.into()))
    }

    /// A number that was not written before.
    pub fn number(number: i64) -> Self {
        Self::of(What::Number(number.into()))
    }

    /// A list that was not written before.
    pub fn list(items: Vec<Tree>) -> Self {
        Self::of(What::List(items))
    }

    /// A mapping that was not written before.
    pub fn map<const N: usize>(entries: [(&str, Tree); N]) -> Self {
        Self::of(What::Map(entries.into_iter().map(|(key, value)| Entry::new(key, value)).collect()))
    }

    /// The entries of a mapping; none of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.what {
            What::Map(entries) => entries,
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::List(_) => &[],
        }
    }

    /// The entries of a mapping, to be changed. `None` of anything else.
    pub fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.what {
            What::Map(entries) => Some(entries),
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::List(_) => None,
        }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Tree] {
        match &self.what {
            What::List(items) => items,
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::Map(_) => &[],
        }
    }

    /// The items of a list, to be changed; none of anything else.
    pub fn items_mut(&mut self) -> &mut [Tree] {
        match &mut self.what {
            What::List(items) => items,
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::Map(_) => &mut [],
        }
    }

    /// The value of a key. A key that has `null` is one that is not there, as in Go's decoder.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        let entry = self.entries().iter().find(|entry| &*entry.key == key)?;
        Some(&entry.value).filter(|value| !value.is_null())
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        let entry = self.entries_mut()?.iter_mut().find(|entry| &*entry.key == key)?;
        Some(&mut entry.value).filter(|value| !value.is_null())
    }

    /// The value below several keys.
    pub fn path(&self, keys: &[&str]) -> Option<&Tree> {
        keys.iter().try_fold(self, |tree, key| tree.get(key))
    }

    /// The same, to be changed.
    pub fn path_mut(&mut self, keys: &[&str]) -> Option<&mut Tree> {
        keys.iter().try_fold(self, |tree, key| tree.get_mut(key))
    }

    /// A text, unless it is empty.
    pub fn as_text(&self) -> Option<&str> {
        match &self.what {
            What::Text(text) if !text.is_empty() => Some(text),
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::List(_) | What::Map(_) => {
                None
            }
        }
    }

    /// An integer.
    pub fn as_integer(&self) -> Option<i64> {
        match &self.what {
            What::Number(number) => number.as_i64(),
            What::Null | What::Bool(_) | What::Text(_) | What::List(_) | What::Map(_) => None,
        }
    }

    /// True or false.
    pub fn as_bool(&self) -> Option<bool> {
        match self.what {
            What::Bool(value) => Some(value),
            What::Null | What::Number(_) | What::Text(_) | What::List(_) | What::Map(_) => None,
        }
    }

    /// The text below several keys, unless it is empty.
    pub fn text_at(&self, keys: &[&str]) -> Option<&str> {
        self.path(keys)?.as_text()
    }

    /// Whether it is nothing.
    pub fn is_null(&self) -> bool {
        matches!(self.what, What::Null)
    }

    /// Whether it is a mapping.
    pub fn is_map(&self) -> bool {
        matches!(self.what, What::Map(_))
    }

    /// Whether it is an empty mapping or list, or nothing.
    pub fn is_empty(&self) -> bool {
        match &self.what {
            What::Null => true,
            What::List(items) => items.is_empty(),
            What::Map(entries) => entries.is_empty(),
            What::Bool(_) | What::Number(_) | What::Text(_) => false,
        }
    }

    /// Writes a value over what a key has; at the end where the key is not there. Of text the place and the quotes are kept.
    pub fn set(&mut self, key: &str, value: Tree) {
        let Some(entries) = self.entries_mut() else { return };
        match entries.iter_mut().find(|entry| &*entry.key == key) {
            Some(entry) => {
                // A scalar is overwritten where it stands.
                let from = value.from.or(match (&entry.value.what, &value.what) {
                    (What::List(_) | What::Map(_), _) | (_, What::List(_) | What::Map(_)) => None,
                    (_, _) => entry.value.from,
                });
                entry.value = Tree { what: value.what, from };
            }
            None => entries.push(Entry::new(key, value)),
        }
    }

    /// Writes a value for a key that has none, behind another key (or at the end, where that one is not there either).
    pub fn set_default(&mut self, key: &str, value: Tree, behind: &[&str]) {
        if self.get(key).is_some() {
            return;
        }
        // A key with nothing behind it is written already.
        if self.entries().iter().any(|entry| &*entry.key == key) {
            return self.set(key, value);
        }
        self.insert_behind(Entry::new(key, value), behind);
    }

    /// Puts an entry behind the last of these keys that is there, or else at the end.
    pub fn insert_behind(&mut self, entry: Entry, behind: &[&str]) {
        let Some(entries) = self.entries_mut() else { return };
        let at = entries.iter().rposition(|entry| behind.contains(&&*entry.key));
        entries.insert(at.map_or(entries.len(), |at| at + 1), entry);
    }

    /// Puts an entry before all others.
    pub fn insert_first(&mut self, entry: Entry) {
        if let Some(entries) = self.entries_mut() {
            entries.insert(0, entry);
        }
    }

    /// Takes an entry out, with where it was. One with `null` goes, too, and counts for nothing.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        self.take_at(key).map(|(_, entry)| entry)
    }

    /// The same, with the index that it had.
    pub fn take_at(&mut self, key: &str) -> Option<(usize, Entry)> {
        let entries = self.entries_mut()?;
        let at = entries.iter().position(|entry| &*entry.key == key)?;
        let entry = entries.remove(at);
        (!entry.value.is_null()).then_some((at, entry))
    }

    /// Puts an entry at an index.
    pub fn insert_at(&mut self, at: usize, entry: Entry) {
        if let Some(entries) = self.entries_mut() {
            entries.insert(at.min(entries.len()), entry);
        }
    }

    /// Gives an entry another key, in its place.
    pub fn rename(&mut self, key: &str, to: &str) {
        if let Some(entry) =
            self.entries_mut().and_then(|all| all.iter_mut().find(|entry| &*entry.key == key))
        {
            entry.key = to.into();
        }
    }

    /// The mapping of a key, made where it is not there.
    pub fn map_of(&mut self, key: &str, behind: &[&str]) -> Option<&mut Tree> {
        self.set_default(key, Tree::map([]), behind);
        self.get_mut(key).filter(|value| value.is_map())
    }

    /// The same value, as if nobody had written it: for what is said a second time.
    #[must_use]
    pub fn copied(&self) -> Tree {
        Tree::of(match &self.what {
            What::Null => What::Null,
            What::Bool(value) => What::Bool(*value),
            What::Number(number) => What::Number(number.clone()),
            What::Text(text) => What::Text(text.clone()),
            What::List(items) => What::List(items.iter().map(Tree::copied).collect()),
            What::Map(entries) => What::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: entry.key.clone(),
                        value: entry.value.copied(),
                        from: From::Nowhere,
                    })
                    .collect(),
            ),
        })
    }
}

impl Entry {
    /// An entry that no text says.
    pub fn new(key: &str, value: Tree) -> Self {
        Self { key: key.into(), value, from: From::Nowhere }
    }

    /// The same value under another key, elsewhere: what is written around it comes along.
    #[must_use]
    pub fn under(self, key: &str) -> Self {
        Self { key: key.into(), ..self }
    }
}
