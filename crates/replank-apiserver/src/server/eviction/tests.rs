//! Every answer of the eviction subresource, and what each leaves behind.

use replank_model::delta::Delta;
use replank_model::object::condition;
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::{Value, json};

use super::*;
use crate::draw::Draws;
use crate::json::{Method, Request};

const NOW: &str = "2026-01-01T00:00:00Z";

/// A pod `web-0` and what covers it.
struct Case {
    pod: Value,
    budgets: Vec<Value>,
}

fn pod(phase: &str, ready: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "u0", "resourceVersion": "7", "generation": 1,
            "labels": {"app": "web"}},
        "spec": {"nodeName": "a", "containers": []},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}})
}

fn budget(name: &str, status: Value) -> Value {
    let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 2},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": 2, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}});
    if let Value::Object(members) = status {
        for (member, value) in members {
            budget["status"][member] = value;
        }
    }
    budget
}

fn running(status: Value) -> Case {
    Case { pod: pod("Running", "True"), budgets: vec![budget("b", status)] }
}

fn unready(status: Value, policy: Option<&str>) -> Case {
    let mut budget = budget("b", status);
    if let Some(policy) = policy {
        budget["spec"]["unhealthyPodEvictionPolicy"] = policy.into();
    }
    Case { pod: pod("Running", "False"), budgets: vec![budget] }
}

fn api(case: &Case) -> Api {
    let mut view = View::default();
    for object in case.budgets.iter().chain([&case.pod]) {
        view.apply(Delta::Put(Object::from_json(object.clone()).expect("an object")));
    }
    Api::new(crate::Clock::new(NOW.parse::<Time>().expect("a time")), view, Draws::new(1))
}

fn post(api: &mut Api, pod: &str, query: &str, options: Value) -> (u16, Value) {
    let mut body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "shop"}});
    if !options.is_null() {
        body["deleteOptions"] = options;
    }
    let path = format!("/api/v1/namespaces/shop/pods/{pod}/eviction{query}");
    let response =
        api.handle(&Request { method: Method::Post, path, content_type: String::new(), body, wire: None });
    (response.code, response.body)
}

fn failure(code: u16, reason: &str, message: &str, details: Value) -> (u16, Value) {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code});
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    if !details.is_null() {
        status["details"] = details;
    }
    (code, status)
}

fn too_many(cause: &str, retry: Option<i64>) -> (u16, Value) {
    let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
    if let Some(seconds) = retry {
        details["retryAfterSeconds"] = seconds.into();
    }
    failure(429, "TooManyRequests", WOULD_VIOLATE, details)
}

fn success() -> (u16, Value) {
    (201, json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}

/// What an eviction left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Everything is as it was.
    Untouched,
    /// The pod says why it ends and is on its way out; the budget is as it was.
    Deleted,
    /// The same, and the budget has one disruption less, with the pod's name.
    Charged,
    /// The budget is charged, and that is all.
    OnlyCharged,
    /// The budget is charged and the pod says why it would end, but stays.
    Targeted,
}

fn left(api: &Api) -> Left {
    let key = Key::new("shop", "web-0");
    let pod = api.view().pods.by_key(&key).expect("pods with grace stay for a while");
    let is_charged = api
        .view()
        .pod_disruption_budgets
        .sorted()
        .iter()
        .any(|(_, budget)| budget.status.disrupted_pods.contains_key("web-0"));
    let is_target = condition::is_true(&pod.status.conditions, DISRUPTION_TARGET);
    match (is_charged, is_target, pod.is_terminating()) {
        (false, false, false) => Left::Untouched,
        (false, true, true) => Left::Deleted,
        (true, true, true) => Left::Charged,
        (true, false, false) => Left::OnlyCharged,
        (true, true, false) => Left::Targeted,
        other => panic!("unexpected state {other:?}"),
    }
}

fn check(name: &str, case: &Case, query: &str, options: Value, expected: (u16, Value), leaves: Left) {
    let mut api = api(case);
    let (code, status) = expected;
    assert_eq!(post(&mut api, "web-0", query, options), (code, status), "{name}");
    assert_eq!(left(&api), leaves, "{name}");
}

#[test]
fn budgets_decide() {
    let none = Value::Null;
    let no_budget = Case { pod: pod("Running", "True"), budgets: Vec::new() };
    check("no budget", &no_budget, "", none.clone(), success(), Left::Deleted);
    check("allowed", &running(json!({})), "", none.clone(), success(), Left::Charged);
    let spent = json!({"disruptionsAllowed": 0, "currentHealthy": 1});
    let needs = "The disruption budget b needs 1 healthy pods and has 1 currently";
    check("exhausted", &running(spent.clone()), "", none.clone(), too_many(needs, None), Left::Untouched);
    let lagging = json!({"observedGeneration": 1});
    let lags = too_many("The disruption budget b is still being processed by the server.", Some(10));
    check("unobserved", &running(lagging), "", none.clone(), lags, Left::Untouched);
    let about = json!({"name": "b", "group": "policy", "kind": "poddisruptionbudget"});
    let words = "poddisruptionbudget.policy \"b\" is forbidden: pdb disruptions allowed is negative";
    let negative = failure(403, "Forbidden", words, about.clone());
    check(
        "negative",
        &running(json!({"disruptionsAllowed": -1})),
        "",
        none.clone(),
        negative,
        Left::Untouched,
    );
    let crowd: serde_json::Map<String, Value> = (0..=2000).map(|n| (format!("p{n}"), NOW.into())).collect();
    let words = "poddisruptionbudget.policy \"b\" is forbidden: DisruptedPods map too big - too many evictions not \
                 confirmed by PDB controller";
    let crowded = failure(403, "Forbidden", words, about);
    check("crowded", &running(json!({"disruptedPods": crowd})), "", none.clone(), crowded, Left::Untouched);
    let several =
        Case { pod: pod("Running", "True"), budgets: vec![budget("b", json!({})), budget("c", spent)] };
    let words =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    check("several", &several, "", none, failure(500, "", words, Value::Null), Left::Untouched);
}

#[test]
fn pods_that_are_disrupted_already_go() {
    let spent = json!({"disruptionsAllowed": 0});
    let budgets = vec![budget("b", spent.clone()), budget("c", spent)];
    for phase in ["Pending", "Succeeded", "Failed"] {
        let case = Case { pod: pod(phase, "False"), budgets: budgets.clone() };
        let mut api = api(&case);
        assert_eq!(post(&mut api, "web-0", "", Value::Null), success(), "{phase}");
    }
    let mut ending = pod("Running", "True");
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z".into();
    ending["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    check("terminating", &Case { pod: ending, budgets }, "", Value::Null, success(), Left::Deleted);
}

#[test]
fn unready_pods_go_by_the_policy() {
    let met = || json!({"disruptionsAllowed": 0, "currentHealthy": 1});
    let broken = || json!({"disruptionsAllowed": 0, "currentHealthy": 0});
    let nothing_desired = || json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0});
    let refused = |needed: i32, has: i32| {
        too_many(
            &format!("The disruption budget b needs {needed} healthy pods and has {has} currently"),
            None,
        )
    };
    let healthy = Some("IfHealthyBudget");
    let cases = [
        ("default, met", unready(met(), None), success(), Left::Deleted),
        ("default, broken", unready(broken(), None), refused(1, 0), Left::Untouched),
        ("default, nothing desired", unready(nothing_desired(), None), refused(0, 0), Left::Untouched),
        ("IfHealthyBudget, met", unready(met(), healthy), success(), Left::Deleted),
        ("IfHealthyBudget, broken", unready(broken(), healthy), refused(1, 0), Left::Untouched),
        ("AlwaysAllow, broken", unready(broken(), Some("AlwaysAllow")), success(), Left::Deleted),
        (
            "AlwaysAllow, unobserved",
            unready(json!({"observedGeneration": 1}), Some("AlwaysAllow")),
            success(),
            Left::Deleted,
        ),
    ];
    for (name, case, expected, leaves) in cases {
        check(name, &case, "", Value::Null, expected, leaves);
    }
}

#[test]
fn dry_runs_change_nothing() {
    let all = json!({"dryRun": ["All"]});
    check("in the options", &running(json!({})), "", all.clone(), success(), Left::Untouched);
    check("in the query", &running(json!({})), "?dryRun=All", Value::Null, success(), Left::Untouched);
    check("in both", &running(json!({})), "?dryRun=All", all.clone(), success(), Left::Untouched);
    let spent = running(json!({"disruptionsAllowed": 0}));
    let needs = too_many("The disruption budget b needs 1 healthy pods and has 2 currently", None);
    check("refused", &spent, "", all, needs, Left::Untouched);
}

#[test]
fn options_are_looked_at_after_the_budget() {
    let about = json!({"name": "web-0", "kind": "Pod"});
    let words = "Operation cannot be fulfilled on Pod \"web-0\": the UID in the precondition (other) does not match the \
                 UID in record (u0). The object might have been deleted and then recreated";
    let conflict = failure(409, "Conflict", words, about.clone());
    let other = json!({"preconditions": {"uid": "other"}});
    check("another incarnation", &running(json!({})), "", other, conflict, Left::OnlyCharged);
    let words = "Operation cannot be fulfilled on Pod \"web-0\": the ResourceVersion in the precondition (6) does not \
                 match the ResourceVersion in record (7). The object might have been modified";
    let conflict = failure(409, "Conflict", words, about);
    let older = json!({"preconditions": {"resourceVersion": "6"}});
    check("another state", &running(json!({})), "", older, conflict, Left::OnlyCharged);
    let this = json!({"preconditions": {"uid": "u0", "resourceVersion": "7"}});
    check("this one", &running(json!({})), "", this, success(), Left::Charged);
    let cause =
        "Unsupported value: \"Bogus\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
    let invalid = failure(
        422,
        "Invalid",
        &format!("DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: {cause}"),
        json!({"group": "meta.k8s.io", "kind": "DeleteOptions",
            "causes": [{"reason": "FieldValueNotSupported", "message": cause, "field": "propagationPolicy"}]}),
    );
    let bogus = json!({"propagationPolicy": "Bogus"});
    check("invalid", &running(json!({})), "", bogus, invalid, Left::Targeted);
}

#[test]
fn requests_that_fit_nothing() {
    let mut api = api(&running(json!({})));
    let about = json!({"name": "ghost", "kind": "pods"});
    let missing = failure(404, "NotFound", "pods \"ghost\" not found", about);
    assert_eq!(post(&mut api, "ghost", "", Value::Null), missing);
    let body = json!({"metadata": {"name": "web-1"}});
    let path = "/api/v1/namespaces/shop/pods/web-0/eviction".to_owned();
    let response =
        api.handle(&Request { method: Method::Post, path, content_type: String::new(), body, wire: None });
    let words = "name in URL does not match name in Eviction object";
    assert_eq!((response.code, response.body), failure(400, "BadRequest", words, Value::Null));
    assert_eq!(left(&api), Left::Untouched);
}

#[test]
fn conflicts_without_end_time_out() {
    let error = EvictionRefusal::Conflicts { budget: "b".into() }.into_error(&Key::new("shop", "web-0"));
    let words = "Timeout: couldn't update PodDisruptionBudget \"b\" due to conflicts";
    let expected = failure(504, "Timeout", words, json!({"retryAfterSeconds": 10}));
    assert_eq!((error.code, error.to_status()), expected);
}

#[test]
fn the_grace_that_is_asked_for_is_given() {
    for (asked, given) in [(Some(5), 5), (Some(-5), 1), (None, 30)] {
        let mut api = api(&running(json!({})));
        let options = asked.map_or(Value::Null, |seconds| json!({"gracePeriodSeconds": seconds}));
        post(&mut api, "web-0", "", options);
        let pod = api.view().pods.by_key(&Key::new("shop", "web-0")).expect("it has grace");
        assert_eq!(pod.meta.deletion_grace_period_seconds, Some(given));
    }
}
