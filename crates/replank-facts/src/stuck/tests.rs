use replank_model::delta::Delta;
use replank_model::object::Object;
use serde_json::{Value, json};

use super::*;
use replank_protocol::policy::StuckAction;

const POLICY: StuckTerminating =
    StuckTerminating { after: Span::from_minutes(5), action: StuckAction::Report };

fn time(text: &str) -> Time {
    text.parse().expect("a time")
}

fn view(objects: Vec<Value>) -> View {
    objects.into_iter().map(|object| Delta::Put(Object::from_json(object).expect("a valid object"))).collect()
}

fn node(name: &str, image: &str, ready: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"eks.amazonaws.com/nodegroup-image": image}}, "spec": {},
        "status": {"nodeInfo": {"kubeletVersion": "v1.36.0", "containerRuntimeVersion": "containerd://2.1.4"},
            "volumesAttached": [{"name": "kubernetes.io/csi/ebs.csi.aws.com^vol-1"}],
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
}

fn pod(name: &str, node: &str, due: Option<&str>) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"nodeName": node, "containers": [{"name": "c"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "c", "state": {"running": {}}}]}});
    if let Some(due) = due {
        pod["metadata"]["deletionTimestamp"] = due.into();
        pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    }
    pod
}

fn evidence(view: &View, name: &str, now: &str) -> String {
    let pod = view.pods.by_key(&Key::new("shop", name)).expect("it is there");
    let census = Census::of(view, &POLICY, time(now));
    census.evidence(view, pod).expect("it is on its way out").to_string()
}

#[test]
fn a_pod_is_stuck_when_its_grace_and_the_patience_are_over() {
    let view = view(vec![pod("late", "n", Some("2026-01-01T00:00:30Z")), pod("well", "n", None)]);
    let is_stuck = |name: &str, now: &str| {
        is_stuck(&POLICY, view.pods.by_key(&Key::new("shop", name)).expect("it is there"), time(now))
    };
    assert!(!is_stuck("late", "2026-01-01T00:05:29Z"));
    assert!(is_stuck("late", "2026-01-01T00:05:30Z"));
    assert!(!is_stuck("well", "2026-01-02T00:00:00Z"));
}

#[test]
fn the_evidence_names_kubelet_image_and_how_many_share_it() {
    let due = Some("2026-01-01T00:00:30Z");
    let view = view(vec![
        node("bad-1", "ami-bad", "True"),
        node("bad-2", "ami-bad", "True"),
        node("old", "ami-old", "False"),
        pod("a", "bad-1", due),
        pod("b", "bad-2", due),
        pod("c", "old", due),
        pod("fine", "old", None),
        pod("young", "old", Some("2026-01-01T00:09:00Z")),
    ]);
    let now = "2026-01-01T00:10:00Z";
    assert_eq!(
        evidence(&view, "a", now),
        "should have terminated by 2026-01-01T00:00:30Z (grace period 30s), 1 container still running; kubelet v1.36.0 Ready, \
         containerd://2.1.4, ami-bad: 2 stuck on this image, 1 on others; no finalizers"
    );
    assert!(evidence(&view, "c", now).contains("not Ready since 2026-01-01T00:00:00Z"));
    assert!(evidence(&view, "c", now).contains("ami-old: 1 stuck on this image, 2 on others"));
}

#[test]
fn the_evidence_names_finalizers_and_volumes_that_are_attached() {
    let mut held = pod("held", "n", Some("2026-01-01T00:00:30Z"));
    held["metadata"]["finalizers"] = json!(["example.com/keep"]);
    held["spec"]["volumes"] = json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "e", "persistentVolumeClaim": {"claimName": "other"}}]);
    let claim = |name: &str, volume: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"volumeName": volume}})
    };
    let volume = |name: &str, handle: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": handle}}})
    };
    let view = view(vec![
        node("n", "ami", "True"),
        held,
        claim("data", "pv-1"),
        claim("other", "pv-2"),
        volume("pv-1", "vol-1"),
        volume("pv-2", "vol-2"),
    ]);
    let text = evidence(&view, "held", "2026-01-01T00:10:00Z");
    assert!(text.ends_with("; finalizers example.com/keep; still attached: pv-1"), "{text}");
}
