//! What a record says: lines of text, the first of them the counter and the time.

use std::fmt::Write;

use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::view::Change;
use rustc_hash::FxHashMap;

/// What has been read so far: the last line about each thing.
#[derive(Debug, Default)]
pub(super) struct Latest<'b> {
    /// `P` lines, by what they are about.
    pub(super) things: FxHashMap<&'b str, &'b str>,
    /// What cannot be told from objects.
    pub(super) memory: Option<&'b str>,
    /// The counter of versions.
    pub(super) version: u64,
    /// The time in the world, in milliseconds.
    pub(super) time: i64,
}

/// The first line of a record.
pub(super) fn begin(version: u64, time: i64) -> String {
    format!("{version} {time}\n")
}

/// Notes a change of an object; changes of the cloud are in what the world remembers.
pub(super) fn change(record: &mut String, change: &Change) {
    match change {
        Change::Object { new: Some(object), .. } => object_is(record, object),
        Change::Object { old: Some(object), new: None, .. } => {
            writeln!(record, "G{}", name_of(object)).expect("a string takes everything");
        }
        Change::Object { old: None, new: None, .. }
        | Change::Group { .. }
        | Change::Instance { .. }
        | Change::Message { .. }
        | Change::Unread(_)
        | Change::Stale => {}
    }
}

/// Notes that an object is there.
pub(super) fn object_is(record: &mut String, object: &Object) {
    writeln!(record, "P{}\t{}", name_of(object), render(object)).expect("a string takes everything");
}

/// Notes what cannot be told from objects.
pub(super) fn memory_is(record: &mut String, memory: &str) {
    writeln!(record, "M{memory}").expect("a string takes everything");
}

/// What an object is found by, whichever version of its kind it is written in.
fn name_of(object: &Object) -> String {
    let Key { namespace, name } = object.meta().key();
    if let Object::Other(other) = object {
        return format!("{}/{}/{namespace}/{name}", other.group(), other.kind);
    }
    format!("{}/{namespace}/{name}", object.kind())
}

impl<'b> Latest<'b> {
    /// Takes in a record; `None` where it is none of ours.
    pub(super) fn take(&mut self, record: &'b [u8]) -> Option<()> {
        let text = std::str::from_utf8(record).ok()?;
        let mut lines = text.lines();
        let (version, time) = lines.next()?.split_once(' ')?;
        self.version = self.version.max(version.parse().ok()?);
        self.time = self.time.max(time.parse().ok()?);
        for line in lines {
            match line.split_at_checked(1)? {
                ("P", rest) => {
                    let (name, json) = rest.split_once('\t')?;
                    self.things.insert(name, json);
                }
                ("G", name) => {
                    self.things.remove(name);
                }
                ("M", memory) => self.memory = Some(memory),
                _ => return None,
            }
        }
        Some(())
    }
}
