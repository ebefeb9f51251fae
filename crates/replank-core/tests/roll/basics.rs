//! The ordinary way of a roll.

use replank_facts::plan::ChosenBy;
use replank_model::object::cloud::GroupSize;
use replank_model::selector::Selector;
use replank_model::time::Span;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, Replacement};
use replank_protocol::decision::End;
use replank_protocol::mark;
use serde_json::{Value, json};

use crate::stage::{Stage, budget, node, plan, replica_set, web};

const DAY: Span = Span::from_minutes(24 * 60);

/// Three nodes in three zones, two pods on each.
pub(crate) fn shop() -> Vec<Value> {
    let mut objects = vec![replica_set("web", 6, "1"), budget("web", "web", 4)];
    for (at, zone) in ["a", "b", "c"].iter().enumerate() {
        let name = format!("n{at}");
        objects.push(node(&name, "web", zone));
        objects.push(web(&format!("web-x{at}"), &name, "web"));
        objects.push(web(&format!("web-y{at}"), &name, "web"));
    }
    objects
}

#[test]
fn every_node_is_replaced_and_nothing_of_ours_is_left() {
    let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), shop());
    assert_eq!(stage.run(DAY), End::Done);
    let nodes = stage.truth.nodes.sorted();
    assert_eq!(nodes.len(), 3);
    for (_, node) in nodes {
        assert_eq!(&*node.status.node_info.kubelet_version, "v1.36.0");
        assert_eq!(mark::of(node), None);
        assert!(!node.spec.unschedulable);
    }
    let group = &stage.truth.groups()["web"];
    assert_eq!(group.size, GroupSize { min: 0, max: 3, desired: 3 });
    assert!(group.tags.is_empty(), "{:?}", group.tags);
    assert!(stage.done.iter().all(|(_, _, result)| result.is_ok()), "{}", stage.story());
    let evictions = stage
        .done
        .iter()
        .filter(|(_, c, _)| matches!(c.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })))
        .count();
    assert_eq!(evictions, 6, "every pod moves once\n{}", stage.story());
    let replacements: Vec<Replacement> = stage
        .done
        .iter()
        .filter_map(|(_, c, _)| match c.effect {
            Effect::Group(GroupEffect::Terminate { replacement, .. }) => Some(replacement),
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
        })
        .collect();
    assert_eq!(replacements, [Replacement::Launch, Replacement::Launch, Replacement::Decrement { keep: 3 }]);
}

#[test]
fn a_run_that_chose_its_nodes_by_label_leaves_nothing_either() {
    let mut by_label = plan(
        &["web"],
        json!({"target": {"kubernetesVersion": "1.36"}, "waves": [1, "100%"], "bake": "10m", "health": {},
            "retain": {"capacity": "template", "for": "1h"}}),
    );
    let of_web = Selector::from_set([("eks.amazonaws.com/nodegroup".into(), "web".into())]);
    by_label.nodes.by = ChosenBy::Selector(of_web);
    let mut stage = Stage::new(by_label, shop());
    assert_eq!(stage.run(DAY), End::Done);
    let group = &stage.truth.groups()["web"];
    assert!(group.tags.is_empty(), "{:?}", group.tags);
}

#[test]
fn a_group_that_is_as_it_should_be_is_left_alone() {
    let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.34"}})), shop());
    assert_eq!(stage.tick(), Some(End::Done));
    assert!(stage.done.is_empty());
}
