//! What is judged of kinds that own their pods themselves: a test for each row of the table in docs/migrate.md.

use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::selector::LabelSelector;
use replank_model::view::View;
use replank_protocol::hindrance::Hindrance;
use replank_protocol::hindrance::ScaleDown;
use serde_json::{Value, json};

use super::{Choice, Goal, Judgement, Migrated, Path, judged};

const KINDS: [Migrated; 3] = [Migrated::StatefulSet, Migrated::DaemonSet, Migrated::ReplicaSet];

fn web(kind: Migrated) -> Value {
    let labels = json!({"app": "web", "tier": "front"});
    let mut web = json!({"apiVersion": "apps/v1", "kind": kind.kind().as_str(),
        "metadata": {"name": "web", "namespace": "shop", "uid": "web"},
        "spec": {"selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    if kind == Migrated::StatefulSet {
        web["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "storageClassName": "gp3",
                "resources": {"requests": {"storage": "1Gi"}}}}]);
    }
    web
}

fn pod(kind: Migrated, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "web-0", "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind.kind().as_str(), "name": "web", "uid": "web", "controller": true}]},
        "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Running"}})
}

fn judge_of(kind: Migrated, live: Value, with: &[Value], goal: &Goal) -> Judgement {
    let pod = pod(kind, &json!({"app": "web", "tier": "front"}));
    let all = [live, pod].into_iter().chain(with.iter().cloned());
    let view: View = all.map(|object| Object::from_json(object).expect("an object").into()).collect();
    let live = view.object(kind.kind(), &Key::new("shop", "web")).expect("it is there");
    judged(&view, kind, &live, goal)
}

fn labels(labels: &Value) -> Goal {
    let selector: LabelSelector = serde_json::from_value(json!({"matchLabels": labels})).expect("a selector");
    Goal::Selector(selector)
}

fn fewer() -> Goal {
    labels(&json!({"app": "web"}))
}

fn manifest(mut value: Value, change: impl FnOnce(&mut Value)) -> Goal {
    value["spec"]["selector"]["matchLabels"] = json!({"app": "web"});
    change(&mut value);
    Goal::Manifest(Object::from_json(value).expect("an object"))
}

#[test]
fn pods_are_kept_where_the_new_selector_matches_them() {
    for kind in KINDS {
        let found = judge_of(kind, web(kind), &[], &fewer());
        assert_eq!(found.path(Choice::Auto), Ok(Path::Keep), "{kind:?}");
        assert!(found.path(Choice::Only(Path::Twin)).is_err(), "{kind:?}: there is no twin");
        let same = manifest(web(kind), |_| {});
        assert_eq!(judge_of(kind, stored(kind), &[], &same).path(Choice::Auto), Ok(Path::Keep), "{kind:?}");
    }
}

/// The object with the defaults that the API server fills in.
fn stored(kind: Migrated) -> Value {
    let mut web = web(kind);
    let template = web["spec"]["template"].as_object_mut().expect("a template");
    replank_model::admission::default_pod_template(template);
    web
}

#[test]
fn labels_that_pods_lack_and_other_templates_are_refused() {
    for kind in KINDS {
        let found = judge_of(kind, web(kind), &[], &labels(&json!({"app": "web", "release": "2"})));
        let lacks = Hindrance::PodLabels { pod: "web-0".into(), selector: "app=web,release=2".into() };
        assert_eq!(found.against(Path::Keep), [lacks, Hindrance::OtherPods], "{kind:?}");
        let image = manifest(web(kind), |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = "another".into();
        });
        let found = judge_of(kind, stored(kind), &[], &image);
        assert_eq!(found.against(Path::Keep), [Hindrance::OtherPods], "{kind:?}");
    }
}

#[test]
fn other_claims_are_refused() {
    let kind = Migrated::StatefulSet;
    let claims = |change: &dyn Fn(&mut Value)| {
        let goal = manifest(web(kind), |web| change(&mut web["spec"]["volumeClaimTemplates"][0]));
        judge_of(kind, stored(kind), &[], &goal).against(Path::Keep).to_vec()
    };
    let spared = |claim: &mut Value| {
        let spec = claim["spec"].as_object_mut().expect("a spec");
        spec.remove("volumeMode");
        spec.remove("storageClassName");
    };
    assert_eq!(claims(&spared), [], "what is left out has its default");
    let refused = [Hindrance::OtherClaims];
    assert_eq!(claims(&|claim| claim["metadata"]["name"] = "other".into()), refused);
    assert_eq!(claims(&|claim| claim["spec"]["resources"]["requests"]["storage"] = "2Gi".into()), refused);
    assert_eq!(claims(&|claim| claim["spec"]["storageClassName"] = "io2".into()), refused);
}

#[test]
fn others_that_would_take_the_pods_over_are_named() {
    let labels = json!({"app": "web"});
    let rival = |kind: &str, name: &str, selector: Value| {
        json!({"apiVersion": if kind == "ReplicationController" { "v1" } else { "apps/v1" }, "kind": kind,
            "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"selector": selector, "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    };
    let matching = json!({"matchLabels": labels});
    for kind in KINDS {
        let with = [
            rival("DaemonSet", "a", matching.clone()),
            rival("ReplicaSet", "b", matching.clone()),
            rival("ReplicationController", "c", labels.clone()),
            rival("StatefulSet", "d", matching.clone()),
            rival("ReplicaSet", "e", json!({"matchLabels": {"app": "other"}})),
        ];
        let found = judge_of(kind, web(kind), &with, &fewer());
        let mut names: Vec<String> = found
            .against(Path::Keep)
            .iter()
            .map(|found| {
                let Hindrance::PodRival { key, .. } = found else { panic!("{found}") };
                key.name.to_string()
            })
            .collect();
        names.sort();
        assert_eq!(names, ["a", "b", "c"], "{kind:?}: a StatefulSet takes pods of its own names only");
    }
}

#[test]
fn the_same_selector_has_nothing_to_move_and_no_rollout_takes_over() {
    for kind in KINDS {
        let same = labels(&json!({"app": "web", "tier": "front"}));
        assert_eq!(judge_of(kind, web(kind), &[], &same).both, [Hindrance::SameSelector], "{kind:?}");
        let found = judge_of(kind, web(kind), &[], &Goal::Rollout(ScaleDown::Never));
        assert_eq!(found.both, [Hindrance::NoRolloutOf { kind: kind.kind() }]);
    }
}

#[test]
fn a_replica_set_of_a_deployment_is_changed_there() {
    let kind = Migrated::ReplicaSet;
    let mut web = web(kind);
    web["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": true}]);
    let found = judge_of(kind, web, &[], &fewer());
    assert_eq!(found.both, [Hindrance::Owned { kind: "Deployment".into(), name: "web".into() }]);
}

#[test]
fn a_service_or_budget_that_would_lose_the_pods_forbids_it() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"tier": "front"}}});
    for kind in KINDS {
        let goal = manifest(web(kind), |web| {
            web["spec"]["template"]["metadata"]["labels"] = json!({"app": "web"});
        });
        let found = judge_of(kind, stored(kind), std::slice::from_ref(&service), &goal);
        assert!(
            matches!(&found.both[..], [Hindrance::Unselected { key, .. }] if key.name.as_str() == "web"),
            "{kind:?}: {found:?}"
        );
    }
}
