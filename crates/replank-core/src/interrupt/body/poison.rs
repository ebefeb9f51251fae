//! What a body turns out to be, and what is wrong with one that cannot be read.

use replank_model::text::Text;

use crate::interrupt::notice::Notice;

/// What a body is.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// It says something about instances.
    Notice(Notice),
    /// It was sent to try out a queue, or to open a subscription: nothing is to be done.
    Test,
    /// It is whole, and not about what an instance of ours may be interrupted by.
    Foreign {
        /// What it is about.
        what: Text,
    },
    /// It cannot be read.
    Poison(Poison),
}

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Poison {
    /// It is no JSON, or is cut.
    #[error("invalid JSON: {why}, after {bytes} bytes")]
    Json {
        /// The reader's words.
        why: Text,
        /// Its length.
        bytes: usize,
    },
    /// A member that must be there is not.
    #[error("{member} is missing")]
    Missing {
        /// Where it would be, such as `detail.instance-id`.
        member: Text,
    },
    /// A member has a value that cannot be.
    #[error("{member} is {found}, expected {expected}")]
    Value {
        /// Where.
        member: Text,
        /// What is there, cut where it is long.
        found: Text,
        /// What should be.
        expected: &'static str,
    },
}
