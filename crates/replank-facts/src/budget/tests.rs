use proptest::prelude::*;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::text::Text;
use replank_protocol::waiting::{PodEnd, PodWait};
use serde_json::{Value, json};

use super::*;

fn object(value: Value) -> Delta {
    Delta::Put(Object::from_json(value).expect("a valid object"))
}

fn pod(name: &str, app: &str, ready: bool) -> Delta {
    let status = if ready { "True" } else { "False" };
    object(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": app}},
        "spec": {"containers": [], "nodeName": "n"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}}))
}

fn leaving(name: &str, app: &str) -> Delta {
    object(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": app},
            "deletionTimestamp": "2026-01-01T00:00:30Z"},
        "spec": {"containers": [], "nodeName": "n"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}))
}

/// A budget with a status; `extra` is laid over the status.
fn budget(name: &str, app: &str, (healthy, desired, allowed): (i32, i32, i32), extra: &Value) -> Delta {
    let mut status = json!({"currentHealthy": healthy, "desiredHealthy": desired, "disruptionsAllowed": allowed,
        "expectedPods": healthy, "observedGeneration": 1});
    for (key, value) in extra.as_object().into_iter().flatten() {
        status[key] = value.clone();
    }
    object(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": app}}}, "status": status}))
}

fn pods(view: &View) -> Vec<(Ix<Pod>, std::sync::Arc<Pod>)> {
    view.pods.sorted().into_iter().map(|(ix, pod)| (ix, pod.clone())).collect()
}

/// Names of the pods that may be evicted together, and the first refusal.
fn takes(view: &View) -> (Vec<String>, Option<WaitingOn>) {
    let mut healths = Healths::default();
    let mut ledger = Ledger::new(view, &mut healths);
    let mut refusal = None;
    let mut taken = Vec::new();
    for (ix, pod) in pods(view) {
        match ledger.check(ix, &pod) {
            Ok(()) => {
                ledger.charge(ix, &pod);
                taken.push(pod.meta.name.to_string());
            }
            Err(why) => {
                refusal.get_or_insert(why);
            }
        }
    }
    (taken, refusal)
}

fn shop(name: &str) -> Key {
    Key::new("shop", name)
}

#[test]
fn pods_of_one_budget_share_what_it_allows() {
    let view: View = [
        pod("a", "web", true),
        pod("b", "web", true),
        pod("c", "web", true),
        budget("web", "web", (3, 2, 1), &json!({})),
    ]
    .into_iter()
    .collect();
    let (taken, refusal) = takes(&view);
    assert_eq!(taken, ["a"]);
    assert_eq!(refusal, Some(WaitingOn::Pod(PodWait::Budget { budget: shop("web"), healthy: 2, needed: 2 })));
}

#[test]
fn a_pod_under_several_budgets_is_never_evicted() {
    let view: View = [
        pod("a", "web", true),
        budget("x", "web", (1, 0, 1), &json!({})),
        budget("b", "web", (1, 0, 1), &json!({})),
    ]
    .into_iter()
    .collect();
    let refusal = WaitingOn::PodEnd(PodEnd::Budgets { budgets: vec![shop("b"), shop("x")] });
    assert_eq!(takes(&view), (vec![], Some(refusal)));
}

#[test]
fn an_unready_pod_costs_nothing_while_the_budget_is_met() {
    let with = |healthy, desired, policy: Option<&str>| -> Vec<String> {
        let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "shop", "generation": 1},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"currentHealthy": healthy, "desiredHealthy": desired, "disruptionsAllowed": 0, "observedGeneration": 1}});
        if let Some(policy) = policy {
            budget["spec"]["unhealthyPodEvictionPolicy"] = json!(policy);
        }
        takes(&[pod("ill", "web", false), pod("well", "web", true), object(budget)].into_iter().collect()).0
    };
    assert_eq!(with(1, 1, None), ["ill"]);
    assert_eq!(with(1, 2, None), [""; 0], "the budget is not met");
    assert_eq!(with(1, 0, None), [""; 0], "nothing is desired: counted as a ready one");
    assert_eq!(with(1, 2, Some("AlwaysAllow")), ["ill"]);
}

#[test]
fn pods_that_ask_no_budget() {
    let phase = |phase: &str| {
        object(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": phase, "namespace": "shop", "uid": phase, "labels": {"app": "web"}},
            "spec": {"containers": []}, "status": {"phase": phase}}),
        )
    };
    let view: View = [
        phase("Pending"),
        phase("Succeeded"),
        leaving("z", "web"),
        budget("web", "web", (0, 1, 0), &json!({})),
    ]
    .into_iter()
    .collect();
    assert_eq!(takes(&view).0, ["Pending", "Succeeded", "z"]);
}

#[test]
fn a_budget_that_nobody_counts_allows_nothing() {
    let failed = json!({"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed",
        "message": "jobs.batch does not implement the scale subresource"}]});
    let view: View = [pod("a", "web", true), budget("web", "web", (0, 0, 0), &failed)].into_iter().collect();
    let message = Text::from("jobs.batch does not implement the scale subresource");
    assert_eq!(
        takes(&view).1,
        Some(WaitingOn::Pod(PodWait::BudgetUncounted { budget: shop("web"), message }))
    );
    let view: View =
        [pod("a", "web", true), budget("web", "web", (1, 0, 1), &json!({"observedGeneration": 0}))]
            .into_iter()
            .collect();
    let message = Text::from("its controller has seen generation 0 of 1");
    assert_eq!(
        takes(&view).1,
        Some(WaitingOn::Pod(PodWait::BudgetUncounted { budget: shop("web"), message }))
    );
}

#[test]
fn whichever_stream_is_ahead_an_eviction_counts_once() {
    // The pods are ahead: one is on its way out, the status does not know it yet.
    let view: View = [
        leaving("a", "web"),
        pod("b", "web", true),
        pod("c", "web", true),
        budget("web", "web", (3, 2, 1), &json!({})),
    ]
    .into_iter()
    .collect();
    assert_eq!(takes(&view).0, ["a"], "only the one that is going already");
    // The status is ahead: it counts an eviction that the pods do not show yet.
    let under_way = json!({"disruptedPods": {"a": "2026-01-01T00:00:00Z"}});
    let view: View = [
        pod("a", "web", true),
        pod("b", "web", true),
        pod("c", "web", true),
        budget("web", "web", (3, 2, 0), &under_way),
    ]
    .into_iter()
    .collect();
    assert_eq!(takes(&view).0, [""; 0]);
    // An eviction in flight is charged once, whether or not the status shows it.
    for extra in [json!({}), under_way] {
        let allowed = 2 - i32::from(extra.get("disruptedPods").is_some());
        let view: View = [
            pod("a", "web", true),
            pod("b", "web", true),
            pod("c", "web", true),
            budget("web", "web", (3, 1, allowed), &extra),
        ]
        .into_iter()
        .collect();
        let mut healths = Healths::default();
        let mut ledger = Ledger::new(&view, &mut healths);
        let pods = pods(&view);
        ledger.charge(pods[0].0, &pods[0].1);
        let mut granted = 0;
        for (ix, pod) in &pods[1..] {
            if ledger.check(*ix, pod).is_ok() {
                ledger.charge(*ix, pod);
                granted += 1;
            }
        }
        assert_eq!(granted, 1, "{extra}");
    }
}

#[test]
fn counts_follow_changes() {
    let mut view = View::default();
    let mut healths = Healths::default();
    let apply = |view: &mut View, healths: &mut Healths, delta: Delta| {
        let change = view.apply(delta);
        healths.observe(view, &change);
        view.pod_disruption_budgets.find(&shop("web")).map(|ix| {
            let counted = healths.healthy(view, ix);
            assert_eq!(counted, Healths::default().healthy(view, ix), "counted anew");
            counted
        })
    };
    apply(&mut view, &mut healths, budget("web", "web", (0, 0, 0), &json!({})));
    assert_eq!(apply(&mut view, &mut healths, pod("a", "web", true)), Some(1));
    assert_eq!(apply(&mut view, &mut healths, pod("b", "web", false)), Some(1));
    assert_eq!(apply(&mut view, &mut healths, pod("b", "web", true)), Some(2));
    assert_eq!(apply(&mut view, &mut healths, leaving("a", "web")), Some(1));
    assert_eq!(apply(&mut view, &mut healths, pod("b", "other", true)), Some(0));
    let gone = |view: &View, name: &str| {
        let pod = view.pods.by_key(&shop(name)).expect("it is there");
        Delta::Gone(Object::from(pod.clone()).reference())
    };
    let of_a = gone(&view, "a");
    assert_eq!(apply(&mut view, &mut healths, of_a), Some(0));
    assert_eq!(apply(&mut view, &mut healths, pod("b", "web", true)), Some(1), "its labels are others again");
    let of_b = gone(&view, "b");
    assert_eq!(apply(&mut view, &mut healths, of_b), Some(0), "it went without being asked to");
    assert_eq!(apply(&mut view, &mut healths, pod("c", "web", true)), Some(1), "it came Ready");
    let evicted = |names: &[&str]| {
        let pods: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).into(), json!("2026-01-01T00:00:00Z"))).collect();
        budget("web", "web", (0, 0, 0), &json!({"disruptedPods": pods}))
    };
    assert_eq!(apply(&mut view, &mut healths, pod("d", "web", true)), Some(2));
    assert_eq!(apply(&mut view, &mut healths, evicted(&["c", "x"])), Some(1), "one of them is there");
    assert_eq!(apply(&mut view, &mut healths, pod("x", "web", true)), Some(1), "it is said to be evicted");
    assert_eq!(apply(&mut view, &mut healths, pod("x", "other", true)), Some(1));
    assert_eq!(
        apply(&mut view, &mut healths, evicted(&["d"])),
        Some(1),
        "one counts again, and the other no more"
    );
    assert_eq!(apply(&mut view, &mut healths, leaving("d", "web")), Some(1));
    assert_eq!(apply(&mut view, &mut healths, evicted(&[])), Some(1), "it is on its way out by now");
}

/// What a budget may look like, with a status that lags behind its pods in either direction.
#[derive(Clone, Debug)]
struct Scene {
    pods: Vec<(bool, bool)>,
    desired: i32,
    status_healthy: i32,
    in_flight: Vec<bool>,
}

fn scene() -> impl Strategy<Value = Scene> {
    (
        prop::collection::vec((any::<bool>(), any::<bool>()), 1..12),
        0..8i32,
        0..12i32,
        prop::collection::vec(any::<bool>(), 12),
    )
        .prop_map(|(pods, desired, status_healthy, in_flight)| Scene {
            pods,
            desired,
            status_healthy,
            in_flight,
        })
}

proptest! {
    /// Whatever is granted on top of what is in flight, as many healthy pods as must stay are left, by what the pods show and
    /// by what the status shows; unless fewer are left already, and then no healthy pod is granted at all.
    #[test]
    fn granted_evictions_leave_what_must_stay(scene in scene()) {
        let allowed = (scene.status_healthy - scene.desired).max(0);
        let mut deltas = vec![budget("web", "web", (scene.status_healthy, scene.desired, allowed), &json!({}))];
        for (at, (ready, going)) in scene.pods.iter().enumerate() {
            let name = format!("p{at:02}");
            deltas.push(if *going && *ready { leaving(&name, "web") } else { pod(&name, "web", *ready) });
        }
        let view: View = deltas.into_iter().collect();
        let all = pods(&view);
        let healthy = |pod: &Pod| pod.is_ready() && !pod.is_terminating();
        let seen = i32::try_from(all.iter().filter(|(_, pod)| healthy(pod)).count()).expect("few");
        let mut healths = Healths::default();
        let mut ledger = Ledger::new(&view, &mut healths);
        let mut spent = 0;
        for ((ix, pod), flying) in all.iter().zip(&scene.in_flight) {
            if *flying && healthy(pod) {
                ledger.charge(*ix, pod);
                spent += 1;
            }
        }
        let mut granted = 0;
        for ((ix, pod), flying) in all.iter().zip(&scene.in_flight) {
            if !(*flying && healthy(pod)) && ledger.check(*ix, pod).is_ok() {
                ledger.charge(*ix, pod);
                granted += i32::from(healthy(pod));
            }
        }
        if granted > 0 {
            prop_assert!(seen - spent - granted >= scene.desired, "{seen} seen, {spent} in flight, {granted} granted");
            prop_assert!(allowed - spent - granted >= 0);
        }
    }
}
