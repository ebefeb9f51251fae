//! The outcome of a fix.

use std::fmt;

use super::Hunk;
use crate::convert::{Hold, Note};
use crate::release::Release;
use crate::source::Place;
use crate::table::Gvk;

/// A text that was fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The text, with its changes.
    pub text: String,
    /// Objects, and references to others, that are at another version.
    pub changes: Vec<Change>,
    /// What stays as it is, and why.
    pub left: Vec<Left>,
    /// The lines that go and come. No other byte is changed.
    pub hunks: Vec<Hunk>,
}

/// One change of version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where the version was written.
    pub place: Place,
    /// Name of the object, as far as it says one.
    pub name: String,
    /// Its namespace, where it says one.
    pub namespace: Option<String>,
    /// The field, where it is a reference to another object.
    pub field: Option<&'static str>,
    /// The version it had.
    pub from: Gvk,
    /// The version it has.
    pub to: Gvk,
    /// What was done beyond writing the same in other words.
    pub notes: Vec<Note>,
}

/// What is left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Where the version is written.
    pub place: Place,
    /// The version.
    pub used: Gvk,
    /// Why it is left.
    pub why: Why,
}

/// Why something is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A person has to decide.
    Hold(Hold),
    /// The cluster does not serve the successor yet.
    NotYet {
        /// The successor.
        to: Box<Gvk>,
        /// The first version that serves it.
        from: Release,
    },
    /// It is an object as a cluster shows it: what writes it has to change.
    Live,
    /// The text does not let itself be changed so that it says the right thing, or cannot be read at all.
    InTheWay(String),
    /// It keeps a Helm release that cannot be written anew.
    Release(String),
    /// It is part of a kustomization that is left as a whole.
    Kustomization(String),
    /// Something else of its list is left.
    OfList,
    /// It is named in a rule, of which a person has to decide.
    Rule(WhyRule),
}

/// Why a rule is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyRule {
    /// The controller manager gathers the rules of the role from other roles.
    Gathered,
    /// The rule is about everything of a group: what of that is meant, nobody says.
    All {
        /// Where one of it has gone.
        group: String,
    },
    /// With the other group in it the rule would grant more than it does.
    Besides {
        /// The other group.
        group: String,
        /// What it would grant there.
        resource: String,
    },
    /// A program answers.
    Webhook {
        /// What it would see.
        to: Box<Gvk>,
    },
    /// Expressions are about its fields.
    Policy {
        /// What they would see.
        to: Box<Gvk>,
    },
}

impl fmt::Display for WhyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gathered => f.write_str(
                "the rules of an aggregated role are overwritten: change the roles that it selects",
            ),
            Self::All { group } => {
                write!(f, "the rule covers its whole group: name the resources of {group} that it needs")
            }
            Self::Besides { group, resource } => write!(
                f,
                "with {group} added, the rule would also grant {resource} there: write a separate rule for {group}"
            ),
            Self::Webhook { to } => write!(
                f,
                "make sure that the webhook supports {to}, then add a rule with apiGroups [\"{}\"] and \
                 apiVersions [\"{}\"]",
                to.group, to.version
            ),
            Self::Policy { to } => write!(
                f,
                "adapt the expressions to {to}, then set apiGroups [\"{}\"] and apiVersions [\"{}\"]",
                to.group, to.version
            ),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hold(hold) => hold.fmt(f),
            Self::NotYet { to, from } => {
                write!(f, "{to} is served from {from} on: change it after that upgrade")
            }
            Self::Live => f.write_str("this is a live object: change its source"),
            Self::InTheWay(why) => write!(f, "the file cannot be edited in place: {why}"),
            Self::Release(why) => write!(f, "the Helm release cannot be rewritten: {why}"),
            Self::Kustomization(why) => write!(f, "its kustomization is left as a whole: {why}"),
            Self::Rule(why) => why.fmt(f),
            Self::OfList => {
                f.write_str("its list has one version for all items, and other items cannot be fixed")
            }
        }
    }
}
