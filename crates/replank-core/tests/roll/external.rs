//! Somebody else replaces the nodes: the run drains them, and waits.

use replank_model::time::Span;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_protocol::mark;
use replank_protocol::record;
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, node, plan};

const DAY: Span = Span::from_minutes(24 * 60);

fn spec() -> Value {
    json!({"provider": "external", "budget": null, "target": {"kubernetesVersion": "1.36"}})
}

/// The shop, and a node of another group with room for the pods of one node.
fn objects() -> Vec<Value> {
    let mut objects = shop();
    objects.push(node("spare", "other", "a"));
    objects
}

/// With somebody who replaces each node so long after it is empty.
fn stage(spec: Value, replaces_after: Option<Span>) -> Stage {
    let mut stage = Stage::new(plan(&["web"], spec), objects());
    stage.replaces_after = replaces_after;
    stage
}

#[test]
fn every_node_is_drained_and_its_successor_waited_for() {
    let mut stage = stage(spec(), Some(Span::from_minutes(5)));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let web: Vec<_> = stage.truth.nodes.sorted().into_iter().map(|(_, node)| node.clone()).collect();
    assert_eq!(web.len(), 4);
    for node in web {
        assert_eq!(mark::of(&node), None);
        assert!(!node.spec.unschedulable);
        let is_new = node.meta.name.as_str().starts_with("web-");
        assert_eq!(&*node.status.node_info.kubelet_version == "v1.36.0", is_new, "{}", node.meta.name);
    }
    let evictions = stage.done.iter().filter(|(_, command, _)| {
        matches!(command.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. }))
    });
    assert_eq!(evictions.count(), 6, "every pod moves once\n{}", stage.story());
    for kind in ["replacement", "successor", "available"] {
        assert!(stage.seen.contains_key(kind), "{kind}: {:?}", stage.seen.keys());
    }
    assert!(stage.done.iter().all(|(_, command, _)| matches!(command.effect, Effect::Kubernetes(_))));
    assert!(record::all(&stage.truth).is_empty(), "the record goes at the end");
}
