//! Every effect on objects of the Kubernetes API: what the server has afterwards, and what is answered where it may not be.

use replank_judge::{Fault, Proxy};
use replank_live::drive::Event;
use replank_model::object::cloud::GroupId;
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::node::TAINT_UNSCHEDULABLE;
use replank_model::object::{Kind, Object};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{
    Answer, Dependents, Effect, GroupEffect, KubernetesEffect, Mark, NodeRole, NodeTarget, PodTarget,
    Refusal, Restartable, WorkloadTarget,
};
use replank_protocol::decision::End;
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::record::RECORD;
use serde_json::{Value, json};

use super::drive;
use super::ground::Ground;
use super::hand::{Notes, RUN, Script};

const KINDS: &[Kind] = &[Kind::Node, Kind::Pod, Kind::Deployment, Kind::Other];

/// Carries effects out one after another; what was answered to each.
fn carried_out(ground: &Ground, mut script: Script) -> (Vec<Answer>, Proxy) {
    let proxy =
        Proxy::begin(ground.kubeconfig(), &ground.folder, Box::new(|_| Fault::Nothing)).expect("it begins");
    let notes = Notes::default();
    let end = drive(proxy.kubeconfig(), &mut script, &notes);
    assert_eq!(end.expect("it ends"), End::Done);
    let lagging = |event: &Event| matches!(event, Event::Lagging { .. });
    assert_eq!(notes.of(|noted| noted.events.iter().filter(|event| lagging(event)).count()), 0);
    (notes.of(|noted| noted.answers.iter().map(|(_, answer)| answer.clone()).collect()), proxy)
}

fn node(view: &View) -> (NodeTarget, ResourceVersion) {
    let node = view.node(&"node-1".into()).expect("it is there");
    (NodeTarget { name: "node-1".into(), uid: node.meta.uid.clone() }, node.meta.resource_version)
}

fn is_tainted(view: &View) -> bool {
    let taints = view.node(&"node-1".into()).map(|node| &node.spec.taints);
    taints.is_some_and(|all| all.iter().any(|taint| *taint.key == *TAINT_UNSCHEDULABLE))
}

fn a_mark(now: Time) -> Mark {
    let expires = now + Span::from_minutes(60);
    Mark { owner: Owner::Run, role: NodeRole::Queued, since: now, expires }
}

fn record(data: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "record", "namespace": "default",
            "labels": {RECORD: "run"}, "annotations": {mark::RUN: RUN}},
        "data": {"text": data}})
}

fn held(view: &View) -> Option<Object> {
    view.other("", "ConfigMap", &Key::new("default", "record")).cloned().map(Object::Other)
}

fn nodes(ground: &Ground) {
    // A controller copies a label of the kubelet's a moment after the node has joined.
    ground.wait("the node has its labels", |ground| {
        !ground.get("/api/v1/nodes/node-1")["metadata"]["labels"]["beta.kubernetes.io/os"].is_null()
    });
    let before = ground.get("/api/v1/nodes/node-1");
    let mut stale = None;
    let script = Script::new(KINDS, move |view, step, now| {
        let (node, version) = node(view);
        let effect = match step {
            0 => {
                stale = Some(version);
                KubernetesEffect::Cordon { node, version, mark: a_mark(now) }
            }
            1 => KubernetesEffect::Exclude { node, version, at: now },
            // What was decided on is not so any more.
            2 => KubernetesEffect::Uncordon { node, version: stale? },
            3 => {
                let node = NodeTarget { uid: "another".into(), ..node };
                KubernetesEffect::Uncordon { node, version }
            }
            4 => {
                let node = NodeTarget { name: "absent".into(), ..node };
                KubernetesEffect::Uncordon { node, version }
            }
            5 => {
                let found = view.node(&"node-1".into())?;
                assert!(found.spec.unschedulable && mark::excluded_since(found).is_some());
                assert!(mark::of(found).is_some_and(|found| found.run == *RUN));
                KubernetesEffect::Uncordon { node, version }
            }
            _ => return None,
        };
        Some(effect.into())
    });
    // A controller taints a cordoned node a moment later.
    let script = script.once(|view, step| step != 1 || is_tainted(view));
    let (answers, _) = carried_out(ground, script);
    assert!(
        matches!(
            &answers[..],
            [
                Answer::Done,
                Answer::Done,
                Answer::Refused(Refusal::Conflict { .. }),
                Answer::Refused(Refusal::Conflict { .. }),
                Answer::Refused(Refusal::Gone { .. }),
                Answer::Done
            ]
        ),
        "{answers:?}"
    );
    // The taint is taken away a moment later, too.
    ground.wait("the node has the spec it had", |ground| {
        ground.get("/api/v1/nodes/node-1")["spec"] == before["spec"]
    });
    let after = ground.get("/api/v1/nodes/node-1");
    for member in ["labels", "annotations"] {
        assert_eq!(before["metadata"][member], after["metadata"][member], "nothing is left");
    }
}

fn objects(ground: &Ground) {
    let mut old = None;
    let script = Script::new(KINDS, move |view, step, _| {
        let create = |data| Object::from_json(record(data)).ok();
        let version = |object: &Object| object.meta().resource_version;
        let effect = match step {
            0 => KubernetesEffect::Create { object: create("one")? },
            // The name is not free.
            1 => KubernetesEffect::Create { object: create("one")? },
            2 => {
                let known = held(view)?;
                old = Some(known.clone());
                let mut value = replank_model::object::render(&known);
                value["data"]["text"] = "two".into();
                KubernetesEffect::Replace { object: Object::from_json(value).ok()? }
            }
            3 => KubernetesEffect::Replace { object: old.clone()? },
            4 => {
                let old = old.clone()?;
                let (object, dependents) = (old.reference(), Dependents::Collected);
                KubernetesEffect::Delete { object, version: version(&old), dependents }
            }
            5 => {
                let known = held(view)?;
                assert!(replank_model::object::render(&known)["data"]["text"] == "two");
                let (object, dependents) = (known.reference(), Dependents::Collected);
                KubernetesEffect::Delete { object, version: version(&known), dependents }
            }
            _ => {
                assert!(held(view).is_none(), "it has been seen to go");
                return None;
            }
        };
        Some(effect.into())
    });
    let (answers, _) = carried_out(ground, script);
    let conflict = |answer: &Answer| matches!(answer, Answer::Refused(Refusal::Conflict { .. }));
    let done = |answer: &Answer| *answer == Answer::Done;
    let is_so = [done as fn(&Answer) -> bool, conflict, done, conflict, conflict, done];
    assert!(
        answers.len() == 6 && answers.iter().zip(is_so).all(|(answer, is_so)| is_so(answer)),
        "{answers:?}"
    );
}

fn workloads(ground: &Ground) {
    ground.workload("web", 3);
    let uids = |ground: &Ground| {
        let all = ground.get("/api/v1/namespaces/default/pods");
        let items = all["items"].as_array().expect("it is a list").clone();
        items.iter().map(|pod| pod["metadata"]["uid"].to_string()).collect::<Vec<_>>()
    };
    let before = uids(ground);
    let script = Script::new(KINDS, |view, step, now| {
        let key = Key::new("default", "web");
        let deployment = view.deployments.by_key(&key)?;
        let (kind, uid) = (Restartable::Deployment, deployment.meta.uid.clone());
        let workload = WorkloadTarget { kind, key, uid };
        let pod = view.pods.sorted().first().map(|(_, pod)| (*pod).clone());
        let effect: Effect = match step {
            // What is not read is not written: variables keep their values.
            0 => KubernetesEffect::RestartWorkload {
                workload,
                version: deployment.meta.resource_version,
                at: now,
            }
            .into(),
            1 => {
                let pod = PodTarget { key: pod?.meta.key(), uid: "another".into() };
                KubernetesEffect::DeletePod { pod, grace_seconds: None }.into()
            }
            2 => {
                let pod = PodTarget { key: Key::new("default", "absent"), uid: "absent".into() };
                KubernetesEffect::Evict { pod, grace_seconds: None }.into()
            }
            3 => {
                let pod = PodTarget { key: Key::new("default", "absent"), uid: "absent".into() };
                KubernetesEffect::ForceDelete { pod, instance: "i-1".into() }.into()
            }
            4 => {
                GroupEffect::Untag { group: GroupId::self_managed(&"workers".into()), key: "k".into() }.into()
            }
            _ => return None,
        };
        Some(effect)
    });
    let (answers, proxy) = carried_out(ground, script);
    let no_cloud = |answer: &Answer| matches!(answer, Answer::Refused(Refusal::Failed { code: 501, message }) if message.contains("no cloud is connected"));
    assert!(
        matches!(
            &answers[..],
            [
                Answer::Done,
                Answer::Refused(Refusal::Conflict { .. }),
                Answer::Refused(Refusal::Gone { .. }),
                _,
                _
            ]
        ),
        "{answers:?}"
    );
    assert!(answers[3..].iter().all(no_cloud), "{answers:?}");
    assert_eq!(proxy.passed().iter().filter(|one| one.asked.is_write()).count(), 3, "no cloud, no request");
    let deployment = ground.get("/apis/apps/v1/namespaces/default/deployments/web");
    let template = &deployment["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"][mark::RESTARTED_BY], RUN);
    assert_eq!(template["spec"]["containers"][0]["env"][0]["value"], "hidden");
    ground.wait("every pod is a new one", |ground| {
        let after = uids(ground);
        after.len() == 3 && after.iter().all(|uid| !before.contains(uid))
    });
}

/// One cluster for all: each begins where the one before ends.
fn every_effect(ground: &Ground) {
    nodes(ground);
    objects(ground);
    workloads(ground);
}

#[test]
fn every_effect_on_a_served_cluster() {
    every_effect(&Ground::served("effects"));
}

#[test]
fn every_effect_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("effects") {
        every_effect(&ground);
    }
}
