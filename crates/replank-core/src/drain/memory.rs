//! What a drain remembers.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::budget::Healths;
use replank_facts::room::Room;
use replank_model::text::Uid;
use replank_protocol::mark::ByHand;
use replank_protocol::taker::Taker;

/// What is remembered beside what stands in the cluster; all of it may be forgotten.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Nodes that were seen cordoned for this call, and what was written on them: one that is not cordoned any more was uncordoned by somebody. One that another call has cordoned besides names
    /// only that one.
    pub(super) held: BTreeMap<Uid, ByHand>,
    /// Nodes of which it was said that somebody else takes them away.
    pub(super) taken: BTreeSet<(Uid, Taker)>,
    pub(super) healths: Healths,
    pub(super) room: Option<Room>,
}
