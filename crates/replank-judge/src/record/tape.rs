//! Everything that the watches of one cluster deliver, with the time at which it came.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;

use super::kubelet::Kubelets;
use super::names::{Names, collection, version_of};
use crate::client::{Client, Event};

/// The kinds that are looked at.
const KINDS: [&str; 15] = [
    "Pod",
    "Node",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "ControllerRevision",
    "Job",
    "CronJob",
    "PodDisruptionBudget",
    "Service",
    "EndpointSlice",
    "ConfigMap",
    "ReplicationController",
    "PersistentVolumeClaim",
];

/// One delivery.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    /// When it came, in milliseconds of the Unix epoch.
    pub(super) at_ms: i64,
    pub(super) kind: &'static str,
    pub(super) event: Event,
    pub(super) object: Arc<Value>,
}

impl Delivery {
    /// The version that the write got: it orders all writes of a cluster.
    pub(super) fn version(&self) -> u64 {
        let version = self.object["metadata"]["resourceVersion"].as_str();
        version.and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

/// The deliveries so far.
#[derive(Clone, Default)]
pub(super) struct Tape {
    all: Arc<Mutex<Vec<Delivery>>>,
    stopped: Arc<AtomicBool>,
}

impl Tape {
    /// Begins to watch; pods are shown to the kubelets as well.
    pub(super) fn begin(client: &Client, kubelets: &Kubelets) -> Self {
        let tape = Self::default();
        for kind in KINDS {
            let (tape, client, kubelets) = (tape.clone(), client.clone(), kubelets.clone());
            // Not joined: it ends with the server's answer, and the server ends after it.
            drop(std::thread::spawn(move || tape.watch(&client, kind, &kubelets)));
        }
        tape
    }

    /// Ends all watches with their next delivery.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// What belongs to a run, in the order of the writes.
    pub(super) fn of(&self, names: &Names) -> Vec<Delivery> {
        let all = self.all.lock().expect("no watcher panicked");
        let is_own = |delivery: &&Delivery| {
            let meta = &delivery.object["metadata"];
            match delivery.kind {
                "Node" => meta["name"].as_str().is_some_and(|name| names.own(name).is_some()),
                "ConfigMap" if is_given(meta) => false,
                _ => meta["namespace"] == names.namespace(),
            }
        };
        let mut own: Vec<Delivery> = all.iter().filter(is_own).cloned().collect();
        own.sort_by_key(Delivery::version);
        own
    }

    fn watch(&self, client: &Client, kind: &'static str, kubelets: &Kubelets) {
        while !self.stopped.load(Ordering::Relaxed) {
            let ended = self.watch_once(client, kind, kubelets);
            if let Err(error) = ended
                && !self.stopped.load(Ordering::Relaxed)
            {
                eprintln!("watch of {kind}: {error:#}");
                std::thread::sleep(std::time::Duration::from_millis(300));
            }
        }
    }

    fn watch_once(&self, client: &Client, kind: &'static str, kubelets: &Kubelets) -> Result<()> {
        client.list_and_watch(&collection(version_of(kind), kind, None), &mut |event, object| {
            let object = Arc::new(object);
            let at_ms = Timestamp::now().as_millisecond();
            let delivery = Delivery { at_ms, kind, event, object: object.clone() };
            self.all.lock().expect("no watcher panicked").push(delivery);
            if kind == "Pod" {
                kubelets.seen(event, &object);
            }
            !self.stopped.load(Ordering::Relaxed)
        })
    }
}

/// What every namespace is given.
fn is_given(meta: &Value) -> bool {
    matches!(meta["name"].as_str(), Some("kube-root-ca.crt" | "openshift-service-ca.crt"))
}
