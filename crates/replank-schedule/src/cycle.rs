//! The start of a cycle: what a pod asks for, and whether it is refused before any node is looked at.
//!
//! Source: `RunPreFilterPlugins` (Kubernetes 1.36 `pkg/scheduler/framework/runtime/framework.go`).

use std::sync::Arc;

use replank_model::object::meta::{Key, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::text::{Name, Namespace};
use replank_model::view::View;

use super::base::Bases;
use super::filter::{Cycle, Fewest, OnNode};
use super::ids::NodeId;
use super::intern::Interned;
use super::options::{Gate, Options};
use super::plan::{ClassKey, Owner, OwnerSelectorOf, Plan};
use super::plugin::{Code, Failure, Plugin, Reason, Reasons};
use super::predicate::Narrowing;
use super::volumes::KnownVolumes;
use super::world::World;

/// A pod is refused before any node is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Who refuses it.
    pub plugin: Plugin,
    /// How final that is.
    pub code: Code,
    /// Why.
    pub reasons: Reasons,
}

impl Rejection {
    fn new(plugin: Plugin, reason: Reason) -> Self {
        Self { plugin, code: Code::UnschedulableAndUnresolvable, reasons: smallvec::smallvec![reason] }
    }
}

/// Plugins that look at the pod before nodes are filtered, in order.
const PRE_FILTERS: [Plugin; 11] = [
    Plugin::NodeAffinity,
    Plugin::NodePorts,
    Plugin::NodeResourcesFit,
    Plugin::VolumeRestrictions,
    Plugin::NodeVolumeLimits,
    Plugin::VolumeBinding,
    Plugin::VolumeZone,
    Plugin::PodTopologySpread,
    Plugin::InterPodAffinity,
    Plugin::DynamicResources,
    Plugin::NodeDeclaredFeatures,
];

/// What decides how a pod is treated.
pub(super) fn class_of(world: &mut World, pod: &Pod) -> ClassKey {
    let has_constraints = !pod.spec.topology_spread_constraints.is_empty();
    ClassKey {
        spec: world.specs.id(&pod.spec, &mut world.resources),
        labels: world.labels.id(&pod.meta.namespace, &pod.meta.labels),
        owner: pod.meta.controller().and_then(owner),
        is_pinned: pod.pin.is_some(),
        pin: pod.pin.clone().filter(|_| has_constraints),
    }
}

/// The class of a pod, compiled and up to date.
pub(super) fn classify<'a>(
    world: &mut World,
    classes: &'a mut Interned<ClassKey, Plan>,
    bases: &mut Bases,
    view: &View,
    pod: &Pod,
) -> &'a mut Plan {
    let id = classes.id(class_of(world, pod), |key| world.compile(key.clone(), bases));
    let plan = classes.get_mut(id);
    bring_up_to_date(world, plan, bases, view);
    plan
}

/// Takes in what has changed of what a class was compiled from.
pub(super) fn bring_up_to_date(world: &mut World, plan: &mut Plan, bases: &mut Bases, view: &View) {
    if plan.arrivals_seen != world.images.arrivals {
        plan.arrivals_seen = world.images.arrivals;
        plan.base = bases.id(plan, &world.specs[plan.key.spec], &world.images);
    }
    if plan.siblings.is_some() {
        let namespace = &world.labels[plan.key.labels].namespace;
        let now = (world.services.generation(namespace), world.owners.generation());
        if plan.seen != now {
            let selector = plan.key.owner.as_ref().and_then(|owner| selector_of(view, namespace, owner));
            world.refresh_siblings(plan, selector, now);
        }
    }
}

fn owner(reference: &OwnerReference) -> Option<Owner> {
    let name = reference.name.clone();
    match (&*reference.api_version, &*reference.kind) {
        ("v1", "ReplicationController") => Some(Owner::ReplicationController(name)),
        ("apps/v1", "ReplicaSet") => Some(Owner::ReplicaSet(name)),
        ("apps/v1", "StatefulSet") => Some(Owner::StatefulSet(name)),
        _ => None,
    }
}

fn selector_of<'a>(view: &'a View, namespace: &Namespace, owner: &Owner) -> Option<OwnerSelectorOf<'a>> {
    let key = |name: &Name| Key::new(namespace.clone(), name.clone());
    match owner {
        Owner::ReplicationController(name) => {
            let owner = view.replication_controllers.by_key(&key(name))?;
            Some(OwnerSelectorOf::Set(&owner.spec.selector))
        }
        Owner::ReplicaSet(name) => {
            let owner = view.replica_sets.by_key(&key(name))?;
            owner.spec.selector.as_ref().map(OwnerSelectorOf::Object)
        }
        Owner::StatefulSet(name) => {
            let owner = view.stateful_sets.by_key(&key(name))?;
            owner.spec.selector.as_ref().map(OwnerSelectorOf::Object)
        }
    }
}

/// What DynamicResources says of a pod that uses ResourceClaims where there are none (`foreachPodResourceClaim`).
fn resource_claim(pod: &Pod) -> Option<Rejection> {
    let first = pod.spec.resource_claims.first()?;
    let namespace = pod.meta.namespace.clone();
    let reason = match &first.resource_claim_name {
        Some(claim) => Reason::ResourceClaimNotFound { namespace, claim: claim.clone() },
        None => Reason::ResourceClaimNotMade { namespace, pod: pod.meta.name.clone() },
    };
    Some(Rejection::new(Plugin::DynamicResources, reason))
}

impl<'a> Cycle<'a> {
    /// Begins a pod's cycle.
    pub(super) fn begin(
        world: &mut World,
        (classes, bases): (&'a mut Interned<ClassKey, Plan>, &mut Bases),
        options: &Options,
        view: &'a View,
        pod: &'a Arc<Pod>,
    ) -> (Self, Option<Rejection>) {
        let plan = classify(world, classes, bases, view, pod);
        let (repelled, pulled) = world.meaning(plan);
        let (volumes, refused) = KnownVolumes::of(&mut plan.volumes, world, view, pod);
        let narrowing = Narrowing::of(&pod.spec, pod.pin.as_ref());
        let rejection = if narrowing == Narrowing::Conflict {
            Some(Rejection::new(Plugin::NodeAffinity, Reason::AffinityTermsConflict))
        } else if let Some(refused) = refused {
            Some(Rejection::new(refused.plugin, refused.reason))
        } else {
            let unreadable = plan.unreadable.clone().map(Reason::UnreadableTerms);
            let unreadable = unreadable.map(|reason| Rejection::new(Plugin::InterPodAffinity, reason));
            unreadable.or_else(|| resource_claim(pod))
        };
        let cycle = Self {
            view,
            pod,
            plan,
            narrowing,
            volumes,
            repelled,
            pulled,
            fewest: Vec::new(),
            refused_by: Vec::new(),
            looks_at_features: options.gates.is_on(Gate::NodeDeclaredFeatures),
        };
        (cycle, rejection)
    }

    /// Works out what asking single nodes takes.
    pub(super) fn measure(&mut self, world: &mut World, nodes: &[NodeId]) {
        self.fewest = self.plan.hard.iter().map(|hard| Fewest::of(world, hard)).collect();
        if self.volumes.attaches() {
            world.look_up_attached(self.view, nodes);
        }
    }

    /// The plugins that had nothing to look at, up to the one that rejected the pod.
    pub(super) fn skipped_filters(&self, world: &World, rejection: Option<&Rejection>) -> Vec<Plugin> {
        let asked = PRE_FILTERS
            .iter()
            .take_while(|plugin| rejection.is_none_or(|rejection| rejection.plugin != **plugin));
        asked.filter(|plugin| self.skips(world, **plugin)).copied().collect()
    }

    /// The nodes that are looked at, by number.
    pub(super) fn scope(&self, world: &World) -> Vec<NodeId> {
        match &self.narrowing {
            Narrowing::All => world.nodes.ids().collect(),
            Narrowing::Names(names) => names.iter().filter_map(|name| world.nodes.find(name)).collect(),
            Narrowing::Conflict => Vec::new(),
        }
    }

    /// A node's first objection: with the pods that are nominated to it and come first, and then without them.
    pub(super) fn failure(&self, world: &World, node: NodeId) -> Option<Failure> {
        let as_it_is = OnNode::of(world, node);
        self.failure_of(world, node, &as_it_is)
    }

    /// As [`Cycle::failure`], on a node as it would be.
    pub(super) fn failure_of(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> Option<Failure> {
        if world.pods.has_nominees() {
            let name = &world.nodes[node].name;
            let mut with = on.clone();
            let mut is_changed = false;
            for entry in world.nominated_before(name, self.pod) {
                with.add(world, self, node, entry);
                is_changed = true;
            }
            if is_changed && let Some(failure) = self.first_failure(world, node, &with) {
                return Some(failure);
            }
        }
        self.first_failure(world, node, on)
    }
}
