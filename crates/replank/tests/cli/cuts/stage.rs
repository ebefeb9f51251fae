//! A cluster on which the same drain, or the same roll, is carried out again and again.

use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use replank_judge::{Asked, Fault, Passed, Proxy};
use serde_json::{Value, json};

use super::phase::{Phase, Phases};
use crate::common::{Ran, command, plan};
use crate::drive::ground::Ground;
use crate::roll_live::{NEW, Person, RECORDS, marked, upgraded};

/// The version that nodes have before they are replaced.
const OLD: &str = "v1.36.2";
const PODS: usize = 3;
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/replank-run-test";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Drain,
    Roll,
}

/// What is to go wrong with a request: it is told its phase, and how many of that phase and in all came before it.
pub(super) type Faults = Box<dyn FnMut(&Asked, Phase, (usize, usize)) -> Fault + Send>;

/// See the module's page.
pub(super) struct Stage {
    // What is above ends first.
    _person: Option<Person>,
    proxy: Proxy,
    verb: Verb,
    plan: String,
    pub(super) ground: Ground,
}

/// What one process came to.
pub(super) struct Once {
    pub(super) ran: Ran,
    pub(super) passed: Vec<Passed>,
    pub(super) phases: Vec<Phase>,
}

/// A process that may be killed by what it asks.
pub(super) type Victim = Arc<Mutex<Option<Child>>>;

impl Stage {
    pub(super) fn new(ground: Ground, verb: Verb) -> Self {
        ground.workload("web", PODS);
        let spec = "kubeletVersion: '<1.36.3', target: {kubernetesVersion: '1.36.3'}, provider: external";
        let folder = ground.folder.file_name().expect("a name").display().to_string();
        let plan = plan(&format!("{folder}/plan.yaml"), spec);
        let nothing = Box::new(|_: &Asked| Fault::Nothing);
        let proxy = Proxy::begin(ground.kubeconfig(), &ground.folder, nothing).expect("it begins");
        let person = (verb == Verb::Roll).then(|| Person::begins(&ground));
        let stage = Self { _person: person, proxy, verb, plan, ground };
        if verb == Verb::Roll {
            // One node is to be replaced, with something on it, and two are new.
            stage.version("node-2", NEW);
            stage.version("node-3", NEW);
        }
        stage
    }

    fn version(&self, node: &str, version: &str) {
        let change = json!({"status": {"nodeInfo": {"kubeletVersion": version}}});
        self.ground.merge(&format!("/api/v1/nodes/{node}/status"), &change);
    }

    /// Carries it out in one process.
    pub(super) fn once(&self, faults: Faults) -> Once {
        self.process(&self.arguments(), faults, &Victim::default())
    }

    /// Carries it out in one process, which may be killed.
    pub(super) fn killed(&self, faults: Faults, victim: &Victim) -> Once {
        self.process(&self.arguments(), faults, victim)
    }

    fn arguments(&self) -> Vec<&str> {
        match self.verb {
            Verb::Drain => vec!["drain", "node-1"],
            Verb::Roll => vec!["roll", "-f", &self.plan, "--yes"],
        }
    }

    /// Goes on with what a process that ended has left.
    pub(super) fn again(&self) -> Once {
        let nothing = || Box::new(|_: &Asked, _: Phase, _: (usize, usize)| Fault::Nothing);
        // What a process that was killed had sent is carried out first.
        std::thread::sleep(std::time::Duration::from_millis(500));
        let mut arguments = self.arguments();
        if self.verb == Verb::Roll && !self.records().is_empty() {
            arguments = vec!["roll", "resume", "test"];
        }
        let mut all = self.process(&arguments, nothing(), &Victim::default());
        // The Lease of a process that is gone holds for half a minute, and is not waited for where there is no record yet.
        for _ in 0..45 {
            if all.ran.code != Some(5) || !all.ran.stderr.contains("is carried out by") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_secs(1));
            let next = self.process(&arguments, nothing(), &Victim::default());
            all.passed.extend(next.passed);
            all.ran = next.ran;
        }
        all
    }

    fn process(&self, arguments: &[&str], mut faults: Faults, victim: &Victim) -> Once {
        let from = self.proxy.passed().len();
        let (noted, is_roll) = (Arc::new(Mutex::new(Vec::new())), self.verb == Verb::Roll);
        let (phases, mut telling) = (noted.clone(), Phases::default());
        self.proxy.plan(Box::new(move |asked| {
            let phase = telling.of(asked, is_roll);
            let mut phases = phases.lock().expect("nobody panics while writing");
            let of_phase = phases.iter().filter(|one| **one == phase).count();
            let all = phases.len();
            phases.push(phase);
            faults(asked, phase, (of_phase, all))
        }));
        let kubeconfig = self.proxy.kubeconfig().to_str().expect("it is text");
        let child = command(&[arguments, &["--kubeconfig", kubeconfig]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be run");
        let ran = ends(child, victim);
        self.proxy.plan(Box::new(|_| Fault::Nothing));
        let phases = noted.lock().expect("nobody panics while writing").clone();
        Once { ran, passed: self.proxy.passed().split_off(from), phases }
    }

    /// Two processes that begin at once, where something goes wrong with the first request that takes the Lease.
    pub(super) fn two(&self, fault: Fault) -> [Ran; 2] {
        let mut is_over = false;
        self.proxy.plan(Box::new(move |asked| {
            let takes = asked.method == "POST" && asked.path.contains("/leases");
            if takes && !std::mem::replace(&mut is_over, true) { fault } else { Fault::Nothing }
        }));
        let kubeconfig = self.proxy.kubeconfig().to_str().expect("it is text");
        let children = [(), ()].map(|()| {
            command(&[&self.arguments(), &["--kubeconfig", kubeconfig][..]].concat())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the binary can be run")
        });
        children.map(|child| child.wait_with_output().expect("it ends").into())
    }

    pub(super) fn records(&self) -> Vec<Value> {
        self.ground.get(RECORDS)["items"].as_array().cloned().unwrap_or_default()
    }

    /// Whether the cluster is as it was before.
    pub(super) fn is_untouched(&self) -> bool {
        marked(&self.ground).is_empty() && self.records().is_empty()
    }

    /// What is wrong with the cluster after it was carried out.
    pub(super) fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut note = |is_wrong: bool, what: String| wrong.extend(is_wrong.then_some(what));
        let marked = marked(&self.ground);
        match self.verb {
            Verb::Drain => {
                note(marked != ["\"node-1\""], format!("cordoned or marked are {marked:?}"));
                let node = self.ground.get("/api/v1/nodes/node-1");
                note(node["spec"]["unschedulable"] != true, "node-1 is not cordoned".to_owned());
                let annotations = node["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
                let ours: Vec<&String> =
                    annotations.keys().filter(|key| key.contains("replank.dev")).collect();
                note(ours != ["replank.dev/cordoned-by-hand"], format!("annotations: {ours:?}"));
                let pods = self.ground.pods_on("node-1");
                note(!pods.is_empty(), format!("on node-1 are {pods:?}"));
            }
            Verb::Roll => {
                note(!marked.is_empty(), format!("cordoned or marked are {marked:?}"));
                note(upgraded(&self.ground) != 3, "not every node is replaced".to_owned());
                note(!self.records().is_empty(), "the record is still there".to_owned());
            }
        }
        wrong
    }

    /// Whether there is a Lease; one that a process could not give up runs out.
    pub(super) fn has_lease(&self) -> bool {
        let all = self.ground.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
        let found = all["items"].as_array().into_iter().flatten();
        found.into_iter().any(|lease| LEASE.ends_with(lease["metadata"]["name"].as_str().expect("a name")))
    }

    /// As before it was carried out.
    pub(super) fn reset(&self) {
        let node = self.ground.get("/api/v1/nodes/node-1");
        let annotations = node["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        let ours = annotations.keys().filter(|key| key.contains("replank.dev"));
        let none: serde_json::Map<String, Value> = ours.map(|key| (key.clone(), Value::Null)).collect();
        let change = json!({"metadata": {"annotations": none}, "spec": {"unschedulable": null}});
        self.ground.merge("/api/v1/nodes/node-1", &change);
        for record in self.records() {
            let name = record["metadata"]["name"].as_str().expect("a name");
            self.ground.delete(&format!("/api/v1/namespaces/kube-system/configmaps/{name}"));
        }
        if self.has_lease() {
            self.ground.delete(LEASE);
        }
        self.ground.wait("the workload is whole again", |ground| ground.is_whole("web", PODS));
        if self.ground.pods_on("node-1").is_empty() {
            // Something is to be moved: a pod that goes from elsewhere comes where nothing is.
            let cordon = |is: Value| {
                for node in ["node-2", "node-3"] {
                    self.ground
                        .merge(&format!("/api/v1/nodes/{node}"), &json!({"spec": {"unschedulable": is}}));
                }
            };
            cordon(true.into());
            let pod = self.ground.pods_on("node-2").into_iter().chain(self.ground.pods_on("node-3")).next();
            let pod = pod.expect("the workload has pods");
            self.ground.delete(&format!("/api/v1/namespaces/default/pods/{pod}"));
            self.ground.wait("node-1 has a pod", |ground| {
                !ground.pods_on("node-1").is_empty() && ground.is_whole("web", PODS)
            });
            cordon(Value::Null);
        }
        if self.verb == Verb::Roll {
            self.version("node-1", OLD);
        }
    }
}

/// Waits until a process has ended, by itself or killed.
fn ends(mut child: Child, victim: &Victim) -> Ran {
    use std::io::Read as _;
    let (mut out, mut err) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    *victim.lock().expect("nobody panics") = Some(child);
    let read = std::thread::spawn(move || {
        let mut text = Vec::new();
        out.read_to_end(&mut text).map(|_| text)
    });
    let mut stderr = Vec::new();
    err.read_to_end(&mut stderr).expect("it can be read");
    let stdout = read.join().expect("it ends").expect("it can be read");
    let mut child = victim.lock().expect("nobody panics").take().expect("nobody else takes it");
    let status = child.wait().expect("it has ended");
    std::process::Output { status, stdout, stderr }.into()
}

/// Pods that were evicted more than once: what the server has said yes to, by uid. A proxy that repeats a request by itself counts once.
pub(super) fn evicted_twice(passed: &[Passed]) -> Vec<String> {
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for one in passed.iter().filter(|one| one.asked.path.contains("/eviction") && one.status == Some(201)) {
        let uid = one.asked.body["deleteOptions"]["preconditions"]["uid"].as_str().unwrap_or("without a uid");
        *seen.entry(uid.to_owned()).or_default() += 1;
    }
    seen.into_iter()
        .filter(|(_, times)| *times > 1)
        .map(|(uid, times)| format!("{uid} {times} times"))
        .collect()
}
