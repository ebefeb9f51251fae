//! What only a pod gets, and not a template: requests from limits, ports of the host's network, and what is derived at
//! creation.

use serde_json::{Map, Value, json};

use super::json::{default, each, member, nested};
use crate::object::pod::{Container, PodSpec};
use crate::object::requests::{
    Counting, HUGEPAGES_PREFIX, is_pod_level, limits_of_containers, of_containers,
};
use crate::object::resources::{CPU, MEMORY, ResourceRequirements, Resources};
use crate::quantity::Quantity;
use crate::reader;
use crate::time::Time;

type Members = Map<String, Value>;

/// `SetDefaults_Pod`.
pub(super) fn default_pod_only(spec: &mut Members) {
    for list in ["containers", "initContainers"] {
        each(spec, list, |container| nested(container, "resources", requests_from_limits));
    }
    // A template may keep it (`Convert_v1_Pod_To_core_Pod`).
    if member(spec, "terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|period| period < 0)
    {
        spec.insert("terminationGracePeriodSeconds".to_owned(), Value::from(1));
    }
    pod_level_limits(spec);
    pod_level_requests(spec);
    default(spec, "enableServiceLinks", true);
    if member(spec, "hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            each(spec, list, |container| each(container, "ports", host_port));
        }
    }
}

/// A limit without a request is the request.
fn requests_from_limits(resources: &mut Members) {
    let Some(Value::Object(limits)) = member(resources, "limits").cloned() else { return };
    let mut requests = match member(resources, "requests") {
        Some(Value::Object(requests)) => requests.clone(),
        Some(_) => return,
        None => Map::new(),
    };
    for (name, quantity) in limits {
        requests.entry(name).or_insert(quantity);
    }
    if !requests.is_empty() {
        resources.insert("requests".to_owned(), Value::Object(requests));
    }
}

/// On the host's network a container's ports are the host's.
fn host_port(port: &mut Members) {
    if member(port, "hostPort").is_none_or(|number| number == 0)
        && let Some(number) = member(port, "containerPort").cloned()
    {
        port.insert("hostPort".to_owned(), number);
    }
}

/// The parts of a spec that requests are counted from. A part that cannot be read counts as empty: validation refuses
/// such a pod anyway.
fn counted(spec: &Members) -> PodSpec {
    let containers = |key: &str| -> Vec<Container> {
        member(spec, key).and_then(|list| reader::read(list).ok()).unwrap_or_default()
    };
    PodSpec {
        containers: containers("containers"),
        init_containers: containers("initContainers"),
        resources: member(spec, "resources").and_then(|own| reader::read(own).ok()),
        ..Default::default()
    }
}

/// Huge pages that only the containers limit are limits of the pod too (`defaultHugePagePodLimits`).
fn pod_level_limits(spec: &mut Members) {
    if member(spec, "resources").is_none() {
        return;
    }
    let typed = counted(spec);
    let Some(own) = &typed.resources else { return };
    if own.limits.is_empty() && own.requests.is_empty() {
        return;
    }
    let containers = limits_of_containers(&typed);
    let missing = containers.iter().filter(|(name, _)| {
        name.starts_with(HUGEPAGES_PREFIX)
            && own.requests.get(name).is_none()
            && own.limits.get(name).is_none()
    });
    set_all(spec, "limits", missing);
}

/// Limits of the pod make requests of it (`defaultPodRequests`): those of its containers where they may be exceeded,
/// else the limits themselves.
fn pod_level_requests(spec: &mut Members) {
    if member(spec, "resources").is_none() {
        return;
    }
    let typed = counted(spec);
    let Some(own) = typed.resources.as_ref().filter(|own| !own.limits.is_empty()) else { return };
    let mut missing = Resources::default();
    let containers = of_containers(&typed, Counting::default());
    for (name, quantity) in containers.iter().filter(|(name, _)| matches!(&***name, CPU | MEMORY)) {
        missing.set(name.clone(), quantity.clone());
    }
    for (name, quantity) in own.limits.iter().filter(|(name, _)| is_pod_level(name)) {
        if missing.get(name).is_none() {
            missing.set(name.clone(), quantity.clone());
        }
    }
    set_all(spec, "requests", missing.iter().filter(|(name, _)| own.requests.get(name).is_none()));
}

fn set_all<'a>(
    spec: &mut Members,
    list: &str,
    quantities: impl Iterator<Item = (&'a crate::text::Text, &'a Quantity)>,
) {
    for (name, quantity) in quantities {
        nested(spec, "resources", |resources| {
            default(resources, list, Map::new());
            nested(resources, list, |members| {
                members.insert((**name).to_owned(), Value::from(quantity.to_string()));
            });
        });
    }
}

/// What the registry derives when a pod is created (`PrepareForCreate`): generation, a fresh status with the class of
/// service, and selectors narrowed by the pod's own labels.
pub fn prepare_pod_for_create(pod: &mut Value, now: Time) {
    // A class that is given is taken as it is (`qos.GetPodQOS`).
    let given = pod.pointer("/status/qosClass").and_then(Value::as_str).filter(|class| !class.is_empty());
    let class = match given {
        Some(class) => class.to_owned(),
        None => pod.get("spec").map_or("BestEffort", qos_class).to_owned(),
    };
    let is_gated =
        pod.pointer("/spec/schedulingGates").and_then(Value::as_array).is_some_and(|g| !g.is_empty());
    let labels = match pod.pointer("/metadata/labels") {
        Some(Value::Object(labels)) => labels.clone(),
        Some(_) | None => Map::new(),
    };
    let Value::Object(members) = pod else { return };
    if let Value::Object(metadata) = members.entry("metadata").or_insert_with(|| json!({})) {
        metadata.insert("generation".to_owned(), Value::from(1));
    }
    let mut status = json!({"phase": "Pending", "qosClass": class});
    if is_gated {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastTransitionTime": serde_json::to_value(now).unwrap_or(Value::Null),
        }]);
    }
    members.insert("status".to_owned(), status);
    nested(members, "spec", |spec| narrow_selectors(spec, &labels));
}

/// Writes `matchLabelKeys` and `mismatchLabelKeys` into the selectors (`mutatePodAffinity`,
/// `mutateTopologySpreadConstraints`).
fn narrow_selectors(spec: &mut Members, labels: &Members) {
    nested(spec, "affinity", |affinity| {
        for kind in ["podAffinity", "podAntiAffinity"] {
            nested(affinity, kind, |terms| {
                each(terms, "preferredDuringSchedulingIgnoredDuringExecution", |weighted| {
                    nested(weighted, "podAffinityTerm", |term| narrow(term, labels));
                });
                each(terms, "requiredDuringSchedulingIgnoredDuringExecution", |term| narrow(term, labels));
            });
        }
    });
    each(spec, "topologySpreadConstraints", |constraint| narrow(constraint, labels));
}

fn narrow(term: &mut Members, labels: &Members) {
    let mut added = Vec::new();
    for (list, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = member(term, list).and_then(Value::as_array).into_iter().flatten();
        for key in keys.filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                added.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if added.is_empty() {
        return;
    }
    nested(term, "labelSelector", |selector| {
        let list = selector.entry("matchExpressions").or_insert(Value::Null);
        if let Value::Array(expressions) = list {
            expressions.append(&mut added);
        } else {
            *list = Value::Array(added);
        }
    });
}

/// The class of service of a pod with this spec (`ComputePodQOS`): `Guaranteed`, `Burstable` or `BestEffort`.
#[must_use]
pub fn qos_class(spec: &Value) -> &'static str {
    let typed = spec.as_object().map(counted).unwrap_or_default();
    let mut requests = Resources::default();
    let mut limits = Resources::default();
    let mut is_guaranteed = true;
    let mut count = |requirements: &ResourceRequirements, needs_limits: bool| {
        let positive = |name: &str, list: &Resources| list.get(name).is_some_and(|q| q.signum() > 0);
        for name in [CPU, MEMORY] {
            for (sum, list) in [(&mut requests, &requirements.requests), (&mut limits, &requirements.limits)]
            {
                if let Some(quantity) = list.get(name).filter(|quantity| quantity.signum() > 0) {
                    let total = sum.get(name).map_or_else(|| quantity.clone(), |known| quantity + known);
                    sum.set(name, total);
                }
            }
            is_guaranteed &= !needs_limits || positive(name, &requirements.limits);
        }
    };
    match &typed.resources {
        Some(own) => count(own, !own.limits.is_empty()),
        None => typed.containers.iter().chain(&typed.init_containers).for_each(|c| count(&c.resources, true)),
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let met = requests.iter().all(|(name, request)| limits.get(name) == Some(request));
    let as_many = requests.iter().count() == limits.iter().count();
    if is_guaranteed && met && as_many { "Guaranteed" } else { "Burstable" }
}

/// Makes a pod bear the taints of a node that is not ready or not reachable for 300 s, unless it says something about
/// them itself (admission plugin DefaultTolerationSeconds).
pub fn add_default_tolerations(spec: &mut Members) {
    for taint in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerations = member(spec, "tolerations").and_then(Value::as_array);
        let is_covered = tolerations.into_iter().flatten().filter_map(Value::as_object).any(|toleration| {
            let is = |key: &str, allowed: [&str; 2]| {
                let text = member(toleration, key).and_then(Value::as_str).unwrap_or("");
                allowed.contains(&text)
            };
            is("key", [taint, ""]) && is("effect", ["NoExecute", ""])
        });
        if !is_covered {
            let toleration =
                json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
            default(spec, "tolerations", Value::Array(Vec::new()));
            if let Some(Value::Array(list)) = spec.get_mut("tolerations") {
                list.push(toleration);
            }
        }
    }
}
