//! An autoscaler runs, and nothing in the snapshot tells which groups it scales.

use super::super::capacity::Scaler;
use super::super::engine::Engine;
use super::super::rule::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::workload::workload_of;

/// Groups that are named.
const NAMED_MAX: usize = 4;

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let Some(key) = &survey.autoscaler.pod else { return Vec::new() };
    let is_known =
        survey.ground.kinds().any(|(_, kind)| matches!(kind.scaler, Some(Scaler::ClusterAutoscaler(_))));
    if is_known || !survey.options.autoscaled.is_empty() {
        return Vec::new();
    }
    let groups = &survey.autoscaler.groups;
    let named: Vec<&str> = groups.iter().take(NAMED_MAX).map(|group| &**group).collect();
    let more = if groups.len() > NAMED_MAX { ", …" } else { "" };
    let pod = survey.view.pods.by_key(key);
    let workload = pod.and_then(|pod| workload_of(survey.view, pod));
    let object = match workload {
        Some(workload) => ObjectName { kind: workload.kind, key: workload.key },
        None => ObjectName::new("Pod", key.clone()),
    };
    vec![Finding {
        rule: Rule::AutoscaledUnknown,
        severity: Severity::Info,
        object,
        reason: if groups.is_empty() {
            "cluster-autoscaler is running, but neither its arguments (--nodes) nor the ConfigMap cluster-autoscaler-status name the groups it scales: workloads on autoscaled nodes were not checked"
                .to_owned()
        } else {
            format!(
                "cluster-autoscaler scales {}{more}, but none of these names matches a group of the nodes: workloads on autoscaled nodes were not checked",
                named.join(", ")
            )
        },
        remedy: if groups.is_empty() {
            format!(
                "kubectl -n {} get configmap cluster-autoscaler-status -o yaml   # add it to the snapshot, or name the groups: \
                 --autoscaled GROUP",
                key.namespace
            ).into()
        } else {
            "name the node groups that it scales with --autoscaled GROUP, and the label that identifies groups with --group-label".to_owned().into()
        },
    }]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, service};
    use super::*;

    fn with(args: &[&str]) -> Vec<String> {
        let spec = json!({"spec": {"containers": [{"name": "c", "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.1", "args": args}]}});
        found(
            Rule::AutoscaledUnknown,
            [vec![node("n", "web", "a")], service("scaler", &["n"], &spec)].concat(),
        )
    }

    #[test]
    fn an_autoscaler_that_names_its_groups_is_not_found() {
        let found = with(&["--node-group-auto-discovery=asg:tag=x"]);
        assert!(
            found.len() == 1 && found[0].starts_with("info autoscaled-unknown Deployment shop/scaler: "),
            "{found:?}"
        );
        assert_eq!(with(&["--nodes=1:3:web"]), [""; 0]);
        assert_eq!(with(&["--nodes=1:3:web", "--nodes=0:3:gpu"]), [""; 0], "a group may have no nodes");
        let other = with(&["--nodes=1:5:prod-workers-asg"]);
        assert!(
            other.len() == 1 && other[0].contains("scales prod-workers-asg, but none of these names"),
            "{other:?}"
        );
    }

    #[test]
    fn its_status_tells_them_too() {
        let spec = json!({"spec": {"containers": [{"name": "c", "image": "autoscaling/cluster-autoscaler:v1.34.1"}]}});
        let status = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"},
            "data": {"status": "nodeGroups:\n- name: web\n  health:\n    status: Healthy\n"}});
        let objects = [vec![node("n", "web", "a"), status], service("scaler", &["n"], &spec)].concat();
        assert_eq!(found(Rule::AutoscaledUnknown, objects.clone()), [""; 0]);
        assert_eq!(found(Rule::OnAutoscaled, objects).len(), 1, "the autoscaler itself");
    }
}
