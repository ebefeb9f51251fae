//! Where the real components draw lots, the recorded lot is drawn: nodes of equal scores, pods that a ReplicaSet has too
//! many of and that nothing tells apart.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_sim::TieBreaker;
use serde_json::Value;

use super::log::Log;
use super::record::Scenario;

/// A recorded binding.
#[derive(Debug)]
struct Binding {
    pod: String,
    nodes: Vec<String>,
    is_used: bool,
}

/// The recorded bindings.
pub(super) struct Choice {
    bindings: Vec<Binding>,
    groups: Vec<Vec<String>>,
    /// When each recorded pod began to terminate, in milliseconds.
    ends: Vec<(String, i64)>,
    /// Which recorded pod each of ours took the node of.
    identity: BTreeMap<String, String>,
    log: Rc<RefCell<Log>>,
    /// What went wrong.
    problems: Rc<RefCell<Vec<String>>>,
}

impl Choice {
    pub(super) fn new(
        scenario: &Scenario,
        log: Rc<RefCell<Log>>,
        problems: Rc<RefCell<Vec<String>>>,
    ) -> Self {
        let optional = scenario.expect.optional.iter();
        let recorded = scenario.expect.events.iter().chain(optional);
        let mut bound: Vec<_> = recorded
            .filter(|event| event.kind == "Pod" && event.change == "scheduled")
            .map(|event| {
                let node = if event.node.is_null() { &event.value } else { &event.node };
                (event.t_ms, Binding { pod: event.name.clone(), nodes: nodes(node), is_used: false })
            })
            .collect();
        bound.sort_by_key(|(t_ms, _)| *t_ms);
        let bindings = bound.into_iter().map(|(_, binding)| binding).collect();
        let optional = scenario.expect.optional.iter();
        let ends = scenario.expect.events.iter().chain(optional);
        let ends = ends
            .filter(|event| event.kind == "Pod" && event.change == "terminating")
            .map(|event| (event.name.clone(), event.t_ms))
            .collect();
        let (groups, identity) = (scenario.interchangeable.clone(), BTreeMap::new());
        Self { bindings, groups, ends, identity, log, problems }
    }

    /// The first recorded binding of the pod, or of one that it may be exchanged with, to one of the best nodes.
    fn find(&self, symbol: &str, best: &[&str]) -> Option<(usize, String)> {
        let group = self.groups.iter().find(|group| group.iter().any(|pod| pod == symbol));
        let is_candidate = |pod: &String| match group {
            Some(group) => group.contains(pod),
            None => pod == symbol,
        };
        self.bindings.iter().enumerate().find_map(|(at, binding)| {
            let open = !binding.is_used && is_candidate(&binding.pod);
            let node = binding.nodes.iter().find(|node| best.contains(&node.as_str()));
            node.filter(|_| open).map(|node| (at, node.clone()))
        })
    }
}

impl TieBreaker for Choice {
    fn choose(&mut self, pod: &Pod, best: &[NodeName]) -> Option<NodeName> {
        let symbol = self.log.borrow().symbols.of_uid(&pod.meta.uid, pod.meta.name.as_str());
        let names: Vec<&str> = best.iter().map(NodeName::as_str).collect();
        if let Some((at, node)) = self.find(&symbol, &names) {
            self.bindings[at].is_used = true;
            self.identity.insert(symbol, self.bindings[at].pod.clone());
            return Some(NodeName::from(node));
        }
        let recorded: Vec<&Vec<String>> = self
            .bindings
            .iter()
            .filter(|binding| binding.pod == symbol && !binding.is_used)
            .map(|binding| &binding.nodes)
            .collect();
        if !recorded.is_empty() {
            let problem = format!("{symbol}: recorded node {recorded:?} is none of the best {names:?}");
            self.problems.borrow_mut().push(problem);
        }
        None
    }

    fn order_victims(&mut self, now: Time, equals: &mut [Arc<Pod>]) {
        let log = self.log.borrow();
        let now_ms = (now - log.origin).as_millis();
        // Those that were recorded to go at about this time, then those that went later, then those that stayed.
        let end = |pod: &Arc<Pod>| {
            let symbol = log.symbols.of_uid(&pod.meta.uid, pod.meta.name.as_str());
            let recorded = self.identity.get(&symbol).unwrap_or(&symbol);
            let ends = self.ends.iter().filter(|(name, at)| name == recorded && *at > now_ms - AHEAD_MS);
            ends.map(|(_, at)| *at).min().unwrap_or(i64::MAX)
        };
        equals.sort_by_key(end);
    }
}

/// How much earlier than ours a recorded end may be.
const AHEAD_MS: i64 = 500;

fn nodes(value: &Value) -> Vec<String> {
    match value {
        Value::String(node) => vec![node.clone()],
        Value::Object(members) => {
            let any = members.get("any").and_then(Value::as_array);
            any.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Vec::new(),
    }
}
