//! What is known of Argo Rollouts (argo-rollouts `pkg/apis/rollouts/v1alpha1/types.go`, docs/migrating and specification): a Rollout as
//! it stands, one to be made, and whether the cluster knows the kind.

use std::sync::Arc;

use replank_model::object::cluster::{CustomResourceDefinition, Other};
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::object::{Object, render};
use replank_model::text::{Name, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::hindrance::{ARGO_DEFINITION, ScaleDown};
use serde_json::{Value, json};

use super::gitops;

/// API group of Rollouts.
const GROUP: &str = "argoproj.io";
/// API group and version of Rollouts.
pub(super) const API_VERSION: &str = "argoproj.io/v1alpha1";
/// Kind of Rollouts.
pub(super) const KIND: &str = "Rollout";

/// What stands against a Rollout in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// There is no such kind.
    Kind,
    /// It has no `workloadRef` (before Argo Rollouts 1.0), or no `scaleDown` in it (before 1.7), where that is asked for.
    Member,
}

/// Whether the cluster knows Rollouts that refer to a Deployment, and scale it down so.
pub(super) fn unknown(view: &View, asked: ScaleDown) -> Option<Unknown> {
    let Some(definition) = view.custom_resource_definitions.by_key(&Key::cluster(ARGO_DEFINITION)) else {
        return Some(Unknown::Kind);
    };
    let (_, version) = API_VERSION.split_once('/')?;
    let is_served = |served: &&_| {
        let served: &replank_model::object::cluster::CustomResourceVersion = served;
        served.served && &*served.name == version
    };
    if definition.spec.versions.iter().find(is_served).is_none() {
        return Some(Unknown::Kind);
    }
    lacks_member(definition, version, asked).then_some(Unknown::Member)
}

/// Whether the schema knows members of a Rollout's specification, and not those that are needed: the API server would drop them.
fn lacks_member(definition: &Arc<CustomResourceDefinition>, version: &str, asked: ScaleDown) -> bool {
    let value = render(&Object::from(definition.clone()));
    let versions = value.pointer("/spec/versions").and_then(Value::as_array);
    let found = versions.and_then(|all| all.iter().find(|one| one["name"] == version));
    let known = found.and_then(|one| one.pointer("/schema/openAPIV3Schema/properties/spec/properties"));
    let Some(known) = known else { return false };
    match known.pointer("/workloadRef/properties") {
        None => true,
        Some(members) => asked != ScaleDown::Never && members.get("scaleDown").is_none(),
    }
}

/// A Rollout as it stands.
#[derive(Clone, Debug)]
pub(super) struct Rollout {
    object: Arc<Other>,
    /// Name of the Deployment that it takes its template from.
    deployment: Option<Name>,
    pub(super) scale_down: ScaleDown,
    /// Pods that it wants.
    pub(super) replicas: i32,
    /// Pods that are ready.
    pub(super) ready: i32,
    /// Pods that are available.
    pub(super) available: i32,
    /// Whether its controller has seen its present state, and calls it healthy.
    pub(super) is_healthy: bool,
}

/// The Rollout of a name.
pub(super) fn find(view: &View, key: &Key) -> Option<Rollout> {
    view.other(GROUP, KIND, key).map(read)
}

/// Whether a Deployment has been handed over: a Rollout refers to it, and it wants no pods itself.
pub(super) fn is_handed_over(view: &View, live: &Deployment) -> bool {
    let rollout = find(view, &live.meta.key());
    live.spec.replicas == Some(0) && rollout.is_some_and(|rollout| rollout.refers_to(&live.meta.name))
}

/// A Rollout of the namespace that takes its template from a Deployment, whatever it is called.
pub(super) fn referring(view: &View, to: &Key) -> Option<Name> {
    let rollouts = view.others().filter(|other| &*other.kind == KIND && other.group() == GROUP);
    let mut found = rollouts.filter(|other| other.meta.namespace == to.namespace).map(read);
    found.find(|rollout| rollout.refers_to(&to.name)).map(|rollout| rollout.object.meta.name.clone())
}

fn read(object: &Arc<Other>) -> Rollout {
    let value = render(&Object::Other(object.clone()));
    let text = |path: &str| value.pointer(path).and_then(Value::as_str);
    let count = |path: &str| {
        let number = value.pointer(path).and_then(Value::as_i64).unwrap_or(0);
        i32::try_from(number).unwrap_or(i32::MAX)
    };
    let is_deployment = text("/spec/workloadRef/kind") == Some("Deployment");
    let observed = text("/status/observedGeneration").and_then(|text| text.parse::<i64>().ok());
    Rollout {
        object: object.clone(),
        deployment: text("/spec/workloadRef/name").filter(|_| is_deployment).map(Name::from),
        scale_down: text("/spec/workloadRef/scaleDown").and_then(ScaleDown::of).unwrap_or_default(),
        replicas: object.replicas.unwrap_or(1),
        ready: count("/status/readyReplicas"),
        available: count("/status/availableReplicas"),
        // Status is written apart from the rest, and may be of the state before.
        is_healthy: text("/status/phase") == Some("Healthy")
            && observed.is_none_or(|observed| observed >= object.meta.generation),
    }
}

impl Rollout {
    pub(super) fn refers_to(&self, name: &Name) -> bool {
        self.deployment.as_ref() == Some(name)
    }

    pub(super) fn is_terminating(&self) -> bool {
        self.object.meta.is_terminating()
    }

    pub(super) fn uid(&self) -> &Uid {
        &self.object.meta.uid
    }

    /// When it was made.
    pub(super) fn made(&self) -> Option<Time> {
        self.object.meta.creation_timestamp
    }

    pub(super) fn object(&self) -> Object {
        Object::Other(self.object.clone())
    }

    /// The same with another size.
    pub(super) fn with_replicas(&self, replicas: i32) -> Object {
        self.changed(|value| value["spec"]["replicas"] = replicas.into())
    }

    /// The same with another way to scale the Deployment down.
    pub(super) fn with_scale_down(&self, to: ScaleDown) -> Object {
        self.changed(|value| value["spec"]["workloadRef"]["scaleDown"] = to.as_str().into())
    }

    fn changed(&self, change: impl FnOnce(&mut Value)) -> Object {
        let mut value = render(&self.object());
        change(&mut value);
        read_back(value)
    }
}

fn read_back(value: Value) -> Object {
    match Object::from_json(value) {
        Ok(object) => object,
        Err(_) => unreachable!("a Rollout that was rendered can be read"),
    }
}

/// A Rollout in the place of a Deployment, under its name. It rolls as the Deployment does: a canary without steps. The template and the
/// selector are the Deployment's, by reference.
pub(super) fn rollout(live: &Deployment, replicas: i32, scale_down: ScaleDown) -> Object {
    let spec = &live.spec;
    let mut reference =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": live.meta.name.as_str()});
    if scale_down != ScaleDown::Never {
        reference["scaleDown"] = scale_down.as_str().into();
    }
    let mut canary = json!({});
    let rolling = spec.strategy.rolling_update.as_ref();
    let bounds = [
        ("maxSurge", rolling.and_then(|rolling| rolling.max_surge.as_ref())),
        ("maxUnavailable", rolling.and_then(|rolling| rolling.max_unavailable.as_ref())),
    ];
    for (name, bound) in bounds {
        if let Some(bound) = bound {
            canary[name] = json!(bound);
        }
    }
    let mut value = json!({"apiVersion": API_VERSION, "kind": KIND,
        "metadata": {"name": live.meta.name.as_str(), "namespace": live.meta.namespace.as_str(),
            "labels": gitops::unclaimed(&live.meta.labels)},
        "spec": {"replicas": replicas, "workloadRef": reference, "strategy": {"canary": canary}}});
    let mut put = |name: &str, number: Option<i32>| {
        if let Some(number) = number {
            value["spec"][name] = number.into();
        }
    };
    put("minReadySeconds", Some(spec.min_ready_seconds).filter(|seconds| *seconds != 0));
    put("revisionHistoryLimit", spec.revision_history_limit);
    put("progressDeadlineSeconds", spec.progress_deadline_seconds);
    read_back(value)
}
