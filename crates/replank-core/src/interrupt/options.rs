//! How interruptions are handled.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_facts::plan::{BarePods, LocalStorage, Plan, Target};
use replank_model::object::cloud::{LifecycleHook, Transition};
use replank_model::text::{GroupName, RunId, Text};
use replank_model::time::Span;
use replank_model::view::View;

/// How long a message about an unknown instance, or one without a node, is kept: several times the time a node takes to register.
pub const KEEP: Span = Span::from_minutes(5);

/// How interruptions are handled.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who handles them: written beside every cordon.
    pub run: RunId,
    /// Which lifecycle hooks are ours to complete.
    pub hooks: Hooks,
    /// How long a hook is kept waiting for pods that are no batch pods.
    pub patience: Span,
    /// What counts as a batch pod, and how long one is waited for.
    pub plan: Arc<Plan>,
    /// Where the cluster's instances are, if it is known: what a message says of another account or region is about none of them.
    pub home: Option<Home>,
}

/// An account of a cloud, in a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The account's number.
    pub account: Text,
    /// The region.
    pub region: Text,
}

/// Which lifecycle hooks are ours to complete: those that are named, and our own. All others are their owners': whoever completes an action ends somebody
/// else's wait. EKS's own never are ours, not even if they are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Their names.
    pub named: BTreeSet<Text>,
}

/// How the names of our own hooks begin.
const OWN: &str = "replank";

impl Hooks {
    pub(super) fn has(&self, name: &str) -> bool {
        let is_asked = self.named.contains(name) || name.starts_with(OWN);
        is_asked && !LifecycleHook::is_of_eks(name)
    }
}

impl Options {
    /// How interruptions are handled beside a run of a plan, or by themselves: batch pods as the plan says; all others move, since
    /// the node goes whether they may or not.
    #[must_use]
    pub fn beside(plan: Option<&Plan>) -> Self {
        let plan = match plan {
            Some(plan) => plan.clone(),
            None => Plan::of_groups("interruptions", Vec::new(), Target::default()),
        };
        let plan = Plan { bare_pods: BarePods::Evict, local_storage: LocalStorage::Allow, ..plan };
        Self {
            run: RunId::from("interruptions"),
            hooks: Hooks { named: plan.lifecycle_hooks.clone() },
            patience: Span::from_minutes(60),
            plan: plan.into(),
            home: None,
        }
    }
}

/// The hooks of a group that are ours and hold instances there, sorted.
pub(super) fn hooks_at<'v>(
    view: &'v View,
    options: &Options,
    group: &GroupName,
    at: Transition,
) -> Vec<&'v LifecycleHook> {
    let hooks = view.groups().get(group).map_or(&[][..], |group| group.hooks.as_slice());
    hooks.iter().filter(|hook| hook.at == at && options.hooks.has(&hook.name)).collect()
}
