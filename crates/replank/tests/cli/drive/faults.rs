//! What goes wrong between the driver and the server: the outcome is the same, and nothing is sent twice without a look in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use replank_judge::{Asked, Fault, Passed, Plan, Proxy};
use replank_live::LiveError;
use replank_live::drive::{Event, Options};
use replank_model::text::RunId;
use replank_model::time::Span;
use replank_protocol::command::{Answer, Effect, KubernetesEffect, Refusal};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use serde_json::json;

use super::ground::Ground;
use super::hand::{Drainer, Noted, Notes, RUN};
use super::{drive, drive_with, evictions};

/// How many pods there are; with three nodes a drain moves at least one.
const PODS: usize = 3;

fn nothing() -> Plan {
    Box::new(|_| Fault::Nothing)
}

/// Something goes wrong once, with the first request of a sort.
fn once(of: impl Fn(&Asked) -> bool + Send + 'static, fault: Fault) -> Plan {
    let mut is_over = false;
    Box::new(move |asked| {
        if is_over || !of(asked) {
            return Fault::Nothing;
        }
        is_over = true;
        fault
    })
}

fn is_eviction(asked: &Asked) -> bool {
    asked.path.contains("/eviction")
}

/// A proxy to a cluster with a workload of which a budget lets one pod go at a time.
fn stage(ground: &Ground, plan: Plan) -> Proxy {
    ground.workload("web", PODS);
    Proxy::begin(ground.kubeconfig(), &ground.folder, plan).expect("it begins")
}

/// A node with something on it.
fn loaded(ground: &Ground) -> String {
    let mut nodes = (1..=3).map(|number| format!("node-{number}"));
    nodes.find(|node| !ground.pods_on(node).is_empty()).expect("there are pods")
}

/// Drains a node with something on it, and gives it back; what was noted.
fn drained(ground: &Ground, proxy: &Proxy) -> Notes {
    let node = loaded(ground);
    let notes = Notes::default();
    let end = drive(proxy.kubeconfig(), &mut Drainer::new(&node), &notes);
    assert_eq!(end.expect("it ends"), End::Done);
    let path = format!("/api/v1/nodes/{node}");
    let found = ground.get(&path);
    assert_eq!(found["spec"]["unschedulable"], true);
    assert_eq!(found["metadata"]["annotations"][mark::RUN], RUN);
    assert!(ground.pods_on(&node).is_empty());
    ground.wait("the workload is whole again", |ground| ground.is_whole("web", PODS));
    let marks =
        [mark::VERSION, mark::OWNER, mark::RUN, mark::ROLE, mark::SINCE, mark::DRAIN_FROM, mark::EXPIRES];
    let annotations: serde_json::Map<String, serde_json::Value> =
        marks.iter().map(|key| ((*key).to_owned(), serde_json::Value::Null)).collect();
    ground.merge(&path, &json!({"metadata": {"annotations": annotations}, "spec": {"unschedulable": null}}));
    notes
}

/// No eviction of one incarnation is sent twice unless the first was answered, or the pod was looked at in between.
fn assert_looked_at_in_between(passed: &[Passed]) {
    let sent = evictions(passed);
    for (at, one) in sent.iter().enumerate() {
        let of = &one.asked.body["deleteOptions"]["preconditions"]["uid"];
        let next = sent[at + 1..]
            .iter()
            .find(|next| next.asked.body["deleteOptions"]["preconditions"]["uid"] == *of);
        let Some(next) = next else { continue };
        let is_answered = !matches!(one.fault, Fault::CutRequest | Fault::CutAnswer);
        let pod = one.asked.path.trim_end_matches("/eviction?fieldManager=replank");
        let is_read = passed[one.asked.index..next.asked.index]
            .iter()
            .any(|read| read.asked.method == "GET" && read.asked.path == pod);
        assert!(is_answered || is_read, "sent again without a look: {one:?} and {next:?}");
    }
}

fn count(notes: &Notes, of: impl Fn(&Event) -> bool) -> usize {
    notes.of(|noted| noted.events.iter().filter(|event| of(event)).count())
}

/// Cuts at every index of a drain, before the server is asked and after.
fn cut_at_every_index(ground: &Ground) {
    let proxy = stage(ground, nothing());
    // Requests before the first list only find out what there is: a command that gets no answer to them ends.
    let number = |passed: &[Passed]| passed.iter().filter(|one| one.asked.path.contains("limit=")).count();
    drained(ground, &proxy);
    let passed = proxy.passed();
    let first = passed.iter().position(|one| one.asked.path.contains("limit=")).expect("it lists");
    let whole = passed.len() - first;
    assert!(whole >= 8 && number(&passed) == 3, "{passed:?}");
    let mut cuts = 0;
    for index in 0..whole {
        for fault in [Fault::CutRequest, Fault::CutAnswer] {
            let (from, mut begun) = (proxy.passed().len(), None);
            let seen = Arc::new(AtomicUsize::new(0));
            let hits = seen.clone();
            proxy.plan(Box::new(move |asked| {
                let begin = match begun {
                    Some(begin) => begin,
                    None if asked.path.contains("limit=") => *begun.insert(asked.index),
                    None => return Fault::Nothing,
                };
                if asked.index != begin + index {
                    return Fault::Nothing;
                }
                hits.fetch_add(1, Ordering::SeqCst);
                fault
            }));
            drained(ground, &proxy);
            cuts += seen.load(Ordering::SeqCst);
            assert_looked_at_in_between(
                &proxy.passed()[from..].iter().enumerate().map(rebased).collect::<Vec<_>>(),
            );
        }
    }
    eprintln!("{cuts} cuts at {whole} requests");
    assert!(cuts >= whole * 3 / 2, "most cuts meet a request: {cuts} of {}", whole * 2);
}

fn rebased((index, passed): (usize, &Passed)) -> Passed {
    let mut passed = passed.clone();
    passed.asked.index = index;
    passed
}

/// Everything is late, or comes twice.
fn late_and_twice(ground: &Ground) {
    let mut writes = 0;
    let proxy = stage(
        ground,
        Box::new(move |asked| {
            writes += usize::from(asked.is_write());
            match writes % 3 {
                _ if !asked.is_write() => Fault::Nothing,
                0 => Fault::DelayAnswer(Duration::from_millis(1500)),
                1 => Fault::DelayRequest(Duration::from_millis(1500)),
                _ => Fault::Repeat,
            }
        }),
    );
    for _ in 0..3 {
        drained(ground, &proxy);
    }
    let refused = |passed: &&Passed| passed.asked.is_write() && passed.fault == Fault::Repeat;
    assert!(proxy.passed().iter().any(|one| refused(&one)), "some were sent twice");
    assert_looked_at_in_between(&proxy.passed());
}

/// Too many requests: nothing is refused, and no budget is charged.
fn throttled(ground: &Ground) {
    let proxy = stage(ground, once(is_eviction, Fault::Busy(2)));
    let notes = drained(ground, &proxy);
    assert_eq!(count(&notes, |event| matches!(event, Event::Throttled { .. })), 1);
    notes.of(|noted: &mut Noted| {
        for (command, answer) in &noted.answers {
            let is_well = matches!(answer, Answer::Done | Answer::Refused(Refusal::Budget { .. }));
            assert!(is_well, "{command:?} {answer:?}");
        }
    });
}

/// The credentials are not accepted for a while: they are read anew.
fn unauthorized(ground: &Ground) {
    let (mut has_begun, mut left) = (false, 4);
    let proxy = stage(
        ground,
        Box::new(move |asked| {
            has_begun |= asked.is_write();
            let hits = has_begun && left > 0;
            left -= i32::from(hits);
            if hits { Fault::Unauthorized } else { Fault::Nothing }
        }),
    );
    let notes = drained(ground, &proxy);
    let lost = count(&notes, |event| matches!(event, Event::Unauthorized { .. }));
    let found = count(&notes, |event| matches!(event, Event::Authorized));
    assert!(lost >= 1 && lost == found, "{lost} {found}");
}

/// The credentials are not accepted any more: that is told at once, and the run ends with it after a while, whatever is under way.
fn never_accepted(ground: &Ground) {
    let mut has_begun = false;
    let proxy = stage(
        ground,
        Box::new(move |asked| {
            let is_refused = has_begun;
            has_begun |= asked.is_write();
            if is_refused { Fault::Unauthorized } else { Fault::Nothing }
        }),
    );
    let notes = Notes::default();
    let options = Options { unauthorized_for: Duration::from_secs(5), ..Options::new(RunId::from(RUN)) };
    let begun = std::time::Instant::now();
    let ended = drive_with(options, proxy.kubeconfig(), &mut Drainer::new(&loaded(ground)), &notes);
    assert!(matches!(ended, Err(LiveError::Unauthorized { .. })), "{ended:?}");
    assert!(begun.elapsed() >= Duration::from_secs(5));
    assert_eq!(count(&notes, |event| matches!(event, Event::Unauthorized { .. })), 1);
    assert!(evictions(&proxy.passed()).iter().all(|one| one.status.is_none()), "nothing is evicted");
}

/// The token is good no longer in the middle of a run, and another stands in the kubeconfig by then.
fn renewed(ground: &Ground) {
    let proxy = stage(ground, nothing());
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    ground.create(
        accounts,
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "driver"}}),
    );
    ground.create(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "driver"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "driver", "namespace": "default"}]}),
    );
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let token = ground.create(&format!("{accounts}/driver/token"), &request)["status"]["token"].clone();
    let first = std::fs::read_to_string(proxy.kubeconfig()).expect("it is written");
    let mut config: serde_json::Value = serde_json::from_str(&first).expect("it is JSON");
    config["users"][0]["user"]["token"] = token;
    let file = ground.folder.join("own.kubeconfig");
    std::fs::write(&file, config.to_string()).expect("it can be written");
    let node = loaded(ground);
    let notes = Notes::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let is_cordoned = |one: &Passed| one.asked.method == "PATCH" && one.status == Some(200);
            while !proxy.passed().iter().any(is_cordoned) {
                thread::sleep(Duration::from_millis(20));
            }
            std::fs::write(&file, &first).expect("it can be written");
            ground.delete(&format!("{accounts}/driver"));
        });
        // Servers remember for some seconds who had a token.
        let mut engine = Drainer::patient(&node, Span::from_secs(20));
        let end = drive(&file, &mut engine, &notes);
        assert_eq!(end.expect("it ends"), End::Done);
    });
    assert!(ground.pods_on(&node).is_empty());
    assert!(proxy.passed().iter().any(|one| one.status == Some(401)));
    let lost = count(&notes, |event| matches!(event, Event::Unauthorized { .. }));
    let found = count(&notes, |event| matches!(event, Event::Authorized));
    assert!(lost >= 1 && lost == found, "{lost} {found}");
}

/// A watch that cannot go on: what changed meanwhile is found by a list.
fn expired(ground: &Ground) {
    let proxy =
        stage(ground, once(|asked| asked.is_watch() && asked.path.contains("/pods?"), Fault::Expired));
    let notes = drained(ground, &proxy);
    assert_eq!(
        count(&notes, |event| matches!(event, Event::Relisting { resource, .. } if resource == "pods")),
        1
    );
    assert_eq!(
        count(&notes, |event| matches!(event, Event::Relisted { resource, .. } if resource == "pods")),
        1
    );
}

/// The server is away for a while in the middle: nothing is evicted until everything is seen again.
fn away(ground: &Ground) {
    let proxy = stage(ground, nothing());
    let node = loaded(ground);
    let notes = Notes::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let is_cordoned = |one: &Passed| one.asked.method == "PATCH" && one.status == Some(200);
            while !proxy.passed().iter().any(is_cordoned) {
                thread::sleep(Duration::from_millis(20));
            }
            thread::sleep(Duration::from_secs(2));
            proxy.close();
            thread::sleep(Duration::from_secs(14));
            assert!(evictions(&proxy.passed()).is_empty());
            proxy.open();
        });
        let mut engine = Drainer::patient(&node, Span::from_secs(10));
        let end = drive(proxy.kubeconfig(), &mut engine, &notes);
        assert_eq!(end.expect("it ends"), End::Done);
    });
    assert!(ground.pods_on(&node).is_empty());
    assert!(count(&notes, |event| matches!(event, Event::Lost { .. })) >= 3);
    assert_eq!(count(&notes, |event| matches!(event, Event::Back { .. })), 3);
    notes.of(|noted| {
        let at = |of: &dyn Fn(&Event) -> bool| noted.events.iter().position(of);
        let held = at(&|event| matches!(event, Event::Held { commands: 1.., .. })).expect("it is said");
        // By then it may be too late for what was held: minutes have passed on a served cluster. It is decided anew.
        let released = at(&|event| matches!(event, Event::Released { .. })).expect("it is said");
        assert!(held < released, "{:?}", noted.events);
    });
    assert_looked_at_in_between(&proxy.passed());
}

/// Somebody writes to the node while the cordon is on its way: it is a conflict, and decided on anew.
fn overtaken(ground: &Ground) {
    let is_patch = |asked: &Asked| asked.method == "PATCH";
    let proxy = stage(ground, once(is_patch, Fault::DelayRequest(Duration::from_secs(3))));
    let node = "node-1";
    let before = proxy.passed().len();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !proxy.passed()[before..].iter().any(|one| one.asked.method == "PATCH") {
                thread::sleep(Duration::from_millis(20));
            }
            ground.merge(
                &format!("/api/v1/nodes/{node}"),
                &json!({"metadata": {"labels": {"touched": "yes"}}}),
            );
        });
        let notes = Notes::default();
        let end = drive(proxy.kubeconfig(), &mut Drainer::new(node), &notes);
        assert_eq!(end.expect("it ends"), End::Done);
        notes.of(|noted| {
            let (first, answer) = &noted.answers[0];
            let is_cordon = matches!(first.effect, Effect::Kubernetes(KubernetesEffect::Cordon { .. }));
            assert!(is_cordon && matches!(answer, Answer::Refused(Refusal::Conflict { .. })), "{answer:?}");
        });
    });
    let found = ground.get(&format!("/api/v1/nodes/{node}"));
    assert_eq!(
        (&found["metadata"]["labels"]["touched"], &found["spec"]["unschedulable"]),
        (&json!("yes"), &json!(true))
    );
}

/// A person ends it: the node is given back.
fn cancelled(ground: &Ground) {
    // The first pod never goes: its eviction is never heard of.
    let proxy =
        stage(ground, Box::new(|asked| if is_eviction(asked) { Fault::Busy(1) } else { Fault::Nothing }));
    let node = loaded(ground);
    let before = ground.get(&format!("/api/v1/nodes/{node}"));
    let notes = Notes::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            ground.wait("evictions are asked for", |_| !evictions(&proxy.passed()).is_empty());
            notes.of(|noted| noted.intents.push(Intent::Cancelled));
        });
        let end = drive(proxy.kubeconfig(), &mut Drainer::new(&node), &notes);
        assert_eq!(end.expect("it ends"), End::Cancelled(Vec::new()));
    });
    let after = ground.get(&format!("/api/v1/nodes/{node}"));
    assert_eq!(before["spec"], after["spec"]);
    assert_eq!(before["metadata"]["annotations"], after["metadata"]["annotations"]);
    // What was throttled until its deadline was not carried out.
    notes.of(|noted| {
        let late =
            noted.answers.iter().filter(|(_, answer)| *answer == Answer::Refused(Refusal::Late)).count();
        assert!(late > 0, "{:?}", noted.answers);
    });
}

/// Pods that cannot be read are on their node all the same: it is not taken for empty.
fn unreadable(ground: &Ground) {
    let of_pods = |asked: &Asked| asked.path.starts_with("/api/v1/pods?");
    let proxy =
        stage(ground, Box::new(move |asked| if of_pods(asked) { Fault::Garble } else { Fault::Nothing }));
    let node = loaded(ground);
    let notes = Notes::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            ground.wait("the node is cordoned", |ground| {
                ground.get(&format!("/api/v1/nodes/{node}"))["spec"]["unschedulable"] == true
            });
            // Long enough to take it for empty.
            thread::sleep(Duration::from_secs(4));
            notes.of(|noted| noted.intents.push(Intent::Cancelled));
        });
        let end = drive(proxy.kubeconfig(), &mut Drainer::new(&node), &notes);
        assert_eq!(end.expect("it ends"), End::Cancelled(Vec::new()));
    });
    let unread = |event: &Event| matches!(event, Event::Unread { why, .. } if why.contains("status.phase"));
    assert!(count(&notes, unread) >= PODS, "each is named, with the reason");
    assert!(!ground.pods_on(&node).is_empty() && evictions(&proxy.passed()).is_empty());
}

/// A write that the watch does not show: nothing is decided for half a minute, and then it is said.
fn lagging(ground: &Ground) {
    let of_nodes = |asked: &Asked| asked.is_watch() && asked.path.starts_with("/api/v1/nodes?");
    let proxy = stage(ground, once(of_nodes, Fault::DelayAnswer(Duration::from_secs(40))));
    let notes = drained(ground, &proxy);
    assert_eq!(count(&notes, |event| matches!(event, Event::Lagging { .. })), 1);
    notes.of(|noted| {
        let pauses = noted.decisions.windows(2).map(|pair| (pair[1] - pair[0]).as_secs());
        let longest = pauses.max().unwrap_or_default();
        assert!((29..=33).contains(&longest), "{:?}", noted.decisions);
    });
}

/// This machine's clock is wrong by years: what is written is the server's time.
fn clock(ground: &Ground) {
    let proxy = stage(ground, Box::new(|_| Fault::Later));
    let now = year(ground);
    let node = loaded(ground);
    let notes = Notes::default();
    let end = drive(proxy.kubeconfig(), &mut Drainer::new(&node), &notes);
    assert_eq!(end.expect("it ends"), End::Done);
    let found = ground.get(&format!("/api/v1/nodes/{node}"));
    let since =
        found["metadata"]["annotations"][mark::SINCE].as_str().and_then(|text| text[..4].parse().ok());
    assert_eq!(since, Some(now + 28));
}

/// The year it is on the server.
fn year(ground: &Ground) -> u16 {
    let node = ground.get("/api/v1/nodes/node-1");
    let text = node["metadata"]["creationTimestamp"].as_str().expect("it has one");
    text[..4].parse().expect("a year")
}

macro_rules! on_both {
    ($($name:ident: $served:ident, $real:ident;)*) => { $(
        #[test]
        fn $served() {
            $name(&Ground::served(stringify!($name)));
        }

        #[test]
        fn $real() {
            if let Some(ground) = Ground::real(stringify!($name)) {
                $name(&ground);
            }
        }
    )* };
}

on_both! {
    cut_at_every_index: a_cut_at_any_request_changes_no_outcome_served, a_cut_at_any_request_changes_no_outcome_real;
    late_and_twice: late_and_repeated_requests_change_no_outcome_served, late_and_repeated_requests_change_no_outcome_real;
    throttled: throttling_is_waited_out_served, throttling_is_waited_out_real;
    unauthorized: credentials_are_read_anew_served, credentials_are_read_anew_real;
    never_accepted: credentials_that_stay_refused_end_a_run_served, credentials_that_stay_refused_end_a_run_real;
    renewed: a_token_that_expires_is_replaced_served, a_token_that_expires_is_replaced_real;
    expired: an_expired_watch_is_listed_anew_served, an_expired_watch_is_listed_anew_real;
    away: an_outage_is_sat_out_served, an_outage_is_sat_out_real;
    overtaken: a_change_in_between_is_a_conflict_served, a_change_in_between_is_a_conflict_real;
    unreadable: a_node_with_unreadable_pods_is_not_empty_served, a_node_with_unreadable_pods_is_not_empty_real;
    lagging: a_write_that_is_not_seen_is_waited_for_served, a_write_that_is_not_seen_is_waited_for_real;
    clock: time_is_the_servers_served, time_is_the_servers_real;
    cancelled: what_is_cancelled_is_given_back_served, what_is_cancelled_is_given_back_real;
}
