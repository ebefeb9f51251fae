//! From sources to a cluster's objects: identity, duplicates, the snapshot's moment, what is counted.

use proptest::prelude::*;
use replank_intake::now::{Basis, Now, NowFinder};
use replank_intake::problem::{Lost, ProblemKind};
use replank_intake::snapshot::{Options, Snapshot};
use replank_intake::source::{Fatal, Source};
use replank_model::object::{Kind, Object, render};
use replank_model::time::Time;
use serde_json::{Value, json};

fn load(texts: &[&str]) -> Result<Snapshot, Fatal> {
    let sources =
        texts.iter().enumerate().map(|(at, text)| Source::bytes(format!("in{at}"), *text)).collect();
    Snapshot::load(sources, &Options::default())
}

fn names(snapshot: &Snapshot) -> Vec<String> {
    snapshot.objects.iter().map(|object| format!("{} {}", object.kind_name(), object.meta().key())).collect()
}

fn time(text: &str) -> Time {
    text.parse().expect("it is a time")
}

#[test]
fn objects_are_sorted_and_counted() {
    let snapshot = load(&[
        "kind: Pod\napiVersion: v1\nmetadata: {name: b, namespace: z}\n---\n\
         kind: Workflow\napiVersion: argoproj.io/v1alpha1\nmetadata: {name: w, namespace: x}\n---\n# nothing\n---\n\
         kind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: z}\n---\nnull\n",
        r#"{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "c", "namespace": "x"}}]}"#,
        "kind: Node\napiVersion: v1\nmetadata: {name: node}\n---\nkind: Widget\napiVersion: v1\nmetadata: {name: v}\n",
        "# nothing",
    ])
    .expect("there are objects");
    assert_eq!(names(&snapshot), ["Node node", "Pod x/c", "Pod z/a", "Pod z/b", "Widget v", "Workflow x/w"]);
    let summary = &snapshot.summary;
    let counts: Vec<_> = summary.objects.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(counts, [("Node", 1), ("Pod", 3), ("Widget", 1), ("Workflow.argoproj.io", 1)]);
    assert_eq!((summary.sources, summary.documents, summary.empty_documents), (4, 6, 1));
    assert_eq!((summary.problems, summary.losses, summary.duplicates), (0, 0, 0));
    assert_eq!(summary.empty_sources.len(), 1);
    assert_eq!(snapshot.now, None);
}

#[test]
fn what_nobody_models_is_kept() {
    let value = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "x-unknown": [1, {"y": null}]},
        "spec": {"anything": [1.5, "text", {"deep": true}]}, "more": "of it",
    });
    let snapshot = load(&[&value.to_string()]).expect("there is an object");
    assert_eq!(render(&snapshot.objects[0]), value);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b", "unknown": 1},
        "spec": {"containers": [{"name": "c", "image": "i", "unknown": {"x": 2}}], "unknown": [3]},
        "status": {"phase": "Running", "unknown": "4"}, "unknown": 5,
    });
    let snapshot = load(&[&pod.to_string()]).expect("there is an object");
    assert_eq!(render(&snapshot.objects[0]), pod);
}

#[test]
fn the_higher_version_is_taken_and_told() {
    let pod = |version: &str, phase: &str| {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "b", "resourceVersion": version},
               "status": {"phase": phase}})
        .to_string()
    };
    let (older, newer) = (pod("99", "Pending"), pod("100", "Running"));
    for order in [[&older, &newer], [&newer, &older]] {
        let snapshot = load(&order.map(String::as_str)).expect("there is an object");
        assert_eq!(names(&snapshot), ["Pod b/a"]);
        assert_eq!(
            render(&snapshot.objects[0])["status"]["phase"],
            "Running",
            "100 is more than 99, as a number"
        );
        assert_eq!(
            (snapshot.summary.duplicates, snapshot.summary.problems, snapshot.summary.losses),
            (1, 1, 0)
        );
        let [problem] = snapshot.problems.as_slice() else { panic!("{:?}", snapshot.problems) };
        let (taken, left) = if order[0] == &newer { ("in0", "in1") } else { ("in1", "in0") };
        assert_eq!(
            problem.to_string(),
            format!(
                "{left}: document 1, line 1: Pod b/a is in the input twice; the one at {taken}: document 1, line 1 \
                 is used, because of its higher resourceVersion: remove the older one, or pass a single dump"
            )
        );
        assert_eq!(problem.lost, Lost::Nothing);
    }
    // The same state twice is worth no word.
    let snapshot = load(&[&older, &older]).expect("there is an object");
    assert_eq!((snapshot.summary.duplicates, snapshot.summary.problems), (1, 0));
}

#[test]
fn without_versions_generation_and_text_decide() {
    let widget = |generation: u64, size: u64| {
        json!({"kind": "Widget", "apiVersion": "x/v1", "metadata": {"name": "a", "generation": generation}, "size": size})
            .to_string()
    };
    for (a, b, size) in [(widget(2, 1), widget(1, 9), 1), (widget(1, 1), widget(1, 9), 9)] {
        for order in [[&a, &b], [&b, &a]] {
            let snapshot = load(&order.map(String::as_str)).expect("there is an object");
            assert_eq!(render(&snapshot.objects[0])["size"], size);
            assert_eq!(snapshot.summary.problems, 1);
        }
    }
}

#[test]
fn versions_of_a_group_are_one_object_and_groups_are_not() {
    let snapshot = load(&[
        "kind: Widget\napiVersion: x/v1\nmetadata: {name: a}\n",
        "kind: Widget\napiVersion: x/v2\nmetadata: {name: a}\n",
        "kind: Widget\napiVersion: y/v1\nmetadata: {name: a}\n",
        "kind: Pod\napiVersion: y/v1\nmetadata: {name: a}\n",
        "kind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: default}\n",
    ])
    .expect("there are objects");
    assert_eq!(snapshot.objects.len(), 4);
    assert_eq!(snapshot.summary.duplicates, 1);
}

#[test]
fn namespaces_are_what_the_api_server_would_make_them() {
    let snapshot = load(&[
        "kind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Node\napiVersion: v1\nmetadata: {name: node, namespace: x}\n\
         ---\nkind: Widget\napiVersion: x/v1\nmetadata: {name: w}\n",
    ])
    .expect("there are objects");
    assert_eq!(names(&snapshot), ["Node node", "Pod default/a", "Widget w"]);
}

#[test]
fn one_that_is_no_object_hides_no_other() {
    let snapshot = load(&[
        "kind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Pod\n---\nhello\n---\na: [\n---\n\
         kind: Pod\napiVersion: v1\nmetadata: {name: b}\nspec: {terminationGracePeriodSeconds: long}\n",
        r#"{"items": [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "c"}}, {"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": "d", "labels": 7}}, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "e"}}]}"#,
    ])
    .expect("there are objects");
    assert_eq!(names(&snapshot), ["Pod default/a", "Pod default/c", "Pod default/e"]);
    assert_eq!((snapshot.summary.problems, snapshot.summary.losses), (5, 5));
    let projections: Vec<_> = snapshot
        .problems
        .iter()
        .filter(|problem| matches!(problem.kind, ProblemKind::Projection { .. }))
        .map(ToString::to_string)
        .collect();
    assert!(
        projections[0].starts_with("in0: document 5, line 11: invalid object: Pod default/b: spec."),
        "{projections:?}"
    );
    assert!(
        projections[1].starts_with("in1: document 1, items[1], line 1: invalid object: Pod default/d: "),
        "{projections:?}"
    );
    assert!(projections[1].contains("; the item was left out: correct the value"), "{projections:?}");
}

#[test]
fn no_object_at_all_is_fatal_and_says_why() {
    let empty = load(&["", "# nothing"]).expect_err("nothing is there");
    assert_eq!(
        empty.to_string(),
        "no Kubernetes object in in0 and 1 more: it is empty: pass what `kubectl get … -A -o json` or `-o yaml` prints"
    );
    let Fatal::NoObject { problems, .. } = load(&["hello", "a: 1"]).expect_err("no object is there") else {
        panic!("another error")
    };
    assert_eq!(problems.len(), 2);
}

#[test]
fn problems_are_bounded_and_all_are_counted() {
    let mut text = "kind: Node\napiVersion: v1\nmetadata: {name: node}\n---\n".to_owned();
    text.push_str(&"- x\n".repeat(5000));
    let snapshot = load(&[&text]).expect("there is an object");
    assert_eq!(
        (snapshot.problems.len(), snapshot.summary.problems, snapshot.summary.losses),
        (1000, 5000, 5000)
    );
}

fn found(values: &[Value], not_after: Option<&str>) -> Option<(String, Basis)> {
    let mut finder = NowFinder::new(not_after.map(time));
    values.iter().for_each(|value| finder.see(value));
    let mut backwards = NowFinder::new(not_after.map(time));
    values.iter().rev().for_each(|value| backwards.see(value));
    assert_eq!(finder.now(), backwards.now(), "the order matters");
    finder.now().map(|Now { time, basis }| (time.to_string(), basis))
}

fn node(name: &str, heartbeats: &[&str]) -> Value {
    let conditions: Vec<_> = heartbeats
        .iter()
        .map(|at| json!({"type": "Ready", "lastHeartbeatTime": at, "lastTransitionTime": "2026-12-31T00:00:00Z"}))
        .collect();
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"conditions": conditions}})
}

#[test]
fn now_is_the_newest_time_that_can_have_passed() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"startTime": "2026-11-20T12:00:00Z"}});
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"renewTime": "2026-11-20T11:00:00.123456Z"},
                       "metadata": {"creationTimestamp": "2026-11-20T11:00:00Z"}});
    let nodes = [
        node("a", &["2026-11-20T09:00:00Z", "2026-11-20T09:05:00Z"]),
        node("b", &["2026-11-20T10:04:00+01:00"]),
        node("c", &[]),
    ];
    let all = [nodes.to_vec(), vec![pod.clone(), lease.clone()]].concat();
    assert_eq!(found(&all, None), Some(("2026-11-20T09:05:00Z".into(), Basis::Heartbeat)));
    assert_eq!(
        found(&all, Some("2026-11-20T09:04:30Z")),
        Some(("2026-11-20T09:04:00Z".into(), Basis::Heartbeat))
    );
    // Three hours after all kubelets had written last is not believed, minutes are.
    let soon = json!({"apiVersion": "v1", "kind": "Event", "lastTimestamp": "2026-11-20T09:08:00Z"});
    let with_soon = [all.clone(), vec![soon]].concat();
    assert_eq!(found(&with_soon, None), Some(("2026-11-20T09:08:00Z".into(), Basis::NewestTime)));
    let of_node = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": "kube-node-lease", "name": "a"},
                         "spec": {"renewTime": "2026-11-20T09:09:30.123456Z"}});
    let with_lease = [with_soon.clone(), vec![of_node]].concat();
    assert_eq!(found(&with_lease, None), Some(("2026-11-20T09:09:30Z".into(), Basis::Lease)));
    // A pod is made when it is made, were all kubelets silent for hours.
    let made =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "2026-11-20T11:30:00Z"}});
    let with_pod = [with_lease.clone(), vec![made]].concat();
    assert_eq!(
        found(&with_pod, Some("2026-11-20T11:59:00Z")),
        Some(("2026-11-20T11:30:00Z".into(), Basis::NewestTime))
    );
    // A node's conditions of another kind say nothing.
    let mut other = nodes[0].clone();
    other["apiVersion"] = json!("metrics.k8s.io/v1");
    assert_eq!(
        found(&[other, pod.clone()], Some("2026-11-21T00:00:00Z")).map(|now| now.1),
        Some(Basis::NewestTime)
    );
    assert_eq!(found(std::slice::from_ref(&lease), None), None);
    assert_eq!(found(&[lease, pod], None), Some(("2026-11-20T12:00:00Z".into(), Basis::NewestTime)));
    assert_eq!(found(&[], None), None);
}

#[test]
fn times_that_lie_ahead_by_nature_are_no_now() {
    const PAST: &str = "2026-11-20T09:00:00Z";
    const AHEAD: &str = "2027-11-20T09:00:00Z";
    let object = |member: Value| {
        let mut object =
            json!({"apiVersion": "x/v1", "kind": "Widget", "metadata": {"creationTimestamp": PAST}});
        object.as_object_mut().expect("an object").extend(member.as_object().expect("an object").clone());
        object
    };
    let ahead = [
        json!({"status": {"notAfter": AHEAD}}),
        json!({"status": {"renewalTime": AHEAD}}),
        json!({"status": {"expirationTimestamp": AHEAD}}),
        json!({"status": {"tokenExpiry": AHEAD, "expiresAt": AHEAD}}),
        json!({"status": {"nextScheduleTime": AHEAD}}),
        json!({"status": {"next": {"time": AHEAD}}}),
        json!({"status": {"until": [AHEAD]}}),
        json!({"status": {"conditions": [{"deadline": AHEAD}]}}),
        json!({"spec": {"start": AHEAD, "template": {"metadata": {"annotations": {"at": AHEAD}}}}}),
        json!({"data": {"key": AHEAD}}),
        json!({"stringData": {"key": AHEAD}}),
        json!({"metadata": {"creationTimestamp": PAST, "annotations": {"example.com/cordon-expires-at": AHEAD}}}),
        json!({"status": {"text": "at 2027-11-20T09:00:00Z", "odd": "2027-13-45T99:00:00Z", "day": "2027-11-20"}}),
        json!({"status": {"number": 1826701200}}),
    ];
    for member in ahead {
        let now = found(&[object(member.clone())], None);
        assert_eq!(now, Some((PAST.into(), Basis::NewestTime)), "{member}");
    }
    let passed = [
        json!({"status": {"finishedAt": AHEAD}}),
        json!({"status": {"nodes": {"a": {"startedAt": "2027-11-20T10:00:00+01:00"}}}}),
        json!({"lastTimestamp": AHEAD}),
        json!({"metadata": {"managedFields": [{"time": AHEAD, "fieldsV1": {"f:spec": {}}}]}}),
        json!({"metadata": {"annotations": {"cronjob.kubernetes.io/scheduled-timestamp": AHEAD}}}),
        json!({"spec": {"taints": [{"key": "x", "timeAdded": AHEAD}]}}),
        json!({"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": AHEAD}}}}}),
        json!({"metadata": {"deletionTimestamp": AHEAD}}),
        json!({"metadata": {"deletionTimestamp": "2027-11-20T09:00:30Z", "deletionGracePeriodSeconds": 30}}),
    ];
    for member in passed {
        assert_eq!(
            found(&[object(member.clone())], None),
            Some((AHEAD.into(), Basis::NewestTime)),
            "{member}"
        );
        let bounded = found(&[object(member.clone()), object(json!({}))], Some("2027-01-01T00:00:00Z"));
        assert_eq!(bounded, Some((PAST.into(), Basis::NewestTime)), "{member}");
    }
}

#[test]
fn a_now_that_is_given_is_taken() {
    let source = || vec![Source::bytes("in", node("a", &["2026-11-20T09:00:00Z"]).to_string())];
    let given = Options { now: Some(time("2020-01-01T00:00:00Z")), ..Options::default() };
    let snapshot = Snapshot::load(source(), &given).expect("there is an object");
    assert_eq!(snapshot.now, Some(Now { time: time("2020-01-01T00:00:00Z"), basis: Basis::Given }));
    let snapshot = Snapshot::load(source(), &Options::default()).expect("there is an object");
    assert_eq!(snapshot.now, Some(Now { time: time("2026-11-20T09:00:00Z"), basis: Basis::Heartbeat }));
}

fn any_object() -> impl Strategy<Value = Value> {
    let kinds =
        [("v1", "Pod"), ("v1", "Node"), ("apps/v1", "Deployment"), ("x/v1", "Widget"), ("x/v2", "Widget")];
    (0..kinds.len(), 0..3u8, 0..3u8, 0..3u8, 0..2u8, 0..60u8).prop_map(
        move |(kind, name, namespace, version, generation, second)| {
            let (api_version, kind) = kinds[kind];
            let mut metadata = json!({"name": format!("n{name}"), "generation": generation,
                                      "creationTimestamp": format!("2026-11-20T09:00:{second:02}Z")});
            if namespace > 0 {
                metadata["namespace"] = format!("s{namespace}").into();
            }
            if version > 0 {
                metadata["resourceVersion"] = version.to_string().into();
            }
            json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})
        },
    )
}

fn loaded(values: &[Value], in_one: bool) -> (Vec<Object>, Option<Now>, u64) {
    let sources = if in_one {
        vec![Source::bytes("list", json!({"kind": "List", "apiVersion": "v1", "items": values}).to_string())]
    } else {
        values.iter().map(|value| Source::bytes("one", value.to_string())).collect()
    };
    let snapshot = Snapshot::load(sources, &Options::default()).expect("there are objects");
    (snapshot.objects, snapshot.now, snapshot.summary.duplicates)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_the_input_does_not_matter(
        (values, shuffled) in proptest::collection::vec(any_object(), 1..30)
            .prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle())),
        in_one in any::<bool>(),
    ) {
        let expected = loaded(&values, true);
        prop_assert_eq!(&loaded(&shuffled, in_one), &expected);
        let keys: Vec<_> = expected.0.iter().map(|object| {
            let other = (object.kind() == Kind::Other).then(|| object.kind_name().to_owned());
            (object.kind(), other, object.meta().key())
        }).collect();
        prop_assert!(keys.is_sorted());
        prop_assert_eq!(expected.0.len() as u64 + expected.2, values.len() as u64);
    }
}

/// Items of a list are taken from their text where they are pods, documents from their tree.
#[test]
fn pods_of_a_list_are_what_they_are_as_documents() {
    let pod = |name: &str, more: &str, status: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"creationTimestamp":"2026-11-20T09:00:00Z","name":"{name}","namespace":"n"{more}}},"spec":{{"containers":[{{"image":"i","name":"c"}}],"nodeName":"node-{name}"}},"status":{{{status}}}}}"#
        )
    };
    let node = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"},"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-11-20T09:05:00Z"}]}}"#;
    let status = |key: &str| {
        format!(r#""conditions":[{{"type":"Ready","status":"True","{key}":"2026-11-20T09:10:00Z"}}]"#)
    };
    for (more, status) in [
        ("", status("lastTransitionTime")),
        ("", status("nextProbeTime")),
        (
            "",
            r#""expiry":{"at":["2026-11-20T09:10:00Z"]},"more":{"expiry":{"at":"2026-11-20T09:11:00Z"}}"#
                .to_owned(),
        ),
        ("", r#""more":{"due":["2026-11-20T09:10:00Z"]},"hostIP":"10.0.0.1""#.to_owned()),
        (r#","deletionGracePeriodSeconds":30,"deletionTimestamp":"2026-11-20T09:10:00Z""#, String::new()),
        (
            r#","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u"}],"labels":{"a":"b"}"#,
            String::new(),
        ),
    ] {
        let items: Vec<String> =
            ["a", "b", "c"].iter().map(|name| pod(name, more, &status)).chain([node.to_owned()]).collect();
        let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
        let load = |text: String| {
            Snapshot::load(vec![Source::bytes("test", text)], &Options::default()).expect("there are objects")
        };
        let (list, documents) = (load(list), load(items.join("\n")));
        assert_eq!(list.problems, []);
        assert_eq!((&list.objects, list.now), (&documents.objects, documents.now), "{more} {status}");
    }
}
