//! Holds docs/leftover.md against what is printed, and what is printed against what was left.

use std::collections::BTreeSet;

use replank_model::object::node::Node;
use replank_model::object::{Object, cloud};
use replank_model::view::View;
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use serde_json::{Value, json};

use super::*;
use crate::report::Color;

fn node(name: &str, role: NodeRole, run: &str, expires: &str) -> Node {
    let value = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}, "spec": {}, "status": {}});
    let Object::Node(node) = Object::from_json(value).expect("a node") else {
        unreachable!("a node was written")
    };
    let since = "2026-01-01T00:00:00Z".parse().expect("a time");
    mark::laid(
        &node,
        &run.into(),
        &Mark { owner: Owner::Run, role, since, expires: expires.parse().expect("a time") },
    )
}

fn found(with_groups: bool) -> Found {
    let now = "2026-01-09T00:00:00Z".parse().expect("a time");
    let mut unread = node("web-3", NodeRole::Queued, "r2", "2026-01-12T00:00:00Z");
    unread.meta.annotations = unread.meta.annotations.with(mark::ROLE, "king");
    let nodes = [
        node("web-1", NodeRole::Queued, "r1", "2026-01-08T00:00:00Z"),
        node("web-2", NodeRole::Retained, "r2", "2026-01-12T00:00:00Z"),
        unread,
    ];
    let mut view: View = nodes.into_iter().map(|node| Delta::Put(Object::from(node))).collect();
    if with_groups {
        let tags = [(mark::ORIGINAL_SIZE, "0/3/3"), (mark::BEGUN, "r1 nodes=3 surge=1")];
        let size = cloud::GroupSize { min: 0, max: 4, desired: 4 };
        view.apply(Delta::Group(
            cloud::NodeGroup {
                tags: tags.into_iter().collect(),
                ..cloud::NodeGroup::new("eks-web".into(), size, Vec::new(), cloud::LaunchTemplate::default())
            }
            .into(),
        ));
    }
    Found {
        name: "cluster.json".to_owned(),
        now,
        with_groups,
        left: leftover::find(&view, now),
        coverage: replank_facts::coverage::Coverage::default(),
    }
}

#[test]
fn what_was_left_in_words() {
    insta::assert_snapshot!(text(&found(true), Look { width: 100, color: Color::None }));
}

#[test]
fn nothing_left_in_words() {
    let nothing = Found { left: Vec::new(), ..found(false) };
    insta::assert_snapshot!(text(&nothing, Look { width: 100, color: Color::None }));
}

fn members(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    if let Value::Object(object) = value {
        for (key, member) in object {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            all.insert(path.clone());
            if let Some(first) = member.as_array().and_then(|items| items.first()) {
                members(first, &format!("{path}[]"), all);
            }
        }
    }
}

#[test]
fn every_member_of_the_json_is_documented_and_no_other() {
    let printed: Value =
        serde_json::from_str(&json::json(&found(true)).expect("it is printed")).expect("JSON");
    let mut all = BTreeSet::new();
    members(&printed, "", &mut all);
    let page = include_str!("../../../../docs/leftover.md");
    let (_, section) = page.split_once("## As JSON").expect("the page has the heading");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeSet<String> =
        rows.map(|row| row.split_once('`').expect("a member's name ends").0.to_owned()).collect();
    assert_eq!(all, documented);
}
