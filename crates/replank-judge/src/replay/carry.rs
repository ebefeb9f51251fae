//! Carries a rehearsal out, step by step.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::moment::Moment;
use anyhow::Result;
use serde_json::{Value, json};

use super::observed::{Count, Observed, Seen, Workload};
use super::recorded::{Eviction, NodeLine, Rehearsal};
use super::stage::Stage;
use super::steps::{Step, What, steps};
use crate::client::{Answer, Method};
use crate::kubelets::NodeSpec;

/// What came of one eviction.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    /// Whether the pod was there to be evicted.
    pub(super) found: bool,
    /// The server's refusal at the first try; nothing where it was granted.
    pub(super) refused: Option<String>,
    /// When it was answered.
    answered: Option<Instant>,
    /// Where the successor was placed.
    pub(super) zone: Option<String>,
    /// From the answer until the successor was Ready.
    pub(super) to_ready: Option<Duration>,
}

/// A pod that a budget keeps in the rehearsal, and what the real server says of its eviction.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) pod: String,
    /// The server's refusal; nothing where it lets it go.
    pub(super) refused: Option<String>,
}

/// What came of a rehearsal.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) evictions: Vec<Carried>,
    pub(super) counts: BTreeMap<Workload, Count>,
    pub(super) kept: Vec<Kept>,
    /// Zones of all nodes, old and new.
    pub(super) zones: BTreeMap<String, String>,
    /// The longest time by which the real cluster came after what was rehearsed.
    pub(super) behind: Duration,
    pub(super) took: Duration,
}

/// How long nothing has to be waited for before the next step.
const IDLE: Duration = Duration::from_millis(1_500);

/// How long the real cluster may come after the rehearsal before it goes on without it.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the real cluster's budgets take to be counted after a pod is Ready, and a cordon to be seen.
const BREATH: Duration = Duration::from_millis(200);

/// Carries it out. Time in which nothing is under way is skipped, unless it is `exact`.
pub(super) fn out(stage: &Stage, rehearsal: &Rehearsal, exact: bool) -> Result<Course> {
    let mut actor = Actor {
        stage,
        rehearsal,
        observed: Observed::begin(stage.plane.client())?,
        evictions: vec![Carried::default(); rehearsal.evictions.len()],
        zones: stage.zones.clone(),
        behind: Duration::ZERO,
    };
    let begun = Instant::now();
    let mut due = begun;
    let mut at = rehearsal.start;
    for step in steps(rehearsal) {
        let gap = step.at.since(at);
        due += if exact || actor.is_busy(at) { gap } else { gap.min(IDLE) };
        at = step.at;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        actor.act(&step)?;
        due = due.max(Instant::now());
    }
    let kept = actor.try_kept()?;
    let counts = actor.observed.lock().counts.clone();
    let evictions = actor.finish();
    Ok(Course { evictions, counts, kept, zones: actor.zones, behind: actor.behind, took: begun.elapsed() })
}

struct Actor<'a> {
    stage: &'a Stage,
    rehearsal: &'a Rehearsal,
    observed: Observed,
    evictions: Vec<Carried>,
    zones: BTreeMap<String, String>,
    behind: Duration,
}

impl Actor<'_> {
    /// Whether a pod is on its way at a moment of the rehearsal.
    fn is_busy(&self, at: Moment) -> bool {
        self.rehearsal.evictions.iter().any(|eviction| {
            let ready = eviction.successor.as_ref().and_then(|successor| successor.ready);
            eviction.refused.is_none()
                && eviction.at <= at
                && [eviction.gone, ready].into_iter().flatten().any(|end| end > at)
        })
    }

    fn act(&mut self, step: &Step<'_>) -> Result<()> {
        match step.what {
            What::Gone(index) => self.await_that(|seen, this| this.is_gone(seen, index)),
            What::Ready(index) => {
                self.await_that(|seen, _| {
                    let successor = seen.successors.get(&index).and_then(|uid| seen.pods.get(uid));
                    successor.is_none_or(|pod| pod.ready.is_some() || pod.gone.is_some())
                });
                std::thread::sleep(BREATH);
            }
            What::Join(line) => {
                let spec = spec(line);
                self.zones.insert(spec.name.clone(), line.zone.clone());
                self.stage.kubelets.register(&spec)?;
            }
            What::Cordon(node) => self.cordon(node, true)?,
            What::Uncordon(node) => self.cordon(node, false)?,
            What::Evict(index) => self.evict(index)?,
            What::Silence(node) => self.stage.kubelets.silence(node),
            What::Leave(node) => {
                self.stage.plane.client().send(Method::Delete, &format!("/api/v1/nodes/{node}"), None)?;
            }
        }
        Ok(())
    }

    fn is_gone(&self, seen: &Seen, index: usize) -> bool {
        let eviction = &self.rehearsal.evictions[index];
        !self.evictions[index].found
            || seen.by_name.get(&(eviction.namespace.clone(), self.real_name(seen, eviction))).is_none_or(
                |uid| {
                    // A StatefulSet's pod is there again under its name.
                    seen.successors.get(&index) == Some(uid)
                },
            )
    }

    /// Waits until the real cluster has come to where the rehearsal is.
    fn await_that(&mut self, holds: impl Fn(&Seen, &Self) -> bool) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if holds(&self.observed.lock(), self) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.behind = self.behind.max(begun.elapsed());
    }

    fn cordon(&self, node: &str, unschedulable: bool) -> Result<()> {
        let patch = json!({ "spec": { "unschedulable": unschedulable } });
        self.stage
            .plane
            .client()
            .send(Method::Merge, &format!("/api/v1/nodes/{node}"), Some(&patch))?
            .ok()?;
        std::thread::sleep(BREATH);
        Ok(())
    }

    /// The name that a pod of the rehearsal has here: a successor's name is drawn by the API server.
    fn real_name(&self, seen: &Seen, eviction: &Eviction) -> String {
        let before = self.rehearsal.evictions.iter().take_while(|other| !std::ptr::eq(*other, eviction));
        let made = before.enumerate().filter(|(_, other)| {
            let successor = other.successor.as_ref();
            other.namespace == eviction.namespace && successor.is_some_and(|made| made.pod == eviction.pod)
        });
        let uid = made.last().and_then(|(index, _)| seen.successors.get(&index));
        let name = uid.and_then(|uid| seen.by_name.iter().find(|(_, known)| *known == uid));
        name.map_or_else(|| eviction.pod.clone(), |((_, name), _)| name.clone())
    }

    fn evict(&mut self, index: usize) -> Result<()> {
        let rehearsal = self.rehearsal;
        let eviction = &rehearsal.evictions[index];
        let (name, uid) = {
            let mut seen = self.observed.lock();
            let name = self.real_name(&seen, eviction);
            let uid = seen.by_name.get(&(eviction.namespace.clone(), name.clone())).cloned();
            if let Some(workload) = &eviction.workload {
                seen.expect(index, (eviction.namespace.clone(), workload.clone()), &name);
            }
            (name, uid)
        };
        let Some(uid) = uid else {
            self.observed.lock().expect_no_more(index);
            return Ok(());
        };
        if let Some(gone) = eviction.gone {
            let span = gone.since(eviction.at);
            self.stage.kubelets.stops_after(&eviction.namespace, &name, span);
        }
        let answer = self.ask(&eviction.namespace, &name, &uid)?;
        let refused = (answer.status >= 400).then(|| answer.words().to_owned());
        if refused.is_some() {
            self.observed.lock().expect_no_more(index);
        }
        self.evictions[index] =
            Carried { found: true, refused, answered: Some(Instant::now()), ..Carried::default() };
        Ok(())
    }

    fn ask(&self, namespace: &str, name: &str, uid: &str) -> Result<Answer> {
        let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}}});
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
        self.stage.plane.client().send(Method::Post, &path, Some(&body))
    }

    /// Asks for what the rehearsal ended with: pods that a budget keeps. A dry run: what one lets go, another must not.
    fn try_kept(&self) -> Result<Vec<Kept>> {
        let mut kept = Vec::new();
        for blocker in &self.rehearsal.blockers {
            let Some((namespace, pod)) =
                blocker.what.strip_prefix("pod ").and_then(|name| name.split_once('/'))
            else {
                continue;
            };
            if !blocker.reason.contains("budget") {
                continue;
            }
            let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/eviction?dryRun=All");
            let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}});
            let answer = self.stage.plane.client().send(Method::Post, &path, Some(&body))?;
            let refused = (answer.status >= 400 && answer.status != 404).then(|| answer.words().to_owned());
            kept.push(Kept { pod: format!("{namespace}/{pod}"), refused });
        }
        Ok(kept)
    }

    /// What became of the successors.
    fn finish(&mut self) -> Vec<Carried> {
        let seen = self.observed.lock();
        for (index, carried) in self.evictions.iter_mut().enumerate() {
            let Some(pod) = seen.successors.get(&index).and_then(|uid| seen.pods.get(uid)) else { continue };
            carried.zone = pod.node.as_ref().and_then(|node| self.zones.get(node)).cloned();
            carried.to_ready = pod
                .ready
                .zip(carried.answered)
                .map(|(ready, answered)| ready.saturating_duration_since(answered));
        }
        self.evictions.clone()
    }
}

/// A node as it joined in the rehearsal.
fn spec(line: &NodeLine) -> NodeSpec {
    let shape = line.shape.as_ref();
    let pairs = |list: Option<&Vec<String>>| {
        let all = list.into_iter().flatten();
        all.filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    NodeSpec {
        name: line.node.clone().unwrap_or_default(),
        labels: pairs(shape.map(|shape| &shape.labels)),
        taints: shape
            .into_iter()
            .flat_map(|shape| &shape.taints)
            .filter_map(|taint| taint_of(taint))
            .collect(),
        capacity: pairs(shape.map(|shape| &shape.allocatable)),
        version: "v1.36.2".to_owned(),
    }
}

/// A taint from `key=value:Effect`. Those that say that a node is not ready yet are the control plane's to set.
fn taint_of(text: &str) -> Option<Value> {
    let (name, effect) = text.rsplit_once(':')?;
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    let is_passing =
        key.starts_with("node.kubernetes.io/") || key.starts_with("node.cloudprovider.kubernetes.io/");
    (!is_passing).then(|| json!({"key": key, "value": value, "effect": effect}))
}
