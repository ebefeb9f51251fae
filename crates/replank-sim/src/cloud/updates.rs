//! What is remembered of updates of managed node groups.

use std::collections::BTreeMap;

use replank_model::object::cloud::{GroupSize, LaunchTemplateRef};
use replank_model::text::{GroupName, InstanceId};
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

/// The updates in progress.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Nodegroups {
    pub(super) updates: BTreeMap<GroupName, Update>,
    /// How many updates there have been: each has an id of its own.
    pub(super) count: u64,
    /// Nodes that are replaced at once, where a group says so.
    #[serde(default)]
    pub(super) max_unavailable: BTreeMap<GroupName, u32>,
}

/// An update under way.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Update {
    pub(super) former: LaunchTemplateRef,
    pub(super) before: GroupSize,
    pub(super) force: bool,
    pub(super) phase: Phase,
}

/// How far an update is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    ScaleUp {
        since: Time,
    },
    Upgrade {
        drains: BTreeMap<InstanceId, Drain>,
        #[serde(default)]
        lacks: Option<Lack>,
    },
    ScaleDown,
    Resize {
        to: GroupSize,
    },
}

/// Nodes that went and are not replaced yet, where old nodes go first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Lack {
    pub(super) nodes: u32,
    /// Since when it has not become less.
    pub(super) since: Time,
}

impl Lack {
    /// What is lacked now, by what was lacked before.
    pub(super) fn after(before: Option<Self>, nodes: u32, now: Time) -> Option<Self> {
        let since = before.filter(|before| nodes >= before.nodes).map_or(now, |before| before.since);
        (nodes > 0).then_some(Self { nodes, since })
    }
}

/// A node that is drained by an update.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Drain {
    pub(super) since: Time,
    /// Since when it has been empty.
    pub(super) empty: Option<Time>,
    pub(super) is_ended: bool,
}
