//! Kubelets of fixed delays, as in the recordings: 500 ms to start, 1 s to stop, 100 ms to remove. A pod's annotations `fake.kubelet/…` say otherwise:
//! `start-ms`, `ready-ms` (or `never`), `run-ms` with `exit-code`, `stop-ms`, `term-exit-code`, `stuck`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::status::{self, Containers};
use crate::agenda::Agenda;
use crate::client::{Client, Event, Method};
use crate::kubelets::now_micro;

const WORKERS: usize = 12;
const LEASE_PERIOD: Duration = Duration::from_secs(10);
const START: Duration = Duration::from_millis(500);
const STOP: Duration = Duration::from_millis(1000);
const UNSTARTED_STOP: Duration = Duration::from_millis(100);
const REMOVE: Duration = Duration::from_millis(100);
const RESTART: Duration = Duration::from_millis(500);
const STOPPED: i32 = 143;

/// One thing to do to a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    Start(String),
    /// It is Ready, unless its containers were started again meanwhile.
    Ready(String, u32),
    Unready(String),
    Exit(String, u32, i32),
    Restart(String),
    Stop(String),
    Remove(String),
    Lease(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    Running,
    Between,
    Over,
    /// Being stopped, with this grace.
    Stopping(u64),
    Removed,
}

struct Pod {
    object: Arc<Value>,
    stage: Stage,
    restarts: u32,
}

#[derive(Default)]
struct State {
    /// Nodes whose kubelet works.
    nodes: BTreeSet<String>,
    pods: BTreeMap<String, Pod>,
}

/// All kubelets of a cluster.
#[derive(Clone)]
pub(super) struct Kubelets {
    client: Client,
    agenda: Arc<Agenda<Job>>,
    state: Arc<Mutex<State>>,
}

impl Kubelets {
    pub(super) fn begin(client: &Client) -> Self {
        let kubelets = Self { client: client.clone(), agenda: Arc::default(), state: Arc::default() };
        for _ in 0..WORKERS {
            let kubelets = kubelets.clone();
            // Not joined: they end when the agenda is closed.
            drop(std::thread::spawn(move || {
                while let Some(job) = kubelets.agenda.next() {
                    if let Err(error) = kubelets.act(&job) {
                        eprintln!("kubelet: {job:?}: {error:#}");
                    }
                }
            }));
        }
        kubelets
    }

    pub(super) fn end(&self) {
        self.agenda.close();
    }

    /// The kubelet of a node begins to work, with what was left undone.
    pub(super) fn wake(&self, node: &str) {
        let mut state = self.state();
        state.nodes.insert(node.to_owned());
        let of_node = |pod: &&mut Pod| pod.object["spec"]["nodeName"] == node;
        let mut left = Vec::new();
        for pod in state.pods.values_mut().filter(of_node) {
            let uid = text(&pod.object["metadata"]["uid"]);
            match pod.stage {
                Stage::Starting => left.push((START, Job::Start(uid))),
                Stage::Stopping(_) => left.push((STOP, Job::Stop(uid))),
                Stage::Running | Stage::Between | Stage::Over | Stage::Removed => {}
            }
        }
        drop(state);
        left.into_iter().for_each(|(after, job)| self.agenda.add(after, job));
        self.agenda.add(Duration::ZERO, Job::Lease(node.to_owned()));
    }

    /// It renews its lease once more, and is silent from then on.
    pub(super) fn silence(&self, node: &str) -> Result<()> {
        self.renew(node)?;
        self.state().nodes.remove(node);
        Ok(())
    }

    /// The node is gone.
    pub(super) fn forget(&self, node: &str) {
        self.state().nodes.remove(node);
    }

    /// A script's doing: `ready`, `unready` or `exit`.
    pub(super) fn tell(&self, uid: &str, act: &str, code: i32) {
        let restarts = self.state().pods.get(uid).map_or(0, |pod| pod.restarts);
        let uid = uid.to_owned();
        self.agenda.add(
            Duration::ZERO,
            match act {
                "ready" => Job::Ready(uid, restarts),
                "unready" => Job::Unready(uid),
                _ => Job::Exit(uid, restarts, code),
            },
        );
    }

    /// A pod was seen.
    pub(super) fn seen(&self, event: Event, object: &Arc<Value>) {
        let Some(uid) = object["metadata"]["uid"].as_str().map(str::to_owned) else { return };
        let mut state = self.state();
        if event == Event::Deleted {
            state.pods.remove(&uid);
            return;
        }
        if !object["spec"]["nodeName"].is_string() {
            return;
        }
        let known = state.pods.get(&uid).map(|pod| (pod.stage, pod.restarts));
        let (stage, due) = next(known.map(|(stage, _)| stage), object, &uid);
        let restarts = known.map_or(0, |(_, restarts)| restarts);
        state.pods.insert(uid, Pod { object: object.clone(), stage, restarts });
        drop(state);
        if let Some((after, job)) = due {
            self.agenda.add(after, job);
        }
    }

    fn act(&self, job: &Job) -> Result<()> {
        match job {
            Job::Start(uid) => self.start(uid, Stage::Starting, false),
            Job::Restart(uid) => self.start(uid, Stage::Between, true),
            // A pod that stops may still get Ready: its readiness is looked at until it has stopped.
            Job::Ready(uid, restarts) => {
                self.step(uid, |pod| {
                    let runs = matches!(pod.stage, Stage::Running | Stage::Stopping(_));
                    (runs && pod.restarts == *restarts).then_some(pod.stage)
                })
                .map_or(Ok(()), |(pod, restarts)| self.write(&pod, Containers::Run { ready: true }, restarts))
            }
            Job::Unready(uid) => self
                .step(uid, |pod| (pod.stage == Stage::Running).then_some(pod.stage))
                .map_or(Ok(()), |(pod, restarts)| {
                    self.write(&pod, Containers::Run { ready: false }, restarts)
                }),
            Job::Exit(uid, restarts, code) => self.exit(uid, *restarts, *code),
            Job::Stop(uid) => self.stop(uid),
            Job::Remove(uid) => self.remove(uid),
            Job::Lease(node) => {
                if self.state().nodes.contains(node) {
                    self.renew(node)?;
                    self.agenda.add(LEASE_PERIOD, Job::Lease(node.clone()));
                }
                Ok(())
            }
        }
    }

    /// Moves a pod of a node that is not silent to another stage, if it may go there.
    fn step(&self, uid: &str, to: impl FnOnce(&Pod) -> Option<Stage>) -> Option<(Arc<Value>, u32)> {
        let mut state = self.state();
        let node = text(&state.pods.get(uid)?.object["spec"]["nodeName"]);
        if !state.nodes.contains(&node) {
            return None;
        }
        let pod = state.pods.get_mut(uid)?;
        pod.stage = to(pod)?;
        Some((pod.object.clone(), pod.restarts))
    }

    fn start(&self, uid: &str, from: Stage, again: bool) -> Result<()> {
        let begun = self.step(uid, |pod| (pod.stage == from).then_some(Stage::Running));
        let Some((pod, restarts)) = begun else { return Ok(()) };
        let never = annotation(&pod, "ready-ms") == Some("never");
        let after = span(&pod, "ready-ms").filter(|after| !again && !after.is_zero());
        self.write(&pod, Containers::Run { ready: !never && after.is_none() }, restarts)?;
        if let Some(after) = after {
            self.agenda.add(after, Job::Ready(uid.to_owned(), restarts));
        }
        if let Some(after) = span(&pod, "run-ms") {
            let code = annotation(&pod, "exit-code").and_then(|code| code.parse().ok()).unwrap_or_default();
            self.agenda.add(after, Job::Exit(uid.to_owned(), restarts, code));
        }
        Ok(())
    }

    fn exit(&self, uid: &str, restarts: u32, code: i32) -> Result<()> {
        let restarted = |pod: &Pod| match pod.object["spec"]["restartPolicy"].as_str() {
            Some("Never") => false,
            Some("OnFailure") => code != 0,
            _ => true,
        };
        let mut again = false;
        let ended = self.step(uid, |pod| {
            again = restarted(pod);
            let is_due = pod.stage == Stage::Running && pod.restarts == restarts;
            is_due.then_some(if again { Stage::Between } else { Stage::Over })
        });
        let Some((pod, restarts)) = ended else { return Ok(()) };
        if !again {
            return self.write(&pod, Containers::Over(code), restarts);
        }
        if let Some(pod) = self.state().pods.get_mut(uid) {
            pod.restarts += 1;
        }
        self.agenda.add(RESTART, Job::Restart(uid.to_owned()));
        self.write(&pod, Containers::Between(code), restarts + 1)
    }

    fn stop(&self, uid: &str) -> Result<()> {
        let stopped = self.step(uid, |pod| matches!(pod.stage, Stage::Stopping(_)).then_some(Stage::Removed));
        let Some((pod, restarts)) = stopped else { return Ok(()) };
        let code = annotation(&pod, "term-exit-code").and_then(|code| code.parse().ok()).unwrap_or(STOPPED);
        self.agenda.add(REMOVE, Job::Remove(uid.to_owned()));
        self.write(&pod, Containers::Over(code), restarts)
    }

    fn remove(&self, uid: &str) -> Result<()> {
        let gone = self.step(uid, |pod| Some(pod.stage));
        let Some((pod, _)) = gone else { return Ok(()) };
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid}});
        let answer = self.client.send(Method::Delete, &path_of(&pod), Some(&options))?;
        if matches!(answer.status, 404 | 409) { Ok(()) } else { answer.ok().map(drop) }
    }

    fn write(&self, pod: &Value, containers: Containers, restarts: u32) -> Result<()> {
        let body = status::patch(pod, containers, restarts);
        let answer = self.client.send(Method::Strategic, &format!("{}/status", path_of(pod)), Some(&body))?;
        if matches!(answer.status, 404 | 409) { Ok(()) } else { answer.ok().map(drop) }
    }

    fn renew(&self, node: &str) -> Result<()> {
        let path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        let now = now_micro();
        let patch = json!({ "spec": { "renewTime": now, "holderIdentity": node } });
        if self.client.send(Method::Merge, &format!("{path}/{node}"), Some(&patch))?.status != 404 {
            return Ok(());
        }
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": node, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now}});
        self.client.create(path, &lease).map(drop)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no kubelet panicked")
    }
}

/// The stage of a pod that was seen, and what is due for it.
fn next(known: Option<Stage>, object: &Value, uid: &str) -> (Stage, Option<(Duration, Job)>) {
    let is_over = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let grace = object["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap_or_default();
    let is_leaving = object["metadata"]["deletionTimestamp"].is_string();
    match (known, is_leaving) {
        (None, false) if !is_over => {
            let after = span(object, "start-ms").unwrap_or(START);
            (Stage::Starting, Some((after, Job::Start(uid.to_owned()))))
        }
        (Some(stage), false) if !is_over => (stage, None),
        (Some(stage @ (Stage::Stopping(_) | Stage::Removed)), false) => (stage, None),
        (None | Some(Stage::Starting | Stage::Running | Stage::Between | Stage::Over), false) => {
            (Stage::Over, None)
        }
        (Some(Stage::Removed), true) => (Stage::Removed, None),
        (Some(Stage::Stopping(before)), true) if before == grace => (Stage::Stopping(before), None),
        (Some(Stage::Over), true) => (Stage::Removed, Some((REMOVE, Job::Remove(uid.to_owned())))),
        (None, true) if is_over => (Stage::Removed, Some((REMOVE, Job::Remove(uid.to_owned())))),
        (None | Some(Stage::Starting | Stage::Running | Stage::Between | Stage::Stopping(_)), true) => {
            let wanted = match known {
                None | Some(Stage::Starting) => UNSTARTED_STOP,
                Some(Stage::Running | Stage::Between | Stage::Over | Stage::Stopping(_) | Stage::Removed) => {
                    span(object, "stop-ms").unwrap_or(STOP)
                }
            };
            let is_stuck = annotation(object, "stuck").is_some_and(|stuck| stuck != "false");
            let due = (wanted.min(Duration::from_secs(grace)), Job::Stop(uid.to_owned()));
            (Stage::Stopping(grace), (!is_stuck).then_some(due))
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn path_of(pod: &Value) -> String {
    let meta = &pod["metadata"];
    format!("/api/v1/namespaces/{}/pods/{}", text(&meta["namespace"]), text(&meta["name"]))
}

fn annotation<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    pod["metadata"]["annotations"][format!("fake.kubelet/{name}")].as_str()
}

fn span(pod: &Value, name: &str) -> Option<Duration> {
    annotation(pod, name)?.parse().ok().map(Duration::from_millis)
}
