//! A change of one object.

use std::sync::Arc;

use super::stored::Stored;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It appeared.
    Added,
    /// It changed.
    Modified,
    /// It went.
    Deleted,
}

impl Happening {
    /// The word of the watch protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// A change of one object.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub what: Happening,
    /// The version that it made.
    pub version: u64,
    /// The object after it; of one that went, its last state.
    pub object: Arc<Stored>,
    /// The object before it.
    pub before: Option<Arc<Stored>>,
}
