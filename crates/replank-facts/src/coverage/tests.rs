use std::collections::{BTreeMap, BTreeSet};

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::View;
use serde_json::{Value, json};

use super::*;

fn view(objects: Vec<Value>) -> View {
    objects.into_iter().map(|object| Delta::Put(Object::from_json(object).expect("a valid object"))).collect()
}

fn read(view: &View) -> Read {
    let mut objects = BTreeMap::new();
    for object in view.objects() {
        *objects.entry(object.kind_name().to_owned()).or_default() += 1;
    }
    Read { objects, ..Read::default() }
}

fn allowed(names: &[&str]) -> Allowed {
    let names: Vec<Allowed> = names.iter().map(|name| name.parse().expect("a name")).collect();
    Allowed::all(&names)
}

fn node() -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}})
}

fn budget() -> Value {
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"maxUnavailable": 1, "selector": {}}})
}

fn pod(more: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop", "uid": "web-1"},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
    crate::testing::merge(&mut pod, more);
    pod
}

fn roll(view: &View, names: &[&str]) -> Coverage {
    Coverage::of(view, Question::Roll, read(view), &allowed(names))
}

#[test]
fn an_input_with_all_that_is_needed_is_complete() {
    let coverage = roll(&view(vec![node(), pod(json!({})), budget()]), &[]);
    assert!(coverage.complete, "{:?}", coverage.missing);
    assert!(coverage.absent.iter().any(|absent| absent.kind == "CronJob" && !absent.needed));
}

#[test]
fn without_a_budget_the_answer_is_incomplete_unless_that_is_accepted_or_shown() {
    let view = view(vec![node(), pod(json!({}))]);
    let coverage = roll(&view, &[]);
    assert!(!coverage.complete);
    assert!(
        coverage.missing[0].contains("--allow-incomplete poddisruptionbudgets"),
        "{:?}",
        coverage.missing
    );
    for name in ["poddisruptionbudgets", "PodDisruptionBudget", "pdb"] {
        assert!(roll(&view, &[name]).complete);
    }
    assert!(!roll(&view, &["read", "nodes"]).complete);
    let listed = Read { listed: BTreeSet::from(["PodDisruptionBudget".to_owned()]), ..read(&view) };
    assert!(Coverage::of(&view, Question::Roll, listed, &Allowed::default()).complete);
}

#[test]
fn nodes_owners_claims_and_volumes_that_are_named_must_be_there() {
    let owner = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-abc", "uid": "u", "controller": true}]}});
    let claim =
        json!({"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-1"}}]}});
    let bound = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-1", "namespace": "shop"},
        "spec": {"volumeName": "pv-1"}});
    let cases = [
        (vec![pod(json!({"spec": {"nodeName": "gone"}}))], "nodes", "Pod shop/web-1 names Node gone"),
        (vec![pod(owner)], "replicasets", "Pod shop/web-1 names ReplicaSet shop/web-abc"),
        (vec![pod(claim.clone())], "persistentvolumeclaims", "names PersistentVolumeClaim shop/data-1"),
        (
            vec![pod(claim), bound],
            "persistentvolumes",
            "PersistentVolumeClaim shop/data-1 names PersistentVolume pv-1",
        ),
    ];
    for (objects, resource, words) in cases {
        let view = view([vec![node(), budget()], objects].concat());
        let coverage = roll(&view, &[]);
        let [only] = coverage.dangling.as_slice() else { panic!("{:?}", coverage.dangling) };
        assert_eq!(only.resource, resource);
        assert!(only.example.contains(words), "{}", only.example);
        assert!(!coverage.complete);
        assert!(roll(&view, &[resource]).complete);
    }
}

#[test]
fn a_pod_that_has_ended_may_name_what_is_gone() {
    let ended = pod(json!({"spec": {"nodeName": "gone"}, "status": {"phase": "Succeeded"}}));
    assert!(roll(&view(vec![node(), ended, budget()]), &[]).complete);
}

#[test]
fn a_custom_resource_may_be_left_out() {
    let owned = pod(json!({"metadata": {"ownerReferences": [
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "etl", "uid": "u", "controller": true}]}}));
    assert!(roll(&view(vec![node(), owned, budget()]), &[]).complete);
}

#[test]
fn what_could_not_be_read_is_missing_and_so_is_data_beyond_its_end() {
    let view = view(vec![node(), pod(json!({})), budget()]);
    let skipped =
        Skipped { parts: 76, kinds: BTreeMap::new(), first: vec!["cluster.json: items[3]: …".to_owned()] };
    let coverage = Coverage::of(&view, Question::Roll, Read { skipped, ..read(&view) }, &Allowed::default());
    assert_eq!(coverage.missing, ["76 parts of the input could not be read (--allow-incomplete read)"]);
    let end = DataEnd { what: "API versions", until: "1.37".to_owned(), asked: "1.50".to_owned() };
    let coverage = roll(&view, &["read"]).beyond([end.clone()], &allowed(&["read"]));
    assert!(!coverage.complete);
    assert!(roll(&view, &[]).beyond([end], &allowed(&["data"])).complete);
}

#[test]
fn what_no_file_of_an_account_says_is_missing_unless_it_is_accepted() {
    let view = view(vec![node(), pod(json!({})), budget()]);
    let rules = || Unanswered {
        unseen: "sg-1: its rules are not compared".to_owned(),
        command: "aws ec2 describe-security-groups --output json".to_owned(),
    };
    let with = |names: &[&str]| roll(&view, names).without_answers([rules()], &allowed(names));
    assert_eq!(
        with(&[]).missing,
        [
            "no file of --aws has sg-1: its rules are not compared: aws ec2 describe-security-groups --output json (or --allow-incomplete aws)"
        ]
    );
    assert!(!with(&["data"]).complete && with(&["aws"]).complete);
    assert!(roll(&view, &[]).without_answers([], &allowed(&[])).complete);
}

#[test]
fn a_name_that_is_none_is_refused() {
    let error = "budgets".parse::<Allowed>().expect_err("no such resource");
    assert!(error.to_string().contains("poddisruptionbudgets"), "{error}");
}
