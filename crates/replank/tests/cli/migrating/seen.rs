//! The ready endpoints of all Services, watched without a gap.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use replank_judge::{Endpoint, Sent};
use serde_json::Value;

use crate::drive::ground::Ground;

const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";

/// Ready endpoints of each namespace.
#[derive(Default)]
struct Counts {
    /// By namespace and slice.
    slices: BTreeMap<(String, String), usize>,
    /// Fewest of a namespace since it was asked for.
    fewest: BTreeMap<String, usize>,
}

impl Counts {
    fn of(&self, namespace: &str) -> usize {
        self.slices.iter().filter(|((of, _), _)| of == namespace).map(|(_, ready)| ready).sum()
    }

    fn take(&mut self, slice: &Value, is_gone: bool) {
        let text = |member: &str| slice["metadata"][member].as_str().unwrap_or_default().to_owned();
        let ready = slice["endpoints"].as_array().into_iter().flatten();
        let ready = ready.filter(|one| one["conditions"]["ready"] == true).count();
        let namespace = text("namespace");
        self.slices.insert((namespace.clone(), text("name")), if is_gone { 0 } else { ready });
        let now = self.of(&namespace);
        if let Some(fewest) = self.fewest.get_mut(&namespace) {
            *fewest = now.min(*fewest);
        }
    }
}

/// Watches every EndpointSlice of a cluster, change by change, until it is dropped.
pub(super) struct Endpoints {
    counts: Arc<Mutex<Counts>>,
    is_over: Arc<AtomicBool>,
    works: Option<JoinHandle<()>>,
}

impl Endpoints {
    pub(super) fn of(ground: &Ground) -> Self {
        let endpoint = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
        let (counts, is_over) = (Arc::new(Mutex::new(Counts::default())), Arc::new(AtomicBool::new(false)));
        let works = {
            let (counts, is_over) = (counts.clone(), is_over.clone());
            thread::spawn(move || watch(&endpoint, &counts, &is_over))
        };
        Self { counts, is_over, works: Some(works) }
    }

    /// Ready endpoints of a namespace at this moment, as they were seen.
    pub(super) fn ready(&self, namespace: &str) -> usize {
        self.counts.lock().expect("no thread fell").of(namespace)
    }

    /// From now on the fewest of a namespace count.
    pub(super) fn begin(&self, namespace: &str) {
        let mut counts = self.counts.lock().expect("no thread fell");
        let now = counts.of(namespace);
        counts.fewest.insert(namespace.to_owned(), now);
    }

    /// The fewest that were ready at once.
    pub(super) fn fewest(&self, namespace: &str) -> usize {
        self.counts.lock().expect("no thread fell").fewest[namespace]
    }
}

impl Drop for Endpoints {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(works) = self.works.take() {
            assert!(works.join().is_ok() || thread::panicking(), "endpoints were watched to the end");
        }
    }
}

fn watch(endpoint: &Endpoint, counts: &Mutex<Counts>, is_over: &AtomicBool) {
    let list = endpoint.exchange(&Sent::new("GET", SLICES)).expect("it answers").json();
    for slice in list["items"].as_array().into_iter().flatten() {
        counts.lock().expect("no thread fell").take(slice, false);
    }
    let mut version = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    while !is_over.load(Ordering::SeqCst) {
        // A watch of one second, read to its end, and the next from where it ended: nothing is missed.
        let path = format!("{SLICES}?watch=1&timeoutSeconds=1&resourceVersion={version}");
        let heard = endpoint.exchange(&Sent::new("GET", path)).expect("it answers");
        assert_eq!(heard.status, 200, "{}", heard.json());
        for line in heard.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event: Value = serde_json::from_slice(line).expect("an event is JSON");
            let kind = event["type"].as_str().expect("a type");
            assert!(["ADDED", "MODIFIED", "DELETED"].contains(&kind), "{event}");
            counts.lock().expect("no thread fell").take(&event["object"], kind == "DELETED");
            let next = event["object"]["metadata"]["resourceVersion"].as_str().expect("a version");
            next.clone_into(&mut version);
        }
    }
}
