//! Which part of Replank holds a node, a group or an object.

use std::fmt;

use serde::{Deserialize, Serialize};

/// See the module's page. The name that is written beside it says which run, where it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Owner {
    /// A run of a plan.
    Run,
    /// The interruption handler.
    Interruptions,
    /// The autoscaler.
    Autoscaler,
    /// A migration of an object.
    Migration,
}

const ALL: [Owner; 4] = [Owner::Run, Owner::Interruptions, Owner::Autoscaler, Owner::Migration];

impl Owner {
    /// The value of the annotation [`crate::mark::OWNER`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Interruptions => "interruptions",
            Self::Autoscaler => "autoscaler",
            Self::Migration => "migration",
        }
    }

    /// As it is read; `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        ALL.into_iter().find(|owner| owner.as_str() == text)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_read_as_it_is_written_and_its_json_is_the_same_word() {
        for owner in ALL {
            assert_eq!(Owner::read(owner.as_str()), Some(owner));
            assert_eq!(serde_json::to_value(owner).expect("a word"), owner.as_str());
        }
        assert_eq!(Owner::read("Run"), None);
    }
}
