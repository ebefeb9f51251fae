//! What is to be migrated, and to what.

use replank_model::object::meta::Key;

use super::goal::Goal;
use super::judge::Choice;
use super::subject::Migrated;

/// What is to be migrated, and to what.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its kind.
    pub kind: Migrated,
    /// Its namespace and name.
    pub key: Key,
    /// What it is to be.
    pub goal: Goal,
    /// Which path to take.
    pub choice: Choice,
}
