//! What the cloud knows of its groups and instances.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::cloud::{HealthStatus, Instance};
use replank_model::text::{GroupName, InstanceId, Zone};
use replank_model::time::Time;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::events::Told;
use super::group::Retry;
use super::hooks::Holds;
use super::market::Markets;
use super::queue::Queue;
use super::registrations::Targets;
use super::replacer::Replacer;
use super::updates::Nodegroups;
use crate::asked::Asked;
use crate::timing::CloudTimings;

/// All groups.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SimulatedCloud {
    #[serde(skip)]
    pub(super) timings: CloudTimings,
    /// Names by the number that events carry.
    pub(super) groups: Vec<GroupName>,
    pub(super) instances: Vec<InstanceId>,
    pub(super) number_of: FxHashMap<InstanceId, u32>,
    /// What each group has.
    pub(super) alive: BTreeMap<GroupName, Alive>,
    /// Shape that each launched instance got, by its number.
    pub(super) launched: BTreeMap<GroupName, u64>,
    /// Groups with a reconciliation on the agenda.
    pub(super) is_due: Vec<bool>,
    pub(super) holds: Holds,
    pub(super) queue: Queue,
    /// Whether there is a queue: no event is told to nobody.
    pub(super) has_queue: bool,
    pub(super) markets: Markets,
    /// Positions of the shapes that were launched, by instance.
    pub(super) chosen: FxHashMap<InstanceId, usize>,
    /// Groups whose launches have failed.
    pub(super) retries: BTreeMap<GroupName, Retry>,
    /// Instances that a group launched beyond what it wants, to balance its zones, and that do not serve yet.
    pub(super) extra: BTreeMap<GroupName, BTreeSet<InstanceId>>,
    /// What was said since this was last asked.
    #[serde(skip)]
    pub(super) said: Vec<(Arc<Instance>, Told)>,
    /// Evictions that EKS has asked for since this was last asked.
    #[serde(skip)]
    pub(super) asked: Vec<Asked>,
    /// Instances that will be taken back.
    pub(super) doomed: BTreeSet<InstanceId>,
    /// Since when EKS drains the nodes of instances that its hook holds.
    pub(super) drained_since: BTreeMap<InstanceId, Time>,
    pub(super) nodegroups: Nodegroups,
    /// Instances whose status checks fail.
    pub(super) impaired: BTreeSet<InstanceId>,
    pub(super) targets: Targets,
    /// Who replaces drained nodes, if somebody does: a rehearsal is never remembered.
    #[serde(skip)]
    pub(super) replacer: Replacer,
    /// Events that somebody beyond the world hears, where there is somebody: then the queue of the world gets none.
    #[serde(skip)]
    pub(super) heard: Option<Vec<String>>,
}

/// Instances of a group that are alive.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Alive {
    pub(super) ids: BTreeSet<InstanceId>,
    pub(super) by_zone: BTreeMap<Zone, usize>,
    /// Those that are marked Unhealthy: groups of thousands are looked at all the time, and hardly ever is there one.
    #[serde(skip)]
    pub(super) unhealthy: BTreeSet<InstanceId>,
}

impl Alive {
    pub(super) fn add(&mut self, instance: &Instance) {
        self.note_health(instance);
        if self.ids.insert(instance.id.clone()) {
            *self.by_zone.entry(instance.zone.clone()).or_default() += 1;
        }
    }

    pub(super) fn note_health(&mut self, instance: &Instance) {
        if instance.health == HealthStatus::Unhealthy {
            self.unhealthy.insert(instance.id.clone());
        }
    }

    pub(super) fn remove(&mut self, instance: &Instance) {
        self.unhealthy.remove(&instance.id);
        if self.ids.remove(&instance.id)
            && let Some(count) = self.by_zone.get_mut(&instance.zone)
        {
            *count -= 1;
        }
    }
}
