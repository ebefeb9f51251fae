//! One object in a namespace of its own, behind a Service, on its way to another selector or to a Rollout.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use replank_judge::{Endpoint, Sent};
use serde_json::{Value, json};

use super::seen::Endpoints;
use crate::common::{Ran, command, replank};
use crate::drive::ground::Ground;

/// How a migration goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Keep,
    Twin,
    Rollout,
    StatefulSet,
    DaemonSet,
    ReplicaSet,
}

/// The longest that one process may take: a new one waits for a minute before it deletes anything.
const PATIENCE: Duration = Duration::from_mins(5);

impl Way {
    pub(super) const ALL: [Self; 6] =
        [Self::Keep, Self::Twin, Self::Rollout, Self::StatefulSet, Self::DaemonSet, Self::ReplicaSet];

    /// What is done, one after the other: as many lines are printed.
    pub(super) fn steps(self) -> usize {
        if self == Self::Twin { 7 } else { 5 }
    }

    pub(super) fn keeps(self) -> bool {
        !matches!(self, Self::Twin | Self::Rollout)
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Keep | Self::Twin | Self::Rollout => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::ReplicaSet => "ReplicaSet",
        }
    }

    /// The verb of `replank rbac`.
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::Keep | Self::Twin => "migrate",
            Self::Rollout => "migrate-rollout",
            Self::StatefulSet => "migrate-statefulset",
            Self::DaemonSet => "migrate-daemonset",
            Self::ReplicaSet => "migrate-replicaset",
        }
    }

    fn plural(self) -> String {
        format!("{}s", self.kind().to_lowercase())
    }

    /// The labels of the new selector.
    fn selector(self) -> Option<&'static str> {
        match self {
            Self::Rollout => None,
            Self::Twin => Some("app=web,release=second"),
            Self::Keep | Self::StatefulSet | Self::DaemonSet | Self::ReplicaSet => Some("app=web"),
        }
    }
}

/// See the module's page.
pub(super) struct Case<'g> {
    pub(super) ground: &'g Ground,
    endpoint: Endpoint,
    pub(super) namespace: String,
    pub(super) way: Way,
}

impl<'g> Case<'g> {
    /// Makes the object, three pods of it, and returns once all serve.
    pub(super) fn begin(ground: &'g Ground, way: Way, seen: &Endpoints, name: &str) -> Self {
        let namespace = format!("{name}-{}", format!("{way:?}").to_lowercase());
        let endpoint = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
        let case = Self { ground, endpoint, namespace, way };
        let (labels, of) = (json!({"app": "web", "tier": "front"}), &case.namespace);
        ground.create(
            "/api/v1/namespaces",
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": of}}),
        );
        ground.create(
            &format!("/api/v1/namespaces/{of}/services"),
            &json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
        );
        let mut object = json!({"apiVersion": "apps/v1", "kind": way.kind(), "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels, "annotations": {"judge.replank.dev/stop-seconds": "1"}},
                "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}],
                    "env": [{"name": "TOKEN", "value": "kept"}]}], "terminationGracePeriodSeconds": 2}}}});
        if way != Way::DaemonSet {
            object["spec"]["replicas"] = 3.into();
        }
        if way == Way::StatefulSet {
            object["spec"]["serviceName"] = "web".into();
        }
        ground.create(&format!("/apis/apps/v1/namespaces/{of}/{}", way.plural()), &object);
        ground.wait("three pods serve", |_| seen.ready(of) == 3);
        // Before it is begun the object has to be whole, in its status, too.
        ground.wait("it is settled", |_| {
            let status = &case.object()["status"];
            [&status["readyReplicas"], &status["numberReady"]].iter().any(|ready| **ready == 3)
        });
        seen.begin(of);
        case
    }

    /// An answer, whatever it is.
    pub(super) fn get(&self, path: &str) -> Value {
        self.endpoint.exchange(&Sent::new("GET", path)).expect("it answers").json()
    }

    pub(super) fn send(&self, sent: &Sent) {
        drop(self.endpoint.exchange(sent).expect("it answers"));
    }

    pub(super) fn path(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}/{}/web", self.namespace, self.way.plural())
    }

    pub(super) fn twin_path(&self) -> String {
        format!("{}-twin", self.path())
    }

    pub(super) fn rollout_path(&self) -> String {
        format!("/apis/argoproj.io/v1alpha1/namespaces/{}/rollouts/web", self.namespace)
    }

    pub(super) fn record_path(&self) -> String {
        let kind = self.way.kind().to_lowercase();
        format!("/api/v1/namespaces/{}/configmaps/replank-migration-{kind}-web", self.namespace)
    }

    pub(super) fn object(&self) -> Value {
        self.get(&self.path())
    }

    /// Whether something is there.
    pub(super) fn is_there(&self, path: &str) -> bool {
        self.get(path)["metadata"]["uid"].is_string()
    }

    /// Uids of the pods that are not on their way out.
    pub(super) fn pods(&self) -> Vec<String> {
        let all = self.get(&format!("/api/v1/namespaces/{}/pods", self.namespace));
        let items = all["items"].as_array().expect("a list").iter();
        let stay = items.filter(|pod| !pod["metadata"]["deletionTimestamp"].is_string());
        let mut uids: Vec<String> = stay.map(|pod| pod["metadata"]["uid"].to_string()).collect();
        uids.sort();
        uids
    }

    fn arguments<'a>(&'a self, how: &[&'a str]) -> Vec<&'a str> {
        let object = match self.way.kind() {
            "Deployment" => "deployment/web",
            "StatefulSet" => "statefulset/web",
            "DaemonSet" => "daemonset/web",
            _ => "replicaset/web",
        };
        let goal = match self.way.selector() {
            Some(labels) => vec!["--selector", labels],
            None => vec!["--to-rollout"],
        };
        [&["migrate", object, "-n", &*self.namespace, "--yes"], &goal[..], how].concat()
    }

    /// One process, to its end.
    pub(super) fn run(&self, how: &[&str]) -> Ran {
        self.run_as(self.ground.kubeconfig(), how)
    }

    /// One process of somebody, to its end.
    pub(super) fn run_as(&self, kubeconfig: &Path, how: &[&str]) -> Ran {
        let file = kubeconfig.to_str().expect("it is text");
        replank(&[self.arguments(how), vec!["--kubeconfig", file]].concat())
    }

    /// One process that goes on by itself.
    pub(super) fn start(&self, how: &[&str]) -> Running {
        let file = self.ground.kubeconfig().to_str().expect("it is text");
        let mut command = command(&[self.arguments(how), vec!["--kubeconfig", file]].concat());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary can be run");
        let mut stderr = child.stderr.take().expect("it is a pipe");
        let errors = thread::spawn(move || {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut stderr, &mut text).expect("the program writes text");
            text
        });
        let lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let (tell, told) = std::sync::mpsc::channel();
        let reads = thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                drop(tell.send(line));
            }
        });
        Running { child, told, lines: Vec::new(), errors, reads }
    }

    /// It has come to what it was to come to, and nothing is left beside it.
    pub(super) fn assert_done(&self, why: &str) {
        let object = self.object();
        match self.way.selector() {
            Some(labels) => {
                let is_it = |pair: &str| {
                    pair.split_once('=')
                        .is_some_and(|(key, value)| object["spec"]["selector"]["matchLabels"][key] == value)
                };
                assert!(labels.split(',').all(is_it), "{object} {why}");
                assert_eq!(object["spec"]["selector"]["matchLabels"]["tier"], Value::Null, "{why}");
                let container = &object["spec"]["template"]["spec"]["containers"][0];
                assert_eq!(container["env"][0]["value"], "kept", "{object} {why}");
            }
            None => {
                assert_eq!(object["spec"]["replicas"], 0, "{object} {why}");
                assert!(self.is_there(&self.rollout_path()), "{why}");
            }
        }
        self.assert_nothing_left(why);
    }

    /// It is as it was.
    pub(super) fn assert_as_before(&self, why: &str) {
        let object = self.object();
        assert_eq!(
            object["spec"]["selector"]["matchLabels"],
            json!({"app": "web", "tier": "front"}),
            "{why}"
        );
        assert!(object["spec"]["replicas"] != 0, "{object} {why}");
        self.assert_nothing_left(why);
        assert!(self.way != Way::Rollout || !self.is_there(&self.rollout_path()), "{why}");
    }

    pub(super) fn assert_nothing_left(&self, why: &str) {
        assert!(!self.is_there(&self.record_path()), "no record is left: {why}");
        assert!(self.way != Way::Twin || !self.is_there(&self.twin_path()), "no twin is left: {why}");
    }
}

/// A process that migrates.
pub(super) struct Running {
    child: Child,
    told: std::sync::mpsc::Receiver<String>,
    lines: Vec<String>,
    errors: JoinHandle<String>,
    reads: JoinHandle<()>,
}

impl Running {
    /// Waits until it has done so many steps, or has ended.
    pub(super) fn until(&mut self, steps: usize) {
        let begun = Instant::now();
        while self.lines.iter().filter(|line| line.starts_with('+')).count() < steps {
            let Some(left) = PATIENCE.checked_sub(begun.elapsed()) else { break };
            match self.told.recv_timeout(left) {
                Ok(line) => self.lines.push(line),
                Err(_) => break,
            }
        }
    }

    pub(super) fn kill(mut self) {
        drop(self.child.kill());
        self.child.wait().expect("it has ended");
        self.errors.join().expect("it was read");
        self.reads.join().expect("it was read");
    }

    /// Its end; one that does not come to an end is killed, and has no code.
    pub(super) fn end(mut self) -> Ran {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                drop(self.child.kill());
                break self.child.wait().expect("it has ended");
            }
            thread::sleep(Duration::from_millis(100));
        };
        self.reads.join().expect("it was read");
        self.lines.extend(self.told.try_iter());
        Ran {
            code: status.code(),
            stdout: self.lines.join("\n"),
            stderr: self.errors.join().expect("it was read"),
        }
    }
}
