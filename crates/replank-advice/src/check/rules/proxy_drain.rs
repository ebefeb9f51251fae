//! Istio proxies that end a few seconds after the signal, whatever is open, and leave their grace unused.

use replank_model::time::Span;
use serde_json::json;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::{Subject, Survey};
use super::shutdown_timing::{CONFIG, behind_balancer, patch};
use replank_facts::shutdown::{ISTIO_DRAIN, Leave, Path, SPARE, Serving, paths_of, proxy_of};
use replank_facts::workload::Workload;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let found =
        survey.services().filter_map(|(workload, subject, count)| of(survey, workload, subject, count));
    found.collect()
}

fn of(survey: &Survey<'_>, workload: &Workload, subject: &Subject, count: usize) -> Option<Finding> {
    let pod = &subject.pod;
    let proxy = proxy_of(pod)?;
    // A native sidecar ends after the containers that it serves.
    if pod.spec.init_containers.iter().any(|container| container.name == proxy.name) {
        return None;
    }
    let leave = Leave::of(survey.view, pod, Span::ZERO);
    let drains = match leave.serving {
        Serving::For(span) if span <= ISTIO_DRAIN => span,
        Serving::For(_) | Serving::UntilIdle { .. } => return None,
    };
    let unused = leave.grace - leave.exit(Span::ZERO);
    let paths = paths_of(survey.view, pod);
    if unused <= SPARE || paths.is_empty() {
        return None;
    }
    let severity = match behind_balancer(&paths).next() {
        Some(Path::AlbIp { .. } | Path::NlbIp { .. } | Path::Nodes { .. } | Path::Local { .. }) => {
            Severity::Warning
        }
        Some(Path::Proxy) | None => Severity::Info,
    };
    let enough = unused + drains - SPARE;
    let text = format!("\"terminationDrainDuration\":\"{}s\"", enough.as_secs_f64());
    let remedy = match pod.meta.annotations.value(CONFIG) {
        Some(_) => format!("add {text} to the annotation {CONFIG} of the pods of {workload}").into(),
        None => patch(workload, &json!({"metadata": {"annotations": {CONFIG: format!("{{{text}}}")}}})),
    };
    Some(Finding {
        rule: Rule::ProxyDrain,
        severity,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!(
            "{}: the Istio proxy ({}) is killed {drains} after SIGTERM, even with open connections: longer requests are cut, and {unused} of the grace period of {} is unused",
            pods(count),
            proxy.name,
            leave.grace
        ),
        remedy,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::stage::{found, merge, node, remedies, service};
    use super::*;

    fn objects(extra: Value) -> Vec<Value> {
        let mut all = json!({"spec": {"terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "image": "i"}, {"name": "istio-proxy", "image": "p"}]}});
        merge(&mut all, extra);
        let reached = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": "s"},
            "spec": {"type": "ClusterIP", "selector": {"app": "web"}}});
        [vec![node("n", "a"), reached], service("web", &["n"], &all)].concat()
    }

    fn with(extra: Value) -> Vec<String> {
        found(Rule::ProxyDrain, objects(extra))
    }

    #[test]
    fn a_sidecar_that_leaves_its_grace_unused_is_found() {
        assert_eq!(
            with(json!({})),
            [
                "info proxy-drain Deployment shop/web: 1 pod: the Istio proxy (istio-proxy) is killed 5s after SIGTERM, even with open connections: longer requests are cut, and 25s of the grace period of 30s is unused"
            ]
        );
        assert_eq!(
            remedies(Rule::ProxyDrain, objects(json!({}))),
            [
                r#"kubectl -n shop patch deployment/web -p '{"spec":{"template":{"metadata":{"annotations":{"proxy.istio.io/config":"{\"terminationDrainDuration\":\"25s\"}"}}}}}'"#
            ]
        );
    }

    #[test]
    fn a_gateway_behind_a_load_balancer_is_a_warning() {
        let image =
            json!({"spec": {"containers": [{"name": "proxyv2", "image": "docker.io/istio/proxyv2:1.28.0"}]}});
        let mut all = objects(image);
        all[1]["spec"]["type"] = json!("LoadBalancer");
        let told = found(Rule::ProxyDrain, all);
        assert!(told[0].starts_with("warning") && told[0].contains("(proxyv2)"), "{told:?}");
    }

    #[test]
    fn what_is_set_is_kept() {
        let annotated = |text: &str| json!({"metadata": {"annotations": {CONFIG: text}}});
        assert_eq!(with(annotated("terminationDrainDuration: 20s")), [""; 0]);
        assert_eq!(with(annotated("proxyMetadata:\n  EXIT_ON_ZERO_ACTIVE_CONNECTIONS: \"true\"")), [""; 0]);
        let other = objects(annotated("concurrency: 2"));
        assert!(remedies(Rule::ProxyDrain, other)[0].starts_with("add \"terminationDrainDuration\":\"25s\""));
    }

    #[test]
    fn near_misses_are_not_found() {
        assert_eq!(with(json!({"spec": {"containers": [{"name": "c", "image": "i"}]}})), [""; 0], "no proxy");
        assert_eq!(with(json!({"spec": {"terminationGracePeriodSeconds": 10}})), [""; 0], "nothing to gain");
        let native = json!({"spec": {"containers": [{"name": "c", "image": "i"}],
            "initContainers": [{"name": "istio-proxy", "image": "p", "restartPolicy": "Always"}]}});
        assert_eq!(with(native), [""; 0], "it ends last");
        assert_eq!(with(json!({"metadata": {"labels": {"app": "other"}}})), [""; 0], "nobody connects to it");
    }
}
