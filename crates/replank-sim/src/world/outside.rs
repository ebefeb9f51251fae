//! What others do to the world: nodes fall silent, instances end, capacity runs out, people drain.

use std::sync::Arc;

use replank_apiserver::draw::Purpose;
use replank_facts::groups::instance_id_of;
use replank_facts::plan::Target;
use replank_model::delta::Delta;
use replank_model::object::cloud::{HealthStatus, Instance, Market};
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_model::time::Span;

use super::run::World;
use crate::cloud::{self, Capacity, Delivery, Hazard, StatusCheck, TargetChecks, Told};
use crate::context::Ctx;
use crate::controllers::drains::StandingDrain;
use crate::durations::Assumption;
use crate::kubelet::{ImageFault, ImageName, PodAct};
use crate::timing::Lasting;

impl World {
    /// A node's machine goes off: its kubelet renews its lease once more and is not heard of again.
    pub fn silence(&mut self, node: &NodeName) {
        self.kubelets.fall_silent(node);
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.control.node_fell_silent(&mut ctx, node);
    }

    /// Somebody else runs a node's kubelet: none is simulated, and the node is lost unless [`World::hear`] says that it is heard of.
    pub fn leave_kubelet_to_client(&mut self, node: &NodeName) {
        self.kubelets.fall_silent(node);
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        // A machine that had the name before may be off: that is nothing of this one.
        self.control.node_speaks_again(&mut ctx, node);
        self.control.hear(&mut ctx, node);
        self.touched += 1;
    }

    /// Whether a kubelet is simulated on a node, and is heard of.
    #[must_use]
    pub fn has_kubelet(&self, node: &NodeName) -> bool {
        !self.kubelets.is_left_to_client(node)
    }

    /// A kubelet that somebody else runs has renewed its lease or its node's status.
    pub fn hear(&mut self, node: &NodeName) {
        if !self.kubelets.is_left_to_client(node) {
            return;
        }
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.control.hear(&mut ctx, node);
    }

    /// A node's machine is on again: its kubelet renews its lease and takes up its pods. The Ready condition is the
    /// caller's to write.
    pub fn wake(&mut self, node: &NodeName) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.control.node_speaks_again(&mut ctx, node);
        self.kubelets.speak_again(&mut ctx, node);
        self.settle();
    }

    /// A node registers. If a machine that has gone off had its name before, as AWS gives an address to another instance, the
    /// kubelet under this name is another one: it is heard of, and takes up the pods that are bound to it.
    ///
    /// Where a client makes the node, the client runs its kubelet, too, and has done so before if it registers again.
    pub(super) fn name_is_given_anew(&mut self, node: &NodeName) {
        if self.has_kubelet(node) || self.is_asked_by_client {
            return;
        }
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.control.node_speaks_again(&mut ctx, node);
        self.kubelets.speak_again(&mut ctx, node);
    }

    /// Makes the kubelet of a pod do something out of turn; does nothing if no such pod is on a node.
    pub fn act(&mut self, pod: &Key, act: PodAct) {
        let Some(ix) = self.api.view().pods.find(pod) else { return };
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.kubelets.act(&mut ctx, ix, act);
        self.settle();
    }

    /// Nodes of an image misbehave from now on; `None`: they do no longer.
    pub fn image_fault(&mut self, image: &ImageName, fault: Option<ImageFault>) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.kubelets.image_fault(&mut ctx, image, fault);
        self.settle();
    }

    /// Whether a pod has felt a fault of this image.
    #[must_use]
    pub fn image_was_met(&self, image: &ImageName) -> bool {
        self.kubelets.image_was_met(image)
    }

    /// Ends the instance behind a node, as somebody else: nothing is drained, and the group wants as many as before. Whether
    /// there was one that is alive.
    pub fn end_instance(&mut self, node: &NodeName) -> bool {
        let Some(instance) = self.living(node) else { return false };
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.terminate(&mut ctx, &instance);
        self.settle();
        true
    }

    /// Somebody replaces the nodes that Replank has drained from now on, by such nodes; returns what that assumes.
    pub fn assume_replacer(&mut self, target: Target) -> Assumption {
        self.cloud.assume_replacer(target);
        self.cloud.replacer_assumption()
    }

    /// They leave a node as it is; whether there is such a node.
    pub(crate) fn leave_drained(&mut self, node: &NodeName) -> bool {
        let node = self.api.view().node(node).cloned();
        node.iter().for_each(|node| self.cloud.leave_drained(node));
        node.is_some()
    }

    /// How long somebody leaves an empty node before they take its machine away, where a script says it.
    #[must_use]
    pub fn replaces_after(&self) -> Option<Span> {
        self.replaces_after
    }

    /// Something takes so long from now on.
    pub(crate) fn takes(&mut self, what: Lasting, span: Span) {
        if what == Lasting::Replacement {
            self.replaces_after = Some(span);
        }
        match what {
            Lasting::Sight => self.see_within(span),
            Lasting::Replacement | Lasting::Start | Lasting::Stop => {
                self.cloud.takes(what, span);
                self.control.takes(what, span);
            }
        }
    }

    /// EC2's status checks of the instance behind a node fail, and its kubelet does not report; or both are well again. Whether there is one that is alive.
    pub(crate) fn check_status(&mut self, node: &NodeName, status: StatusCheck) -> bool {
        let Some(instance) = self.living(node) else { return false };
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        match status {
            StatusCheck::Fails => self.cloud.impair(&mut ctx, &instance),
            StatusCheck::Passes => self.cloud.recover(&instance),
        }
        self.settle();
        true
    }

    /// Health checks of the targets that a group registers from now on fail; or all pass.
    pub(crate) fn set_target_checks(&mut self, group: &GroupName, checks: TargetChecks) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.set_target_checks(&mut ctx, group, checks);
        self.settle();
    }

    /// The instance behind a node fails the health checks of its target groups from now on; whether there is one that is alive.
    pub(crate) fn fail_target_checks(&mut self, node: &NodeName) -> bool {
        let Some(instance) = self.living(node) else { return false };
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.fail_target_checks(&mut ctx, &instance);
        self.settle();
        true
    }

    /// RegisterTargets of the instance behind a node; whether there is one that is alive.
    pub(crate) fn register_targets(&mut self, node: &NodeName) -> bool {
        let Some(instance) = self.living(node) else { return false };
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.register_targets(&mut ctx, &instance);
        self.settle();
        true
    }

    /// SetInstanceHealth of the instance behind a node; whether there is one that is alive.
    pub(crate) fn set_instance_health(&mut self, node: &NodeName, health: HealthStatus) -> bool {
        let Some(instance) = self.living(node) else { return false };
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        cloud::mark(&mut ctx, &instance, health);
        self.settle();
        true
    }

    /// The instance behind a node, if there is one that is alive.
    fn living(&self, node: &NodeName) -> Option<Arc<Instance>> {
        let view = self.api.view();
        let id = view.node(node).map(|node| instance_id_of(node))?;
        view.instances().get(&id).filter(|known| known.state.is_alive()).cloned()
    }

    /// Has the cloud say something about the instances behind nodes, and makes it come true. The error is the position of a node
    /// without an instance that is alive.
    pub(crate) fn warn(&mut self, nodes: &[NodeName], told: Told) -> Result<(), usize> {
        let found = nodes.iter().enumerate().map(|(at, node)| self.living(node).ok_or(at));
        let instances: Vec<Arc<Instance>> = found.collect::<Result<_, _>>()?;
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.warn(&mut ctx, &instances, told);
        self.tell_what_was_said();
        self.settle();
        Ok(())
    }

    /// Nodes of a group whose instances are in service and about which nothing was said: of one zone and market or any, so many of
    /// them, drawn instance by instance.
    pub(crate) fn draw_instances(
        &self,
        group: &GroupName,
        zone: Option<&Zone>,
        market: Option<Market>,
        count: u32,
    ) -> Vec<NodeName> {
        let all = self.api.view().instances().values().filter(|instance| {
            instance.group == *group
                && instance.is_counted()
                && zone.is_none_or(|zone| instance.zone == *zone)
                && market.is_none_or(|market| instance.market == market)
                && !self.cloud.is_doomed(&instance.id)
        });
        let mut drawn: Vec<(u64, &NodeName)> = all
            .filter_map(|instance| {
                let draw = self.draws.draw(instance.id.as_str(), Purpose::Interruption, 0);
                Some((draw.0, instance.node.as_ref()?))
            })
            .collect();
        drawn.sort_unstable();
        drawn.into_iter().take(count as usize).map(|(_, node)| node.clone()).collect()
    }

    /// Puts a message into the queue for events about instances.
    pub(crate) fn post(&mut self, body: &str) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.post(&mut ctx, body.to_owned());
    }

    /// Capacity runs out, or is back.
    pub(crate) fn set_capacity(&mut self, capacity: &Capacity, is_there: bool) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.set_capacity(&mut ctx, capacity.clone(), is_there);
    }

    /// Drains that somebody has begun and that have not ended: `kubectl drain` would still be asking.
    #[must_use]
    pub fn standing_drains(&self) -> Vec<StandingDrain> {
        self.control.standing_drains(self.view())
    }

    /// Whoever drains a node gives up, as `kubectl drain` does when its `--timeout` is over.
    pub fn give_up_drain(&mut self, node: &NodeName) {
        self.control.give_up_drain(node);
    }

    /// Somebody drains nodes, one after the other.
    pub(crate) fn drain(&mut self, nodes: Vec<NodeName>) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.control.drain(&mut ctx, nodes);
    }

    /// Instances are taken away at a rate from now on.
    pub(crate) fn begin_hazard(&mut self, hazard: &Hazard) {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        self.cloud.begin_hazard(&mut ctx, hazard.clone());
    }

    /// Protects the instance behind a node from scale-in, or no longer. Whether there is one that is alive.
    pub(crate) fn protect(&mut self, node: &NodeName, is_protected: bool) -> bool {
        let Some(instance) = self.living(node) else { return false };
        let changed = Instance { is_protected, ..Instance::clone(&instance) };
        self.request(|api| api.apply_cloud(Delta::Instance(changed.into())));
        true
    }

    /// Has the queue for events about instances deliver its messages otherwise.
    pub(crate) fn deliver(&mut self, delivery: Delivery) {
        self.cloud.deliver(delivery, self.agenda.now());
    }

    /// Bodies of messages that nobody could handle.
    #[must_use]
    pub fn dead_letters(&self) -> Vec<Text> {
        self.cloud.dead_letters()
    }

    /// Messages about instances that are neither deleted nor among the dead letters.
    #[must_use]
    pub fn messages_left(&self) -> usize {
        self.cloud.messages_left()
    }
}
