//! Everything there is.

use replank_model::object::Object;

/// Everything there is, to be written at once.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// The counter of versions.
    pub(crate) version: u64,
    /// The time in the world, in milliseconds.
    pub(crate) time: i64,
    /// All objects.
    pub(crate) objects: Vec<Object>,
    /// What cannot be told from objects.
    pub(crate) memory: String,
}
