//! Disruption budgets of all shapes.

use serde_json::{Value, json};

use super::NAMESPACES;
use super::workloads::Covered;
use replank_oracle::sched_random::Random;

/// Four workloads in five have a budget; a few have two; a few budgets cover more than one workload.
pub(super) fn draw(random: &mut Random, covered: &[Covered]) -> Vec<Value> {
    let mut all = Vec::new();
    for of in covered {
        if random.percent(80) {
            let rule = rule(random, of.replicas);
            all.push(budget(random, of.namespace, &of.app, &json!({"matchLabels": {"app": of.app}}), rule));
        }
        if random.percent(1) {
            let selector =
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": [of.app]}]});
            let rule = rule(random, of.replicas);
            all.push(budget(random, of.namespace, &format!("{}-again", of.app), &selector, rule));
        }
    }
    if let Some(of) = covered.first().filter(|_| random.percent(4)) {
        let selector = json!({"matchLabels": {"tier": of.tier}, "matchExpressions": [{"key": "agent", "operator": "DoesNotExist"}]});
        let rule = rule(random, 4);
        all.push(budget(random, of.namespace, "tier", &selector, rule));
    }
    if random.percent(2) {
        let namespace = random.one(&NAMESPACES);
        let rule = rule(random, 10);
        all.push(budget(random, namespace, "everything", &json!({}), rule));
    }
    all
}

/// Most let one or more go; a few can never allow anything.
fn rule(random: &mut Random, replicas: u64) -> Value {
    match random.below(40) {
        0..=11 => json!({"minAvailable": replicas.saturating_sub(1)}),
        12 if replicas > 1 => json!({"minAvailable": 1}),
        13 => json!({"minAvailable": random.one(&["50%", "80%"])}),
        14 => random.one(&[
            json!({"minAvailable": "100%"}),
            json!({"minAvailable": replicas}),
            json!({"maxUnavailable": 0}),
            json!({"minAvailable": 0}),
        ]),
        15..=28 => json!({"maxUnavailable": 1}),
        29..=32 => json!({"maxUnavailable": 2}),
        33..=38 => json!({"maxUnavailable": random.one(&["25%", "34%", "50%"])}),
        _ => json!({"maxUnavailable": "1%"}),
    }
}

fn budget(random: &mut Random, namespace: &str, name: &str, selector: &Value, rule: Value) -> Value {
    let mut spec = rule;
    spec["selector"] = selector.clone();
    match random.below(3) {
        0 => spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow".into(),
        1 => spec["unhealthyPodEvictionPolicy"] = "IfHealthyBudget".into(),
        _ => {}
    }
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec,
        "metadata": {"name": name, "namespace": namespace}})
}
