//! The controllers of the control plane that remember something between two looks.

use replank_model::object::Kind;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_model::view::{Change, View};

use super::autoscaling::Autoscaling;
use super::disruption::Disruption;
use super::drains::{Drains, StandingDrain};
use super::garbage::GarbageCollector;
use super::karpenter::Karpenter;
use super::namespaces::Namespaces;
use super::nodes::NodeLifecycle;
use super::operators::Operators;
use super::pod_gc::PodGc;
use super::quotas::Quotas;
use super::rollouts::Rollouts;
use super::taint_eviction::TaintEviction;
use super::volumes::Volumes;
use super::workflows::Workflows;
use super::{Ctx, PodChange};
use crate::asked::Asked;
use crate::durations::Assumption;
use crate::event::ControlDue;
use crate::load::Load;
use crate::timing::{CloudTimings, Lasting};

/// All of them.
#[derive(Debug)]
pub(crate) struct Control {
    disruption: Disruption,
    nodes: NodeLifecycle,
    taints: TaintEviction,
    pod_gc: PodGc,
    garbage: GarbageCollector,
    namespaces: Namespaces,
    quotas: Quotas,
    autoscaling: Autoscaling,
    operators: Operators,
    volumes: Volumes,
    workflows: Workflows,
    rollouts: Rollouts,
    karpenter: Karpenter,
    drains: Drains,
}

impl Control {
    /// Machines that a controller launches and terminates take exactly so long.
    pub(crate) fn takes(&mut self, what: Lasting, span: Span) {
        self.karpenter.timings.set(what, span);
    }

    pub(crate) fn new(timings: CloudTimings) -> Self {
        Self {
            disruption: Disruption::default(),
            nodes: NodeLifecycle::default(),
            taints: TaintEviction::default(),
            pod_gc: PodGc::default(),
            garbage: GarbageCollector::default(),
            namespaces: Namespaces::default(),
            quotas: Quotas::default(),
            autoscaling: Autoscaling::default(),
            operators: Operators::default(),
            volumes: Volumes::new(timings),
            workflows: Workflows::default(),
            rollouts: Rollouts::default(),
            karpenter: Karpenter::new(timings),
            drains: Drains::default(),
        }
    }

    /// Everything that is there at the beginning has been told.
    pub(crate) fn start(&mut self, ctx: &mut Ctx<'_>) {
        self.garbage.start(ctx.view());
        self.volumes.start(ctx);
    }

    /// Custom resources are looked after from now on, as their operators would.
    pub(crate) fn assume_operators(&mut self) {
        self.operators.assume();
        self.workflows.assume();
        self.rollouts.assume();
    }

    /// Somebody drains nodes, one after the other.
    pub(crate) fn drain(&mut self, ctx: &mut Ctx<'_>, nodes: Vec<NodeName>) {
        self.drains.begin(ctx, nodes);
    }

    /// Whoever drains a node gives up.
    pub(crate) fn give_up_drain(&mut self, node: &NodeName) {
        self.drains.give_up(node);
    }

    /// Drains that have not ended.
    pub(crate) fn standing_drains(&self, view: &View) -> Vec<StandingDrain> {
        self.drains.standing(view)
    }

    /// What was asked for in drains.
    pub(crate) fn take_asked(&mut self) -> Vec<Asked> {
        self.drains.take_asked()
    }

    /// Says what the targets of autoscalers are asked to do over time.
    pub(crate) fn load(&mut self, ctx: &mut Ctx<'_>, loads: Vec<Load>) {
        self.autoscaling.load(ctx, loads);
    }

    /// What had to be assumed about Workflows and Rollouts so far.
    pub(crate) fn assumptions(&self) -> impl Iterator<Item = Assumption> + '_ {
        self.workflows.assumptions().chain(self.rollouts.assumptions())
    }

    /// Tells those of a change of anything but a pod whom its kind concerns.
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        let Some(object) = new.as_ref().or(old.as_ref()) else { return };
        match object.kind() {
            Kind::Node => {
                self.nodes.watch(ctx, change);
                self.taints.watch(ctx, change);
                self.pod_gc.watch(ctx, change);
                self.tell_all_kinds(ctx, change);
                self.volumes.watch(ctx, change);
                self.karpenter.watch(ctx, change);
            }
            Kind::Deployment | Kind::ReplicaSet => {
                self.disruption.watch(ctx, change);
                self.tell_all_kinds(ctx, change);
                self.autoscaling.watch(ctx, change);
                self.rollouts.watch(ctx, change);
            }
            Kind::StatefulSet | Kind::ReplicationController => {
                self.disruption.watch(ctx, change);
                self.tell_all_kinds(ctx, change);
                self.autoscaling.watch(ctx, change);
            }
            Kind::Other => {
                self.disruption.watch(ctx, change);
                self.tell_all_kinds(ctx, change);
                self.autoscaling.watch(ctx, change);
                self.workflows.watch(ctx, change);
                self.rollouts.watch(ctx, change);
            }
            Kind::PodDisruptionBudget | Kind::CustomResourceDefinition => {
                self.disruption.watch(ctx, change);
                self.tell_all_kinds(ctx, change);
            }
            Kind::Namespace => {
                self.garbage.watch(ctx, change);
                self.namespaces.watch(ctx, change);
                self.quotas.watch(ctx, change);
            }
            Kind::HorizontalPodAutoscaler => {
                self.tell_all_kinds(ctx, change);
                self.autoscaling.watch(ctx, change);
            }
            Kind::PersistentVolume | Kind::PersistentVolumeClaim => {
                self.tell_all_kinds(ctx, change);
                self.volumes.watch(ctx, change);
            }
            Kind::VolumeAttachment => {
                self.tell_all_kinds(ctx, change);
                self.volumes.watch(ctx, change);
                self.karpenter.watch(ctx, change);
            }
            Kind::NodeClaim => {
                self.tell_all_kinds(ctx, change);
                self.karpenter.watch(ctx, change);
            }
            Kind::Pod
            | Kind::PriorityClass
            | Kind::StorageClass
            | Kind::CsiDriver
            | Kind::CsiNode
            | Kind::CsiStorageCapacity
            | Kind::ResourceQuota
            | Kind::DaemonSet
            | Kind::ControllerRevision
            | Kind::CronJob
            | Kind::Job
            | Kind::Service
            | Kind::EndpointSlice => self.tell_all_kinds(ctx, change),
        }
    }

    /// Tells those of a change whom objects of every kind concern.
    fn tell_all_kinds(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        self.garbage.watch(ctx, change);
        self.quotas.watch(ctx, change);
    }

    /// Tells each of a change of a pod.
    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &Change, pod: &PodChange<'_>) {
        self.disruption.pod_changed(ctx, pod);
        self.nodes.pod_changed(ctx, pod);
        self.taints.pod_changed(ctx, pod);
        self.pod_gc.pod_changed(ctx, pod);
        self.tell_all_kinds(ctx, change);
        self.autoscaling.watch(ctx, change);
        self.operators.watch(ctx, change);
        self.volumes.pod_changed(ctx, pod);
        self.workflows.watch(ctx, change);
        self.karpenter.pod_changed(ctx, pod);
    }

    /// A kubelet has renewed its lease for the last time.
    pub(crate) fn node_fell_silent(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.nodes.fall_silent(ctx, node);
        self.volumes.node_fell_silent(ctx, node);
    }

    /// A kubelet that is not simulated has renewed its lease.
    pub(crate) fn hear(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.nodes.hear(ctx, node);
    }

    /// A kubelet renews its lease again.
    pub(crate) fn node_speaks_again(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.nodes.speak_again(ctx, node);
        self.volumes.node_speaks_again(ctx, node);
    }

    /// Lets one do what is due; the nodes whose kubelets are not heard of again.
    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: ControlDue) -> Vec<NodeName> {
        match due {
            ControlDue::Disruption(due) => self.disruption.handle(ctx, due),
            ControlDue::Nodes(due) => self.nodes.handle(ctx, due),
            ControlDue::Taints(due) => self.taints.handle(ctx, due),
            ControlDue::PodGc => self.pod_gc.handle(ctx),
            ControlDue::Garbage => self.garbage.handle(ctx),
            ControlDue::Namespaces(due) => self.namespaces.handle(ctx, due),
            ControlDue::Quota(slot) => self.quotas.handle(ctx, slot),
            ControlDue::Autoscaler(slot) => self.autoscaling.handle(ctx, slot),
            ControlDue::Operators(due) => self.operators.handle(ctx, due),
            ControlDue::Volumes(due) => self.volumes.handle(ctx, due),
            ControlDue::Workflow(due) => self.workflows.handle(ctx, due),
            ControlDue::Rollout(due) => self.rollouts.handle(ctx, due),
            ControlDue::Drains(due) => self.drains.handle(ctx, due),
            ControlDue::Karpenter(due) => {
                self.karpenter.handle(ctx, due);
                return self.karpenter.take_silent();
            }
        }
        Vec::new()
    }
}
