//! Workloads of which no pod can be spared: those of one replica, and those whose disruption budget never lets one go.
//!
//! Evicting the only pod of a workload makes a gap until its successor is Ready. A rolling restart makes none: the new pod comes up
//! first, on a node that stays since all old ones are cordoned, and the old one goes when the new one is Ready
//! (kubernetes/kubernetes#66811). That works for Deployments whose strategy makes one pod more before it takes one away, and whose
//! pods can be there twice.

use std::fmt;
use std::sync::Arc;

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::object::affinity::PodAffinityTerm;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::volume::AccessMode;
use replank_model::object::workload::{Deployment, DeploymentStrategyType, ReplicaSet};
use replank_model::text::{Name, RunId, Text};
use replank_model::view::{Ix, View};

use crate::plan::{Plan, Singletons};
use crate::workload::workload_of;
use replank_protocol::mark;

/// A Deployment's `maxSurge` and `maxUnavailable` where it says nothing (apps/v1 defaults).
const DEFAULT_SHARE: &str = "25%";

/// Why a rolling restart does not move a workload without a gap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoSurge {
    /// Only Deployments make the new pod first.
    Kind(Text),
    /// Somebody else makes the Deployment, and may undo what is written on it.
    MadeBy(Text),
    /// Its rollouts are held.
    Paused,
    /// `Recreate` ends the old pods first.
    Recreate,
    /// Its `maxSurge` comes to nothing.
    NoSurge,
    /// Its `maxUnavailable` lets so many go before there are new ones.
    TakesAway(i64),
    /// A volume that one node, or one pod, may use at a time.
    Volume(Name),
    /// A claim of which nothing is known.
    UnknownClaim(Name),
    /// A port of the node, which two pods cannot share where there is one node only.
    HostPort(i32),
    /// Its pods keep off each other in places of which there is one only.
    Apart(Text),
}

impl fmt::Display for NoSurge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "a {kind} deletes the old pod before it creates the new one"),
            Self::MadeBy(owner) => write!(f, "it is owned by {owner}, which may revert a restart"),
            Self::Paused => f.write_str("its rollouts are paused"),
            Self::Recreate => f.write_str("its strategy is Recreate, which deletes the old pod first"),
            Self::NoSurge => f.write_str("its maxSurge is 0, so the old pod is deleted first"),
            Self::TakesAway(count) => {
                write!(
                    f,
                    "its maxUnavailable resolves to {count}, so old pods may be deleted before new ones are Ready"
                )
            }
            Self::Volume(claim) => write!(f, "its volume {claim} can be used by one node at a time"),
            Self::UnknownClaim(claim) => write!(f, "its claim {claim} is not in the snapshot"),
            Self::HostPort(port) => {
                write!(f, "it needs host port {port} on a second node, and only one node fits it")
            }
            Self::Apart(key) => {
                write!(f, "its anti-affinity allows one pod per {key}, and there is only one")
            }
        }
    }
}

/// Whether no pod of the pod's workload can be spared: it wants one only. Kinds that do not say how many they want, and those
/// whose pods end by themselves, are none.
#[must_use]
pub fn is_only_replica(view: &View, pod: &Pod) -> bool {
    let workload = workload_of(view, pod).filter(|workload| !workload.is_batch());
    workload.and_then(|workload| workload.replicas(view)) == Some(1)
}

/// Whether a budget covers the pod that lets none go even when all are healthy.
#[must_use]
pub fn is_never_let_go(view: &View, ix: Ix<Pod>) -> bool {
    view.budgets_of(ix).iter().any(|budget| {
        let status = &view.pod_disruption_budgets[*budget].status;
        status.expected_pods > 0 && status.desired_healthy >= status.expected_pods
    })
}

/// Whether the pod belongs to a workload of which none can be spared.
#[must_use]
pub fn is_singleton(view: &View, ix: Ix<Pod>, pod: &Pod) -> bool {
    is_only_replica(view, pod) || is_never_let_go(view, ix)
}

/// The Deployment that a rolling restart moves without a gap.
///
/// # Errors
/// What is in the way.
pub fn surging<'v>(view: &'v View, pod: &Pod) -> Result<&'v Arc<Deployment>, NoSurge> {
    let deployment = deployment_of(view, pod)?;
    if let Some(owner) = deployment.meta.controller() {
        return Err(NoSurge::MadeBy(Text::from(format!("{} {}", owner.kind, owner.name))));
    }
    if deployment.spec.paused {
        return Err(NoSurge::Paused);
    }
    check_strategy(deployment)?;
    check_volumes(view, pod)?;
    check_places(view, pod)?;
    Ok(deployment)
}

fn deployment_of<'v>(view: &'v View, pod: &Pod) -> Result<&'v Arc<Deployment>, NoSurge> {
    let named = |name: &Name| Key { namespace: pod.meta.namespace.clone(), name: name.clone() };
    let owner = pod.meta.controller().ok_or_else(|| NoSurge::Kind("pod without a controller".into()))?;
    if &*owner.kind != "ReplicaSet" {
        return Err(NoSurge::Kind(owner.kind.clone()));
    }
    let set = view.find::<ReplicaSet>(&named(&owner.name));
    let above = set.and_then(|set| set.meta.controller());
    let above = above.ok_or_else(|| NoSurge::Kind(owner.kind.clone()))?;
    let deployment = (&*above.kind == "Deployment").then(|| view.find::<Deployment>(&named(&above.name)));
    deployment.flatten().ok_or_else(|| NoSurge::Kind(above.kind.clone()))
}

/// pkg/controller/deployment/util `ResolveFenceposts`.
fn check_strategy(deployment: &Deployment) -> Result<(), NoSurge> {
    let strategy = &deployment.spec.strategy;
    if strategy.r#type == Some(DeploymentStrategyType::Recreate) {
        return Err(NoSurge::Recreate);
    }
    let replicas = i64::from(deployment.spec.replicas.unwrap_or(1));
    let rolling = strategy.rolling_update.as_ref();
    let scaled = |value: Option<&IntOrString>, rounding| {
        let default = IntOrString::String(DEFAULT_SHARE.into());
        value.unwrap_or(&default).scaled(replicas, rounding).unwrap_or(0)
    };
    let surge = scaled(rolling.and_then(|rolling| rolling.max_surge.as_ref()), Rounding::Up);
    let missing = scaled(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), Rounding::Down);
    match (surge, missing) {
        (..=0, _) => Err(NoSurge::NoSurge),
        (_, 1..) => Err(NoSurge::TakesAway(missing)),
        (_, _) => Ok(()),
    }
}

fn check_volumes(view: &View, pod: &Pod) -> Result<(), NoSurge> {
    for volume in &pod.spec.volumes {
        let Some(source) = &volume.source.persistent_volume_claim else { continue };
        let key = Key { namespace: pod.meta.namespace.clone(), name: source.claim_name.clone() };
        let claim = view.persistent_volume_claims.by_key(&key);
        let claim = claim.ok_or_else(|| NoSurge::UnknownClaim(source.claim_name.clone()))?;
        let is_shared =
            |mode: &AccessMode| matches!(mode, AccessMode::ReadWriteMany | AccessMode::ReadOnlyMany);
        if !claim.spec.access_modes.iter().any(is_shared) {
            return Err(NoSurge::Volume(source.claim_name.clone()));
        }
    }
    Ok(())
}

/// Whether the pod's own rules leave no second place. Which node has room is asked of the scheduler when it comes to it.
fn check_places(view: &View, pod: &Pod) -> Result<(), NoSurge> {
    let eligible = || view.nodes.unordered().map(|(_, node)| node);
    let eligible = || eligible().filter(|node| crate::daemon::is_eligible(&pod.spec, node));
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let port =
        containers.flat_map(|container| &container.ports).map(|port| port.host_port).find(|port| *port > 0);
    if let Some(port) = port.filter(|_| eligible().take(2).count() < 2) {
        return Err(NoSurge::HostPort(port));
    }
    let affinity = pod.spec.affinity.as_deref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let terms = affinity.map_or(&[][..], |anti| anti.required.as_slice());
    for term in terms.iter().filter(|term| is_about_itself(term, pod)) {
        let mut places: Vec<&str> =
            eligible().filter_map(|node| node.meta.labels.value(&term.topology_key)).collect();
        places.sort_unstable();
        places.dedup();
        if places.len() < 2 {
            return Err(NoSurge::Apart(term.topology_key.clone()));
        }
    }
    Ok(())
}

fn is_about_itself(term: &PodAffinityTerm, pod: &Pod) -> bool {
    let selector = term.label_selector.as_ref().and_then(|selector| selector.compile().ok());
    selector.is_some_and(|selector| selector.matches(|key| pod.meta.labels.value(key)))
}

/// Whether a run has restarted a Deployment since the pod was made.
#[must_use]
pub fn is_restarted_by(deployment: &Deployment, run: &RunId, pod: &Pod) -> bool {
    let written = &deployment.spec.template.meta.annotations;
    written.get(mark::RESTARTED_BY) == Some(run.text())
        && written.get(mark::RESTARTED_AT) != pod.meta.annotations.get(mark::RESTARTED_AT)
}

/// Whether a Deployment replaces the pod already: it was restarted since, or its rollout is not over.
#[must_use]
pub fn is_being_replaced(deployment: &Deployment, pod: &Pod) -> bool {
    let (spec, status) = (&deployment.spec, &deployment.status);
    let wanted = spec.replicas.unwrap_or(1);
    let restarted =
        |annotations: &replank_model::labels::Annotations| annotations.get(mark::RESTARTED_AT).cloned();
    restarted(&spec.template.meta.annotations) != restarted(&pod.meta.annotations)
        || status.observed_generation < deployment.meta.generation
        || status.updated_replicas < wanted
        || status.replicas > status.updated_replicas
        || status.available_replicas < wanted
}

/// What a plan's `singletons: surge` comes to for a pod whose workload can spare none; `None` where the plan says otherwise.
#[must_use]
pub fn surge_under(plan: Option<&Plan>, view: &View, pod: &Pod) -> Option<Result<(), NoSurge>> {
    match plan?.care.singletons {
        Singletons::Surge => Some(surging(view, pod).map(|_| ())),
        Singletons::Evict | Singletons::Skip => None,
    }
}

#[cfg(test)]
mod tests;
