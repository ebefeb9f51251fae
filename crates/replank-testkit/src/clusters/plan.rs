//! Plans of all shapes.

use replank_facts::plan::Plan;
use serde_json::{Value, json};

use super::nodes::Fleet;
use replank_oracle::sched_random::Random;

pub(super) fn draw(random: &mut Random, fleet: &Fleet) -> Plan {
    let mut spec = json!({"target": target(random), "budget": budget(random),
        "order": random.one(&["leastDisruption", "oldest", "zoneByZone"]),
        "pace": {"parallel": random.one(&[1, 1, 2, 3, 5]), "betweenNodes": random.one(&["0s", "0s", "10s", "2m"])},
        "batch": {"wait": random.one(&["2m", "20m", "1h", "6h"]), "onDeadline": random.one(&["pause", "evict", "evict", "evict", "skip"])},
        "localStorage": random.one(&["allow", "allow", "allow", "allow", "allow", "refuse"]),
        "barePods": random.one(&["refuse", "evict", "evict"]),
        "progressDeadline": random.one(&["15m", "30m", "1h"]),
        "deadline": random.one(&["168h", "168h", "48h", "48h", "24h", "24h", "24h", "12h", "2h", "15m"])});
    if random.percent(25) {
        spec["canary"] = json!({"nodes": random.one(&[json!(1), json!(2), json!("20%")]), "soak": random.one(&["0s", "3m", "10m"])});
    }
    if random.percent(20) {
        spec["batch"]["selector"] = json!({"matchLabels": {"tier": "batch"}});
    }
    let pools: Vec<&str> = fleet.pools.iter().map(|pool| pool.name).collect();
    match random.below(10) {
        0 => spec["selector"] = json!({"matchLabels": {"pool": random.one(&pools)}}),
        1 => spec["kubeletVersion"] = "<1.36".into(),
        _ => {
            let some = random.some(&pools, 60);
            spec["groups"] = if some.is_empty() { json!([pools[0]]) } else { json!(some) };
        }
    }
    let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "by-chance"}, "spec": spec});
    Plan::read(&plan).unwrap_or_else(|errors| panic!("{plan}: {errors}"))
}

/// What new nodes are; one plan in five replaces like with like.
fn target(random: &mut Random) -> Value {
    match random.below(10) {
        0 | 1 => json!({}),
        2 => json!({"image": "ami-new"}),
        3 => json!({"image": "ami-new", "labels": {"generation": "new"}}),
        4 => json!({"kubernetesVersion": "1.36", "taints": ["fresh=yes:PreferNoSchedule"]}),
        _ => json!({"kubernetesVersion": "1.36"}),
    }
}

fn budget(random: &mut Random) -> Value {
    let surge = random.one(&[json!(1), json!(1), json!(2), json!(3), json!("25%"), json!("100%"), json!(0)]);
    let max_unavailable = match surge == 0 {
        true => random.one(&[json!(1), json!(2), json!("50%")]),
        false => random.one(&[json!(0), json!(0), json!(0), json!(1), json!("20%")]),
    };
    json!({"surge": surge, "maxUnavailable": max_unavailable, "minReadyPerZone": random.one(&[0, 0, 0, 1])})
}
