use replank_model::delta::Delta;
use replank_model::object::Object;
use serde_json::{Value, json};

use super::*;
use crate::plan::{OnDeadline, Target};
use crate::testing::merge;

fn plan() -> Plan {
    Plan::of_groups("p", vec!["web".into()], Target::default())
}

fn object(value: Value) -> Object {
    Object::from_json(value).expect("a valid object")
}

/// A pod owned by an object of a kind; `extra` is laid over it.
fn pod(owner: Option<(&str, &str)>, extra: Value) -> Pod {
    let mut value = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop", "uid": "u"}, "spec": {"containers": []},
        "status": {"phase": "Running"}});
    if let Some((api_version, kind)) = owner {
        value["metadata"]["ownerReferences"] =
            json!([{"apiVersion": api_version, "kind": kind, "name": "o", "uid": "o1", "controller": true}]);
    }
    merge(&mut value, extra);
    let Object::Pod(pod) = object(value) else { unreachable!("a pod was written") };
    Pod::clone(&pod)
}

fn fate_of(pod: &Pod) -> Fate {
    fate(&View::default(), &plan(), pod)
}

const REPLICA_SET: Option<(&str, &str)> = Some(("apps/v1", "ReplicaSet"));

#[test]
fn pods_are_sorted_as_kubectl_drain_sorts_them() {
    let moves = Fate::Plain(Otherwise::Moves);
    assert_eq!(fate_of(&pod(REPLICA_SET, json!({}))), moves);
    assert_eq!(fate_of(&pod(Some(("example.com/v1", "Thing")), json!({}))), moves);
    assert_eq!(fate_of(&pod(None, json!({}))), Fate::Plain(Otherwise::Refused(Refused::Bare)));
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}});
    assert_eq!(fate_of(&pod(None, mirror)), Fate::Stays);
    assert_eq!(fate_of(&pod(None, json!({"status": {"phase": "Failed"}}))), Fate::Finished);
    let leaving =
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30}});
    let due = "2026-01-01T00:00:30Z".parse().expect("a time");
    assert_eq!(fate_of(&pod(None, leaving)), Fate::Leaving { due, grace: Span::from_secs(30) });
}

#[test]
fn a_daemon_pod_stays_while_its_daemon_set_exists() {
    let daemon = pod(Some(("apps/v1", "DaemonSet")), json!({}));
    assert_eq!(fate_of(&daemon), Fate::Plain(Otherwise::Refused(Refused::Orphan)));
    let set = |uid: &str| json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "o", "namespace": "shop", "uid": uid}});
    let view: View = [Delta::Put(object(set("o1")))].into_iter().collect();
    assert_eq!(fate(&view, &plan(), &daemon), Fate::Stays);
    let view: View = [Delta::Put(object(set("another")))].into_iter().collect();
    assert_eq!(fate(&view, &plan(), &daemon), Fate::Plain(Otherwise::Refused(Refused::Orphan)));
}

#[test]
fn batch_pods_are_known_by_owner_annotation_or_selector() {
    let annotated = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
    let kind = |pod: &Pod| batch_kind(pod, None);
    assert_eq!(kind(&pod(Some(("batch/v1", "Job")), json!({}))), Some(BatchKind::Job));
    assert_eq!(kind(&pod(Some(("argoproj.io/v1alpha1", "Workflow")), json!({}))), Some(BatchKind::Workflow));
    assert_eq!(kind(&pod(Some(("example.com/v1", "Job")), json!({}))), None, "another group's Job");
    let runner = Some(("actions.github.com/v1alpha1", "EphemeralRunner"));
    assert_eq!(kind(&pod(runner, annotated(SAFE_TO_EVICT, "false"))), Some(BatchKind::NotSafeToEvict));
    assert_eq!(kind(&pod(REPLICA_SET, annotated(SAFE_TO_EVICT, "false"))), None, "it never ends");
    let mut patient = annotated(SAFE_TO_EVICT, "false");
    patient["metadata"]["annotations"]["replank.dev/batch-wait"] = "2h".into();
    assert_eq!(kind(&pod(REPLICA_SET, patient)), Some(BatchKind::NotSafeToEvict), "its author says how long");
    assert_eq!(kind(&pod(REPLICA_SET, annotated(SAFE_TO_EVICT, "true"))), None);
    assert_eq!(kind(&pod(REPLICA_SET, annotated(DO_NOT_DISRUPT, "true"))), Some(BatchKind::DoNotDisrupt));
    assert_eq!(kind(&pod(REPLICA_SET, annotated(DO_NOT_DISRUPT, "4h"))), Some(BatchKind::DoNotDisrupt));
    assert_eq!(kind(&pod(REPLICA_SET, annotated(DO_NOT_DISRUPT, "false"))), None);
    let selector = replank_model::selector::Selector::from_set([("tier".into(), "batch".into())]);
    let tiered = |tier: &str| pod(REPLICA_SET, json!({"metadata": {"labels": {"tier": tier}}}));
    assert_eq!(batch_kind(&tiered("batch"), Some(&selector)), Some(BatchKind::Selected));
    assert_eq!(batch_kind(&tiered("web"), Some(&selector)), None);
}

#[test]
fn work_that_must_not_be_run_again_is_refused_after_the_wait_and_what_is_no_batch_work_moves() {
    let declared = |owner, value: &str| {
        fate_of(&pod(owner, json!({"metadata": {"annotations": {"replank.dev/rerun": value}}})))
    };
    let job = Some(("batch/v1", "Job"));
    let of = |otherwise| Fate::Batch { kind: BatchKind::Job, otherwise };
    assert_eq!(declared(job, "unsafe"), of(Otherwise::Refused(Refused::RerunUnsafe)));
    assert_eq!(declared(job, "nein"), of(Otherwise::Refused(Refused::RerunUnsafe)), "no leave to");
    assert_eq!(declared(job, "safe"), of(Otherwise::Moves));
    assert_eq!(declared(REPLICA_SET, "unsafe"), Fate::Plain(Otherwise::Moves));
}

#[test]
fn a_finished_workflow_pod_is_kept_until_its_result_is_recorded() {
    let finished = |completed: &str| {
        let labels = json!({"metadata": {"labels": {"workflows.argoproj.io/completed": completed}},
            "status": {"phase": "Succeeded"}});
        fate_of(&pod(Some(("argoproj.io/v1alpha1", "Workflow")), labels))
    };
    assert_eq!(finished("false"), Fate::Unrecorded);
    assert_eq!(finished("true"), Fate::Finished);
    let job = json!({"metadata": {"labels": {"workflows.argoproj.io/completed": "false"}}, "status": {"phase": "Succeeded"}});
    assert_eq!(fate_of(&pod(Some(("batch/v1", "Job")), job)), Fate::Finished, "not a Workflow's");
}

#[test]
fn the_plan_decides_on_local_storage_and_bare_pods() {
    let data = json!({"spec": {"volumes": [{"name": "d", "emptyDir": {}}]}});
    assert_eq!(fate_of(&pod(REPLICA_SET, data.clone())), Fate::Plain(Otherwise::Moves));
    let strict = Plan { local_storage: LocalStorage::Refuse, ..plan() };
    let refused = Otherwise::Refused(Refused::LocalStorage);
    assert_eq!(fate(&View::default(), &strict, &pod(REPLICA_SET, data.clone())), Fate::Plain(refused));
    let job = pod(Some(("batch/v1", "Job")), data);
    assert_eq!(
        fate(&View::default(), &strict, &job),
        Fate::Batch { kind: BatchKind::Job, otherwise: refused },
        "waited for first, whatever comes after the deadline"
    );
    let lax = Plan {
        bare_pods: BarePods::Evict,
        batch: crate::plan::Batch { on_deadline: OnDeadline::Evict, ..plan().batch },
        ..plan()
    };
    assert_eq!(fate(&View::default(), &lax, &pod(None, json!({}))), Fate::Plain(Otherwise::Moves));
}
