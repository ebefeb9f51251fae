//! Host ports that leave no node free: a pod that moves needs one that nobody has yet.

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted};
use super::super::survey::Survey;
use replank_facts::daemon;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, _) in survey.services() {
        let containers = subject.pod.spec.init_containers.iter().chain(&subject.pod.spec.containers);
        let mut ports = containers.flat_map(|container| &container.ports).map(|port| port.host_port);
        let Some(port) = ports.find(|port| *port > 0) else { continue };
        let nodes = survey.view.nodes.unordered();
        let eligible = nodes.filter(|(_, node)| daemon::is_eligible(&subject.pod.spec, node)).count();
        let replicas = usize::try_from(survey.replicas(workload, subject)).unwrap_or(0);
        if replicas < eligible {
            continue;
        }
        findings.push(Finding {
            rule: Rule::HostPort,
            severity: Severity::Info,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "{} with host port {port} on {} that they fit: one that moves waits for a new node",
                counted(replicas, "replica"),
                counted(eligible, "node")
            ),
            remedy: "set a surge of at least one node (budget: {surge: 1}), or do without the host port: a Service of type LoadBalancer or NodePort".into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn a_host_port_on_every_node_is_found() {
        let port = json!({"spec": {"containers": [{"name": "c", "ports": [{"hostPort": 8443, "containerPort": 8443}]}]}});
        let with = |nodes: &[&str]| {
            let all = nodes.iter().map(|name| node(name, "a")).collect();
            found(Rule::HostPort, [all, service("edge", &["n", "m"], &port)].concat())
        };
        assert_eq!(
            with(&["n", "m"]),
            [
                "info host-port Deployment shop/edge: 2 replicas with host port 8443 on 2 nodes that they fit: one that moves waits for a new node"
            ]
        );
        assert_eq!(with(&["n", "m", "o"]), [""; 0]);
    }
}
