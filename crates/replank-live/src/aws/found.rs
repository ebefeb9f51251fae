//! Credentials, and how long they can be used.

use jiff::{SignedDuration, Timestamp};

use super::sign::Key;

/// How long before their end credentials are got anew.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// Credentials, and where they are from.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) source: String,
    pub(super) until: Option<Timestamp>,
}

impl Found {
    pub(super) fn fixed(key: Key, source: impl Into<String>) -> Self {
        Self { key, source: source.into(), until: None }
    }

    /// Whether they can be used for a while.
    pub(super) fn is_fresh(&self) -> bool {
        self.until.is_none_or(|until| Timestamp::now() + AHEAD < until)
    }
}
