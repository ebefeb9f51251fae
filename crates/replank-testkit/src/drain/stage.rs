//! One drain in a small cluster.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_apiserver::json::{Method, Request as Call};
use replank_core::drain::{Drain, Options, Request, Verb};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::{Kind, Object};
use replank_model::text::{NodeName, RunId, Text};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{Effect, KubernetesEffect, NodeTarget, Refusal};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::{Subject, Waiting, WaitingOn};
use replank_sim::{CloudTimings, KubeletModel, Observer, PodAct, Settings, World};
use serde_json::{Value, json};

/// How long what is applied has to come up.
const SETTLED: Span = Span::from_minutes(5);
/// Longer than any drain.
const LIMIT: Span = Span::from_minutes(48 * 60);

/// A cluster, and a drain in it.
pub struct Stage {
    /// The cluster.
    pub world: World,
    fewest: Rc<RefCell<Fewest>>,
    begun: Time,
}

/// A node with room for 110 pods.
#[must_use]
pub fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}, "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
}

/// A Deployment of so many pods; `spec` is laid over that of its pods.
#[must_use]
pub fn deployment(name: &str, replicas: u32, spec: Value) -> Value {
    let mut of_pod = json!({"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 2});
    if let (Some(all), Value::Object(more)) = (of_pod.as_object_mut(), spec) {
        all.extend(more);
    }
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": of_pod}}})
}

/// A pod without a controller, on a node.
#[must_use]
pub fn pod(name: &str, node: &str, spec: Value) -> Value {
    let mut of_pod = json!({"containers": [{"name": "c", "image": "i"}], "nodeName": node, "terminationGracePeriodSeconds": 2});
    if let (Some(all), Value::Object(more)) = (of_pod.as_object_mut(), spec) {
        all.extend(more);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}}, "spec": of_pod})
}

impl Stage {
    /// A cluster with such nodes and manifests, of which all has come up.
    ///
    /// # Panics
    /// If the API server does not take one.
    #[must_use]
    pub fn of(nodes: &[&str], manifests: &[Value]) -> Self {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "ns"},
            "spec": {"finalizers": ["kubernetes"]}});
        let objects = nodes.iter().map(|name| node(name)).chain([namespace]);
        let view: View = objects.map(|object| Object::from_json(object).expect("an object").into()).collect();
        let start: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
        let settings =
            Settings { start, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
        let mut world = World::new(settings, view);
        for manifest in manifests {
            let made = world.request(|api| api.apply_json(manifest.clone()));
            made.unwrap_or_else(|error| panic!("{manifest}: {error}"));
        }
        world.run_until(start + SETTLED);
        let fewest = Rc::new(RefCell::new(Fewest::of(world.view())));
        world.observe(Box::new(Shared(fewest.clone())));
        Self { begun: world.now(), world, fewest }
    }

    /// Somebody changes a node by a merge patch.
    ///
    /// # Panics
    /// If the API server does not take it.
    pub fn patch(&mut self, node: &str, body: Value) {
        let answer = self.world.request(|api| {
            api.handle(&Call {
                method: Method::Patch,
                path: format!("/api/v1/nodes/{node}"),
                content_type: "application/merge-patch+json".into(),
                body,
                wire: None,
            })
        });
        assert_eq!(answer.code, 200, "{:?}", answer.body);
    }

    /// Begins to drain nodes.
    pub fn drain(&mut self, nodes: &[&str], options: Options) -> &mut Self {
        self.begin(Verb::Drain, nodes, options)
    }

    /// Begins to do something with nodes.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn begin(&mut self, verb: Verb, nodes: &[&str], options: Options) -> &mut Self {
        let target = |name: &&str| {
            let node = self.node(name);
            NodeTarget { name: node.name(), uid: node.meta.uid.clone() }
        };
        let nodes = nodes.iter().map(target).collect();
        let request = Request { run: RunId::from("drain"), verb, nodes, options };
        self.world.put_in_charge(Box::new(Drain::new(request)));
        self
    }

    /// Plays on to the end.
    pub fn end(&mut self) -> Option<End> {
        let limit = self.world.now() + LIMIT;
        while self.world.end().is_none() && self.world.step_until(limit) {}
        self.world.end().cloned()
    }

    /// Time passes.
    pub fn pass(&mut self, span: Span) -> &mut Self {
        let until = self.world.now() + span;
        self.world.run_until(until);
        self
    }

    /// A person wants something else.
    pub fn intend(&mut self, intent: Intent) -> &mut Self {
        self.world.intend(intent);
        self
    }

    /// A pod does something of its own accord.
    pub fn act(&mut self, pod: &str, act: PodAct) -> &mut Self {
        self.world.act(&Key::new("shop", pod), act);
        self
    }

    /// How long it took so far.
    #[must_use]
    pub fn took(&self) -> Span {
        self.world.now() - self.begun
    }

    /// A node.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn node(&self, name: &str) -> Node {
        Node::clone(self.world.view().node(&NodeName::from(name)).expect("it is there"))
    }

    /// Whether a node is cordoned.
    #[must_use]
    pub fn is_cordoned(&self, name: &str) -> bool {
        self.node(name).spec.unschedulable
    }

    /// Names of the pods on a node, sorted.
    #[must_use]
    pub fn pods_on(&self, node: &str) -> Vec<String> {
        let pods = self.world.view().sorted_pods_on(&NodeName::from(node));
        pods.into_iter().map(|pod| pod.meta.name.to_string()).collect()
    }

    /// The pods that were to leave, in order, with what was asked, and whether the API server granted it.
    #[must_use]
    pub fn asked(&self) -> Vec<(&'static str, Key, bool)> {
        let asked = self.world.commands().iter().filter_map(|sent| {
            let is_granted = sent.result.as_ref().is_some_and(|(_, result)| result.is_ok());
            match &sent.command.effect {
                Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                    Some(("evict", pod.key.clone(), is_granted))
                }
                Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                    Some(("delete", pod.key.clone(), is_granted))
                }
                Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
            }
        });
        asked.collect()
    }

    /// Evictions that a budget has refused.
    #[must_use]
    pub fn refused_by_budgets(&self) -> usize {
        let results = self.world.commands().iter().filter_map(|sent| sent.result.as_ref());
        results.filter(|(_, result)| matches!(result, Err(Refusal::Budget { .. }))).count()
    }

    /// Fewest ready pods of a workload's, by the label `app`, since the beginning.
    #[must_use]
    pub fn fewest(&self, app: &str) -> usize {
        self.fewest.borrow().fewest.get(app).copied().unwrap_or(0)
    }

    /// What something waits on, as it was decided last.
    #[must_use]
    pub fn waits(&self, what: &Subject) -> Option<WaitingOn> {
        let waiting = &self.world.decision()?.waiting;
        waiting.iter().find(|waiting| waiting.what == *what).map(|waiting| waiting.on.clone())
    }

    /// Why it ended without being done.
    #[must_use]
    pub fn blocked(&self) -> Vec<Waiting> {
        match self.world.end() {
            Some(End::Blocked(waiting)) => waiting.clone(),
            Some(End::Done | End::RolledBack(_) | End::Cancelled(_) | End::Refused(_)) | None => Vec::new(),
        }
    }
}

/// Ready pods by the label `app`.
struct Fewest {
    fewest: BTreeMap<Text, usize>,
}

impl Fewest {
    fn of(view: &View) -> Self {
        Self { fewest: ready(view) }
    }
}

fn ready(view: &View) -> BTreeMap<Text, usize> {
    let mut all: BTreeMap<Text, usize> = BTreeMap::new();
    for (_, pod) in view.pods.unordered() {
        if let Some(app) = pod.meta.labels.get("app") {
            *all.entry(app.clone()).or_default() += usize::from(pod.is_ready() && !pod.is_terminating());
        }
    }
    all
}

struct Shared(Rc<RefCell<Fewest>>);

impl Observer for Shared {
    fn changed(&mut self, _at: Time, change: &Change, view: &View) {
        let Change::Object { old, new, .. } = change else { return };
        if new.as_ref().or(old.as_ref()).is_none_or(|object| object.kind() != Kind::Pod) {
            return;
        }
        let now = ready(view);
        for (app, fewest) in &mut self.0.borrow_mut().fewest {
            *fewest = now.get(app).copied().unwrap_or(0).min(*fewest);
        }
    }
}
