//! Admission webhooks that must answer (`failurePolicy: Fail`), and whose only pods are to be moved.
//!
//! While no pod is behind the webhook's Service, the API server refuses every request that the webhook is asked about. If that
//! is the making of pods, its own successor among them, it never comes back by itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, render};
use replank_model::selector::LabelSelector;
use replank_model::text::NodeName;
use replank_model::view::View;
use serde_json::Value;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use super::change::twice;
use replank_facts::remedy::Remedy;
use replank_facts::workload::{Workload, workload_of};

const KINDS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let others = survey.view.others();
    for other in others
        .filter(|other| other.group() == "admissionregistration.k8s.io" && KINDS.contains(&&*other.kind))
    {
        let object = render(&Object::Other(other.clone()));
        for webhook in object["webhooks"].as_array().into_iter().flatten() {
            findings.extend(of_webhook(survey, other, webhook));
        }
    }
    findings
}

fn of_webhook(survey: &Survey<'_>, other: &Other, webhook: &Value) -> Option<Finding> {
    // admissionregistration.k8s.io/v1 defaults to Fail.
    if webhook["failurePolicy"].as_str().unwrap_or("Fail") != "Fail" {
        return None;
    }
    let service = &webhook["clientConfig"]["service"];
    let key = Key::new(service["namespace"].as_str()?, service["name"].as_str()?);
    let all = backends(survey.view, &key)?;
    let ready: Vec<&Arc<Pod>> = all.iter().copied().filter(|pod| pod.is_ready()).collect();
    // Requests go to Ready pods; where none is, whatever is there may become Ready.
    let (pods, kind) = match ready.len() {
        0 => (all, "backend"),
        some if some < all.len() => (ready, "Ready backend"),
        _ => (ready, "backend"),
    };
    let object = ObjectName::new(&other.kind, other.meta.key());
    let name = webhook["name"].as_str().unwrap_or_default();
    if pods.is_empty() {
        return Some(Finding {
            rule: Rule::WebhookBackend,
            severity: if makes_pods(webhook) { Severity::Blocking } else { Severity::Warning },
            object,
            reason: format!(
                "webhook {name} is required (failurePolicy Fail), but Service {key} has no pods: {}",
                refused(webhook)
            ),
            remedy: format!(
                "kubectl -n {} get endpointslices -l kubernetes.io/service-name={}   # start its pods, or delete the webhook",
                key.namespace, key.name
            ).into(),
        });
    }
    let nodes: BTreeSet<&NodeName> = pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
    let moves = nodes.iter().all(|node| survey.nodes.contains(*node));
    let go_together = pods.len() == 1 || (nodes.len() == 1 && is_free(survey.view, &pods));
    if !moves || !go_together {
        return None;
    }
    let who = match pods.as_slice() {
        [only] => format!("its only {kind} is pod {}", only.meta.key()),
        many => format!("its {} {kind}s share node {}", many.len(), nodes.first()?),
    };
    let own = stops_pods(webhook) && pods.iter().any(|pod| covers(survey.view, webhook, pod));
    let (severity, then) = match own {
        true => (
            Severity::Blocking,
            "while it moves, no pod can be created, not even its own replacement: the webhook stays down"
                .to_owned(),
        ),
        false => (Severity::Warning, format!("while it moves, {}", refused(webhook))),
    };
    Some(Finding {
        rule: Rule::WebhookBackend,
        severity,
        object,
        reason: format!("webhook {name} is required (failurePolicy Fail), and {who}: {then}"),
        remedy: remedy(survey, workload_of(survey.view, pods[0]).as_ref(), &key, own),
    })
}

/// The running pods behind a Service; `None` where the snapshot does not tell.
fn backends<'a>(view: &'a View, service: &Key) -> Option<Vec<&'a Arc<Pod>>> {
    let service = view.services.by_key(service)?;
    if service.spec.selector.is_empty() {
        return None;
    }
    let is_behind = |pod: &Pod| {
        let labels = &pod.meta.labels;
        pod.is_active() && service.spec.selector.iter().all(|(key, value)| labels.value(key) == Some(value))
    };
    let pods = view.pods.sorted().into_iter().map(|(_, pod)| pod);
    let own = pods.filter(|pod| pod.meta.namespace == service.meta.namespace);
    Some(own.filter(|pod| pod.node.is_some() && is_behind(pod)).collect())
}

/// Whether nothing keeps the pods of one node from going together.
fn is_free(view: &View, pods: &[&Arc<Pod>]) -> bool {
    pods.iter().all(|pod| view.pods.find(&pod.meta.key()).is_none_or(|ix| view.budgets_of(ix).is_empty()))
}

/// Whether it is asked when pods are made, bound to nodes, or evicted.
fn makes_pods(webhook: &Value) -> bool {
    creates(webhook, &["pods", "*", "*/*", "pods/*", "pods/binding", "pods/eviction"])
}

/// Whether no pod can start without it; an eviction that is refused keeps no pod from starting.
fn stops_pods(webhook: &Value) -> bool {
    creates(webhook, &["pods", "*", "*/*", "pods/*", "pods/binding"])
}

/// Whether it is asked when one of these resources of the core group is created.
fn creates(webhook: &Value, resources: &[&str]) -> bool {
    let has = |list: &Value, wanted: &[&str]| {
        list.as_array()
            .is_some_and(|all| all.iter().filter_map(Value::as_str).any(|one| wanted.contains(&one)))
    };
    webhook["rules"].as_array().into_iter().flatten().any(|rule| {
        has(&rule["operations"], &["CREATE", "*"])
            && has(&rule["apiGroups"], &["", "*"])
            && has(&rule["resources"], resources)
            // Pods are in namespaces.
            && rule["scope"].as_str() != Some("Cluster")
    })
}

fn refused(webhook: &Value) -> String {
    match stops_pods(webhook) {
        true => "the API server rejects new pods that match the webhook".to_owned(),
        false => "the API server rejects every request that matches the webhook".to_owned(),
    }
}

/// Whether the making of a pod like this one is put before the webhook. Conditions in CEL are taken to let it through.
fn covers(view: &View, webhook: &Value, pod: &Pod) -> bool {
    let selector =
        |value: &Value| -> LabelSelector { serde_json::from_value(value.clone()).unwrap_or_default() };
    let in_namespace = selector(&webhook["namespaceSelector"]);
    let of_object = selector(&webhook["objectSelector"]);
    let own_name = pod.meta.namespace.as_str();
    let namespace = view.namespaces.by_key(&Key::cluster(own_name));
    let of_namespace = |key: &str| match (key, namespace) {
        // Every namespace has it (core/v1 `LabelMetadataName`).
        ("kubernetes.io/metadata.name", _) => Some(own_name),
        (key, Some(namespace)) => namespace.meta.labels.value(key),
        (_, None) => None,
    };
    let has_conditions = webhook["matchConditions"].as_array().is_some_and(|all| !all.is_empty());
    !has_conditions
        && in_namespace.compile().is_ok_and(|selector| selector.matches(of_namespace))
        && of_object.compile().is_ok_and(|selector| selector.matches(|key| pod.meta.labels.value(key)))
}

fn remedy(survey: &Survey<'_>, workload: Option<&Workload>, service: &Key, own: bool) -> Remedy {
    let scaled = workload.map(|workload| twice(survey, workload));
    let remedy = match scaled {
        Some(Ok(remedy)) => remedy.note("on several nodes"),
        Some(Err(words)) => Remedy::look(format!("{words}, on several nodes, under a disruption budget")),
        None => Remedy::look(format!(
            "run two pods behind Service {service}, on several nodes, under a disruption budget"
        )),
    };
    if !own {
        return remedy;
    }
    let exclude = format!(
        "exclude namespace {} in the webhook's namespaceSelector (kubernetes.io/metadata.name NotIn)",
        service.namespace
    );
    let look = [remedy.look.clone(), exclude].into_iter().filter(|text| !text.is_empty());
    let look = look.collect::<Vec<_>>().join("\n");
    remedy.look_first(look)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, found_under, merge, node, remedies, service};
    use super::*;

    fn hook(extra: Value) -> Vec<Value> {
        let mut webhook = json!({"name": "pods.guard.io", "clientConfig": {"service": {"namespace": "shop", "name": "guard"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]});
        merge(&mut webhook, extra);
        vec![
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "guard"}, "webhooks": [webhook]}),
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "guard", "namespace": "shop"}, "spec": {"selector": {"app": "guard"}}}),
        ]
    }

    fn with(extra: Value, on: &[&str]) -> Vec<String> {
        let nodes = vec![node("n", "a"), node("m", "b")];
        found(Rule::WebhookBackend, [nodes, hook(extra), service("guard", on, &json!({}))].concat())
    }

    #[test]
    fn one_that_stands_in_its_own_way_blocks() {
        assert_eq!(
            with(json!({}), &["n"]),
            [
                "blocking webhook-backend ValidatingWebhookConfiguration guard: webhook pods.guard.io is required (failurePolicy Fail), and its only backend is pod shop/guard-a: while it moves, no pod can be created, not even its own replacement: the webhook stays down"
            ]
        );
        let all = [vec![node("n", "a")], hook(json!({})), service("guard", &["n"], &json!({}))].concat();
        assert!(
            remedies(Rule::WebhookBackend, all)[0]
                .contains("kubectl -n shop scale deployment/guard --replicas=2")
        );
        assert!(with(json!({}), &["n", "n"])[0].contains("its 2 backends share node n"));
    }

    #[test]
    fn one_that_leaves_its_own_namespace_out_only_interrupts() {
        let out = json!({"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop"]}]}});
        assert!(with(out, &["n"])[0].starts_with("warning"));
        let jobs = json!({"rules": [{"operations": ["UPDATE"], "apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}]});
        assert!(
            with(jobs, &["n"])[0]
                .ends_with("while it moves, the API server rejects every request that matches the webhook")
        );
    }

    #[test]
    fn what_is_not_asked_about_pods_of_namespaces_does_not_stop_them() {
        let over = |resource: &str, scope: &str| {
            let rule = json!({"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource], "scope": scope});
            with(json!({"rules": [rule]}), &["n"]).remove(0)
        };
        assert!(over("*", "*").starts_with("blocking"));
        assert!(over("*", "Namespaced").starts_with("blocking"));
        assert!(over("*", "Cluster").starts_with("warning"));
        assert!(over("pods/binding", "*").starts_with("blocking"), "a pod that is not bound does not start");
        assert!(over("pods/eviction", "*").starts_with("warning"), "its successor starts");
    }

    #[test]
    fn pods_that_are_not_ready_answer_nothing() {
        let objects = |ready: &str| {
            let mut pods = service("guard", &["n", "s"], &json!({}));
            for pod in pods.iter_mut().filter(|object| object["metadata"]["name"] == "guard-b") {
                pod["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
            }
            let mut staying = node("s", "a");
            staying["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("system");
            let told = [vec![node("n", "a"), staying], hook(json!({})), pods].concat();
            found_under(Rule::WebhookBackend, |_| {}, told)
        };
        assert!(
            objects("False")[0].contains("its only Ready backend is pod shop/guard-a"),
            "{:?}",
            objects("False")
        );
        assert_eq!(objects("True"), [""; 0]);
    }

    #[test]
    fn one_without_any_backend_is_told_too() {
        assert!(with(json!({}), &[])[0].starts_with("blocking webhook-backend"));
    }

    #[test]
    fn near_misses_are_not_found() {
        assert_eq!(with(json!({"failurePolicy": "Ignore"}), &["n"]), [""; 0]);
        assert_eq!(with(json!({}), &["n", "m"]), [""; 0], "one of two is enough");
        let kept = vec![node("n", "a"), budget("guard", &json!({"maxUnavailable": 1}), (2, 1, 2))];
        let kept = [kept, hook(json!({})), service("guard", &["n", "n"], &json!({}))].concat();
        assert_eq!(found(Rule::WebhookBackend, kept), [""; 0], "a budget lets one go after the other");
        let elsewhere = json!({"clientConfig": {"service": {"namespace": "other", "name": "unknown"}}});
        assert_eq!(with(elsewhere, &["n"]), [""; 0], "nothing is known of it");
        let mut staying = node("s", "a");
        staying["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("system");
        let stays =
            [vec![node("n", "a"), staying], hook(json!({})), service("guard", &["s"], &json!({}))].concat();
        assert_eq!(found_under(Rule::WebhookBackend, |_| {}, stays), [""; 0]);
    }
}
