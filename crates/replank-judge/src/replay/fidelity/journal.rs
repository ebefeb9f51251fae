//! The journal of a run, as far as it is compared: which pods were moved off which node, in which order, and how it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::moment::Moment;

/// An eviction that was asked for; or the restart of a workload, which has no node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) at: Moment,
    pub(super) node: String,
    /// Its namespace, and kind and name of its controller.
    pub(super) of: String,
    pub(super) pod: String,
    pub(super) refused: bool,
}

/// What a journal tells.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    pub(super) moved: Vec<Moved>,
    /// From the first line to the last.
    pub(super) took: Duration,
    /// How it ended, in one word.
    pub(super) ended: String,
    /// What kept it from its end: what, and the kind of reason.
    pub(super) blocked: BTreeSet<String>,
}

impl Journal {
    /// Reads one.
    ///
    /// # Errors
    /// It cannot be read, or has no end.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let lines: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let at = |line: &Value| -> Result<Moment> {
            Ok(Moment::try_from(line["at"].as_str().unwrap_or_default().to_owned())?)
        };
        let mut moved: Vec<Moved> = Vec::new();
        let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
        for line in &lines {
            let what = &line["what"];
            let command = &what["sent"]["command"];
            let key = || command["key"].as_str().unwrap_or_default().to_owned();
            let pod = &command["effect"]["kubernetes"]["evict"]["pod"]["key"];
            if pod.is_object() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                by_key.insert(key(), moved.len());
                moved.push(Moved {
                    at: at(line)?,
                    node: text(&what["sent"]["pod"]["node"]),
                    of: format!("{}/{}", text(&pod["namespace"]), text(&what["sent"]["pod"]["controller"])),
                    pod: text(&pod["name"]),
                    refused: false,
                });
            }
            let restarted = &command["effect"]["kubernetes"]["restartWorkload"]["workload"];
            if restarted.is_object() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let key = &restarted["key"];
                moved.push(Moved {
                    at: at(line)?,
                    node: String::new(),
                    of: format!("{}/restart of {}", text(&key["namespace"]), text(&key["name"])),
                    pod: String::new(),
                    refused: false,
                });
            }
            let claim = &command["effect"]["kubernetes"]["deleteNodeClaim"]["claim"]["name"];
            if let Some(claim) = claim.as_str() {
                // Its node has its name.
                moved.push(Moved {
                    at: at(line)?,
                    node: claim.to_owned(),
                    of: "/NodeClaims".to_owned(),
                    pod: String::new(),
                    refused: false,
                });
            }
            let answered = &what["answered"];
            if answered["answer"]["refused"].is_object()
                && let Some(index) = by_key.get(answered["key"].as_str().unwrap_or_default())
            {
                moved[*index].refused = true;
            }
        }
        let (first, last) =
            (lines.first().context("a journal has lines")?, lines.last().context("a journal has lines")?);
        let ended = &last["what"]["ended"];
        let word = match ended {
            Value::String(word) => word.clone(),
            Value::Object(members) => members.keys().next().cloned().unwrap_or_default(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => "open".to_owned(),
        };
        let all = ended[&word].as_array().cloned().unwrap_or_default();
        Ok(Self {
            moved,
            took: at(last)?.since(at(first)?),
            ended: word,
            blocked: all.iter().map(blocker).collect(),
        })
    }

    /// Nodes in the order in which their first pod was moved.
    pub(super) fn nodes(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let nodes = self.granted().map(|one| one.node.as_str()).filter(|node| !node.is_empty());
        nodes.filter(|node| seen.insert(*node)).collect()
    }

    /// Evictions that were granted, and restarts.
    pub(super) fn granted(&self) -> impl Iterator<Item = &Moved> {
        self.moved.iter().filter(|one| !one.refused)
    }

    /// The evictions of each workload in order: pod, if it was there from the start, and node. Those of one decision are a tie, and sorted. Pods of one workload
    /// that are equal otherwise leave their node by name, and a successor's name is drawn: with one among them their order is a tie, too.
    pub(super) fn by_workload(&self, first: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<Left>> = BTreeMap::new();
        for one in self.granted() {
            let (namespace, _) = one.of.split_once('/').unwrap_or_default();
            let is_first = first.contains(&format!("{namespace}/{}", one.pod));
            let pod = if is_first { one.pod.clone() } else { SUCCESSOR.to_owned() };
            all.entry(one.of.clone()).or_default().push(Left { at: one.at, node: one.node.clone(), pod });
        }
        all.into_iter().map(|(of, list)| (of, in_order(list))).collect()
    }
}

/// A pod that left its node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Left {
    at: Moment,
    node: String,
    pod: String,
}

const SUCCESSOR: &str = "a successor";

fn in_order(mut list: Vec<Left>) -> Vec<String> {
    list.sort();
    let mut words = Vec::new();
    for of_node in list.chunk_by(|one, next| one.node == next.node) {
        let mut pods: Vec<&str> = of_node.iter().map(|one| one.pod.as_str()).collect();
        if pods.contains(&SUCCESSOR) {
            pods.sort_unstable();
        }
        words.extend(pods.into_iter().map(|pod| format!("{pod} on {}", of_node[0].node)));
    }
    words
}

/// What is blocked, and the kind of reason: its numbers and times are those of one run.
fn blocker(waiting: &Value) -> String {
    let kind = match &waiting["on"] {
        Value::Object(members) => members.keys().next().cloned().unwrap_or_default(),
        Value::String(word) => word.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
    };
    format!("{} {kind}", waiting["what"])
}
