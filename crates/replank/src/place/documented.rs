//! Holds `docs/place-json.md` against what is really printed.

use std::collections::{BTreeMap, BTreeSet};

use clap::Parser;
use replank_advice::place::{Change, PlacementQuery, WhatIf};
use replank_facts::groups::GroupBy;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::affinity::{NodeSelectorOperator, NodeSelectorRequirement, Taint, TaintEffect};
use replank_model::object::meta::Key;
use replank_model::view::View;
use serde_json::{Value, json};

use super::{answer, json, pending, subject};
use crate::cli::{Cli, Command, PlaceArgs};

const PAGE: &str = include_str!("../../../../docs/place-json.md");

/// Every member of a value: `pod.name`, `nodes[].fits`. What is named by plugins and changes is left whole.
fn members(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    let is_whole = |key: &str| matches!(key, "scores" | "changes");
    match value {
        Value::Object(object) => {
            for (key, member) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                all.insert(path.clone());
                if !is_whole(key) {
                    members(member, &path, all);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, &format!("{path}[]"), all)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The rows of the table below a heading: first and second column.
fn documented(heading: &str) -> BTreeMap<String, String> {
    let (_, section) = PAGE.split_once(heading).expect("the page has the heading");
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (name, rest) = row.split_once('`').expect("a member's name ends");
        let second = rest.strip_prefix(" |").unwrap_or(rest).split('|').next().unwrap_or_default();
        (name.to_owned(), second.trim().to_owned())
    })
    .collect()
}

fn args(words: &[&str]) -> PlaceArgs {
    let words = ["replank", "place"].iter().chain(words);
    match Cli::try_parse_from(words).expect("the words are right").command {
        Command::Place(args) => args,
        Command::Hpa(_)
        | Command::Cluster(_)
        | Command::Snapshot(_)
        | Command::Rehearse(_)
        | Command::Check(_)
        | Command::Scale(_)
        | Command::Explain(_)
        | Command::Leftover(_)
        | Command::Report(_)
        | Command::Cordon(_)
        | Command::Uncordon(_)
        | Command::Drain(_)
        | Command::Rbac(_)
        | Command::Roll(_)
        | Command::Handle(_)
        | Command::Autoscale(_)
        | Command::Setup(_)
        | Command::Diff(_)
        | Command::Migrate(_)
        | Command::Scan(_)
        | Command::Data(_)
        | Command::Upgrade(_)
        | Command::Completion(_)
        | Command::Man(_) => {
            unreachable!("the word is place")
        }
    }
}

fn view() -> View {
    let node = |name: &str, spec: Value| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec,
            "status": {"allocatable": {"cpu": "2", "pods": "9"}}})
    };
    let pod = |name: &str, cpu: &str, spec: Value| {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}});
        let own = pod["spec"].as_object_mut().expect("an object");
        own.extend(spec.as_object().expect("an object").clone());
        pod
    };
    [
        node("a", json!({})),
        node("b", json!({"taints": [{"key": "t", "effect": "NoSchedule"}]})),
        pod("less", "1500m", json!({"nodeName": "a"})),
        pod("fits", "100m", json!({})),
        pod("gated", "100m", json!({"schedulingGates": [{"name": "g"}]})),
        pod("urgent", "1", json!({"priority": 9})),
    ]
    .into_iter()
    .map(|value| Delta::Put(Object::from_json(value).expect("an object")))
    .collect()
}

fn query() -> PlacementQuery {
    PlacementQuery::new(view(), GroupBy::default(), &WhatIf::default()).expect("nothing is left out")
}

fn answered(words: &[&str]) -> Value {
    let args = args(words);
    let mut query = query();
    let pod = args.pod.clone().expect("a pod is named").into_string().expect("text");
    let asked = subject::of_argument(&mut query, &pod, &args).expect("it is there");
    let question = answer(&mut query, asked, &args);
    let text = json::questions(&args, &query, &[question], &replank_facts::coverage::Coverage::default())
        .expect("JSON");
    serde_json::from_str(&text).expect("JSON")
}

fn daemon_set() -> Value {
    let args = args(&["-f", "set.yaml", "snapshot"]);
    let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "namespace": "default"},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}});
    let workloads = vec![Object::from_json(set).expect("an object")];
    let manifest = super::input::Manifest { name: "set.yaml".to_owned(), workloads, others: Vec::new() };
    let mut query = query();
    let asked = subject::of_manifest(&mut query, manifest).expect("it makes pods");
    let questions: Vec<_> = asked.into_iter().map(|asked| answer(&mut query, asked, &args)).collect();
    let text = json::questions(&args, &query, &questions, &replank_facts::coverage::Coverage::default())
        .expect("JSON");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_member_of_an_answer_is_documented_and_no_other() {
    let (mut whole, mut question) = (BTreeSet::new(), BTreeSet::new());
    let answers = [
        answered(&["fits", "--replicas", "9", "snapshot"]),
        answered(&["gated", "snapshot"]),
        answered(&["urgent", "snapshot"]),
        daemon_set(),
    ];
    for mut value in answers {
        let Some(Value::Array(questions)) =
            value["questions"].as_array_mut().map(std::mem::take).map(Value::Array)
        else {
            panic!("no questions: {value}");
        };
        members(&value, "", &mut whole);
        questions.iter().for_each(|one| members(one, "", &mut question));
    }
    // The copy that does not fit is not urgent; that it could be is the form's, not the sample's.
    question.extend(["", ".node", ".victims", ".violations"].map(|end| format!("copies.preemption{end}")));
    whole.insert("pending".to_owned());
    whole.retain(|member| !member.starts_with("coverage."));
    assert_eq!(whole, documented("## The whole").into_keys().collect());
    assert_eq!(question, documented("## One question").into_keys().collect());
}

#[test]
fn every_member_of_a_pending_pod_is_documented_and_no_other() {
    let args = args(&["--all-pending", "snapshot"]);
    let mut query = query();
    let queued = query.place_all_pending();
    let stuck = pending::stuck(&mut query, &queued);
    let text = json::pending(&args, &query, &queued, &stuck, &replank_facts::coverage::Coverage::default())
        .expect("JSON");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let mut all = BTreeSet::new();
    value["pending"].as_array().expect("a list").iter().for_each(|one| members(one, "", &mut all));
    assert_eq!(all, documented("## One pending pod").into_keys().collect());
}

/// One change of each kind.
fn changes() -> Vec<Change> {
    let taint = Taint { value: "v".into(), ..Taint::new("k", TaintEffect::NoSchedule) };
    let requirement = NodeSelectorRequirement {
        key: "k".into(),
        operator: NodeSelectorOperator::Exists,
        values: Vec::new(),
    };
    let claim = Key::new("n", "c");
    vec![
        Change::Tolerate(taint.clone()),
        Change::Select { key: "k".into(), from: "a".into(), to: "b".into(), nodes: 1 },
        Change::Unselect { key: "k".into(), value: "a".into(), nodes: 1 },
        Change::Admit { term: 0, key: "k".into(), value: "a".into() },
        Change::Unrequire { term: 0, requirement },
        Change::UnrequireAll,
        Change::Request { resource: "cpu".into(), from: 2, to: 1 },
        Change::ReleasePort { port: 80, protocol: "TCP".into() },
        Change::Skew { constraint: 0, topology_key: "k".into(), from: 1, to: 2 },
        Change::SpreadAnyway { constraint: 0, topology_key: "k".into() },
        Change::PreferApart { term: 0, topology_key: "k".into() },
        Change::PreferNear,
        Change::MakeClaim { claim: claim.clone(), class: "gp3".into() },
        Change::Reclass { claim: claim.clone(), from: "a".into(), to: "b".into() },
        Change::RenewClaim { claim: claim.clone(), volume: "v".into() },
        Change::Prioritize { class: "c".into(), value: 1, node: "n".into(), victims: vec![claim] },
        Change::Label { node: "n".into(), key: "k".into(), from: None, to: "v".into() },
        Change::Unlabel { node: "n".into(), key: "k".into() },
        Change::Uncordon { node: "n".into() },
        Change::Untaint { node: "n".into(), taint },
        Change::Free { node: "n".into(), resource: "cpu".into(), amount: 1, capacity: 2 },
        Change::AddNode { group: "g".into(), zone: None, instance_type: "t".into() },
        Change::Enlarge { group: "g".into(), resource: "cpu".into(), from: 1, to: 2 },
    ]
}

#[test]
fn every_change_is_documented_with_its_members() {
    let mut documented = documented("## Changes");
    for change in changes() {
        let value = json::change(&change);
        let name = value["change"].as_str().expect("a change has a name");
        let row = documented.remove(name).unwrap_or_else(|| panic!("{name} is not documented"));
        let members: BTreeSet<&str> =
            value.as_object().expect("an object").keys().map(String::as_str).collect();
        let listed = row.split(',').map(|member| member.trim().trim_matches('`')).filter(|m| !m.is_empty());
        let expected: BTreeSet<&str> = listed.chain(["change", "text"]).collect();
        assert_eq!(members, expected, "{name}");
    }
    assert!(documented.is_empty(), "{documented:?}");
}
