//! Defaults of pods, Services, volumes and autoscalers (`pkg/apis/{core,autoscaling,discovery}/v*/defaults.go`).

use serde_json::{Map, Value, json};

use super::{absent, items, member};

pub(super) fn service(spec: &mut Value) {
    absent(spec, "sessionAffinity", "None");
    absent(spec, "type", "ClusterIP");
    for port in items(spec, "ports") {
        absent(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or_default();
        absent(port, "targetPort", number.clone());
        // As protobuf has it where nobody says anything.
        if port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = number;
        }
    }
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("None") => {
            if let Value::Object(spec) = spec {
                spec.remove("sessionAffinityConfig");
            }
        }
        Some("ClientIP") => {
            let client = member(member(spec, "sessionAffinityConfig"), "clientIP");
            absent(client, "timeoutSeconds", 10_800);
        }
        Some(_) | None => {}
    }
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    let has_external = spec["externalIPs"].as_array().is_some_and(|all| !all.is_empty());
    if matches!(&*kind, "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && has_external) {
        absent(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        absent(spec, "allocateLoadBalancerNodePorts", true);
    }
    if kind != "ExternalName" {
        absent(spec, "internalTrafficPolicy", "Cluster");
    }
}

/// What the registry adds, and no client manages: families and the addresses' list (`registry/core/service`, `alloc.go`).
pub(super) fn families(spec: &mut Value) {
    if spec["type"] == "ExternalName" {
        return;
    }
    // Whoever keeps the endpoints of a headless Service without a selector may have both families.
    let is_open = spec.get("clusterIP").is_some_and(|address| address == "None")
        && spec.get("selector").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
    if is_open && spec.get("ipFamilyPolicy").is_none() && spec.get("ipFamilies").is_none() {
        spec["ipFamilyPolicy"] = "RequireDualStack".into();
        spec["ipFamilies"] = json!(["IPv4", "IPv6"]);
    }
    absent(spec, "ipFamilies", json!(["IPv4"]));
    absent(spec, "ipFamilyPolicy", "SingleStack");
    let first = spec["ipFamilies"].as_array().filter(|all| all.len() == 1).map(|all| all[0].clone());
    if let Some(first) = first.filter(|_| is_open && spec["ipFamilyPolicy"] != "SingleStack") {
        spec["ipFamilies"] = if first == "IPv4" { json!(["IPv4", "IPv6"]) } else { json!(["IPv6", "IPv4"]) };
    }
    if let Some(address) = spec.get("clusterIP").cloned() {
        absent(spec, "clusterIPs", json!([address]));
    }
}

/// A namespace's name is a label of it.
pub(super) fn namespace(meta: &mut Value) {
    if let Some(name) = meta.get("name").and_then(Value::as_str).map(str::to_owned)
        && !name.is_empty()
    {
        member(meta, "labels")["kubernetes.io/metadata.name"] = name.into();
    }
}

/// The first range for pods is told twice (`Convert_v1_NodeSpec_To_core_NodeSpec`).
pub(super) fn node(spec: &mut Value) {
    let first = spec.get("podCIDR").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_told = spec.get("podCIDRs").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    if !first.is_empty() && !is_told {
        spec["podCIDRs"] = json!([first]);
    }
}

pub(super) fn driver(spec: &mut Value) {
    absent(spec, "attachRequired", true);
    absent(spec, "podInfoOnMount", false);
    absent(spec, "storageCapacity", false);
    absent(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    absent(spec, "volumeLifecycleModes", json!(["Persistent"]));
    absent(spec, "requiresRepublish", false);
    absent(spec, "seLinuxMount", false);
}

pub(super) fn claim(spec: &mut Value) {
    absent(spec, "volumeMode", "Filesystem");
}

/// What a new claim is filled from: the older member takes claims and snapshots alone, and both say the same
/// (`EnforceDataSourceBackwardsCompatibility`, `NormalizeDataSources`).
pub(super) fn settle_sources(spec: &mut Value) {
    let Value::Object(members) = spec else { return };
    let word = |source: &Value, name: &str| source[name].as_str().unwrap_or_default().to_owned();
    let is_known = |source: &Value| {
        matches!(
            (word(source, "apiGroup").as_str(), word(source, "kind").as_str()),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    };
    let of =
        |members: &Map<String, Value>, name: &str| members.get(name).filter(|one| one.is_object()).cloned();
    if of(members, "dataSource").is_some_and(|source| !is_known(&source)) {
        members.remove("dataSource");
    }
    match (of(members, "dataSource"), of(members, "dataSourceRef")) {
        (Some(source), None) => {
            members.insert("dataSourceRef".to_owned(), source);
        }
        (None, Some(mut source)) if word(&source, "namespace").is_empty() => {
            if let Value::Object(source) = &mut source {
                source.remove("namespace");
            }
            members.insert("dataSource".to_owned(), source);
        }
        (Some(_), Some(_)) | (None, _) => {}
    }
}

pub(super) fn volume(spec: &mut Value) {
    absent(spec, "volumeMode", "Filesystem");
    absent(spec, "persistentVolumeReclaimPolicy", "Retain");
    if spec.get("hostPath").is_some() {
        absent(&mut spec["hostPath"], "type", "");
    }
    if let Some(reference) = spec.get_mut("claimRef") {
        absent(reference, "kind", "PersistentVolumeClaim");
        absent(reference, "apiVersion", "v1");
    }
}

/// Without metrics an autoscaler looks at 80% of the requested CPU.
pub(super) fn autoscaler(spec: &mut Value) {
    absent(spec, "minReplicas", 1);
    if spec.get("metrics").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        spec["metrics"] = json!([{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80}}}]);
    }
    if spec.get("behavior").is_some() {
        let behavior = member(spec, "behavior");
        let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
        let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
        let up = member(behavior, "scaleUp");
        absent(up, "stabilizationWindowSeconds", 0);
        absent(up, "selectPolicy", "Max");
        absent(up, "policies", json!([pods, percent]));
        let down = member(behavior, "scaleDown");
        absent(down, "selectPolicy", "Max");
        absent(down, "policies", json!([percent]));
    }
}

pub(super) fn endpoint_slice(value: &mut Value) {
    for port in items(value, "ports") {
        absent(port, "name", "");
        absent(port, "protocol", "TCP");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_port_of_nothing_is_the_port_however_it_is_sent() {
        let mut spec = json!({"ports": [{"port": 80}, {"port": 81, "targetPort": 0}, {"port": 82, "targetPort": ""},
            {"port": 83, "targetPort": "http"}]});
        service(&mut spec);
        let targets: Vec<&Value> =
            spec["ports"].as_array().expect("a list").iter().map(|port| &port["targetPort"]).collect();
        assert_eq!(targets, [&json!(80), &json!(81), &json!(82), &json!("http")]);
    }

    #[test]
    fn the_older_source_of_a_claim_takes_claims_and_snapshots_alone_and_both_say_the_same() {
        let settled = |mut spec: Value| {
            settle_sources(&mut spec);
            spec
        };
        let other = json!({"apiGroup": "example.com", "kind": "Backup", "name": "a"});
        assert_eq!(settled(json!({"dataSource": other})), json!({}));
        let claim = json!({"kind": "PersistentVolumeClaim", "name": "a"});
        let both = json!({"dataSource": claim, "dataSourceRef": claim});
        assert_eq!(settled(json!({"dataSource": claim})), both);
        assert_eq!(settled(json!({"dataSourceRef": claim})), both);
        let far = json!({"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "a", "namespace": "b"}});
        assert_eq!(settled(far.clone()), far);
    }
}
