//! What a person has to decide, or ought to know.

use std::fmt;

use crate::definition::{DefinitionProblem, Judged};
use crate::schema::Problem;
use crate::table::Gvk;

/// Why an object is left as it is: what is to be written cannot be told from what is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// Nothing takes its place.
    NoSuccessor {
        /// What people do instead.
        instead: &'static str,
    },
    /// No way from one to the other is known here.
    NoWay(Box<Way>),
    /// Its fields belong to a product, which may have changed them.
    OfProduct(Box<Way>),
    /// A field is not there from which another one would be written.
    Absent {
        /// The field.
        path: String,
        /// Why it is needed.
        why: &'static str,
    },
    /// What a field says has no counterpart.
    NoCounterpart {
        /// The field.
        path: String,
        /// What it says.
        says: String,
        /// What would be needed, in words.
        needed: &'static str,
    },
    /// A definition that the API server would refuse, or of which that cannot be told: most often, a type is missing that only its
    /// author knows.
    Definition {
        /// Why, a few at most.
        problems: Vec<DefinitionProblem>,
    },
    /// What was made would be refused.
    Refused {
        /// Why, a few at most.
        problems: Vec<Problem>,
    },
}

/// From one version to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// What it is.
    pub from: Gvk,
    /// What it is to be.
    pub to: Gvk,
}

impl Way {
    pub(crate) fn new(from: &Gvk, to: &Gvk) -> Box<Self> {
        Box::new(Self { from: from.clone(), to: to.clone() })
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuccessor { instead: "" } => f.write_str("it has no replacement"),
            Self::NoSuccessor { instead } => write!(f, "it has no replacement: {instead}"),
            Self::NoWay(way) => write!(f, "no conversion from {} to {} is known", way.from, way.to),
            Self::OfProduct(way) => {
                write!(
                    f,
                    "fields may differ between {} and {}: see the product's migration guide",
                    way.from, way.to
                )
            }
            Self::Absent { path, why } => write!(f, "{path} is missing: {why}"),
            Self::NoCounterpart { path, says, needed } => write!(f, "{path} is {says}: {needed}"),
            Self::Definition { problems } => {
                let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
                let is_certain = problems.iter().any(|problem| problem.judged == Judged::Refused);
                let start = if is_certain {
                    "the result would be rejected"
                } else {
                    "whether the result would be accepted cannot be told"
                };
                write!(f, "{start}: {}", words.join("; "))
            }
            Self::Refused { problems } => {
                let words: Vec<String> = problems.iter().map(ToString::to_string).collect();
                write!(f, "the result would be rejected: {}", words.join("; "))
            }
        }
    }
}

/// What was done beyond writing the same in other words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// A field is gone.
    Dropped {
        /// The field.
        path: String,
        /// Why nothing is lost by it, or what is.
        why: &'static str,
    },
    /// A selector was written: the object in the cluster has it already, and it cannot be changed.
    SelectorWritten,
    /// A role grants in one more group what it grants in another.
    GroupBeside {
        /// The group that goes.
        group: String,
        /// The one that was added.
        to: String,
    },
    /// Something to know, in words.
    Known {
        /// The field.
        path: String,
        /// What it is.
        what: &'static str,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped { path, why } => write!(f, "{path} is removed: {why}"),
            Self::SelectorWritten => {
                f.write_str(
                    "spec.selector is set to the template's labels, as the API server did when the object was created; if labels were \
                     added since, the object in the cluster has another selector, which is immutable (see replank migrate)",
                )
            }
            Self::GroupBeside { group, to } => {
                write!(f, "{to} is granted in addition to {group}; remove {group} once it is no longer requested")
            }
            Self::Known { path, what } => write!(f, "{path}: {what}"),
        }
    }
}
