//! A fleet that follows change by change is one that is made of the View alone.

use replank_facts::groups::{GroupBy, from_nodes};
use replank_facts::plan::{Base, Plan, RunOptions};
use replank_model::delta::Delta;
use replank_model::object::cloud::LaunchTemplateRef;
use serde_json::{Value, json};

use super::*;

fn start() -> Time {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn node(name: &str, instance: &str) -> Delta {
    let node = json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2025-06-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": "web", "topology.kubernetes.io/zone": "a"}},
        "spec": {"providerID": format!("aws:///a/{instance}")},
        "status": {"nodeInfo": {"kubeletVersion": "v1.34.2"}, "conditions": [{"type": "Ready", "status": "True"}]}});
    Object::from_json(node).expect("a node").into()
}

fn scope(base: Base) -> Scope {
    let plan: Value = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"},
        "spec": {"groups": ["web"]}});
    let mut plan = Plan::read(&plan).expect("a valid plan");
    plan.target.base = base;
    let options = RunOptions { started: start(), group_by: GroupBy::default() };
    Scope { plan: Arc::new(plan), run: "run".into(), options }
}

fn view(nodes: &[(&str, &str)]) -> View {
    let mut view: View = nodes.iter().map(|(name, instance)| node(name, instance)).collect();
    for learnt in from_nodes(&view, &GroupBy::default()) {
        view.apply(Delta::Group(learnt.group.into()));
        for instance in learnt.instances {
            view.apply(Delta::Instance(instance.into()));
        }
    }
    view
}

fn made(view: &View, scope: &Scope) -> Fleet {
    let mut fleet = Fleet { is_stale: true, ..Fleet::default() };
    fleet.refresh(view, scope);
    fleet
}

/// Makes a change, and compares.
fn change(fleet: &mut Fleet, view: &mut View, scope: &Scope, delta: Delta) {
    let change = view.apply(delta);
    fleet.observe(scope, &change);
    fleet.refresh(view, scope);
    let fresh = made(view, scope);
    assert_eq!(fleet.members, fresh.members);
    assert_eq!(fleet.node_of, fresh.node_of);
}

#[test]
fn on_a_way_back_nodes_follow_the_tag_that_says_where_to() {
    for base in [Base::Original, Base::Current] {
        let (scope, mut view) = (scope(base), view(&[("n0", "i-0"), ("n1", "i-1")]));
        let mut fleet = made(&view, &scope);
        let group = NodeGroup::clone(&view.groups()["web"]);
        let (mut tagged, former) = (group.clone(), LaunchTemplateRef { id: "lt-former".into(), version: 1 });
        let mut template = group.templates[&group.current].clone();
        template.profile.kubelet_version = "v1.33.0".into();
        // What the group makes is known before and after: it is the tag alone that changes.
        tagged.templates.insert(former.clone(), template);
        let known = NodeGroup { tags: group.tags.clone(), ..tagged.clone() };
        tagged.tags = group.tags.with(mark::ORIGINAL_TEMPLATE, mark::template_tag(&former, None));
        change(&mut fleet, &mut view, &scope, Delta::Group(tagged.into()));
        let is_old = |fleet: &Fleet| fleet.members.values().all(Member::is_old);
        assert!(is_old(&fleet), "they are not as before the run");
        change(&mut fleet, &mut view, &scope, Delta::Group(known.into()));
        assert_eq!(is_old(&fleet), base == Base::Current, "nobody knows any more what was there before");
    }
}

#[test]
fn both_nodes_of_an_instance_hear_of_it_and_the_first_by_name_counts() {
    for names in [["n0", "n1"], ["n1", "n0"]] {
        let (scope, mut view) = (scope(Base::Current), view(&[("n2", "i-2")]));
        let mut fleet = made(&view, &scope);
        let instance = Instance::clone(&view.instances()["i-2"]);
        let of = |node: &str| Instance { id: "i-both".into(), node: Some(node.into()), ..instance.clone() };
        // It registers under one name, then under another.
        for name in names {
            change(&mut fleet, &mut view, &scope, Delta::Instance(of(name).into()));
            change(&mut fleet, &mut view, &scope, node(name, "i-both"));
        }
        assert_eq!(fleet.member_of("i-both").map(|member| member.name.as_str()), Some("n0"));
        let may_be_protected = |fleet: &Fleet| {
            let mut all = ["n0", "n1"].map(|name| fleet.members[&NodeName::from(name)].is_protectable);
            all.sort_unstable();
            all
        };
        assert_eq!(may_be_protected(&fleet), [true, true]);
        let protected = Instance { is_protected: true, ..of(names[1]) };
        change(&mut fleet, &mut view, &scope, Delta::Instance(protected.into()));
        assert_eq!(may_be_protected(&fleet), [false, false]);
    }
}
