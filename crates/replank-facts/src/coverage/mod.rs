//! What of a cluster an answer could see: the kinds that are in the input and those that are not, what could not be read, what
//! objects name that is not there, and where the program's own data ends.
//!
//! An answer that nothing is wrong is worth as much as what was looked at. So all of this stands in every report, and what an answer cannot do
//! without makes it incomplete, unless the user accepts that by name ([`Allowed`]).

mod allowed;
mod form;
mod kinds;
mod references;
#[cfg(test)]
mod tests;
mod unseen;

use replank_model::view::View;

pub use allowed::{Allowed, UnknownName};
pub use form::{AbsentKind, Coverage, Dangling, DataEnd, Read, Skipped, Unanswered};
pub use kinds::Question;
pub use unseen::{Unseen, Why, not_seen};

impl Coverage {
    /// What an answer to a question could see of a cluster.
    #[must_use]
    pub fn of(view: &View, question: Question, read: Read, allowed: &Allowed) -> Self {
        let mut coverage = Self {
            absent: kinds::absent(question, &read),
            dangling: references::dangling(view, question),
            present: read.objects,
            skipped: read.skipped,
            ..Self::default()
        };
        coverage.judge(allowed);
        coverage
    }
}
