//! The pods that use up a disruption budget: those that it covers and that are not Ready.

use std::collections::BTreeSet;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::view::View;

/// The pods that are not Ready among all that the budgets of `pods` cover, in words: the first by name, why its container waits, and how many others there are.
pub(super) fn under_the_budgets_of(view: &View, pods: &BTreeSet<Key>) -> Option<String> {
    let covering = pods.iter().filter_map(|pod| view.pods.find(pod)).flat_map(|pod| view.budgets_of(pod));
    let covered = covering.flat_map(|budget| view.pods_of_budget(*budget)).map(|pod| &view.pods[pod]);
    let unready = covered.filter(|pod| !pod.is_ready() && !pod.is_terminating() && !pod.is_terminal());
    let unready: BTreeSet<(Key, String)> = unready.map(|pod| (pod.meta.key(), state(pod))).collect();
    let (pod, state) = unready.first()?;
    Some(match unready.len() - 1 {
        0 => format!("pod {pod} is not Ready ({state})"),
        1 => format!("pod {pod} is not Ready ({state}), nor is another"),
        others => format!("pod {pod} is not Ready ({state}), nor are {others} others"),
    })
}

/// Where a pod is, and why its first waiting container does not run.
fn state(pod: &Pod) -> String {
    let Some(node) = &pod.node else { return "pending".to_owned() };
    let containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let waiting = containers.filter_map(|container| container.state.waiting.as_ref()).next();
    waiting.map_or_else(|| format!("on node {node}"), |waiting| format!("{} on node {node}", waiting.reason))
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, ready: &str, waiting: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"}},
            "spec": {"nodeName": format!("on-{name}"), "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}],
                "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": ready == "True", "restartCount": 0, "state": waiting}]}})
    }

    #[test]
    fn a_budget_names_what_is_not_ready_and_why() {
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "shop", "uid": "budget"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
        let crashes = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let mut objects = vec![budget, pod("a", "True", &json!({})), pod("b", "False", &crashes)];
        let view = |objects: &[Value]| -> View {
            objects.iter().map(|one| Delta::Put(Object::from_json(one.clone()).expect("an object"))).collect()
        };
        let of = |objects: &[Value]| {
            under_the_budgets_of(&view(objects), &BTreeSet::from([Key::new("shop", "a")]))
        };
        assert_eq!(of(&objects[..2]), None, "all are Ready");
        let expected = "pod shop/b is not Ready (CrashLoopBackOff on node on-b)";
        assert_eq!(of(&objects).as_deref(), Some(expected));
        objects.push(pod("c", "False", &json!({})));
        assert_eq!(of(&objects), Some(format!("{expected}, nor is another")));
    }
}
