//! Kubelets without containers: nodes that stay Ready, pods that start, get Ready, end and stop when they are told to.
//!
//! How a pod behaves stands in its annotations, in seconds: `judge.replank.dev/start-after` (until it runs), `ready-after` (from then until it is Ready, or
//! `never`), `run-seconds` (until it has succeeded), `stop-seconds` (until a deletion is done, at most its grace period, or `never`).

mod spec;
mod status;
mod told;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::agenda::Agenda;
use crate::client::{Client, Event, Method};

pub use spec::NodeSpec;
pub(crate) use status::{now, now_micro};

/// How often a lease is renewed.
const LEASE_PERIOD: Duration = Duration::from_secs(10);

/// How soon a pod that was written to be not Ready by the control plane is said to be Ready again.
const REPEATED_AFTER: Duration = Duration::from_secs(1);

/// Threads that send what is due.
const WORKERS: usize = 4;

/// One thing to do to a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    /// The pod.
    uid: String,
    /// What is due.
    step: Step,
}

/// What becomes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Its containers run.
    Start,
    /// It is Ready.
    Ready,
    /// Its containers have ended by themselves.
    Finish,
    /// Its containers have stopped, and it can go.
    Remove,
}

/// The kubelets of one cluster. They fall silent when this is dropped.
pub struct Kubelets {
    inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
}

struct Inner {
    client: Client,
    agenda: Agenda<Job>,
    state: Mutex<State>,
    stopped: AtomicBool,
    /// Whether they tell what they do, as Events.
    tells: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Nodes with what their kubelets say of them.
    nodes: BTreeMap<String, NodeSpec>,
    pods: BTreeMap<String, Pod>,
    /// How long certain pods take to stop, by namespace and name.
    stops: BTreeMap<(String, String), Duration>,
    /// How long the next pods of a controller take to stop, by namespace and its kind and name; in turn.
    turns: BTreeMap<(String, String), VecDeque<Duration>>,
    /// How long containers of Jobs run where their pods do not say it; nothing: for ever.
    jobs_run: Option<Duration>,
    addresses: u32,
}

struct Pod {
    object: Value,
    stage: Stage,
    /// Whether its kubelet is about to say once more that it is Ready.
    is_repeated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    Running,
    Done,
    Leaving,
}

impl Kubelets {
    /// Begins to play the kubelets of the nodes that are registered with it.
    #[must_use]
    pub fn begin(client: &Client) -> Self {
        let inner = Arc::new(Inner {
            client: client.clone(),
            agenda: Agenda::default(),
            state: Mutex::default(),
            stopped: AtomicBool::new(false),
            tells: AtomicBool::new(false),
        });
        let mut threads = Vec::new();
        for _ in 0..WORKERS {
            let inner = inner.clone();
            threads.push(std::thread::spawn(move || inner.work()));
        }
        let watcher = inner.clone();
        // Not joined: it ends with the server's next word, at the latest when the server ends.
        drop(std::thread::spawn(move || watcher.watch()));
        let renewer = inner.clone();
        threads.push(std::thread::spawn(move || renewer.renew()));
        Self { inner, threads }
    }

    /// Registers a node and keeps it Ready.
    ///
    /// # Errors
    /// The API server refuses it.
    pub fn register(&self, spec: &NodeSpec) -> Result<()> {
        self.inner.client.create("/api/v1/nodes", &status::node(spec))?;
        self.inner.say_ready(spec)?;
        self.inner.state().nodes.insert(spec.name.clone(), spec.clone());
        self.inner.renew_one(&spec.name);
        Ok(())
    }

    /// The instance of a node is gone: its kubelet is silent from now on, and its pods do nothing more.
    pub fn silence(&self, node: &str) {
        self.inner.state().nodes.remove(node);
    }

    /// From now on a pod takes this long to stop.
    pub fn stops_after(&self, namespace: &str, pod: &str, span: Duration) {
        self.inner.state().stops.insert((namespace.to_owned(), pod.to_owned()), span);
    }

    /// From now on pods of a controller, such as `ReplicaSet web-6d4b`, take so long to stop, one after the other and round again, where nothing else is said.
    pub fn stop_in_turn(&self, namespace: &str, controller: &str, spans: VecDeque<Duration>) {
        self.inner.state().turns.insert((namespace.to_owned(), controller.to_owned()), spans);
    }

    /// From now on they tell what they do, as Events.
    pub fn tell_events(&self) {
        self.inner.tells.store(true, Ordering::Relaxed);
    }

    /// From now on containers of Jobs end by themselves after this long, with success, as they do in a served cluster.
    pub fn jobs_end_after(&self, span: Duration) {
        self.inner.state().jobs_run = Some(span);
    }
}

impl Drop for Kubelets {
    fn drop(&mut self) {
        self.inner.stopped.store(true, Ordering::Relaxed);
        self.inner.agenda.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                eprintln!("a thread of the kubelets panicked");
            }
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no kubelet panicked")
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Leases, node by node, spread over the period.
    fn renew(&self) {
        while !self.is_stopped() {
            let nodes: Vec<String> = self.state().nodes.keys().cloned().collect();
            let pause = LEASE_PERIOD / u32::try_from(nodes.len().max(1)).unwrap_or(u32::MAX);
            for node in &nodes {
                self.renew_one(node);
                self.stay_ready(node);
                std::thread::sleep(pause.min(Duration::from_millis(500)));
                if self.is_stopped() {
                    return;
                }
            }
            if nodes.is_empty() {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }

    fn renew_one(&self, node: &str) {
        let path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        let now = status::now_micro();
        let patch = json!({ "spec": { "renewTime": now, "holderIdentity": node } });
        let patched = self.client.send(Method::Merge, &format!("{path}/{node}"), Some(&patch));
        if patched.is_ok_and(|answer| answer.status == 404) {
            let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": node, "namespace": "kube-node-lease"},
                "spec": {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now}});
            self.say("lease", self.client.create(path, &lease));
        }
    }

    /// As the kubelet: a node that is taken for lost, because the API server was away for a while, is said to be Ready again.
    fn stay_ready(&self, node: &str) {
        let Some(spec) = self.state().nodes.get(node).cloned() else { return };
        // A server that is away is asked again with the next renewal.
        let Ok(found) = self.client.get(&format!("/api/v1/nodes/{node}")) else { return };
        let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
        if conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "Unknown") {
            // Somebody may have upgraded it meanwhile.
            let version = found["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or(&spec.version);
            let spec = NodeSpec { version: version.to_owned(), ..spec };
            self.say("node", self.say_ready(&spec));
        }
    }

    fn say_ready(&self, spec: &NodeSpec) -> Result<()> {
        let path = format!("/api/v1/nodes/{}/status", spec.name);
        let status = status::ready_node(&spec.capacity, &spec.version);
        self.client.send(Method::Strategic, &path, Some(&status))?.ok().map(drop)
    }

    fn watch(&self) {
        while !self.is_stopped() {
            let path = "/api/v1/pods?fieldSelector=spec.nodeName!%3D";
            let ended = self.client.list_and_watch(path, &mut |event, pod| {
                if !self.is_stopped() {
                    self.seen(event, pod);
                }
                !self.is_stopped()
            });
            if self.is_stopped() {
                return;
            }
            if let Err(error) = ended {
                eprintln!("kubelets: {error:#}");
            }
            // However it ended: a server that ends watches at once is not asked without a pause.
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn seen(&self, event: Event, object: Value) {
        let Some(uid) = object["metadata"]["uid"].as_str().map(str::to_owned) else { return };
        let mut state = self.state();
        if event == Event::Deleted {
            state.pods.remove(&uid);
            return;
        }
        if !object["spec"]["nodeName"].as_str().is_some_and(|node| state.nodes.contains_key(node)) {
            return;
        }
        let leaves = object["metadata"]["deletionTimestamp"].is_string();
        let name = |member: &str| object["metadata"][member].as_str().unwrap_or_default().to_owned();
        let known = state.pods.get(&uid).map(|pod| pod.stage);
        let begins_to_leave = leaves && known != Some(Stage::Leaving);
        let told = state.stops.get(&(name("namespace"), name("name"))).copied();
        let stop = told.or_else(|| {
            let turn = state.turns.get_mut(&(name("namespace"), controller(&object)?))?;
            let next = begins_to_leave.then(|| turn.pop_front()).flatten()?;
            turn.push_back(next);
            Some(next)
        });
        let mut due = None;
        let stage = match known {
            Some(Stage::Leaving) => Stage::Leaving,
            Some(_) | None if leaves => {
                due = stop_time(&object, stop).map(|after| (after, Step::Remove));
                Stage::Leaving
            }
            Some(Stage::Running) => {
                // As the kubelet: what the control plane has written on its own, because it took the node for lost, is put right.
                let is_repeated = status::is_overruled(&object);
                let was_repeated = state.pods.get(&uid).is_some_and(|pod| pod.is_repeated);
                due = (is_repeated && !was_repeated).then_some((REPEATED_AFTER, Step::Ready));
                Stage::Running
            }
            Some(stage) => stage,
            None if is_over(&object) => Stage::Done,
            None => {
                due = Some((seconds(&object, "start-after").unwrap_or_default(), Step::Start));
                Stage::Starting
            }
        };
        let stops = known == Some(Stage::Running) && stage == Stage::Leaving;
        let told = if stops { told::stops(&object) } else { Vec::new() };
        let is_repeated = status::is_overruled(&object);
        state.pods.insert(uid.clone(), Pod { object, stage, is_repeated });
        drop(state);
        self.tell(&told);
        if let Some((after, step)) = due {
            self.agenda.add(after, Job { uid, step });
        }
    }

    fn work(&self) {
        while let Some(job) = self.agenda.next() {
            let acted = match job.step {
                Step::Start => self.start(&job.uid),
                Step::Ready => self.get_ready(&job.uid),
                Step::Finish => self.finish(&job.uid),
                Step::Remove => self.remove(&job.uid),
            };
            self.say("pod", acted);
        }
    }

    /// A pod of a node that is not silent, if it is at this stage.
    fn at_stage(&self, uid: &str, stage: Stage) -> Option<Value> {
        let state = self.state();
        let pod = state.pods.get(uid).filter(|pod| pod.stage == stage)?;
        let node = pod.object["spec"]["nodeName"].as_str()?;
        state.nodes.contains_key(node).then(|| pod.object.clone())
    }

    fn start(&self, uid: &str) -> Result<()> {
        let Some(pod) = self.at_stage(uid, Stage::Starting) else { return Ok(()) };
        let number = {
            let mut state = self.state();
            if let Some(pod) = state.pods.get_mut(uid) {
                pod.stage = Stage::Running;
            }
            state.addresses += 1;
            state.addresses
        };
        let address = format!("10.244.{}.{}", number / 250 % 250, number % 250 + 1);
        let ready_after = pod["metadata"]["annotations"]["judge.replank.dev/ready-after"].as_str();
        let is_ready = ready_after.is_none_or(|text| text == "0");
        self.patch(&pod, &status::running(&pod, &address, is_ready))?;
        self.tell(&told::started(&pod));
        if let (false, Some(after)) = (is_ready, seconds(&pod, "ready-after")) {
            self.agenda.add(after, Job { uid: uid.to_owned(), step: Step::Ready });
        }
        let of_job = self.state().jobs_run.filter(|_| is_of_job(&pod));
        if let Some(after) = seconds(&pod, "run-seconds").or(of_job) {
            self.agenda.add(after, Job { uid: uid.to_owned(), step: Step::Finish });
        }
        Ok(())
    }

    fn get_ready(&self, uid: &str) -> Result<()> {
        match self.at_stage(uid, Stage::Running) {
            Some(pod) => self.patch(&pod, &status::became_ready(&pod)),
            None => Ok(()),
        }
    }

    fn finish(&self, uid: &str) -> Result<()> {
        let Some(pod) = self.at_stage(uid, Stage::Running) else { return Ok(()) };
        if let Some(pod) = self.state().pods.get_mut(uid) {
            pod.stage = Stage::Done;
        }
        self.patch(&pod, &status::over(&pod, 0))
    }

    fn remove(&self, uid: &str) -> Result<()> {
        let Some(pod) = self.at_stage(uid, Stage::Leaving) else { return Ok(()) };
        // As the kubelet: what could have ended by itself has failed before it goes.
        let restarts = pod["spec"]["restartPolicy"].as_str() == Some("Always");
        if !restarts && !is_over(&pod) {
            self.patch(&pod, &status::over(&pod, 137))?;
        }
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid}});
        let answer = self.client.send(Method::Delete, &path_of(&pod), Some(&options))?;
        if matches!(answer.status, 404 | 409) { Ok(()) } else { answer.ok().map(drop) }
    }

    fn patch(&self, pod: &Value, status: &Value) -> Result<()> {
        let body = json!({ "metadata": { "uid": pod["metadata"]["uid"] }, "status": status });
        let answer = self.client.send(Method::Strategic, &format!("{}/status", path_of(pod)), Some(&body))?;
        if matches!(answer.status, 404 | 409) { Ok(()) } else { answer.ok().map(drop) }
    }

    /// Events are only told where somebody asked for them: every one is a request.
    fn tell(&self, events: &[Value]) {
        if !self.tells.load(Ordering::Relaxed) {
            return;
        }
        for event in events {
            let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
            let path = format!("/api/v1/namespaces/{namespace}/events");
            // A namespace on its way out takes none.
            drop(self.client.send(Method::Post, &path, Some(event)));
        }
    }

    fn say<T>(&self, what: &str, result: Result<T>) {
        if let Err(error) = result
            && !self.is_stopped()
        {
            eprintln!("kubelets: {what}: {error:#}");
        }
    }
}

fn path_of(pod: &Value) -> String {
    let text = |member: &str| pod["metadata"][member].as_str().unwrap_or_default().to_owned();
    format!("/api/v1/namespaces/{}/pods/{}", text("namespace"), text("name"))
}

fn is_over(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// An annotation of ours in seconds.
fn seconds(pod: &Value, name: &str) -> Option<Duration> {
    let text = pod["metadata"]["annotations"][format!("judge.replank.dev/{name}")].as_str()?;
    text.parse().ok().map(Duration::from_secs_f64)
}

/// Kind and name of what controls an object.
pub(crate) fn controller(object: &Value) -> Option<String> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    Some(format!("{} {}", owner["kind"].as_str()?, owner["name"].as_str()?))
}

/// Whether a Job made a pod.
fn is_of_job(pod: &Value) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.into_iter().any(|owner| owner["kind"] == "Job" && owner["controller"] == true)
}

/// How long a pod takes to stop; nothing if it never does.
fn stop_time(pod: &Value, told: Option<Duration>) -> Option<Duration> {
    if pod["metadata"]["annotations"]["judge.replank.dev/stop-seconds"].as_str() == Some("never") {
        return None;
    }
    let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap_or_default();
    let wanted = told.or_else(|| seconds(pod, "stop-seconds")).unwrap_or(Duration::from_millis(200));
    Some(wanted.min(Duration::from_secs(grace)))
}
