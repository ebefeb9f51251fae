//! Somebody who replaces drained nodes, in times that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::super::scene::Scene;
use super::super::stage::Stage;
use super::case::{LEFT, STARTS, STOPS};
use crate::client::Method;
use crate::kubelets::NodeSpec;

/// The version of new nodes.
const NEW: &str = "v1.36.2";

/// One who works on a cluster.
pub(super) struct Person<'a> {
    stage: &'a Stage,
    old: BTreeMap<String, NodeSpec>,
    /// Names that new nodes are given, in turn.
    names: Vec<String>,
}

impl<'a> Person<'a> {
    pub(super) fn of(stage: &'a Stage, scene: &Scene, names: Vec<String>) -> Self {
        let old = scene.nodes.iter().map(|node| (node.name.clone(), node.clone())).collect();
        Self { stage, old, names }
    }

    /// Replaces what is marked as drained, until it is over.
    pub(super) fn works(&self, is_over: &AtomicBool) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mut due: Vec<(Instant, Due)> = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let nodes = self.stage.plane.client().get("/api/v1/nodes")?;
            for node in nodes["items"].as_array().into_iter().flatten() {
                let name = node["metadata"]["name"].as_str().unwrap_or_default();
                if is_drained(node) && self.old.contains_key(name) && seen.insert(name.to_owned()) {
                    let from = Instant::now();
                    let new = self.new_for(name, seen.len() - 1);
                    due.push((from + LEFT, Due::Silence(name.to_owned())));
                    due.push((from + LEFT + STOPS, Due::Leave(name.to_owned())));
                    due.push((from + LEFT + STARTS, Due::Join(Box::new(new))));
                }
            }
            let now = Instant::now();
            due.sort_by_key(|(at, _)| *at);
            while due.first().is_some_and(|(at, _)| *at <= now) {
                self.act(&due.remove(0).1)?;
            }
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Replaces one node, and waits until the other is Ready.
    pub(super) fn replaces(&self, node: &str, number: usize) -> Result<()> {
        let from = Instant::now();
        let until = |span: Duration| sleep((from + span).saturating_duration_since(Instant::now()));
        until(LEFT);
        self.act(&Due::Silence(node.to_owned()))?;
        until(LEFT + STOPS);
        self.act(&Due::Leave(node.to_owned()))?;
        until(LEFT + STARTS);
        self.act(&Due::Join(Box::new(self.new_for(node, number))))
    }

    fn act(&self, due: &Due) -> Result<()> {
        match due {
            Due::Silence(node) => self.stage.kubelets.silence(node),
            Due::Leave(node) => {
                self.stage.plane.client().send(Method::Delete, &format!("/api/v1/nodes/{node}"), None)?;
            }
            Due::Join(spec) => self.stage.kubelets.register(spec)?,
        }
        Ok(())
    }

    fn new_for(&self, old: &str, number: usize) -> NodeSpec {
        let mut spec = self.old[old].clone();
        spec.name = self.names.get(number).cloned().unwrap_or_else(|| format!("new-{old}"));
        spec.labels.insert("kubernetes.io/hostname".to_owned(), spec.name.clone());
        NEW.clone_into(&mut spec.version);
        spec
    }
}

enum Due {
    Silence(String),
    Leave(String),
    Join(Box<NodeSpec>),
}

fn is_drained(node: &Value) -> bool {
    node["spec"]["unschedulable"] == true && node["metadata"]["annotations"]["replank.dev/role"] == "drained"
}
