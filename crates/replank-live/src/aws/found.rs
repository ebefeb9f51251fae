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

    /// Whether they have not ended.
    pub(super) fn is_valid(&self) -> bool {
        self.until.is_none_or(|until| Timestamp::now() < until)
    }

    /// Whether these are the same ones.
    pub(super) fn is(&self, other: &Self) -> bool {
        let of = |found: &Self| (found.key.access_key.clone(), found.key.session_token.clone());
        of(self) == of(other)
    }

    /// Whether they can be used for a while.
    pub(super) fn is_fresh(&self) -> bool {
        self.until.is_none_or(|until| Timestamp::now() + AHEAD < until)
    }
}
