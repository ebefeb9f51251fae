//! Running a scenario: the same nodes, setup and steps on a simulated cluster.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context, bail};
use replank_apiserver::json::{Method, Request, Response};
use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_sim::{CloudTimings, KubeletModel, Observer, PodAct, Settings, World};
use serde_json::{Value, json};

use super::choice::Choice;
use super::log::{Log, Seen, What};
use super::project::State;
use super::record::{Scenario, Step};

/// What a run produced.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Every event, in order.
    pub events: Vec<Seen>,
    /// What is there at the end, by kind and symbol.
    pub finals: BTreeMap<(String, String), State>,
    /// Answers that differ from the recorded ones, bindings that upstream could not have made.
    pub problems: Vec<String>,
}

/// Between two steps that are recorded for the same moment: they were sent one after the other, 5 to 30 ms each.
const STEP_PAUSE: Span = Span::from_millis(10);
/// After which kubectl tries a refused eviction again.
const DRAIN_RETRY: Span = Span::from_secs(5);
/// Day of the recordings; the second within the minute is each scenario's own.
const DAY: &str = "2026-11-20T01:00:00Z";

struct Watcher(Rc<RefCell<Log>>);

impl Observer for Watcher {
    fn changed(&mut self, at: Time, change: &Change, _view: &View) {
        self.0.borrow_mut().take(at, change);
    }
}

/// A drain that goes on.
struct Drain {
    node: String,
    /// Pods to be evicted, and when to try next.
    waiting: Vec<(Key, Uid, Time)>,
    /// Pods whose end is awaited.
    evicted: Vec<(Key, Uid)>,
}

struct Stage<'a> {
    scenario: &'a Scenario,
    world: World,
    log: Rc<RefCell<Log>>,
    problems: Rc<RefCell<Vec<String>>>,
    drains: Vec<Drain>,
}

/// Runs a scenario.
///
/// # Errors
/// When the scenario asks for something unknown.
pub fn run(scenario: &Scenario) -> anyhow::Result<Run> {
    let mut stage = Stage::set(scenario)?;
    let origin = stage.log.borrow().origin;
    let end = origin + Span::from_millis(scenario.until_ms);
    let mut free = origin;
    for step in &scenario.steps {
        let at = (origin + Span::from_millis(step.at_ms)).max(free);
        stage.run_until(at)?;
        stage.step(step).with_context(|| format!("step {} at {} ms", step.action, step.at_ms))?;
        free = at + STEP_PAUSE;
    }
    stage.run_until(end)?;
    let mut log = stage.log.borrow_mut();
    let finals = log.finals(stage.world.view());
    let problems = stage.problems.borrow().clone();
    Ok(Run { events: std::mem::take(&mut log.events), finals, problems })
}

impl<'a> Stage<'a> {
    fn set(scenario: &'a Scenario) -> anyhow::Result<Self> {
        let day: Time = DAY.parse().context("the day of the recordings")?;
        let origin = day + Span::from_secs(scenario.t0.second());
        let before = origin - Span::from_secs(60);
        let mut objects = vec![json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": scenario.namespace, "uid": "namespace"},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})];
        objects.extend(scenario.nodes.iter().cloned());
        if scenario.id != "node-all-down" {
            objects.push(outside_node());
        }
        let mut view = View::default();
        for mut object in objects {
            object["metadata"]["creationTimestamp"] = serde_json::to_value(before)?;
            if object["metadata"]["uid"].is_null() {
                object["metadata"]["uid"] = object["metadata"]["name"].clone();
            }
            if object["kind"] == "Node" {
                object["status"]["conditions"] = json!([{"type": "Ready", "status": "True",
                    "reason": "KubeletReady", "lastTransitionTime": before, "lastHeartbeatTime": before}]);
            }
            view.apply(Delta::Put(Object::from_json(object)?));
        }
        let settings =
            Settings { start: before, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
        let mut world = World::new(settings, view);
        for object in &scenario.setup {
            let mut object = object.clone();
            if Kind::of(object["apiVersion"].as_str().unwrap_or(""), object["kind"].as_str().unwrap_or(""))
                .is_none_or(Kind::is_namespaced)
            {
                object["metadata"]["namespace"] = scenario.namespace.as_str().into();
            }
            let made = world.request(|api| api.apply_json(object));
            made.map_err(|error| anyhow::anyhow!("setup: {error}"))?;
        }
        world.run_until(origin);
        let log = Rc::new(RefCell::new(Log::new(origin)));
        let problems = Rc::new(RefCell::new(Vec::new()));
        for object in world.view().objects() {
            log.borrow_mut().know(&object);
        }
        world.observe(Box::new(Watcher(log.clone())));
        world.leave_ties_to(Box::new(Choice::new(scenario, log.clone(), problems.clone())));
        Ok(Self { scenario, world, log, problems, drains: Vec::new() })
    }

    /// Lets the world go on, and with it the drains.
    fn run_until(&mut self, end: Time) -> anyhow::Result<()> {
        loop {
            let retry = self.drains.iter().flat_map(|drain| drain.waiting.iter().map(|(_, _, at)| *at)).min();
            let until = retry.map_or(end, |at| at.min(end));
            while self.world.step_until(until) {
                self.finish_drains();
            }
            self.world.run_until(until);
            if until >= end && retry.is_none_or(|at| at > end) {
                return Ok(());
            }
            self.evict_due()?;
            self.finish_drains();
        }
    }

    fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        match step.action.as_str() {
            "apply" => {
                let object = self.with_live_owners(step.object.clone());
                let text = |member: &str| object[member].as_str().unwrap_or_default().to_owned();
                let path = self.path(&text("apiVersion"), &text("kind"), None)?;
                self.expect(step, Method::Post, &path, "", object);
            }
            "patch" => {
                let path = self.target(step)?;
                let path = match step.subresource.as_str() {
                    "" => path,
                    subresource => format!("{path}/{subresource}"),
                };
                let language = match step.patch_type.as_str() {
                    "" | "merge" => "application/merge-patch+json",
                    "strategic" => "application/strategic-merge-patch+json",
                    "json" => "application/json-patch+json",
                    other => bail!("unknown patch type {other}"),
                };
                self.expect(step, Method::Patch, &path, language, step.body.clone());
            }
            "delete" => {
                let path = self.target(step)?;
                self.expect(step, Method::Delete, &path, "", step.options.clone());
            }
            "scale" => {
                let path = format!("{}/scale", self.target(step)?);
                let body = json!({"spec": {"replicas": step.replicas}});
                self.expect(step, Method::Patch, &path, "application/merge-patch+json", body);
            }
            "evict" => {
                let symbol = step.name.clone();
                let name = self.real("Pod", &symbol);
                let mut body = step.body.clone();
                if body.is_null() {
                    body = json!({});
                }
                body["apiVersion"] = "policy/v1".into();
                body["kind"] = "Eviction".into();
                body["metadata"] = json!({"name": name, "namespace": self.scenario.namespace});
                let path = format!("{}/eviction", self.target(step)?);
                let response = self.expect(step, Method::Post, &path, "", body);
                self.note_eviction(&symbol, &response);
            }
            "delete-namespace" => {
                let path = format!("/api/v1/namespaces/{}", self.scenario.namespace);
                self.expect(step, Method::Delete, &path, "", Value::Null);
            }
            "cordon" => self.patch_node(&step.node, json!({"spec": {"unschedulable": true}})),
            "uncordon" => self.patch_node(&step.node, json!({"spec": {"unschedulable": null}})),
            "taint" => self.taint(&step.node, Some(&step.taint), "", ""),
            "untaint" => self.taint(&step.node, None, &step.key, &step.effect),
            "node-label" => {
                let labels = step.labels.clone();
                self.patch_node(&step.node, json!({"metadata": {"labels": labels}}));
            }
            "node-create" => {
                let mut node = step.object.clone();
                let now = self.world.now().floor_seconds();
                node["status"]["conditions"] = json!([{"type": "Ready", "status": "True",
                    "reason": "KubeletReady", "lastTransitionTime": now, "lastHeartbeatTime": now}]);
                self.expect(step, Method::Post, "/api/v1/nodes", "", node);
            }
            "node-delete" => {
                let path = format!("/api/v1/nodes/{}", step.node);
                self.world.silence(&NodeName::from(step.node.as_str()));
                self.expect(step, Method::Delete, &path, "", Value::Null);
            }
            "node-down" => self.world.silence(&NodeName::from(step.node.as_str())),
            "node-up" => {
                self.world.wake(&NodeName::from(step.node.as_str()));
                self.post_ready(&step.node, "True", "KubeletReady");
            }
            "node-not-ready" => self.post_ready(&step.node, "False", "KubeletNotReady"),
            "node-ready" => self.post_ready(&step.node, "True", "KubeletReady"),
            "kubelet" => {
                let key = self.key("Pod", &step.name);
                let act = match step.act.as_str() {
                    "ready" => PodAct::Ready,
                    "unready" => PodAct::Unready,
                    "exit" => PodAct::Exit(step.exit_code),
                    other => bail!("unknown act of a kubelet {other}"),
                };
                self.world.act(&key, act);
            }
            "drain" => self.drain(&step.node),
            other => bail!("unknown action {other}"),
        }
        Ok(())
    }

    /// References to owners by name get the uid of the object that has that name.
    fn with_live_owners(&self, mut object: Value) -> Value {
        let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
        for owner in owners.into_iter().flatten().filter(|owner| owner["uid"] == "LIVE") {
            let (kind, name) = (owner["kind"].as_str().unwrap_or(""), owner["name"].as_str().unwrap_or(""));
            let key = Key::new(self.scenario.namespace.as_str(), self.real(kind, name));
            let found = self.world.view().objects().into_iter().find(|other| {
                other.kind_name() == kind
                    && (other.meta().key() == key || other.meta().key() == Key::cluster(name))
            });
            let Some(found) = found else { continue };
            owner["uid"] = found.meta().uid.as_str().into();
            owner["name"] = found.meta().name.as_str().into();
        }
        object
    }

    fn real(&self, kind: &str, symbol: &str) -> String {
        self.log.borrow().symbols.real(kind, symbol)
    }

    fn key(&self, kind: &str, symbol: &str) -> Key {
        Key::new(self.scenario.namespace.as_str(), self.real(kind, symbol))
    }

    fn target(&self, step: &Step) -> anyhow::Result<String> {
        let name = self.real(&step.kind, &step.name);
        let known = Kind::TYPED.iter().find(|kind| kind.as_str() == step.kind);
        let api_version = known.map_or("v1", |kind| kind.api_version());
        self.path(api_version, &step.kind, Some(&name))
    }

    fn path(&self, api_version: &str, kind: &str, name: Option<&str>) -> anyhow::Result<String> {
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let (plural, namespaced) = match Kind::of(api_version, kind) {
            Some(kind) => (kind.plural().to_owned(), kind.is_namespaced()),
            None => (format!("{}s", kind.to_lowercase()), true),
        };
        let namespace = match namespaced {
            true => format!("namespaces/{}/", self.scenario.namespace),
            false => String::new(),
        };
        let name = name.map(|name| format!("/{name}")).unwrap_or_default();
        Ok(format!("/{root}/{api_version}/{namespace}{plural}{name}"))
    }

    fn send(&mut self, method: Method, path: &str, content_type: &str, body: Value) -> Response {
        let request = Request {
            method,
            path: path.to_owned(),
            content_type: content_type.to_owned(),
            body,
            wire: None,
        };
        self.world.request(|api| api.handle(&request))
    }

    /// Sends a request and holds the answer to the recorded one.
    fn expect(
        &mut self,
        step: &Step,
        method: Method,
        path: &str,
        content_type: &str,
        body: Value,
    ) -> Response {
        let response = self.send(method, path, content_type, body);
        let recorded = &step.result;
        let differs = |name: &str, ours: Value| {
            let theirs = recorded.get(name).filter(|theirs| theirs.get("any").is_none());
            theirs.is_some_and(|theirs| *theirs != ours)
        };
        let causes = causes(&response);
        if differs("code", response.code.into())
            || differs("reason", response.body["reason"].clone())
            || differs("causes", causes)
        {
            let problem = format!(
                "step {} {} at {} ms: recorded {recorded}, ours {} {}",
                step.action, step.name, step.at_ms, response.code, response.body
            );
            self.problems.borrow_mut().push(problem);
        }
        response
    }

    fn note_eviction(&mut self, symbol: &str, response: &Response) {
        let now = self.world.now();
        let mut value = json!({"code": response.code});
        if response.code >= 400 {
            if !response.body["reason"].is_null() {
                value["reason"] = response.body["reason"].clone();
            }
            let causes = causes(response);
            if causes.as_array().is_some_and(|causes| !causes.is_empty()) {
                value["causes"] = causes;
            }
        }
        let change = if response.code < 300 { "allowed" } else { "refused" };
        self.log.borrow_mut().note(now, "Eviction", symbol, What::Change(change.into()), value);
    }

    fn patch_node(&mut self, node: &str, body: Value) {
        let path = format!("/api/v1/nodes/{node}");
        let response = self.send(Method::Patch, &path, "application/merge-patch+json", body);
        if response.code >= 300 {
            self.problems.borrow_mut().push(format!("node {node}: {}", response.body));
        }
    }

    fn taint(&mut self, node: &str, add: Option<&Value>, key: &str, effect: &str) {
        let path = format!("/api/v1/nodes/{node}");
        let known = self.send(Method::Get, &path, "", Value::Null).body;
        let mut taints = known["spec"]["taints"].as_array().cloned().unwrap_or_default();
        match add {
            Some(taint) => taints.push(taint.clone()),
            None => taints
                .retain(|taint| taint["key"] != key || (!effect.is_empty() && taint["effect"] != effect)),
        }
        self.patch_node(node, json!({"spec": {"taints": taints}}));
    }

    /// The kubelet says how it is.
    fn post_ready(&mut self, node: &str, status: &str, reason: &str) {
        let path = format!("/api/v1/nodes/{node}");
        let known = self.send(Method::Get, &path, "", Value::Null).body;
        let now = self.world.now().floor_seconds();
        let mut conditions = known["status"]["conditions"].as_array().cloned().unwrap_or_default();
        for condition in conditions.iter_mut().filter(|condition| condition["type"] == "Ready") {
            if condition["status"] != status {
                condition["lastTransitionTime"] = json!(now);
            }
            condition["status"] = status.into();
            condition["reason"] = reason.into();
            condition["lastHeartbeatTime"] = json!(now);
        }
        let body = json!({"status": {"conditions": conditions}});
        self.send(Method::Patch, &format!("{path}/status"), "application/merge-patch+json", body);
    }

    /// Cordons a node and begins to evict its pods, as kubectl does.
    fn drain(&mut self, node: &str) {
        self.patch_node(node, json!({"spec": {"unschedulable": true}}));
        let now = self.world.now();
        let pods = self.world.view().sorted_pods_on(&NodeName::from(node));
        let is_left = |owner: Option<&str>| owner != Some("DaemonSet");
        let waiting = pods
            .into_iter()
            .filter(|pod| is_left(pod.meta.controller().map(|owner| &*owner.kind)))
            .map(|pod| (pod.meta.key(), pod.meta.uid.clone(), now))
            .collect();
        self.drains.push(Drain { node: node.to_owned(), waiting, evicted: Vec::new() });
        if let Err(error) = self.evict_due() {
            self.problems.borrow_mut().push(format!("{error:#}"));
        }
    }

    fn evict_due(&mut self) -> anyhow::Result<()> {
        let now = self.world.now();
        for at in 0..self.drains.len() {
            let waiting = std::mem::take(&mut self.drains[at].waiting);
            for (key, uid, due) in waiting {
                if due > now {
                    self.drains[at].waiting.push((key, uid, due));
                    continue;
                }
                let symbol = self.log.borrow().symbols.of_uid(&uid, key.name.as_str());
                let path = format!("/api/v1/namespaces/{}/pods/{}/eviction", key.namespace, key.name);
                let body = json!({"apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str()}});
                let response = self.send(Method::Post, &path, "", body);
                match response.code {
                    404 => {}
                    201 => {
                        self.note_eviction(&symbol, &response);
                        self.drains[at].evicted.push((key, uid));
                    }
                    429 | 500 => {
                        self.note_eviction(&symbol, &response);
                        self.drains[at].waiting.push((key, uid, now + DRAIN_RETRY));
                    }
                    other => bail!("eviction of {key} answered {other}: {}", response.body),
                }
            }
        }
        Ok(())
    }

    fn finish_drains(&mut self) {
        let (now, view) = (self.world.now(), self.world.view());
        let log = &self.log;
        self.drains.retain_mut(|drain| {
            let is_there =
                |key: &Key, uid: &Uid| view.pods.by_key(key).is_some_and(|pod| pod.meta.uid == *uid);
            drain.evicted.retain(|(key, uid)| is_there(key, uid));
            drain.waiting.retain(|(key, uid, _)| is_there(key, uid));
            let goes_on = !drain.evicted.is_empty() || !drain.waiting.is_empty();
            if !goes_on {
                log.borrow_mut().note(now, "Drain", &drain.node, What::Set("done".into()), Value::Null);
            }
            goes_on
        });
    }
}

fn causes(response: &Response) -> Value {
    let list = response.body.pointer("/details/causes").and_then(Value::as_array);
    list.into_iter().flatten().map(|cause| cause["reason"].clone()).collect()
}

/// Healthy nodes outside the scenario were always there, in other zones (`node-all-down` ran alone).
fn outside_node() -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "outside", "labels": {"topology.kubernetes.io/zone": "zone-outside",
            "topology.kubernetes.io/region": "region-1", "kubernetes.io/hostname": "outside"}},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
}
