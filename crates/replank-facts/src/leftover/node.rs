//! What is left on a node: a mark, a cordon, an exclusion from load balancers. A person's cordon is no leftover.

use replank_model::object::node::Node;
use replank_model::text::{RunId, Text};

use super::{Holds, Leftover, On, State};
use replank_protocol::command::{Effect, KubernetesEffect, NodeTarget};
use replank_protocol::mark::{self, BY_HAND, OURS};

pub(super) fn of(holds: &Holds, node: &Node) -> Option<Leftover> {
    let annotations = &node.meta.annotations;
    let keys: Vec<Text> = annotations
        .iter()
        .filter(|(key, _)| key.starts_with(OURS) && *key != BY_HAND)
        .map(|(key, _)| Text::from(key))
        .collect();
    if keys.is_empty() {
        return None;
    }
    if let Some(version) = mark::newer_on_node(node) {
        return Some(Leftover {
            on: On::Node(node.name()),
            what: "marked".to_owned(),
            lines: Vec::new(),
            keys,
            run: annotations.get(mark::RUN).cloned().map(RunId::new),
            since: None,
            state: State::Newer { version },
            effects: Vec::new(),
            stays: None,
        });
    }
    let is_note = |key: &Text| **key == *mark::EXCLUDED || **key == *mark::EXCLUDED_AT;
    let excluded = annotations.get(mark::EXCLUDED).filter(|_| keys.iter().all(is_note));
    let (what, run, since, state) = match (mark::of(node), excluded) {
        (Some(found), _) => {
            let what = format!("marked as {}", found.mark.role.as_str());
            let until = found.mark.expires;
            let state = match until > holds.now {
                true => State::Running { until },
                false => State::Expired { at: Some(until) },
            };
            (what, Some(found.run), Some(found.mark.since), state)
        }
        // The mark beside it was taken by somebody else.
        (None, Some(run)) => {
            let run = RunId::new(run.clone());
            let state = holds.state(Some(&run), None);
            ("excluded from load balancers".to_owned(), Some(run), mark::excluded_since(node), state)
        }
        (None, None) => ("marks of a run that cannot be read".to_owned(), None, None, State::Unreadable),
    };
    let target = NodeTarget { name: node.name(), uid: node.meta.uid.clone() };
    Some(Leftover {
        on: On::Node(node.name()),
        what,
        lines: lines(node, &keys),
        keys,
        run,
        since,
        state,
        effects: vec![Effect::Kubernetes(KubernetesEffect::Uncordon {
            node: target,
            version: node.meta.resource_version,
        })],
        stays: None,
    })
}

fn lines(node: &Node, keys: &[Text]) -> Vec<String> {
    let name = node.name();
    let uncordon = mark::is_cordoned_by_us(node).then(|| format!("kubectl uncordon {name}"));
    let is_excluded =
        node.meta.annotations.contains_key(mark::EXCLUDED) && node.meta.labels.contains_key(mark::EXCLUDE);
    let label = is_excluded.then(|| format!("kubectl label node {name} {}-", mark::EXCLUDE));
    let taken: Vec<String> = keys.iter().map(|key| format!("{key}-")).collect();
    let annotate = format!("kubectl annotate node {name} {}", taken.join(" "));
    uncordon.into_iter().chain(label).chain([annotate]).collect()
}
