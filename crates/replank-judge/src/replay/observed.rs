//! What is seen of the pods of a real cluster while a rehearsal is carried out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

use crate::client::{Client, Event};
use crate::kubelets::controller;

/// A workload: its namespace, and kind and name as the rehearsal writes them.
pub(super) type Workload = (String, String);

/// A pod as it was seen last.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) node: Option<String>,
    pub(super) ready: Option<Instant>,
    pub(super) gone: Option<Instant>,
    serves: bool,
}

/// Ready pods of a workload: now, and the fewest since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) now: i32,
    pub(super) min: i32,
}

#[derive(Default)]
pub(super) struct Seen {
    /// All pods that were ever seen, by uid.
    pub(super) pods: BTreeMap<String, Pod>,
    /// The pod of a name at present.
    pub(super) by_name: BTreeMap<(String, String), String>,
    pub(super) counts: BTreeMap<Workload, Count>,
    /// The uid of each eviction's successor.
    pub(super) successors: BTreeMap<usize, String>,
    /// Evictions that were granted and have no successor yet.
    vacant: BTreeMap<Workload, VecDeque<(usize, String)>>,
    /// Which workload owns a ReplicaSet.
    sets: BTreeMap<(String, String), String>,
    /// Whether the fewest are counted yet.
    counting: bool,
}

/// Watches all pods.
#[derive(Clone)]
pub(super) struct Observed(Arc<Mutex<Seen>>);

impl Observed {
    /// Begins to watch; returns once all pods that are there were seen.
    pub(super) fn begin(client: &Client) -> Result<Self> {
        let seen = Self(Arc::default());
        for set in client.get("/apis/apps/v1/replicasets")?["items"].as_array().into_iter().flatten() {
            if let Some(owner) = controller(set) {
                seen.lock().sets.insert(name_of(set), owner);
            }
        }
        let (watcher, client) = (seen.clone(), client.clone());
        let expected = client.get("/api/v1/pods")?["items"].as_array().map_or(0, Vec::len);
        // It ends when the server does.
        drop(std::thread::spawn(move || {
            let ended = client.list_and_watch("/api/v1/pods", &mut |event, pod| {
                watcher.lock().take(event, &pod);
                Arc::strong_count(&watcher.0) > 1
            });
            if let Err(error) = ended
                && Arc::strong_count(&watcher.0) > 1
            {
                eprintln!("the watch of pods ended: {error:#}");
            }
        }));
        while seen.lock().pods.len() < expected {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let mut state = seen.lock();
        for count in state.counts.values_mut() {
            count.min = count.now;
        }
        state.counting = true;
        drop(state);
        Ok(seen)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("nobody panicked")
    }
}

impl Seen {
    /// An eviction is about to be asked for: the pod that is made next for its workload comes in its place.
    pub(super) fn expect(&mut self, index: usize, workload: Workload, pod: &str) {
        self.vacant.entry(workload).or_default().push_back((index, pod.to_owned()));
    }

    /// It was refused.
    pub(super) fn expect_no_more(&mut self, index: usize) {
        for vacant in self.vacant.values_mut() {
            vacant.retain(|(known, _)| *known != index);
        }
    }

    fn take(&mut self, event: Event, object: &Value) {
        let Some(uid) = object["metadata"]["uid"].as_str().map(str::to_owned) else { return };
        let name = name_of(object);
        let workload = self.workload_of(object);
        let serves = event == Event::Present && is_ready(object) && !is_leaving(object);
        let known = self.pods.get(&uid).cloned();
        let difference = i32::from(serves) - i32::from(known.as_ref().is_some_and(|pod| pod.serves));
        if let Some(workload) = &workload {
            let count = self.counts.entry(workload.clone()).or_default();
            count.now += difference;
            if self.counting {
                count.min = count.min.min(count.now);
            }
        }
        if known.is_none()
            && let Some(workload) = &workload
            && let Some(vacant) = self.vacant.get_mut(workload)
        {
            let same = vacant.iter().position(|(_, pod)| *pod == name.1);
            if let Some((index, _)) = vacant.remove(same.unwrap_or(0)) {
                self.successors.insert(index, uid.clone());
            }
        }
        let now = Instant::now();
        let before = known.as_ref();
        let pod = Pod {
            node: object["spec"]["nodeName"].as_str().map(str::to_owned),
            ready: before.and_then(|pod| pod.ready).or_else(|| is_ready(object).then_some(now)),
            gone: (event == Event::Deleted).then_some(now),
            serves,
        };
        if event == Event::Present {
            self.by_name.insert(name, uid.clone());
        } else if self.by_name.get(&name) == Some(&uid) {
            self.by_name.remove(&name);
        }
        self.pods.insert(uid, pod);
    }

    fn workload_of(&self, pod: &Value) -> Option<Workload> {
        let owner = controller(pod)?;
        let namespace = name_of(pod).0;
        let above = owner
            .strip_prefix("ReplicaSet ")
            .and_then(|set| self.sets.get(&(namespace.clone(), set.to_owned())));
        Some((namespace, above.cloned().unwrap_or(owner)))
    }
}

fn name_of(object: &Value) -> (String, String) {
    let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn is_leaving(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string()
        || matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}
