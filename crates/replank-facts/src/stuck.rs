//! Pods that do not end: from when on one counts as stuck, and what is known of why.
//!
//! A pod on its way out is due to be gone when its grace is over (`metadata.deletionTimestamp` has the grace in it). Its
//! kubelet ends the containers, unmounts the volumes and takes the pod out of the API; a finalizer may keep it there. One that
//! is still there some minutes later (`stuckTerminating.after`) is stuck. Whose fault that is shows by what is known of
//! its node: users' reports name a kubelet or a container runtime of one machine image (awslabs/amazon-eks-ami#563, #1933, #2499), a
//! volume that is not detached, a finalizer that nobody takes away.

use replank_model::object::condition::{self};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_EKS_IMAGE, Node};
use replank_model::object::pod::Pod;
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::evidence::{Evidence, NodeEvidence};

use crate::groups;
use crate::plan::StuckTerminating;

/// When a pod on its way out is due to be gone; `None` for one that is not.
#[must_use]
pub fn due(pod: &Pod) -> Option<Time> {
    pod.meta.deletion_timestamp
}

/// Whether a pod has not ended though its grace and the plan's patience are over.
#[must_use]
pub fn is_stuck(policy: &StuckTerminating, pod: &Pod, now: Time) -> bool {
    due(pod).is_some_and(|due| now >= due + policy.after)
}

/// The stuck pods of a cluster, and on which machine images they are.
#[derive(Clone, Debug, Default)]
pub struct Census {
    images: Vec<(Text, usize)>,
}

impl Census {
    /// Counts all stuck pods.
    #[must_use]
    pub fn of(view: &View, policy: &StuckTerminating, now: Time) -> Self {
        let mut census = Self::default();
        let stuck = view.pods.unordered().map(|(_, pod)| pod).filter(|pod| is_stuck(policy, pod, now));
        for node in stuck.filter_map(|pod| view.node(pod.node.as_ref()?)) {
            let image = image_of(view, node);
            match census.images.iter_mut().find(|(known, _)| *known == image) {
                Some((_, count)) => *count += 1,
                None => census.images.push((image, 1)),
            }
        }
        census
    }

    /// Stuck pods on nodes of an image, and on nodes of others.
    fn count(&self, image: &Text) -> (usize, usize) {
        let all: usize = self.images.iter().map(|(_, count)| count).sum();
        let alike = self.images.iter().find(|(known, _)| known == image).map_or(0, |(_, count)| *count);
        (alike, all - alike)
    }

    /// What is known of a pod on its way out.
    #[must_use]
    pub fn evidence(&self, view: &View, pod: &Pod) -> Option<Evidence> {
        let grace = pod.meta.deletion_grace_period_seconds.unwrap_or_else(|| pod.grace_seconds());
        let statuses = pod.status.container_statuses.iter();
        let node = pod.node.as_ref().and_then(|name| view.node(name));
        Some(Evidence {
            due: due(pod)?,
            grace: Span::from_secs(grace),
            finalizers: pod.meta.finalizers.clone(),
            running: statuses.filter(|status| status.state.running.is_some()).count(),
            volumes: node.map(|node| attached(view, pod, node)).unwrap_or_default(),
            node: node.map(|node| self.of_node(view, node)),
        })
    }

    fn of_node(&self, view: &View, node: &Node) -> NodeEvidence {
        let image = image_of(view, node);
        let (alike, elsewhere) = self.count(&image);
        let ready = condition::find(&node.status.conditions, "Ready");
        NodeEvidence {
            name: node.name(),
            ready: node.ready(),
            since: ready.and_then(|ready| ready.last_transition_time),
            kubelet: node.status.node_info.kubelet_version.clone(),
            runtime: node.status.node_info.container_runtime_version.clone(),
            image,
            alike,
            elsewhere,
        }
    }
}

/// The machine image of a node: its instance's launch template's, the label of EKS, or what the operating system calls itself.
fn image_of(view: &View, node: &Node) -> Text {
    let instance = view.instances().get(&groups::instance_id_of(node));
    let template = instance.and_then(|instance| {
        let group = view.groups().get(&instance.group)?;
        group.made_from(instance)
    });
    let of_template = template.map(|template| &template.image).filter(|image| !image.is_empty());
    of_template
        .or_else(|| node.meta.labels.get(LABEL_EKS_IMAGE))
        .unwrap_or(&node.status.node_info.os_image)
        .clone()
}

/// Volumes of a pod's claims that the node's status lists as attached.
fn attached(view: &View, pod: &Pod, node: &Node) -> Vec<Text> {
    let claims = pod.spec.volumes.iter().filter_map(|volume| volume.source.persistent_volume_claim.as_ref());
    let volumes = claims.filter_map(|claim| {
        let key = Key { namespace: pod.meta.namespace.clone(), name: claim.claim_name.clone() };
        let claim = view.persistent_volume_claims.by_key(&key)?;
        let name = &claim.spec.volume_name;
        let volume = view.persistent_volumes.by_key(&Key::cluster(name.clone()))?;
        let handle = volume.spec.csi.as_ref().map(|csi| &*csi.volume_handle);
        let is_attached = node.status.volumes_attached.iter().any(|attached| {
            let tail = attached.name.rsplit(['^', '/']).next();
            tail == handle || tail == Some(name.as_str())
        });
        is_attached.then(|| name.text().clone())
    });
    let mut volumes: Vec<Text> = volumes.collect();
    volumes.sort();
    volumes
}

#[cfg(test)]
mod tests;
