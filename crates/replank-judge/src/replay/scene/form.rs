//! What a replay is of.

use std::time::Duration;

use serde_json::{Value, json};

use crate::kubelets::NodeSpec;

/// One cluster, and the roll that is rehearsed.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its name.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<NodeSpec>,
    /// Everything else, in the order in which it is created.
    pub objects: Vec<Value>,
    /// Arguments of `replank rehearse`, after the snapshot.
    pub arguments: Vec<String>,
    /// What others do meanwhile; without a roll among the arguments it is all that happens.
    pub script: Option<String>,
    /// Whether time in which no pod moves is not skipped: something else than a pod's start is waited for.
    pub exact: bool,
    /// How old the cluster is at least when it is dumped: how long things take is seen by then.
    pub age: Duration,
}

impl Scene {
    pub(super) fn new(name: &str, nodes: Vec<NodeSpec>, objects: Vec<Value>) -> Self {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        let arguments = ["--roll", "web", "--seed", "1"].map(str::to_owned).to_vec();
        let objects = std::iter::once(namespace).chain(objects).collect();
        Self {
            name: name.to_owned(),
            nodes,
            objects,
            arguments,
            script: None,
            exact: false,
            age: Duration::ZERO,
        }
    }

    pub(super) fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// Rolls nothing: a script is all that happens.
    pub(super) fn by_hand(mut self, script: &str) -> Self {
        self.arguments = ["--seed", "1"].map(str::to_owned).to_vec();
        self.script = Some(script.to_owned());
        self
    }

    pub(super) fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    pub(super) fn aged(mut self, seconds: u64) -> Self {
        self.age = Duration::from_secs(seconds);
        self
    }
}

/// Pods that run after four seconds, and are Ready four seconds later: the API tells times in whole seconds only.
pub(super) const USUAL: &[(&str, &str)] = &[("start-after", "4"), ("ready-after", "4")];
