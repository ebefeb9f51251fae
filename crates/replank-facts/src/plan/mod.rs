//! The plan of a roll: what a person writes, typed and strictly validated.
//!
//! ```yaml
//! apiVersion: replank.dev/v1alpha1
//! kind: NodeRoll
//! metadata: {name: web-to-1-36}   # namespace: where the record of the run stands, kube-system if none is named
//! spec:
//!   groups: [web, batch]            # or selector: {matchLabels: …}; kubeletVersion: "<1.36" narrows either
//!   target:                         # what new nodes are; an empty target replaces like with like
//!     kubernetesVersion: "1.36"     # "1.36" is met by every patch of 1.36, "1.36.2" by that one only
//!     image: ami-0def
//!     labels: {tier: web, old: null}             # differences to the group's template; null takes a label away
//!     taints: ["dedicated=web:NoSchedule", "spot:NoSchedule-"]   # as in kubectl taint; `-` takes a taint away
//!     group: web-new                # where new nodes come up, if not in the group of those that go
//!   budget: {surge: 2, maxUnavailable: 0, minReadyPerZone: 1}
//!   order: leastDisruption          # or oldest, zoneByZone
//!   canary: {nodes: 1, soak: 10m}
//!   pace: {betweenNodes: 30s, parallel: 4}
//!   batch: {selector: {matchLabels: {tier: batch}}, wait: 6h, onDeadline: pause}   # pause | evict | skip
//!   health: {maxCrashLooping: 0, maxRestarting: 0, maxStuckTerminating: 0, maxNotReady: 0, maxBadNodes: 0}   # increases over the start; more: halt
//!   waves: [1, "10%", "50%", "100%"]   # instead of a canary: shares of the nodes after each of which the run stands still
//!   bake: 24h
//!   windows: [{start: "Mon-Fri 01:00", duration: 4h, timeZone: Asia/Tokyo}]        # when pods may be moved
//!   retain: {capacity: cordoned, for: 72h}             # cordoned | template | none: what `undo` goes back to
//!   stuckTerminating: {after: 5m, action: report}      # report | replaceNode | forceDelete
//!   deadNodes: {after: 10m, action: replace}           # nodes that are not Ready: replace | leave
//!   singletons: evict               # surge | evict | skip
//!   spread: honour                  # or lastPending: a topology spread keeps no pod on its node
//!   loadBalancer: {exclude: true, deregistrationDelay: 300s}
//!   blockingFindings: proceed       # or refuse: nothing is begun while something blocking is found
//!   localStorage: allow             # pods with an emptyDir: allow | refuse
//!   barePods: refuse                # pods that nobody would make again: refuse | evict
//!   lifecycleHooks: [drain]         # hooks whose actions Replank completes, besides its own
//!   atEnd: keepBegun                # nodes that are left when it ends blocked: keepBegun | uncordon | keep
//!   provider: external              # somebody else replaces drained nodes; absent: whoever made them
//!   external: {wait: 24h, oldNodes: avoid}  # how long that may take for each node; old nodes before their turn: avoid | cordon
//!   onFailure: pause               # or rollback: the former launch template, and nodes as they were
//!   progressDeadline: 1h            # without progress for so long, the run is blocked
//!   deadline: 168h                  # the whole run
//! ```
//!
//! (A real plan has a canary or waves, not both.)
//!
//! **Numbers.** `budget.surge`, `budget.maxUnavailable` and `canary.nodes` take a count or a percentage of the nodes that the
//! group wanted before the run. As in a Deployment, a percentage of `surge` is rounded up, one of `maxUnavailable` down, and
//! where both come out as 0, one node may be unavailable (pkg/controller/deployment/util `ResolveFenceposts`). Two
//! plain zeros are an error, as there. `canary.nodes` is rounded up. `surge: perZone` is one node for each zone in which the group
//! launches.
//!
//! **Defaults.** surge perZone, maxUnavailable 0, minReadyPerZone 0, order leastDisruption, no canary, soak 10m, betweenNodes 0s,
//! parallel 1, batch wait 6h, onDeadline pause, localStorage allow, barePods refuse, atEnd keepBegun, onFailure pause, progressDeadline 1h,
//! deadline 168h.
//!
//! **Moving into another group** (`target.group`). The other differences of `target` are then to that group's template, and
//! `budget` and `canary` are for all chosen groups taken together. Nodes are chosen by `groups`, and that group is none of them.
//!
//! Plans are read from JSON values ([`Plan::read`]); the binary turns YAML into one. All errors are reported at once, each
//! with its path, what was found, what was expected and what to do.

mod care;
mod error;
mod external;
mod nodes;
mod options;
mod read;
mod roll;
mod spec;
mod stages;
mod suggest;
#[cfg(test)]
mod tests;
mod windows;
mod write;

use replank_model::int_or_string::Rounding;
use replank_model::time::Span;

pub use care::{
    AtEnd, BlockingFindings, Care, DeadAction, DeadNodes, Health, LoadBalancer, Retain, Retained, Singletons,
    Spread, Stage, StuckTerminating, Waves,
};
pub use error::{PlanError, PlanErrors};
pub use external::{External, OldNodes, Provider};
pub use nodes::{VersionBound, VersionPrefix};
pub use options::RunOptions;
pub use suggest::nearest;
pub use windows::zone;
pub use windows::{Standing, Start, Window, Windows};
pub(crate) use write::selector_json;

use roll::share;
pub use roll::{
    API_VERSION, BarePods, Base, Batch, Budget, Canary, Chosen, ChosenBy, KIND, LocalStorage, NotSurge,
    OnDeadline, OnFailure, Order, Pace, Plan, Surge, TaintChange, Target,
};

/// From when on a pod that is kept up counts as not Ready: an ordinary start is over by then.
pub const NOT_READY_AFTER: Span = Span::from_minutes(5);

/// A budget in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Nodes beyond what the group wanted before the run.
    pub surge: u32,
    /// Nodes short of it.
    pub max_unavailable: u32,
}

impl Budget {
    /// The budget of a group that wanted `nodes` nodes before the run and launches in `zones` zones.
    #[must_use]
    pub fn allowance(&self, nodes: u32, zones: usize) -> Allowance {
        let surge = self.surge.count(nodes, zones);
        let max_unavailable = share(&self.max_unavailable, nodes, Rounding::Down);
        // Only a plan with somebody else who brings nodes may say so: one comes before another goes.
        if self.is_nothing() {
            return Allowance { surge: 0, max_unavailable: 0 };
        }
        match (surge, max_unavailable) {
            (0, 0) => Allowance { surge: 0, max_unavailable: 1 },
            (surge, max_unavailable) => Allowance { surge, max_unavailable },
        }
    }
}

impl Budget {
    /// Whether it says that there is no node more and none less than before, whatever the group.
    #[must_use]
    pub(crate) fn is_nothing(&self) -> bool {
        self.surge.is_zero() && self.max_unavailable.scaled(i64::from(i32::MAX), Rounding::Up) == Ok(0)
    }
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the plan.
    pub fn read(value: &serde_json::Value) -> Result<Self, PlanErrors> {
        spec::plan(value)
    }
}

impl Plan {
    /// Who else replaces nodes, if somebody does.
    #[must_use]
    pub fn external(&self) -> Option<&External> {
        match &self.provider {
            Provider::Automatic => None,
            Provider::External(external) => Some(external),
        }
    }
}
