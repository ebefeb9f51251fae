//! What a served cluster starts from.

use replank_model::view::View;

use crate::journal::Kept;

/// What a cluster starts from.
#[derive(Debug)]
pub enum Start {
    /// Nodes of a cluster that begins now: nothing was before.
    New(Box<View>),
    /// Objects, from which everything else follows.
    Objects(Box<View>),
    /// What was kept of an earlier process.
    Kept(Box<Kept>),
}
