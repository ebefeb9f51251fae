//! Whether a node has the DaemonSet pods that it ought to have.

use replank_model::object::affinity::{
    NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, Taint, TaintEffect,
};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::workload::DaemonSet;
use replank_model::view::View;

/// Taints that come and go by themselves while a node starts: DaemonSet pods are expected behind them.
const PASSING: [&str; 2] = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/// How many DaemonSets should have a Ready pod on the node and have none that stays.
///
/// A DaemonSet that has no Ready pod on any node does not count: it was broken before, and waiting for it would never end.
pub fn missing(view: &View, node: &Node) -> u32 {
    let pods = view.pods_on(&node.name());
    let has_ready_pod = |set: &DaemonSet| {
        pods.iter().map(|ix| &view.pods[*ix]).any(|pod: &std::sync::Arc<Pod>| {
            pod.is_ready()
                && !pod.is_terminating()
                && pod.meta.controller().is_some_and(|owner| owner.uid == set.meta.uid)
        })
    };
    let is_missing = |set: &DaemonSet| !is_broken(set) && belongs_on(set, node) && !has_ready_pod(set);
    let count = view.daemon_sets.unordered().filter(|(_, set)| is_missing(set)).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether a DaemonSet has no Ready pod on any node, though it ought to: it is waited for nowhere.
pub fn is_broken(set: &DaemonSet) -> bool {
    set.status.desired_number_scheduled > 0 && set.status.number_ready == 0
}

/// Whether the DaemonSet controller makes a pod for the node (pkg/controller/daemon `NodeShouldRunDaemonPod`).
fn belongs_on(set: &DaemonSet, node: &Node) -> bool {
    is_eligible(&set.spec.template.spec, node)
}

/// Whether a pod's selector, required node affinity and tolerations let it run on a node, whatever else is there.
pub fn is_eligible(spec: &PodSpec, node: &Node) -> bool {
    is_selected(spec, node) && is_tolerated(spec, node)
}

/// Whether a pod's selector and required node affinity let it run on a node, whatever its taints.
pub fn is_selected(spec: &PodSpec, node: &Node) -> bool {
    let labels = &node.meta.labels;
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    spec.node_selector.iter().all(|(key, value)| labels.value(key) == Some(value))
        && affinity
            .and_then(|affinity| affinity.required.as_ref())
            .is_none_or(|required| selects(required, node))
}

/// Whether a pod tolerates all taints of a node that do not go by themselves.
pub fn is_tolerated(spec: &PodSpec, node: &Node) -> bool {
    node.spec.taints.iter().all(|taint| is_borne(spec, taint))
}

fn is_borne(spec: &PodSpec, taint: &Taint) -> bool {
    taint.effect == TaintEffect::PreferNoSchedule
        || PASSING.iter().any(|prefix| taint.key.starts_with(prefix))
        || spec.tolerations.iter().any(|toleration| toleration.tolerates(taint, false))
}

fn selects(selector: &NodeSelector, node: &Node) -> bool {
    let holds = |term: &NodeSelectorTerm| {
        let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        let label = |key: &str| node.meta.labels.value(key);
        let field = |key: &str| (key == "metadata.name").then_some(node.meta.name.as_str());
        !is_empty
            && term.match_expressions.iter().all(|one| meets(one, label(&one.key)))
            && term.match_fields.iter().all(|one| meets(one, field(&one.key)))
    };
    selector.node_selector_terms.iter().any(holds)
}

fn meets(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let is_listed = value.is_some_and(|value| requirement.values.iter().any(|one| **one == *value));
    let numbers = || {
        let bound = requirement.values.first()?.parse::<i64>().ok()?;
        Some((value?.parse::<i64>().ok()?, bound))
    };
    match requirement.operator {
        NodeSelectorOperator::In => is_listed,
        NodeSelectorOperator::NotIn => !is_listed,
        NodeSelectorOperator::Exists => value.is_some(),
        NodeSelectorOperator::DoesNotExist => value.is_none(),
        NodeSelectorOperator::Gt => numbers().is_some_and(|(value, bound)| value > bound),
        NodeSelectorOperator::Lt => numbers().is_some_and(|(value, bound)| value < bound),
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn view(objects: Vec<Value>) -> View {
        objects.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("valid"))).collect()
    }

    fn node(labels: &Value, taints: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}, "spec": {"taints": taints}})
    }

    fn set(spec: &Value, ready: i32) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "namespace": "s", "uid": "d"},
            "spec": {"template": {"spec": spec}}, "status": {"desiredNumberScheduled": 3, "numberReady": ready}})
    }

    fn pod(ready: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "s",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true}]},
            "spec": {"nodeName": "n", "containers": []},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
    }

    fn missing_in(objects: Vec<Value>) -> u32 {
        let view = view(objects);
        missing(&view, view.node(&"n".into()).expect("the node is there"))
    }

    #[test]
    fn a_daemon_set_is_missing_until_its_pod_is_ready() {
        let plain = || vec![node(&json!({}), &json!([])), set(&json!({"containers": []}), 2)];
        assert_eq!(missing_in(plain()), 1);
        assert_eq!(missing_in([plain(), vec![pod("False")]].concat()), 1);
        assert_eq!(missing_in([plain(), vec![pod("True")]].concat()), 0);
    }

    #[test]
    fn a_daemon_set_that_runs_nowhere_is_not_waited_for() {
        assert_eq!(missing_in(vec![node(&json!({}), &json!([])), set(&json!({"containers": []}), 0)]), 0);
    }

    #[test]
    fn only_daemon_sets_that_belong_on_the_node_count() {
        let on = |spec: &Value| {
            let taints = json!([{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
            missing_in(vec![node(&json!({"tier": "gpu", "size": "4"}), &taints), set(spec, 2)])
        };
        let tolerations = json!([{"key": "dedicated", "operator": "Exists"}]);
        assert_eq!(on(&json!({"containers": []})), 0, "the taint is not tolerated");
        assert_eq!(on(&json!({"tolerations": tolerations})), 1);
        assert_eq!(on(&json!({"tolerations": tolerations, "nodeSelector": {"tier": "web"}})), 0);
        let affinity = |operator: &str, values: Value| {
            json!({"tolerations": tolerations, "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchExpressions": [{"key": "size", "operator": operator, "values": values}]}]}}}})
        };
        let cases = [
            ("In", json!(["4"]), 1),
            ("NotIn", json!(["4"]), 0),
            ("Exists", json!([]), 1),
            ("DoesNotExist", json!([]), 0),
            ("Gt", json!(["3"]), 1),
            ("Lt", json!(["3"]), 0),
        ];
        for (operator, values, expected) in cases {
            assert_eq!(on(&affinity(operator, values)), expected, "{operator}");
        }
    }
}
