//! Names that do not depend on chance: `web-{rs-2}-{pod-1}` is the first pod of the second ReplicaSet of `web`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::names::Names;
use super::tape::Delivery;
use crate::client::Event;

/// A pod that is told from its like by its number only.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    pub(super) uid: String,
    pub(super) owner: String,
    pub(super) number: usize,
    pub(super) at_ms: i64,
}

/// What each object of a run is called.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    by_uid: BTreeMap<String, String>,
    /// The object that had a kind and name last.
    by_name: BTreeMap<(&'static str, String), String>,
    /// Real name and uid of what a symbol means at present.
    current: BTreeMap<(&'static str, String), (String, String)>,
    counts: BTreeMap<String, usize>,
    pub(super) numbered: Vec<Numbered>,
    /// Nodes that stand for each other.
    nodes: BTreeMap<String, String>,
    /// Pods that stand for each other.
    pods: BTreeMap<String, String>,
}

impl Symbols {
    /// Of the deliveries of a run.
    pub(super) fn of(names: &Names, tape: &[Delivery]) -> Self {
        Self::exchanged(names, tape, BTreeMap::new(), BTreeMap::new())
    }

    /// The same, with nodes and numbered pods called by others' names.
    pub(super) fn exchanged(
        names: &Names,
        tape: &[Delivery],
        nodes: BTreeMap<String, String>,
        pods: BTreeMap<String, String>,
    ) -> Self {
        let mut symbols = Self { nodes, pods, ..Self::default() };
        for delivery in tape.iter().filter(|delivery| delivery.event == Event::Present) {
            symbols.take(names, delivery);
        }
        symbols
    }

    fn take(&mut self, names: &Names, delivery: &Delivery) {
        let meta = &delivery.object["metadata"];
        let (Some(uid), Some(name)) = (meta["uid"].as_str(), meta["name"].as_str()) else { return };
        if self.by_uid.contains_key(uid) {
            return;
        }
        let symbol = self.symbol(names, delivery);
        let symbol =
            if delivery.kind == "Pod" { self.pods.get(&symbol).cloned().unwrap_or(symbol) } else { symbol };
        self.by_uid.insert(uid.to_owned(), symbol.clone());
        self.by_name.insert((delivery.kind, name.to_owned()), uid.to_owned());
        self.current.insert((delivery.kind, symbol), (name.to_owned(), uid.to_owned()));
    }

    fn symbol(&mut self, names: &Names, delivery: &Delivery) -> String {
        let object = &delivery.object;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if delivery.kind == "Node" {
            return self.node(names, name);
        }
        let Some(owner) = controller(object) else { return name.to_owned() };
        let of = self
            .of_uid(owner["uid"].as_str().unwrap_or_default(), owner["name"].as_str().unwrap_or_default());
        match (delivery.kind, owner["kind"].as_str().unwrap_or_default()) {
            ("Pod", "StatefulSet") => name.to_owned(),
            ("Pod", "DaemonSet") => {
                let node = pin(object).map_or_else(|| "?".to_owned(), |node| self.node(names, node));
                format!("{of}-{{{node}}}-{{pod-{}}}", self.next(&format!("{of} {node}")))
            }
            ("Pod", _) => {
                let index = &object["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
                let of = index.as_str().map_or(of.clone(), |index| format!("{of}-{index}"));
                let number = self.next(&format!("{of} pod"));
                let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                self.numbered.push(Numbered { uid, owner: of.clone(), number, at_ms: delivery.at_ms });
                format!("{of}-{{pod-{number}}}")
            }
            ("ReplicaSet", _) => format!("{of}-{{rs-{}}}", self.next(&format!("{of} rs"))),
            ("Job", _) => format!("{of}-{{job-{}}}", self.next(&format!("{of} job"))),
            ("ControllerRevision", _) => format!("{of}-{{rev-{}}}", self.next(&format!("{of} rev"))),
            ("EndpointSlice", _) => format!("{of}-{{slice-{}}}", self.next(&format!("{of} slice"))),
            _ => name.to_owned(),
        }
    }

    fn next(&mut self, what: &str) -> usize {
        let count = self.counts.entry(what.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// What the recording calls a real node.
    pub(super) fn node(&self, names: &Names, real: &str) -> String {
        let name = names.own(real).unwrap_or(real);
        self.nodes.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// What the object with a uid is called; the given name if it is unknown.
    pub(super) fn of_uid(&self, uid: &str, name: &str) -> String {
        self.by_uid.get(uid).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// What the object of a kind that has a real name is called.
    pub(super) fn of_name(&self, kind: &'static str, name: &str) -> String {
        let uid = self.by_name.get(&(kind, name.to_owned()));
        uid.map_or_else(|| name.to_owned(), |uid| self.of_uid(uid, name))
    }

    /// Real name and uid of what a symbol means at present.
    pub(super) fn real(&self, kind: &str, symbol: &str) -> Option<&(String, String)> {
        self.current.iter().find(|((of, name), _)| *of == kind && name == symbol).map(|(_, real)| real)
    }
}

/// The owner that manages an object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// The node that a DaemonSet made a pod for.
fn pin(pod: &Value) -> Option<&str> {
    let path = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    pod.pointer(path)?.as_str()
}
