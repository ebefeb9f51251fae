//! Clusters on which the driver is tried: one that is served, and a real control plane with kubelets that are played, where there is one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use replank_judge::{Assets, Endpoint, Kubelets, NodeSpec, Sent, Served, find_assets};
use serde_json::{Value, json};

use super::pool::{Lent, lend};
use crate::common::{replank, root};

/// A cluster of three nodes, node-1 to node-3. It ends when this is dropped.
pub(crate) struct Ground {
    kubeconfig: PathBuf,
    endpoint: Endpoint,
    pub(crate) folder: PathBuf,
    alive: Mutex<Alive>,
}

enum Alive {
    Served(Served),
    /// In this order: kubelets that are silent change nothing while a plane is cleaned.
    Real {
        kubelets: Kubelets,
        lent: Box<Lent>,
    },
}

impl Ground {
    /// Where its kubeconfig is.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// One that `replank cluster up` serves.
    pub(crate) fn served(name: &str) -> Self {
        Self::up(name, &["--nodes", "3"])
    }

    /// One that begins as a snapshot.
    pub(crate) fn served_from(name: &str, snapshot: &str) -> Self {
        Self::up(name, &[snapshot])
    }

    /// One that calls admission webhooks, as a real API server does.
    pub(crate) fn calling_webhooks(name: &str) -> Self {
        Self::up(name, &["--nodes", "3", "--call-webhooks"])
    }

    /// One that serves what an older release did.
    pub(crate) fn older(name: &str, version: &str) -> Self {
        Self::up(name, &["--nodes", "3", "--kubernetes-version", version])
    }

    /// One that is kept in a directory, so that it can be begun anew.
    pub(crate) fn kept(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drive-{name}-served/data"));
        Self::up(name, &["--nodes", "3", "--data-dir", folder.to_str().expect("it is text")])
    }

    /// Its API server ends and begins anew. A real one goes on with what etcd has.
    pub(crate) fn restart(&self, away: Duration) {
        match &mut *self.alive.lock().expect("nobody panics while it begins") {
            Alive::Served(served) => served.restart(away),
            Alive::Real { lent, .. } => lent.restart(away),
        }
        .expect("it begins anew");
    }

    /// A node's kubelet says nothing any more, and ends nothing.
    pub(crate) fn silence(&self, node: &str) {
        match &*self.alive.lock().expect("nobody panics while a kubelet is told") {
            Alive::Real { kubelets, .. } => kubelets.silence(node),
            Alive::Served(_) => {
                let file = self.kubeconfig.to_str().expect("it is text");
                let fault = ["cluster", "faults", "start", "node", node, "falls", "silent"];
                let ran = replank(&[&fault[..], &["--kubeconfig", file]].concat());
                assert_eq!(ran.code, Some(0), "{ran:?}");
            }
        }
    }

    fn up(name: &str, arguments: &[&str]) -> Self {
        let folder = scratch(&format!("{name}-served"));
        let program = Path::new(env!("CARGO_BIN_EXE_replank"));
        let served =
            Served::up(program, &[arguments, &["--speed", "20"]].concat(), &folder).expect("it is served");
        let kubeconfig = served.kubeconfig().to_owned();
        Self::of(kubeconfig, folder, Alive::Served(served))
    }

    /// A real control plane; nothing where there is none, which is said.
    pub(crate) fn real(name: &str) -> Option<Self> {
        Some(Self::on(lend(&assets()?), name))
    }

    /// On a control plane that is clean.
    pub(crate) fn on(lent: Lent, name: &str) -> Self {
        let folder = scratch(&format!("{name}-real"));
        std::fs::create_dir_all(&folder).expect("it can be made");
        let kubelets = Kubelets::begin(lent.plane().client());
        for number in 1..=3 {
            kubelets.register(&worker(number)).expect("a node can be registered");
        }
        let kubeconfig = lent.plane().kubeconfig();
        let alive = Alive::Real { kubelets, lent: Box::new(lent) };
        let ground = Self::of(kubeconfig, folder, alive);
        // Nodes are taken for usable a moment after their kubelets are.
        ground.wait("all nodes are usable", |ground| {
            let nodes = ground.get("/api/v1/nodes");
            nodes["items"]
                .as_array()
                .is_some_and(|all| all.iter().all(|node| node["spec"]["taints"].is_null()))
        });
        ground
    }

    /// The control plane, as this has left it; nothing where it is none.
    pub(crate) fn left(self) -> Option<Lent> {
        match self.alive.into_inner().expect("nobody panics while it begins") {
            Alive::Real { kubelets, lent } => {
                drop(kubelets);
                Some(*lent)
            }
            Alive::Served(_) => None,
        }
    }

    fn of(kubeconfig: PathBuf, folder: PathBuf, alive: Alive) -> Self {
        let endpoint = Endpoint::of_kubeconfig(&kubeconfig).expect("it names a server");
        Self { kubeconfig, endpoint, folder, alive: Mutex::new(alive) }
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.endpoint.exchange(&Sent::new("GET", path)).expect("it answers");
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.json());
        answer.json()
    }

    /// Whether something can be read.
    pub(crate) fn answers(&self, path: &str) -> bool {
        self.endpoint.exchange(&Sent::new("GET", path)).is_ok_and(|answer| answer.status == 200)
    }

    /// Whether it answers.
    pub(crate) fn is_up(&self) -> bool {
        self.answers("/readyz")
    }

    pub(crate) fn create(&self, path: &str, object: &Value) -> Value {
        let answer = self.endpoint.exchange(&Sent::new("POST", path).json(object)).expect("it answers");
        assert!(answer.status < 300, "POST {path}: {}", answer.json());
        answer.json()
    }

    /// What it answers, whatever that is.
    pub(crate) fn answer(&self, method: &str, path: &str, object: &Value) -> Value {
        self.endpoint.exchange(&Sent::new(method, path).json(object)).expect("it answers").json()
    }

    pub(crate) fn delete(&self, path: &str) {
        let answer = self.endpoint.exchange(&Sent::new("DELETE", path)).expect("it answers");
        assert!(answer.status < 300, "DELETE {path}: {}", answer.json());
    }

    pub(crate) fn merge(&self, path: &str, change: &Value) {
        let sent =
            Sent::new("PATCH", path).typed("application/merge-patch+json", change.to_string().into_bytes());
        let answer = self.endpoint.exchange(&sent).expect("it answers");
        assert!(answer.status < 300, "PATCH {path}: {}", answer.json());
    }

    /// Waits until something is so: minutes, for machines that are busy with much else.
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !is_so(self) {
            assert!(begun.elapsed() < Duration::from_mins(5), "{what}: not within five minutes");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A Deployment of as many pods, and a budget that lets one of them go at a time; returns once all are Ready.
    pub(crate) fn workload(&self, name: &str, replicas: usize) {
        let labels = json!({"app": name});
        let container = json!({"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "hidden"}],
            "resources": {"requests": {"cpu": "100m"}}});
        let spread = json!([{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": labels}}]);
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels, "annotations": {"judge.replank.dev/stop-seconds": "1"}},
                "spec": {"containers": [container], "topologySpreadConstraints": spread,
                    "terminationGracePeriodSeconds": 5}}}});
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}});
        self.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", &budget);
        self.create("/apis/apps/v1/namespaces/default/deployments", &deployment);
        self.wait("all pods are Ready", |ground| ground.is_whole(name, replicas));
    }

    /// Whether a workload has all of its pods Ready, and its budget knows it.
    pub(crate) fn is_whole(&self, name: &str, replicas: usize) -> bool {
        let deployment = self.get(&format!("/apis/apps/v1/namespaces/default/deployments/{name}"));
        let budget = self.get(&format!("/apis/policy/v1/namespaces/default/poddisruptionbudgets/{name}"));
        deployment["status"]["readyReplicas"] == replicas
            && budget["status"]["currentHealthy"] == replicas
            && budget["status"]["disruptionsAllowed"] == 1
    }

    /// Names of pods on a node.
    pub(crate) fn pods_on(&self, node: &str) -> Vec<String> {
        let all = self.get(&format!("/api/v1/pods?fieldSelector=spec.nodeName={node}"));
        let items = all["items"].as_array().expect("it is a list");
        items.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// An empty folder for one test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("drive-{name}"));
    drop(std::fs::remove_dir_all(&folder));
    folder
}

/// What says that tests are to be tried on a real control plane, too.
const ASKED_BY: [&str; 3] = ["KUBEBUILDER_ASSETS", "REPLANK_CONTROL_PLANE", "REPLANK_REAL"];

/// The programs of a real control plane. Where nobody has asked for it, tests that need them say so and do without.
pub(super) fn assets() -> Option<Assets> {
    if ASKED_BY.iter().all(|name| std::env::var_os(name).is_none()) {
        eprintln!("not tried on a real control plane: none of {} is set", ASKED_BY.join(", "));
        return None;
    }
    Some(find_assets(&root(), &root().join("target/control-plane")).expect("there is a control plane"))
}

fn worker(number: u8) -> NodeSpec {
    let name = format!("node-{number}");
    let labels = [("kubernetes.io/hostname", name.clone()), ("kubernetes.io/os", "linux".to_owned())];
    let capacity = [("cpu", "4"), ("memory", "16Gi"), ("pods", "58"), ("ephemeral-storage", "80Gi")];
    let text = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    NodeSpec {
        name,
        labels: labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        taints: Vec::new(),
        capacity: capacity.into_iter().map(text).collect::<BTreeMap<_, _>>(),
        version: "v1.36.2".to_owned(),
    }
}
