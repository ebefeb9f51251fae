use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::object::{Object, render};
use replank_model::selector::LabelSelector;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{Command, Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_protocol::hindrance::Hindrance;
use replank_protocol::hindrance::Keeper;
use replank_protocol::hindrance::Reconciliation;
use replank_protocol::hindrance::ScaleDown;
use serde_json::{Value, json};

use super::{Choice, Goal, Judgement, Migrated, Migration, Options, Path, Request, after, judge};

fn deployment(labels: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web", "tier": "front"}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
        "status": {"replicas": 2, "updatedReplicas": 2}})
}

fn set() -> Value {
    let labels = json!({"app": "web", "tier": "front", "pod-template-hash": "1"});
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "web-1", "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": true}]},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn view(objects: &[Value]) -> View {
    objects.iter().map(|object| Object::from_json(object.clone()).expect("an object").into()).collect()
}

fn live(view: &View) -> Arc<Deployment> {
    view.deployments.by_key(&Key::new("shop", "web")).expect("it is there").clone()
}

fn goal(labels: &Value) -> Goal {
    let selector: LabelSelector = serde_json::from_value(json!({"matchLabels": labels})).expect("a selector");
    Goal::Selector(selector)
}

/// What is judged of the Deployment among other objects.
fn judged(with: &[Value], change: impl FnOnce(&mut Value), labels: impl Into<Value>) -> Judgement {
    let mut web = deployment(&json!({"app": "web", "tier": "front"}));
    change(&mut web);
    let view = view(&[&[web, set()], with].concat());
    let live = live(&view);
    judge(&view, &live, &goal(&labels.into()))
}

fn fewer() -> Value {
    json!({"app": "web"})
}

#[test]
fn fewer_labels_keep_the_pods_and_others_need_a_twin() {
    assert_eq!(judged(&[], |_| {}, fewer()).path(Choice::Auto), Ok(Path::Keep));
    let other = judged(&[], |_| {}, json!({"app": "web", "release": "2"}));
    assert_eq!(other.path(Choice::Auto), Ok(Path::Twin));
    assert_eq!(
        other.against(Path::Keep),
        [
            Hindrance::NotTakenOver { set: "web-1".into(), selector: "app=web,release=2".into() },
            Hindrance::OtherPods
        ]
    );
    assert!(other.path(Choice::Only(Path::Keep)).is_err());
}

#[test]
fn labels_that_the_selector_asks_for_are_added_to_the_template() {
    let view = view(&[deployment(&json!({"app": "web", "tier": "front"})), set()]);
    let live = live(&view);
    let after = after(&live, &goal(&json!({"app": "web", "release": "2"})));
    assert_eq!(after.spec.template.meta.labels.value("release"), Some("2"));
    assert_eq!(after.spec.template.meta.labels.value("tier"), Some("front"));
    assert!(after.meta.uid.is_empty() && after.status == Default::default(), "nothing of the server's own");
}

#[test]
fn a_manifest_is_compared_with_its_defaults() {
    let mut stored = deployment(&json!({"app": "web", "tier": "front"}));
    let template = stored["spec"]["template"].as_object_mut().expect("a template");
    replank_model::admission::default_pod_template(template);
    let mut set = set();
    set["spec"]["template"]["spec"] = stored["spec"]["template"]["spec"].clone();
    let view = view(&[stored, set]);
    let mut manifest = deployment(&json!({"app": "web", "tier": "front"}));
    manifest["spec"]["selector"] = json!({"matchLabels": fewer()});
    let Ok(Object::Deployment(manifest)) = Object::from_json(manifest) else { panic!("a Deployment") };
    let live = live(&view);
    let found = judge(&view, &live, &Goal::Manifest(Object::Deployment(manifest)));
    assert_eq!(found.path(Choice::Auto), Ok(Path::Keep), "{found:?}");
}

#[test]
fn a_rival_that_would_take_the_pods_over_forbids_to_leave_them_alone() {
    let mut rival = deployment(&json!({"app": "web", "tier": "front"}));
    rival["metadata"]["name"] = "rival".into();
    rival["metadata"]["uid"] = "rival".into();
    rival["spec"]["selector"] = json!({"matchLabels": fewer()});
    let found = judged(&[rival.clone()], |_| {}, fewer());
    let deployment = Key::new("shop", "rival");
    assert_eq!(found.against(Path::Keep), [Hindrance::Rival { deployment, set: "web-1".into() }]);
    assert_eq!(found.path(Choice::Auto), Ok(Path::Twin));
    rival["metadata"]["namespace"] = "other".into();
    assert_eq!(judged(&[rival], |_| {}, fewer()).against(Path::Keep), []);
}

#[test]
fn a_service_or_budget_that_would_lose_the_pods_forbids_both_ways() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web", "tier": "front"}}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"matchLabels": {"tier": "front"}}}});
    assert_eq!(
        judged(&[service.clone(), budget.clone()], |_| {}, fewer()).both,
        [],
        "the template keeps them"
    );
    let view = view(&[deployment(&json!({"app": "web", "tier": "front"})), set(), service, budget]);
    let mut manifest = deployment(&json!({"app": "web"}));
    manifest["spec"]["selector"] = json!({"matchLabels": fewer()});
    let Ok(Object::Deployment(manifest)) = Object::from_json(manifest) else { panic!("a Deployment") };
    let live = live(&view);
    let found = judge(&view, &live, &Goal::Manifest(Object::Deployment(manifest)));
    let lost: Vec<_> = found.both.iter().map(ToString::to_string).collect();
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(lost[0].starts_with("Service shop/web selects its pods"), "{lost:?}");
    assert!(lost[1].starts_with("PodDisruptionBudget shop/web selects its pods"), "{lost:?}");
}

#[test]
fn a_claim_of_one_node_forbids_a_twin() {
    let claim = |mode: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"accessModes": [mode]}})
    };
    let mounts = |web: &mut Value| {
        web["spec"]["template"]["spec"]["volumes"] =
            json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
    };
    let found = judged(&[claim("ReadWriteOnce")], mounts, fewer());
    assert_eq!(found.against(Path::Twin), [Hindrance::Claim { claim: Key::new("shop", "data") }]);
    assert_eq!(judged(&[claim("ReadWriteMany")], mounts, fewer()).against(Path::Twin), []);
}

#[test]
fn who_keeps_it_has_to_be_held_first() {
    let application = |policy: Value| {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": "shop", "namespace": "argocd"}, "spec": {"syncPolicy": policy}})
    };
    let tracked = |web: &mut Value| {
        web["metadata"]["annotations"] =
            json!({"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"});
    };
    let kept = |state: Reconciliation, name: &str| {
        vec![Hindrance::Kept { keeper: Keeper::Application { name: name.into() }, state }]
    };
    let found = judged(&[application(json!({"automated": {"selfHeal": true}}))], tracked, fewer());
    assert_eq!(found.both, kept(Reconciliation::Acting, "argocd/shop"));
    assert_eq!(judged(&[application(json!({}))], tracked, fewer()).both, [], "nothing syncs by itself");
    assert_eq!(judged(&[], tracked, fewer()).both, kept(Reconciliation::Unknown, "shop"));
    let flux = |web: &mut Value| {
        web["metadata"]["labels"] = json!({"kustomize.toolkit.fluxcd.io/name": "apps",
            "kustomize.toolkit.fluxcd.io/namespace": "flux-system"});
    };
    let kustomization = |suspend: bool| {
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "apps", "namespace": "flux-system"}, "spec": {"suspend": suspend}})
    };
    assert_eq!(judged(&[kustomization(true)], flux, fewer()).both, []);
    let found = judged(&[kustomization(false)], flux, fewer());
    let keeper = Keeper::Kustomization { key: Key::new("flux-system", "apps") };
    assert_eq!(found.both, [Hindrance::Kept { keeper, state: Reconciliation::Acting }]);
    let helm = |web: &mut Value| web["metadata"]["labels"] = json!({"app.kubernetes.io/instance": "web"});
    assert_eq!(judged(&[], helm, fewer()).both, [], "everybody writes that label");
}

#[test]
fn what_somebody_else_makes_is_changed_there() {
    let owned = |web: &mut Value| {
        web["metadata"]["ownerReferences"] = json!([{"apiVersion": "shop.dev/v1", "kind": "Site", "name": "s", "uid": "s", "controller": true}]);
    };
    let found = judged(&[], owned, fewer());
    assert_eq!(found.both, [Hindrance::Owned { kind: "Site".into(), name: "s".into() }]);
    assert!(found.path(Choice::Auto).is_err());
}

/// The definition of Rollouts with these members in their `workloadRef`, or without a schema.
fn rollouts(version: &str, members: Option<&[&str]>) -> Value {
    let mut served = json!({"name": version, "served": true, "storage": true});
    if let Some(members) = members {
        let mut properties = json!({"replicas": {"type": "integer"}});
        if !members.is_empty() {
            let known: serde_json::Map<String, Value> =
                members.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
            properties["workloadRef"] = json!({"properties": known});
        }
        served["schema"] = json!({"openAPIV3Schema": {"properties": {"spec": {"properties": properties}}}});
    }
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io"},
        "spec": {"group": "argoproj.io", "names": {"plural": "rollouts", "kind": "Rollout"}, "scope": "Namespaced",
            "versions": [served]}})
}

fn handed(with: &[Value], scale_down: ScaleDown) -> Judgement {
    let web = deployment(&json!({"app": "web", "tier": "front"}));
    let view = view(&[&[web, set()], with].concat());
    judge(&view, &live(&view), &Goal::Rollout(scale_down))
}

#[test]
fn a_cluster_without_rollouts_or_with_old_ones_takes_no_hand_over() {
    let against = |with: &[Value], asked| handed(with, asked).against(Path::Rollout).to_vec();
    assert_eq!(against(&[], ScaleDown::Never), [Hindrance::NoRollouts]);
    assert_eq!(against(&[rollouts("v1alpha0", None)], ScaleDown::Never), [Hindrance::NoRollouts]);
    for asked in [ScaleDown::Never, ScaleDown::OnSuccess, ScaleDown::Progressively] {
        assert_eq!(against(&[rollouts("v1alpha1", None)], asked), [], "{asked}");
        let new = rollouts("v1alpha1", Some(&["kind", "name", "scaleDown"]));
        assert_eq!(against(&[new], asked), [], "{asked}");
        let without = rollouts("v1alpha1", Some(&[]));
        assert_eq!(against(&[without], asked), [Hindrance::OldRollouts { asked }], "{asked}");
    }
    let old = || rollouts("v1alpha1", Some(&["kind", "name"]));
    assert_eq!(against(&[old()], ScaleDown::Never), [], "it leaves the member out");
    let asked = ScaleDown::OnSuccess;
    assert_eq!(against(&[old()], asked), [Hindrance::OldRollouts { asked }]);
}

#[test]
fn a_rollout_that_is_there_already_forbids_another() {
    let rollout = |name: &str, of: &str| {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": of}}})
    };
    let against = |found: Value| {
        let found = handed(&[rollouts("v1alpha1", None), found], ScaleDown::Never);
        found.against(Path::Rollout).to_vec()
    };
    let name = |name: &str| [Hindrance::Rollout { name: name.into() }];
    assert_eq!(against(rollout("web", "another")), name("web"));
    assert_eq!(against(rollout("another", "web")), name("another"));
    assert_eq!(against(rollout("another", "third")), []);
}

#[test]
fn a_selector_that_stays_the_same_forbids_no_hand_over_and_one_node_s_claim_does() {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop"},
        "spec": {"accessModes": ["ReadWriteOnce"]}});
    let mut web = deployment(&json!({"app": "web", "tier": "front"}));
    web["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
    let view = view(&[web, set(), claim, rollouts("v1alpha1", None)]);
    let found = judge(&view, &live(&view), &Goal::Rollout(ScaleDown::Never));
    assert_eq!(found.both, []);
    assert_eq!(found.against(Path::Rollout), [Hindrance::Claim { claim: Key::new("shop", "data") }]);
}

/// When somebody deletes a Rollout that a Deployment was handed over to, as it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deleted {
    Never,
    BeforeTheRecord,
    WithTheRecord,
}

/// What is sent and what the end is, once a Deployment was handed over and the record is gone.
fn ends(deleted: Deleted) -> (usize, Option<End>) {
    let options = Options { run: "r".into(), patience: Span::from_minutes(1) };
    let goal = Goal::Rollout(ScaleDown::Never);
    let key = Key::new("shop", "web");
    let request = Request { kind: Migrated::Deployment, key, goal, choice: Choice::Auto };
    let mut migration = Migration::new(request, options);
    let mut web = deployment(&json!({"app": "web", "tier": "front"}));
    web["status"] = json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2});
    let object = |value: &Value| Object::from_json(value.clone()).expect("an object");
    for value in [&web, &set(), &rollouts("v1alpha1", None)] {
        migration.observe(object(value).into());
    }
    let at = |seconds: i64| Time::from_millis(seconds * 1_000);
    let made = |migration: &mut Migration, now| match migration.decide(now).commands.first() {
        Some(Command { effect: Effect::Kubernetes(KubernetesEffect::Create { object }), .. }) => {
            object.clone()
        }
        other => panic!("nothing is made: {other:?}"),
    };
    let mut record = render(&made(&mut migration, at(1)));
    record["metadata"]["uid"] = "record".into();
    migration.observe(object(&record).into());
    let mut rollout = render(&made(&mut migration, at(2)));
    rollout["metadata"]["uid"] = "rollout".into();
    rollout["status"] = json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2,
        "observedGeneration": "0", "workloadObservedGeneration": "0", "phase": "Healthy"});
    web["spec"]["replicas"] = 0.into();
    web["status"] = json!({});
    let mut of_old = set();
    of_old["spec"]["replicas"] = 0.into();
    for value in [&rollout, &web, &of_old] {
        migration.observe(object(value).into());
    }
    let over = migration.decide(at(300)).commands;
    assert!(
        matches!(&over[..], [Command { effect: Effect::Kubernetes(KubernetesEffect::Delete { .. }), .. }]),
        "the record goes: {over:?}"
    );
    let gone = |value: &Value| Delta::Gone(object(value).reference());
    if deleted != Deleted::Never {
        migration.observe(gone(&rollout));
    }
    if deleted == Deleted::BeforeTheRecord {
        assert_eq!(migration.decide(at(300)).end, None, "the record is still seen");
    }
    migration.observe(gone(&record));
    let decision = migration.decide(at(301));
    (decision.commands.len(), decision.end)
}

#[test]
fn a_rollout_that_somebody_deletes_once_it_serves_is_not_made_again() {
    for deleted in [Deleted::Never, Deleted::BeforeTheRecord, Deleted::WithTheRecord] {
        assert_eq!(ends(deleted), (0, Some(End::Done)), "{deleted:?}");
    }
}
