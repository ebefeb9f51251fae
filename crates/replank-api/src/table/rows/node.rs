//! Rows of nodes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::table::look::{Look, text};

/// Name, status, roles, age, version, addresses, system.
pub(super) fn node(look: Look<'_>) -> Vec<Value> {
    let ready = look.list("/status/conditions").iter().rev().find(|one| one["type"] == "Ready");
    let mut status = match ready.map(|one| text(&one["status"])) {
        None => "Unknown".to_owned(),
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
    };
    if look.flag("/spec/unschedulable", false) {
        status.push_str(",SchedulingDisabled");
    }
    let address = |wanted: &str| -> Value {
        let found = look.list("/status/addresses").iter().find(|one| one["type"] == wanted);
        found.map_or("<none>", |one| text(&one["address"])).into()
    };
    let kernel = look.filled_or("/status/nodeInfo/kernelVersion", "<unknown>");
    let kernel = match look.text("/status/nodeInfo/architecture") {
        "" => kernel,
        architecture => format!("{} ({architecture})", text(&kernel)).into(),
    };
    vec![
        look.name(),
        status.into(),
        roles(look).into(),
        look.age(),
        look.text("/status/nodeInfo/kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        look.filled_or("/status/nodeInfo/osImage", "<unknown>"),
        kernel,
        look.filled_or("/status/nodeInfo/containerRuntimeVersion", "<unknown>"),
    ]
}

fn roles(look: Look<'_>) -> String {
    let labels = look.at("/metadata/labels").as_object().into_iter().flatten();
    let roles = labels.filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role),
        None => (key == "kubernetes.io/role").then(|| text(value)),
    });
    let roles: BTreeSet<&str> = roles.filter(|role| !role.is_empty()).collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cordoned_node_says_so() {
        let object = json!({"metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "infra"}},
            "spec": {"unschedulable": true}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}],
            "nodeInfo": {"kernelVersion": "6.1", "architecture": "arm64"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
        let cells = node(Look { object: &object, now: crate::table::Moment::At(0) });
        let told: Vec<&str> = cells.iter().map(text).collect();
        assert_eq!(told[1..3], ["NotReady,SchedulingDisabled", "infra,worker"]);
        assert_eq!(told[5..9], ["10.0.0.1", "<none>", "<unknown>", "6.1 (arm64)"]);
    }
}
