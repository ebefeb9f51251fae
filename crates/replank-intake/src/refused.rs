//! What no API server stores, and what would mislead whoever works with it: quantities below zero, and controllers that would not know their own pods.
//!
//! It is not the whole validation: a dump of a cluster has passed that. This is for what people write by hand.

use replank_model::labels::Labels;
use replank_model::object::Object;
use replank_model::object::pod::{PodSpec, PodTemplate};
use replank_model::object::resources::Resources;
use replank_model::quantity::Quantity;
use replank_model::selector::LabelSelector;

/// Why an API server would not store an object, in its words; `None` where nothing of this kind is wrong.
pub(crate) fn refusal(object: &Object) -> Option<String> {
    match object {
        Object::Pod(pod) => spec(&pod.spec, "spec"),
        Object::Node(node) => {
            let (capacity, allocatable) = (&node.status.capacity, &node.status.allocatable);
            below_zero(capacity, "status.capacity").or_else(|| below_zero(allocatable, "status.allocatable"))
        }
        Object::Deployment(of) => templated(&of.spec.template, of.spec.selector.as_ref()),
        Object::ReplicaSet(of) => templated(&of.spec.template, of.spec.selector.as_ref()),
        Object::StatefulSet(of) => templated(&of.spec.template, of.spec.selector.as_ref()),
        Object::DaemonSet(of) => templated(&of.spec.template, of.spec.selector.as_ref()),
        Object::ReplicationController(of) => of.spec.template.as_ref().and_then(of_template),
        Object::Job(of) => of_template(&of.spec.template),
        Object::Namespace(_)
        | Object::PriorityClass(_)
        | Object::StorageClass(_)
        | Object::CsiDriver(_)
        | Object::CsiNode(_)
        | Object::CsiStorageCapacity(_)
        | Object::VolumeAttachment(_)
        | Object::PersistentVolume(_)
        | Object::NodeClaim(_)
        | Object::CustomResourceDefinition(_)
        | Object::PersistentVolumeClaim(_)
        | Object::ResourceQuota(_)
        | Object::ControllerRevision(_)
        | Object::CronJob(_)
        | Object::HorizontalPodAutoscaler(_)
        | Object::PodDisruptionBudget(_)
        | Object::Service(_)
        | Object::EndpointSlice(_)
        | Object::Other(_) => None,
    }
}

fn of_template(template: &PodTemplate) -> Option<String> {
    spec(&template.spec, "spec.template.spec")
}

/// A controller whose selector does not match its own template would create pods without end. A template that a file leaves out is read off the pods.
fn templated(template: &PodTemplate, selector: Option<&LabelSelector>) -> Option<String> {
    let labels: &Labels = &template.meta.labels;
    let is_written = !template.spec.containers.is_empty();
    let matches = !is_written
        || selector.is_none_or(|selector| {
            selector.compile().is_ok_and(|selector| selector.matches(|key| labels.value(key)))
        });
    let stray = || {
        "spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`".to_owned()
    };
    (!matches).then(stray).or_else(|| of_template(template))
}

fn spec(spec: &PodSpec, path: &str) -> Option<String> {
    let lists = [("initContainers", &spec.init_containers), ("containers", &spec.containers)];
    let containers = lists.into_iter().flat_map(|(list, containers)| {
        containers.iter().enumerate().map(move |(index, container)| (list, index, container))
    });
    let mut wrong = containers.filter_map(|(list, index, container)| {
        let path = format!("{path}.{list}[{index}].resources");
        requirements((&container.resources.requests, &container.resources.limits), &path)
    });
    let of_pod = || {
        let resources = spec.resources.as_ref()?;
        requirements((&resources.requests, &resources.limits), &format!("{path}.resources"))
    };
    wrong.next().or_else(of_pod).or_else(|| below_zero(&spec.overhead, &format!("{path}.overhead")))
}

fn requirements((requests, limits): (&Resources, &Resources), path: &str) -> Option<String> {
    below_zero(requests, &format!("{path}.requests"))
        .or_else(|| below_zero(limits, &format!("{path}.limits")))
}

fn below_zero(resources: &Resources, path: &str) -> Option<String> {
    let (name, quantity) = resources.iter().find(|(_, quantity)| **quantity < Quantity::ZERO)?;
    Some(format!("{path}[{name}]: Invalid value: \"{quantity}\": must be greater than or equal to 0"))
}
