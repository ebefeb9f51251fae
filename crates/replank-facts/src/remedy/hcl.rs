//! Changes in the language of Terraform: as the `manifest` of a `kubernetes_manifest`, and as the blocks and arguments of the other resources of its Kubernetes provider
//! (registry.terraform.io/providers/hashicorp/kubernetes: their documentation and schemas).

use std::fmt::Write as _;

use serde_json::Value;

use super::target::TargetKind;

/// Members of a manifest: an object of HCL.
pub(super) fn manifest(value: &Value) -> String {
    format!("manifest = {}", expression(value, 0))
}

/// A value as an expression; the lines below the first stand as deep.
pub(super) fn expression(value: &Value, depth: usize) -> String {
    let indent = "  ".repeat(depth + 1);
    let end = "  ".repeat(depth);
    match value {
        Value::Object(members) if !members.is_empty() => {
            let lines = members
                .iter()
                .map(|(key, value)| format!("{indent}{} = {}\n", named(key), expression(value, depth + 1)));
            format!("{{\n{}{end}}}", lines.collect::<String>())
        }
        Value::Array(all) if all.iter().any(Value::is_object) => {
            let lines = all.iter().map(|one| format!("{indent}{},\n", expression(one, depth + 1)));
            format!("[\n{}{end}]", lines.collect::<String>())
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => plain(value),
    }
}

/// JSON is an expression of HCL, but for what begins a template in its texts.
fn plain(value: &Value) -> String {
    value.to_string().replace("${", "$${").replace("%{", "%%{")
}

/// A key, in quotes where it is no identifier.
fn named(key: &str) -> String {
    let is_plain = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_plain { key.to_owned() } else { plain(&Value::from(key)) }
}

/// The resource of the provider for a kind, where it has one.
pub(super) fn resource_type(kind: TargetKind) -> Option<&'static str> {
    Some(match kind {
        TargetKind::Deployment => "kubernetes_deployment_v1",
        TargetKind::StatefulSet => "kubernetes_stateful_set_v1",
        TargetKind::DaemonSet => "kubernetes_daemon_set_v1",
        TargetKind::ReplicationController => "kubernetes_replication_controller_v1",
        TargetKind::CronJob => "kubernetes_cron_job_v1",
        TargetKind::PodDisruptionBudget => "kubernetes_pod_disruption_budget_v1",
        TargetKind::HorizontalPodAutoscaler => "kubernetes_horizontal_pod_autoscaler_v2",
        TargetKind::ReplicaSet | TargetKind::CronWorkflow | TargetKind::Node | TargetKind::Pod => {
            return None;
        }
    })
}

/// How a resource of the provider has a member.
#[derive(Clone, Copy)]
enum Shape {
    /// `name = "text"`, numbers too: what may be a number or a percentage.
    Text,
    /// `name = value`.
    Plain,
    /// `name = { key = "text" }`.
    Map,
    /// `name { … }`, for a list as often as it has elements.
    Block,
}

/// Members that remedies set, as the resources name them. What is not among them may not be in the resource at all (`unhealthyPodEvictionPolicy` is not).
const MEMBERS: [(&str, &str, Shape); 34] = [
    ("metadata", "metadata", Shape::Block),
    ("name", "name", Shape::Text),
    ("namespace", "namespace", Shape::Text),
    ("labels", "labels", Shape::Map),
    ("annotations", "annotations", Shape::Map),
    ("spec", "spec", Shape::Block),
    ("replicas", "replicas", Shape::Text),
    ("template", "template", Shape::Block),
    ("jobTemplate", "job_template", Shape::Block),
    ("strategy", "strategy", Shape::Block),
    ("rollingUpdate", "rolling_update", Shape::Block),
    ("maxSurge", "max_surge", Shape::Text),
    ("maxUnavailable", "max_unavailable", Shape::Text),
    ("minAvailable", "min_available", Shape::Text),
    ("minReplicas", "min_replicas", Shape::Plain),
    ("maxReplicas", "max_replicas", Shape::Plain),
    ("selector", "selector", Shape::Block),
    ("labelSelector", "label_selector", Shape::Block),
    ("matchLabels", "match_labels", Shape::Map),
    ("matchExpressions", "match_expressions", Shape::Block),
    ("key", "key", Shape::Text),
    ("operator", "operator", Shape::Text),
    ("value", "value", Shape::Text),
    ("values", "values", Shape::Plain),
    ("effect", "effect", Shape::Text),
    ("suspend", "suspend", Shape::Plain),
    ("startingDeadlineSeconds", "starting_deadline_seconds", Shape::Plain),
    ("terminationGracePeriodSeconds", "termination_grace_period_seconds", Shape::Plain),
    ("nodeSelector", "node_selector", Shape::Map),
    ("tolerations", "toleration", Shape::Block),
    ("topologySpreadConstraints", "topology_spread_constraint", Shape::Block),
    ("maxSkew", "max_skew", Shape::Plain),
    ("topologyKey", "topology_key", Shape::Text),
    ("whenUnsatisfiable", "when_unsatisfiable", Shape::Text),
];

/// Members as a resource's blocks and arguments; `None` where one is not known.
pub(super) fn blocks(body: &Value, depth: usize) -> Option<String> {
    let mut text = String::new();
    let indent = "  ".repeat(depth);
    for (member, value) in body.as_object()? {
        let (_, name, shape) = MEMBERS.into_iter().find(|(own, ..)| own == member)?;
        match (shape, value) {
            (Shape::Text | Shape::Plain | Shape::Map, Value::Null) => {
                writeln!(text, "{indent}{name} = null").ok()?;
            }
            (Shape::Text, Value::Number(number)) => writeln!(text, "{indent}{name} = \"{number}\"").ok()?,
            (Shape::Text, Value::String(_)) | (Shape::Plain, _) => {
                writeln!(text, "{indent}{name} = {}", plain(value)).ok()?;
            }
            (Shape::Map, Value::Object(_)) => {
                writeln!(text, "{indent}{name} = {}", expression(value, depth)).ok()?;
            }
            (Shape::Block, Value::Object(_)) => {
                write!(text, "{indent}{name} {{\n{}{indent}}}\n", blocks(value, depth + 1)?).ok()?;
            }
            (Shape::Block, Value::Array(all)) if !all.is_empty() => {
                for one in all {
                    write!(text, "{indent}{name} {{\n{}{indent}}}\n", blocks(one, depth + 1)?).ok()?;
                }
            }
            (Shape::Text, Value::Bool(_) | Value::Array(_) | Value::Object(_))
            | (Shape::Map, Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_))
            | (
                Shape::Block,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
            ) => return None,
        }
    }
    Some(text)
}

/// A new object as a whole resource.
pub(super) fn resource(kind: TargetKind, name: &str, whole: &Value) -> Option<String> {
    let resource = resource_type(kind)?;
    let mut body = whole.as_object()?.clone();
    body.retain(|member, _| !matches!(&**member, "apiVersion" | "kind"));
    let label: String =
        name.chars().map(|next| if next.is_ascii_alphanumeric() { next } else { '_' }).collect();
    Some(format!("resource \"{resource}\" \"{label}\" {{\n{}}}", blocks(&Value::Object(body), 1)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_manifest_is_an_object_of_hcl() {
        let body = json!({"spec": {"maxUnavailable": 1, "minAvailable": null}, "metadata": {"annotations": {"a.b/c": "${x}"}}});
        assert_eq!(
            manifest(&body),
            "manifest = {\n  metadata = {\n    annotations = {\n      \"a.b/c\" = \"$${x}\"\n    }\n  }\n  spec = {\n    maxUnavailable = 1\n    minAvailable = null\n  }\n}"
        );
    }

    #[test]
    fn a_resource_has_blocks_and_names_of_its_own() {
        let body = json!({"spec": {"template": {"spec": {"topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]}}}});
        assert_eq!(
            blocks(&body, 0).expect("all is known"),
            "spec {\n  template {\n    spec {\n      topology_spread_constraint {\n        label_selector {\n          match_labels = {\n            app = \"web\"\n          }\n        }\n        max_skew = 1\n        topology_key = \"kubernetes.io/hostname\"\n      }\n    }\n  }\n}\n"
        );
        let budget = json!({"spec": {"maxUnavailable": 1, "minAvailable": null}});
        assert_eq!(
            blocks(&budget, 0).expect("all is known"),
            "spec {\n  max_unavailable = \"1\"\n  min_available = null\n}\n"
        );
        let unknown = json!({"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}});
        assert_eq!(blocks(&unknown, 0), None, "the resource has no argument for it");
    }
}
