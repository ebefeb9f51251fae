//! What the API server makes of a pod before it is stored: defaults, and what is derived at creation.
//!
//! Works on the API's JSON, so that fields which nobody models are left as they are. The same defaults hold in the pod
//! templates of workloads ([`default_pod_spec`]); those that a template does not get are in [`default_pod`].
//!
//! Sources (Kubernetes 1.36): `pkg/apis/core/v1/defaults.go`, `zz_generated.defaults.go` there,
//! `pkg/registry/core/pod/strategy.go`, `plugin/pkg/admission/defaulttolerationseconds`.

mod create;
mod image;
mod json;
mod spec;

use serde_json::{Map, Value};

pub use create::{add_default_tolerations, prepare_pod_for_create, qos_class};
pub use spec::default_pod_spec;

use crate::time::Time;

/// Fills in what the API server fills in when it reads a pod (`SetObjectDefaults_Pod`).
pub fn default_pod(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    create::default_pod_only(spec);
    default_pod_spec(spec);
}

/// The whole step from a pod as submitted to a pod as stored: defaults, then what is derived at creation. Admission
/// plugins (priority, default tolerations, service account) come between the two on a real server and are called by
/// those who simulate one.
pub fn admit_pod(pod: &mut Value, now: Time) {
    default_pod(pod);
    prepare_pod_for_create(pod, now);
}

/// The defaults of a pod template, as far as its spec goes.
pub fn default_pod_template(template: &mut Map<String, Value>) {
    json::nested(template, "spec", default_pod_spec);
}
