//! The trace hash: one number that two runs share if and only if they did the same at the same times.

use std::fmt;

use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::Change;
use xxhash_rust::xxh3::Xxh3;

/// The hash of everything that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceHash(pub u128);

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Takes in every change.
pub(crate) struct Trace {
    hasher: Box<Xxh3>,
    /// What the latest changes say: the hasher takes it in large pieces.
    bytes: Vec<u8>,
}

/// From so many bytes on the hasher takes what there is.
const PIECE: usize = 4_096;

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self { hasher: Box::new(Xxh3::new()), bytes: Vec::new() }
    }
}

impl Trace {
    pub(crate) fn take(&mut self, at: Time, change: &Change) {
        self.bytes.extend_from_slice(&at.as_millis().to_le_bytes());
        match change {
            Change::Object { old, new, .. } => self.object(old.as_ref(), new.as_ref()),
            Change::Group { new, .. } => {
                if let Some(group) = new {
                    self.text(group.name.as_str());
                    self.number(u64::from(group.size.min));
                    self.number(u64::from(group.size.max));
                    self.number(u64::from(group.size.desired));
                    self.number(group.current.version);
                }
            }
            Change::Instance { old, new } => {
                if let Some(instance) = new.as_ref().or(old.as_ref()) {
                    self.text(instance.id.as_str());
                    self.text(instance.state.as_str());
                    self.text(instance.zone.as_str());
                    self.number(u64::from(new.is_some()));
                }
            }
            // A queue is not part of the trace.
            Change::Message { .. } | Change::Unread(_) | Change::Stale => {}
        }
        if self.bytes.len() >= PIECE {
            self.hasher.update(&self.bytes);
            self.bytes.clear();
        }
    }

    pub(crate) fn hash(&self) -> TraceHash {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.bytes);
        TraceHash(hasher.digest128())
    }

    fn object(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let Some(object) = new.or(old) else { return };
        let meta = object.meta();
        self.text(object.kind_name());
        self.text(meta.namespace.as_str());
        self.text(meta.name.as_str());
        self.text(meta.uid.as_str());
        self.number(meta.resource_version.0);
        self.number(u64::from(new.is_some()));
        self.number(u64::from(meta.is_terminating()));
        if let Object::Pod(pod) = object {
            self.text(pod.status.phase.as_str());
            self.text(pod.node.as_ref().map_or("", |node| node.as_str()));
            self.number(u64::from(pod.is_ready()));
        }
    }

    /// Length first, so that no two sequences of texts run into the same bytes.
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }
}
