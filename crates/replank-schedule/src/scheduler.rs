//! Answers where pods fit.

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::pod::Pod;
use replank_model::text::{Namespace, NodeName};
use replank_model::view::{Change, View};

use super::base::Bases;
use super::ids;
use super::intern::Interned;
use super::options::{Gate, Options};
use super::plan::{ClassKey, Plan};
use super::select::Marks;
use super::world::World;

/// Answers where pods fit.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(super) options: Options,
    pub(super) world: World,
    pub(super) classes: Interned<ClassKey, Plan>,
    pub(super) bases: Bases,
    pub(super) marks: Marks,
    /// The world's epoch that classes and bases belong to.
    pub(super) epoch: u32,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Scheduler {
    /// A scheduler that knows nothing yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let compare_numbers = options.gates.is_on(Gate::TaintTolerationComparisonOperators);
        Self {
            options,
            world: World::new(compare_numbers),
            classes: Interned::default(),
            bases: Bases::default(),
            marks: Marks::default(),
            epoch: 0,
        }
    }

    /// Whether some pod that it knows, or has known lately, keeps others away by their labels.
    #[must_use]
    pub fn knows_repelling(&self) -> bool {
        self.world.specs.any_repels()
    }

    /// A scheduler that knows what the View knows.
    #[must_use]
    pub fn load(view: &View) -> Self {
        Self::load_with(view, Options::default())
    }

    /// As [`Scheduler::load`], with settings.
    #[must_use]
    pub fn load_with(view: &View, options: Options) -> Self {
        let mut new = Self::new(options);
        for (_, namespace) in view.namespaces.unordered() {
            let name = Namespace::new(namespace.meta.name.text().clone());
            new.world.put_namespace(&name, Some(&namespace.meta.labels));
        }
        for (_, service) in view.services.unordered() {
            new.world.services.observe(None, Some(service));
        }
        for (_, attachment) in view.volume_attachments.unordered() {
            let _nobody_asked_yet = new.world.volumes.observe_attachment(None, Some(attachment));
        }
        for (_, node) in view.nodes.unordered() {
            new.world.put_node(node.clone());
        }
        for (ix, pod) in view.pods.unordered() {
            new.take_in_pod(ix.raw(), None, Some(pod));
        }
        new.world.note_classes_in_use();
        new
    }

    /// Takes in a change that the View has already taken in.
    pub fn observe(&mut self, _view: &View, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old.as_ref(), new.as_ref()) {
            (_, Some(Object::Pod(new))) => {
                let old = if let Some(Object::Pod(old)) = old { Some(old) } else { None };
                self.pod_changed(*slot, old, Some(new));
            }
            (Some(Object::Pod(old)), None) => self.pod_changed(*slot, Some(old), None),
            (_, Some(Object::Node(node))) => {
                self.world.put_node(node.clone());
            }
            (Some(Object::Node(node)), None) => {
                if let Some(id) = self.world.nodes.find(&node.name()) {
                    self.world.remove_node(id);
                }
            }
            (old, new) => self.observe_other(old, new),
        }
    }

    pub(super) fn observe_other(&mut self, old: Option<&Object>, new: Option<&Object>) {
        self.world.owners.observe(old, new);
        match (old, new) {
            (_, Some(Object::Namespace(new))) => {
                let name = Namespace::new(new.meta.name.text().clone());
                self.world.put_namespace(&name, Some(&new.meta.labels));
            }
            (Some(Object::Namespace(old)), None) => {
                self.world.put_namespace(&Namespace::new(old.meta.name.text().clone()), None);
            }
            (Some(Object::Service(_)) | None, Some(Object::Service(_)))
            | (Some(Object::Service(_)), None) => {
                let service = |object: Option<&Object>| match object {
                    Some(Object::Service(service)) => Some(service.clone()),
                    _ => None,
                };
                self.world.services.observe(service(old).as_deref(), service(new).as_deref());
            }
            (_, Some(Object::VolumeAttachment(_))) | (Some(Object::VolumeAttachment(_)), None) => {
                let attachment = |object: Option<&Object>| match object {
                    Some(Object::VolumeAttachment(attachment)) => Some(attachment.clone()),
                    _ => None,
                };
                let (old, new) = (attachment(old), attachment(new));
                let nodes = self.world.volumes.observe_attachment(old.as_deref(), new.as_deref());
                for node in nodes.into_iter().flatten() {
                    self.forget_attached(&node);
                }
            }
            (_, Some(Object::CsiNode(node))) | (Some(Object::CsiNode(node)), None) => {
                self.forget_attached(&NodeName::from(&node.meta.name));
            }
            (_, Some(Object::PersistentVolumeClaim(claim)))
            | (Some(Object::PersistentVolumeClaim(claim)), None) => {
                self.world.volumes.observe_claim(&claim.meta.key());
                self.world.volumes.forget_all();
            }
            (_, Some(Object::PersistentVolume(volume))) | (Some(Object::PersistentVolume(volume)), None) => {
                self.world.volumes.observe_volume(&volume.meta.name);
                self.world.volumes.forget_all();
            }
            (_, Some(Object::StorageClass(_))) | (Some(Object::StorageClass(_)), None) => {
                self.world.volumes.forget_all();
            }
            // Everything else is looked up in the View when it is needed.
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(super) fn forget_attached(&mut self, node: &NodeName) {
        if let Some(id) = self.world.nodes.find(node) {
            self.world.volumes.forget_node(id);
        }
    }

    pub(super) fn pod_changed(&mut self, slot: u32, old: Option<&Arc<Pod>>, new: Option<&Arc<Pod>>) {
        self.tidy();
        self.take_in_pod(slot, old, new);
    }

    fn take_in_pod(&mut self, slot: u32, old: Option<&Arc<Pod>>, new: Option<&Arc<Pod>>) {
        let is_there = |pod: &&Arc<Pod>| !pod.is_terminal();
        let bound = new.filter(is_there).filter(|pod| pod.node.is_some());
        let known = self.world.pods.at_slot(slot);
        if let (Some(id), Some(pod)) = (known, bound)
            && self.is_same(id, pod)
        {
            self.world.change_pod(id, pod);
        } else {
            if let Some(id) = known {
                self.world.remove_pod(id);
            }
            if let Some((pod, node)) = bound.and_then(|pod| Some((pod, pod.node.as_ref()?))) {
                self.world.add_pod(pod, node, Some(slot));
            }
        }
        let waits = new.filter(is_there).filter(|pod| pod.node.is_none());
        let may_be_nominated = self.world.pods.has_nominees()
            || waits.is_some_and(|pod| pod.status.nominated_node_name.is_some());
        if !may_be_nominated && self.world.pods.assumed.is_empty() {
            return;
        }
        let Some(key) = new.or(old).map(|pod| pod.meta.key()) else { return };
        if waits.is_some() || self.world.pods.is_nominated(&key) {
            self.world.nominate(&key, waits);
        }
        // What was assumed has been observed, or can no longer come true.
        match (bound, waits) {
            (Some(_), _) => self.confirm(&key),
            (None, None) => {
                self.forget(&key);
            }
            (None, Some(_)) => {}
        }
    }

    /// Whether a pod, as it is, takes what it did and is meant by the same; it may be on its way out by now.
    pub(super) fn is_same(&mut self, id: ids::PodId, pod: &Arc<Pod>) -> bool {
        let entry = &self.world.pods[id];
        let (known, spec) = (&entry.pod, entry.spec);
        let is_alike = Some(&entry.node_name) == pod.node.as_ref()
            && known.meta.name == pod.meta.name
            && known.meta.namespace == pod.meta.namespace
            && known.meta.uid == pod.meta.uid
            && known.meta.labels == pod.meta.labels
            && known.spec == pod.spec;
        if !is_alike {
            return false;
        }
        // What containers have is read anew only where something new is said of them.
        let (was, is) = (&known.status, &pod.status);
        let has_same_containers = was.container_statuses.is_same(&is.container_statuses)
            && was.init_container_statuses.is_same(&is.init_container_statuses)
            && was.resources == is.resources
            && was.allocated_resources == is.allocated_resources
            && was.conditions.is_resize_refused() == is.conditions.is_resize_refused();
        has_same_containers || self.world.resized(pod, spec) == self.world.pods[id].resized
    }

    pub(super) fn tidy(&mut self) {
        self.world.tidy();
        if self.epoch != self.world.epoch {
            self.epoch = self.world.epoch;
            self.classes = Interned::default();
            self.bases = Bases::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::condition::{Condition, ConditionStatus};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resize_that_the_node_refuses_counts_no_longer() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop", "uid": "a"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": {"cpu": "800m"}}}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c",
                "allocatedResources": {"cpu": "400m"}, "resources": {"requests": {"cpu": "400m"}}}]}});
        let mut view = View::default();
        view.apply(Delta::Put(Object::from_json(pod).expect("a pod")));
        let mut scheduler = Scheduler::load(&view);
        let (ix, pod) = view.pods.unordered().next().expect("it is there");
        let mut refused = Pod::clone(pod);
        let condition = Condition {
            r#type: "PodResizePending".into(),
            status: ConditionStatus::True,
            reason: "Infeasible".into(),
            ..Condition::default()
        };
        refused.status.conditions = vec![condition].into();
        assert!(refused.status.container_statuses.is_same(&pod.status.container_statuses));
        let change = view.apply(Delta::from(refused));
        scheduler.observe(&view, &change);
        let counted = |scheduler: &Scheduler| {
            let id = scheduler.world.pods.at_slot(ix.raw()).expect("it is known");
            format!("{:?}", scheduler.world.pods[id].resized)
        };
        assert_eq!(counted(&scheduler), counted(&Scheduler::load(&view)));
    }
}
