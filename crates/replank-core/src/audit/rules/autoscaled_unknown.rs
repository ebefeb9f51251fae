//! An autoscaler runs, and nothing in the snapshot tells which groups it scales.

use super::super::engine::Engine;
use super::super::rule::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use crate::check::workload_of;

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let Some(key) = &survey.autoscaler.pod else { return Vec::new() };
    if !survey.autoscaler.groups.is_empty() || !survey.options.autoscaled.is_empty() {
        return Vec::new();
    }
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
        reason: "cluster-autoscaler runs, and neither its arguments (--nodes) nor the ConfigMap cluster-autoscaler-status tell which \
                 groups it scales: what is on autoscaled nodes was not looked at"
            .to_owned(),
        remedy: format!(
            "kubectl -n {} get configmap cluster-autoscaler-status -o yaml   # add it to the snapshot, or name the groups: --autoscaled \
             GROUP",
            key.namespace
        ),
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
