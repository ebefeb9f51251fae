//! Templates of pods as an API server hands them out: with its defaults.
//!
//! A server fills defaults in whenever it reads an object, so that a dump has them. Objects from a repository, or written by hand, have not; the first
//! write to one of them (an autoscaler that scales it, say) would fill them in, and its controller would see a new template and roll it out.

use std::sync::Arc;

use replank_model::admission::default_pod_template;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::pod::PodTemplate;
use replank_model::object::workload::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use replank_model::view::View;

/// Fills in the defaults of templates that controllers compare.
pub(super) fn fill(view: &mut View) {
    let mut filled: Vec<Object> = Vec::new();
    for (_, known) in view.deployments.unordered() {
        if let Some(template) = with_defaults(&known.spec.template) {
            let mut one = Deployment::clone(known);
            one.spec.template = template;
            filled.push(one.into());
        }
    }
    for (_, known) in view.replica_sets.unordered() {
        if let Some(template) = with_defaults(&known.spec.template) {
            let mut one = ReplicaSet::clone(known);
            one.spec.template = template;
            filled.push(one.into());
        }
    }
    for (_, known) in view.stateful_sets.unordered() {
        if let Some(template) = with_defaults(&known.spec.template) {
            let mut one = StatefulSet::clone(known);
            one.spec.template = template;
            filled.push(one.into());
        }
    }
    for (_, known) in view.daemon_sets.unordered() {
        if let Some(template) = with_defaults(&known.spec.template) {
            let mut one = DaemonSet::clone(known);
            one.spec.template = template;
            filled.push(one.into());
        }
    }
    for object in filled {
        view.apply(Delta::Put(object));
    }
}

/// The template with defaults, if it lacks any. What came from a server is told by three of them that hardly anybody writes together, so that a large
/// dump is not read twice.
fn with_defaults(template: &PodTemplate) -> Option<PodTemplate> {
    let spec = &template.spec;
    let is_from_a_server = !spec.scheduler_name.is_empty()
        && spec.restart_policy.is_some()
        && spec.termination_grace_period_seconds.is_some();
    if is_from_a_server {
        return None;
    }
    let mut value = serde_json::to_value(template).expect("a template is JSON");
    default_pod_template(value.as_object_mut().expect("a template is an object"));
    let filled: PodTemplate = serde_json::from_value(value).expect("defaults are what the API has");
    (Arc::as_ref(&filled.spec) != Arc::as_ref(&template.spec)).then_some(filled)
}
