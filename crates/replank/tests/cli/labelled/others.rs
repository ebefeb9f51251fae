//! Budgets, autoscalers, Services, webhooks, definitions.

use serde_json::{Value, json};

use super::cluster::{Cluster, uid};
use super::entry::{Entry, merge};

/// A budget; without a status the simulated disruption controller counts it.
pub(crate) fn budget(cluster: &mut Cluster, named: (String, String, usize), entry: &mut Entry) {
    let (namespace, name, _) = named;
    let mut object = plain_budget(&namespace, &name, &json!({"app": name}));
    merge(&mut object["spec"], entry.patch("spec"));
    merge(&mut object, entry.patch("with"));
    cluster.objects.push(object);
}

/// The budget that a workload's `pdb` asks for: a spec, or the number that may be unavailable.
pub(crate) fn budget_of(
    cluster: &mut Cluster,
    named: (&str, &str),
    labels: &Value,
    parent: Option<Value>,
    entry: &mut Entry,
) {
    let Some(spec) = entry.take("pdb") else { return };
    let spec = if spec.is_number() { json!({"maxUnavailable": spec}) } else { spec };
    let mut object = plain_budget(named.0, named.1, labels);
    merge(&mut object["spec"], spec);
    if let Some(parent) = parent {
        object["metadata"]["ownerReferences"] = json!([parent]);
    }
    cluster.objects.push(object);
}

fn plain_budget(namespace: &str, name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace, "uid": uid("pdb", namespace, name), "generation": 1},
        "spec": {"selector": {"matchLabels": labels}},
    })
}

/// `web 2..5`: an autoscaler of the Deployment of its name, at the number of replicas that it has.
pub(crate) fn autoscaler(cluster: &mut Cluster, text: &str, entry: &mut Entry) {
    let (name, bounds) = text.split_once(' ').expect("hpa: NAME MIN..MAX");
    let (min, max) = bounds.split_once("..").expect("MIN..MAX");
    let (min, max): (u32, u32) = (min.parse().expect("a number"), max.parse().expect("a number"));
    let is_target = |object: &&Value| object["kind"] == "Deployment" && object["metadata"]["name"] == name;
    let target = cluster.objects.iter().find(is_target).expect("the Deployment comes first");
    let current = target["spec"]["replicas"].clone();
    let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": "2026-11-20T08:00:00Z"});
    let mut object = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "shop", "uid": uid("hpa", "shop", name)},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "minReplicas": min, "maxReplicas": max,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}]},
        "status": {"currentReplicas": current, "desiredReplicas": current, "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 58, "averageValue": "58m"}}}],
            "conditions": [condition("AbleToScale", "True", "ReadyForNewScale"), condition("ScalingActive", "True", "ValidMetricFound"),
                condition("ScalingLimited", "False", "DesiredWithinRange")]},
    });
    merge(&mut object, entry.patch("with"));
    cluster.objects.push(object);
}

/// A Service that selects the pods of its name.
pub(crate) fn service(cluster: &mut Cluster, named: (String, String, usize), entry: &mut Entry) {
    let (namespace, name, _) = named;
    let mut object = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "uid": uid("service", &namespace, &name), "annotations": entry.patch("annotations")},
        "spec": {"type": "ClusterIP", "clusterIP": "10.100.0.7", "selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]},
        "status": {"loadBalancer": {}},
    });
    merge(&mut object, entry.patch("with"));
    cluster.objects.push(object);
}

/// A configuration with one webhook over the creation and change of a resource.
pub(crate) fn webhook(cluster: &mut Cluster, name: &str, entry: &mut Entry) {
    let kind = entry.text("kind").unwrap_or_else(|| "ValidatingWebhookConfiguration".to_owned());
    let resource = entry.text("rules").expect("a webhook has rules");
    let mut client = json!({"caBundle": "Y2E="});
    if let Some((namespace, service, _)) = entry.counted("service") {
        client["service"] = json!({"namespace": namespace, "name": service, "path": "/", "port": 443});
    }
    let mut hook = json!({
        "name": format!("{name}.example.com"), "clientConfig": client, "failurePolicy": "Fail", "matchPolicy": "Equivalent", "sideEffects": "None",
        "timeoutSeconds": 10, "admissionReviewVersions": ["v1"], "namespaceSelector": {}, "objectSelector": {},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource], "scope": "*"}],
    });
    merge(&mut hook, entry.patch("hook"));
    cluster.objects.push(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": name, "uid": uid(&kind, "", name)}, "webhooks": [hook],
    }));
}

/// The definition of a custom resource, with or without the scale subresource.
pub(crate) fn definition(version: &str, kind: &str, scale: bool) -> Value {
    let (group, version) = version.split_once('/').expect("GROUP/VERSION");
    let plural = format!("{}s", kind.to_lowercase());
    let mut subresources = json!({"status": {}});
    if scale {
        subresources["scale"] =
            json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}"), "uid": uid("definition", "", &plural)},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{"name": version, "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    })
}
