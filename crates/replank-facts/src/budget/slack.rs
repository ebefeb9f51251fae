//! What gives slack to a budget that never allows an eviction.

use replank_model::int_or_string::Rounding;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::view::{Ix, View};

use crate::workload::workload_of;

/// A change in words, for a budget that covers so many pods when all of them are there: one replica more only where it helps.
#[must_use]
pub fn how_to_give_slack(view: &View, ix: Ix<PodDisruptionBudget>, expected: i32) -> String {
    let budget = &view.pod_disruption_budgets[ix];
    let pods: Vec<_> =
        view.pods_of_budget(ix).map(|ix| &view.pods[ix]).filter(|pod| pod.is_active()).collect();
    // Of these the disruption controller knows how many there should be; of others it needs a number of pods that stay.
    let is_counted =
        |kind: &str| matches!(kind, "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController");
    let all_counted =
        pods.iter().all(|pod| workload_of(view, pod).is_some_and(|workload| is_counted(&workload.kind)));
    let other = if all_counted {
        "maxUnavailable: 1".to_owned()
    } else {
        let here = i32::try_from(pods.len()).unwrap_or(i32::MAX);
        format!("minAvailable: {}", expected.max(here).saturating_sub(1))
    };
    if one_more_helps(budget, expected) {
        // Several run beside each other already.
        let if_it_may = if expected > 1 { "" } else { ", if it can run twice" };
        return format!(
            "give the budget slack: add a replica{if_it_may}, or use {other} instead (replank explain pdb-never-allows)"
        );
    }
    let rule = match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(most), _) => format!("maxUnavailable: {most}"),
        (None, Some(least)) => format!("minAvailable: {least}"),
        (None, None) => "its rule".to_owned(),
    };
    format!(
        "give the budget slack: use {other} instead; with {rule} another replica does not help (replank explain pdb-never-allows)"
    )
}

/// Whether the budget lets a pod go if it covers one more: percentages are rounded up (pkg/controller/disruption `getExpectedPodCount`).
fn one_more_helps(budget: &PodDisruptionBudget, expected: i32) -> bool {
    if expected == 0 {
        // Without a controller to count by, nothing is expected, however many there are.
        return false;
    }
    let all = i64::from(expected) + 1;
    match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(most), _) => most.scaled(all, Rounding::Up).is_ok_and(|most| most > 0),
        (None, Some(least)) => least.scaled(all, Rounding::Up).is_ok_and(|least| least < all),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use replank_model::object::meta::Key;
    use serde_json::{Value, json};

    use super::*;

    /// The words for a budget over three pods of an owner.
    fn words(spec: &Value, owner: &str) -> String {
        words_for(spec, owner, &["a", "b", "c"])
    }

    fn words_for(spec: &Value, owner: &str, names: &[&str]) -> String {
        let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop", "uid": "b"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}}});
        let own = spec.as_object().expect("a map").clone();
        budget["spec"].as_object_mut().expect("a map").extend(own);
        let pod = |name: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "web"},
                    "ownerReferences": [{"apiVersion": "v1", "kind": owner, "name": "web", "uid": "w", "controller": true}]},
                "spec": {"nodeName": "n", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}})
        };
        let objects = [budget].into_iter().chain(names.iter().map(|name| pod(name)));
        let objects = objects.map(|value| Object::from_json(value).expect("a valid object"));
        let view: View = objects.map(Delta::Put).collect();
        let ix = view.pod_disruption_budgets.find(&Key::new("shop", "web")).expect("it is there");
        how_to_give_slack(&view, ix, i32::try_from(names.len()).expect("a few"))
    }

    #[test]
    fn a_replica_more_helps_where_not_all_of_them_must_stay_then() {
        let with = |spec: Value| words(&spec, "StatefulSet");
        let tail = "(replank explain pdb-never-allows)";
        let helps = format!("give the budget slack: add a replica, or use maxUnavailable: 1 instead {tail}");
        let helps_not = |rule: &str| {
            format!(
                "give the budget slack: use maxUnavailable: 1 instead; with {rule} another replica does not help {tail}"
            )
        };
        assert_eq!(with(json!({"minAvailable": 3})), helps);
        assert_eq!(with(json!({"minAvailable": 4})), helps_not("minAvailable: 4"));
        // 70 % of 3 is 3, and of 4 it is 3, too; 99 % of 4 is 4.
        assert_eq!(with(json!({"minAvailable": "70%"})), helps);
        for rule in ["99%", "100%"] {
            assert_eq!(with(json!({"minAvailable": rule})), helps_not(&format!("minAvailable: {rule}")));
        }
        let single = words_for(&json!({"minAvailable": 1}), "Deployment", &["a"]);
        assert!(
            single.contains("add a replica, if it can run twice, or use maxUnavailable: 1 instead"),
            "{single}"
        );
        assert_eq!(with(json!({"maxUnavailable": 0})), helps_not("maxUnavailable: 0"));
        assert_eq!(with(json!({"maxUnavailable": "0%"})), helps_not("maxUnavailable: 0%"));
    }

    #[test]
    fn pods_that_nothing_counts_need_a_number_that_stays() {
        assert_eq!(
            words(&json!({"minAvailable": 3}), "Brokers"),
            "give the budget slack: add a replica, or use minAvailable: 2 instead (replank explain pdb-never-allows)"
        );
    }
}
