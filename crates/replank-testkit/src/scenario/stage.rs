//! Before the roll: the cluster is made through the simulated API server, and its controllers, scheduler and kubelets bring it to
//! where it is when the plan begins.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use anyhow::{Context, anyhow, ensure};
use replank_apiserver::json::Method;
use replank_facts::groups::{GroupBy, LearntGroup, from_nodes};
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::{Kind, Object};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_sim::script::{When, happen, send};
use replank_sim::{KubeletModel, Observer, PodAct, Settings, World, series_of};
use serde_json::{Value, json};

use super::cluster::{Workload, WorkloadKind};
use super::event::is_of_the_roll;
use super::file::Scenario;
use super::names::Names;

/// When every roll begins: a Monday morning.
pub(super) const START: &str = "2026-01-05T09:00:00Z";
/// How long the cluster has to come about.
const BEFORE: Span = Span::from_minutes(3);
/// From one pod that is put on a node of its own to the next.
const STEP: Span = Span::from_secs(3);
/// Before the roll begins, things are broken that are to be broken.
const BREAK: Span = Span::from_secs(10);

/// A cluster at the moment at which the roll begins.
pub(super) struct Stage {
    pub(super) start: Time,
    pub(super) view: View,
    pub(super) groups: Vec<LearntGroup>,
    pub(super) names: Names,
    /// Pods that end by themselves, and when.
    pub(super) exits: Vec<(Time, Key)>,
    pub(super) settings: Settings,
}

pub(super) fn set(scenario: &Scenario) -> anyhow::Result<Stage> {
    let start: Time = START.parse().context("the beginning of every roll")?;
    let settings = Settings {
        start: start - BEFORE,
        // Not the roll's: the same lots would be drawn again, the names of pods among them.
        seed: !scenario.cluster.seed,
        kubelet: KubeletModel::Fake,
        cloud: scenario.cluster.timings,
    };
    let (given, applied) = documents(scenario)?;
    let names = Rc::new(RefCell::new(Names::default()));
    let mut world = World::new(settings.clone(), first_view(scenario, start, &given)?);
    world.observe(Box::new(Christener(names.clone())));
    for object in scenario.cluster.objects.iter().chain(&applied) {
        apply(&mut world, object)?;
    }
    for workload in &scenario.cluster.workloads {
        make(&mut world, workload).with_context(|| format!("{}", workload.key))?;
    }
    ensure!(world.now() < start - BREAK - STEP, "the cluster takes longer than {BEFORE} to come about");
    world.run_until(start - BREAK);
    for workload in scenario.cluster.workloads.iter().filter(|workload| workload.pods.never_ready) {
        for key in pods_of(world.view(), workload) {
            world.act(&key, PodAct::Ready);
        }
    }
    for event in
        scenario.script.events.iter().filter(|one| one.when == When::Before && !is_of_the_roll(&one.what))
    {
        let known = names.borrow().clone();
        happen(&mut world, &known, &event.what)
            .with_context(|| format!("line {}: {}", event.line, event.text))?;
    }
    world.run_until(start);
    let view = world.view().clone();
    drop(world);
    let mut names = Rc::try_unwrap(names).map_err(|_| anyhow!("the world is gone"))?.into_inner();
    names.begin(start);
    let groups = groups(scenario, &view, &mut names)?;
    let exits = exits(scenario, &view, start);
    Ok(Stage {
        start,
        view,
        groups,
        names,
        exits,
        settings: Settings { start, seed: scenario.cluster.seed, ..settings },
    })
}

/// Objects of the section `objects`: those that the server does not know how to make, and the others.
fn documents(scenario: &Scenario) -> anyhow::Result<(Vec<Value>, Vec<Value>)> {
    if scenario.objects.trim().is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let source = Source::bytes(scenario.name.as_str(), scenario.objects.as_str());
    let mut values = Vec::new();
    let mut problems = Vec::new();
    read(vec![source], &Limits::default(), &mut |found| match found {
        Found::Document(document) => values.push(document.value),
        Found::List { .. } => {}
        Found::Problem(problem) => problems.push(problem),
    })?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem.into());
    }
    let is_given = |value: &Value| {
        let text = |member: &str| value[member].as_str().unwrap_or_default();
        let kind = Kind::of(text("apiVersion"), text("kind"));
        kind.is_none_or(|kind| matches!(kind, Kind::Node | Kind::NodeClaim | Kind::Namespace))
    };
    Ok(values.into_iter().partition(is_given))
}

fn first_view(scenario: &Scenario, start: Time, given: &[Value]) -> anyhow::Result<View> {
    let cluster = &scenario.cluster;
    let mut objects = vec![json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "gp3", "uid": "gp3", "creationTimestamp": start - Span::from_minutes(60)},
        "provisioner": "ebs.csi.aws.com", "reclaimPolicy": "Delete", "volumeBindingMode": "WaitForFirstConsumer"})];
    let mut namespaces = BTreeSet::from(["default".to_owned(), "kube-system".to_owned()]);
    namespaces.extend(cluster.workloads.iter().map(|workload| workload.key.namespace.to_string()));
    let named = cluster.objects.iter().chain(given);
    namespaces.extend(named.filter_map(|object| object["metadata"]["namespace"].as_str().map(str::to_owned)));
    for name in namespaces {
        objects.push(json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "uid": format!("namespace-{name}"), "labels": {"kubernetes.io/metadata.name": name},
                "creationTimestamp": start - Span::from_minutes(60)},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}));
    }
    objects.extend(cluster.groups.iter().flat_map(|group| group.objects(start)));
    objects.extend(cluster.workloads.iter().filter_map(Workload::workflow));
    objects.extend(given.iter().cloned());
    let mut view = View::default();
    for object in objects {
        view.apply(Delta::Put(Object::from_json(object)?));
    }
    Ok(view)
}

fn apply(world: &mut World, object: &Value) -> anyhow::Result<()> {
    let made = world.request(|api| api.apply_json(object.clone()));
    made.map(drop)
        .map_err(|error| anyhow!("{} {}: {}", object["kind"], object["metadata"]["name"], error.message))
}

/// Makes a workload; where its pods are to be on certain nodes, one after the other, all other nodes cordoned.
fn make(world: &mut World, workload: &Workload) -> anyhow::Result<()> {
    for pod in workload.own_pods() {
        apply(world, &pod)?;
    }
    if workload.pods.on.is_empty() {
        return workload.object(workload.count).map_or(Ok(()), |object| apply(world, &object));
    }
    let Some(object) = workload.object(0) else { return Ok(()) };
    apply(world, &object)?;
    for at in 0..workload.count {
        let node = &workload.pods.on[at as usize % workload.pods.on.len()];
        cordon_all_but(world, Some(node))?;
        let count = at + 1;
        match workload.kind {
            WorkloadKind::Job => {
                let patch = json!({"spec": {"parallelism": count}});
                send(world, Method::Patch, Kind::Job, &workload.key, "", patch)?;
            }
            WorkloadKind::StatefulSet => scale(world, Kind::StatefulSet, &workload.key, count)?,
            WorkloadKind::Deployment => scale(world, Kind::Deployment, &workload.key, count)?,
            WorkloadKind::DaemonSet | WorkloadKind::Workflow | WorkloadKind::Pod => {}
        }
        let until = world.now() + if workload.kind == WorkloadKind::StatefulSet { STEP * 4 } else { STEP };
        world.run_until(until);
    }
    cordon_all_but(world, None)
}

/// Cordons all nodes but one; none if there is none.
fn cordon_all_but(world: &mut World, open: Option<&String>) -> anyhow::Result<()> {
    let names: Vec<String> =
        world.view().nodes.sorted().iter().map(|(_, node)| node.meta.name.to_string()).collect();
    if let Some(open) = open {
        ensure!(names.contains(open), "node {open} not found");
    }
    for name in names {
        let is_closed = open.is_some_and(|open| *open != name);
        set_cordon(world, &name, is_closed)?;
    }
    Ok(())
}

fn set_cordon(world: &mut World, name: &str, is_closed: bool) -> anyhow::Result<()> {
    let written = world
        .request(|api| api.modify::<Node>(&Key::cluster(name), |node| node.spec.unschedulable = is_closed));
    written.map(drop).map_err(|error| anyhow!("node {name}: {}", error.message))
}

fn scale(world: &mut World, kind: Kind, key: &Key, count: u32) -> anyhow::Result<()> {
    Ok(send(world, Method::Patch, kind, key, "/scale", json!({"spec": {"replicas": count}}))?)
}

fn pods_of(view: &View, workload: &Workload) -> Vec<Key> {
    let is_of = |pod: &Pod| {
        pod.meta.key() == workload.key
            || series_of(view, pod).is_some_and(|found| {
                found.namespace == workload.key.namespace && *found.name == *workload.key.name.as_str()
            })
    };
    view.pods.sorted().iter().filter(|(_, pod)| is_of(pod)).map(|(_, pod)| pod.meta.key()).collect()
}

fn groups(scenario: &Scenario, view: &View, names: &mut Names) -> anyhow::Result<Vec<LearntGroup>> {
    let mut groups = from_nodes(view, &GroupBy::default());
    for learnt in &mut groups {
        let given = scenario.cluster.groups.iter().find(|group| *group.name == *learnt.group.name.as_str());
        if let Some(given) = given {
            learnt.group.size.min = given.min.unwrap_or(learnt.group.size.min);
            learnt.group.size.max = given.max.unwrap_or(learnt.group.size.max);
            for (key, value) in &given.tags {
                learnt.group.tags = learnt.group.tags.with(key.as_str(), value.as_str());
            }
            if given.is_managed {
                learnt.group = learnt.group.clone().managed_by_eks();
                learnt.group.update_at_once.clone_from(&given.at_once);
                learnt.group.update_strategy = given.strategy;
            }
            learnt.register(given.target_groups.clone(), view);
        }
        for instance in &learnt.instances {
            let node = instance.node.as_ref().context("an instance of a snapshot has a node")?;
            names.know(&instance.id, node.as_str());
        }
    }
    Ok(groups)
}

/// Running pods that end by themselves: a kubelet that takes up a running pod does not know how long it will run.
fn exits(scenario: &Scenario, view: &View, start: Time) -> Vec<(Time, Key)> {
    let mut exits = Vec::new();
    for workload in &scenario.cluster.workloads {
        let Some(runs) = workload.pods.runs else { continue };
        let running = pods_of(view, workload)
            .into_iter()
            .filter(|key| view.pods.by_key(key).is_some_and(|pod| pod.status.phase == PodPhase::Running));
        exits.extend(running.map(|key| (start + runs, key)));
    }
    exits
}

/// Gives names while the cluster comes about.
struct Christener(Rc<RefCell<Names>>);

impl Observer for Christener {
    fn changed(&mut self, _at: Time, change: &Change, view: &View) {
        self.0.borrow_mut().see(change, view);
    }
}
