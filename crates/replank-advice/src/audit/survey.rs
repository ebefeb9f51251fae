//! What rules look at: nodes by kind, and workloads with the kinds on which their pods can land.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::affinity::{PodAffinityTerm, Toleration, TolerationOperator};
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::{Pod, PodSpec, PodTemplate};
use replank_model::object::render;
use replank_model::selector::LabelSelector;
use replank_model::text::{Name, Namespace, NodeName};
use replank_model::view::View;
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::Options;
use super::absent::Absent;
use super::addon::System;
use super::capacity::{ClusterAutoscaler, Scalers};
use super::engine::{Answer, Engine, is_daemon, landed};
use super::ground::{Ground, KindId, Mentions, NodeKind};
use super::rule::ObjectName;
use replank_facts::workload::{Workload, workload_of};

/// A workload, or a bare pod.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) name: ObjectName,
    /// None for a bare pod.
    pub(super) workload: Option<Workload>,
    pub(super) sort: Sort,
    /// Pods that it wants.
    pub(super) replicas: usize,
    /// Its pods that are active, sorted by name; none between the runs of a CronJob.
    pub(super) pods: Vec<Arc<Pod>>,
    /// One pod of each spec among them, or one of the template where there are none.
    pub(super) samples: Vec<Sample>,
    pub(super) system: Option<System>,
}

/// What becomes of a workload's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// They serve until somebody ends them.
    Service,
    /// They end by themselves.
    Batch,
    /// One on every node.
    Daemon,
}

/// One pod for all that have its spec.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) pod: Arc<Pod>,
    /// Every kind's answer; none of a DaemonSet, whose controller names the node.
    pub(super) answers: Vec<Answer>,
    /// Pods that it must be near, where they are.
    pub(super) near: Vec<(Arc<Pod>, KindId)>,
}

impl Subject {
    /// The spec of one of its pods.
    pub(super) fn spec(&self) -> &PodSpec {
        &self.samples[0].pod.spec
    }

    pub(super) fn namespace(&self) -> &Namespace {
        &self.name.key.namespace
    }

    /// Kinds of nodes on which some pod of it can land.
    pub(super) fn lands(&self) -> BTreeSet<KindId> {
        self.samples.iter().flat_map(|sample| landed(&sample.answers)).collect()
    }

    /// Its pods that are on a node, by kind of node.
    pub(super) fn sits(&self, ground: &Ground) -> BTreeMap<KindId, usize> {
        let mut sits = BTreeMap::new();
        for node in self.nodes() {
            if let Some(kind) = ground.kind_of(node) {
                *sits.entry(kind).or_default() += 1;
            }
        }
        sits
    }

    /// The nodes of its pods, one for each pod that has one.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.pods.iter().filter_map(|pod| pod.node.as_ref())
    }

    /// Whether it serves, and is no DaemonSet.
    pub(super) fn is_service(&self) -> bool {
        self.sort == Sort::Service
    }

    pub(super) fn is_daemon(&self) -> bool {
        self.sort == Sort::Daemon
    }
}

/// What is looked at.
pub(super) struct Survey<'a> {
    pub(super) view: &'a View,
    pub(super) options: &'a Options,
    pub(super) ground: Ground,
    pub(super) absent: Absent,
    /// Sorted by name.
    pub(super) subjects: Vec<Subject>,
    pub(super) autoscaler: ClusterAutoscaler,
    /// Tolerations in templates that no pod has been made of: custom resources, workloads at zero, and of pods that have ended.
    pub(super) spare_tolerations: Vec<Toleration>,
}

impl<'a> Survey<'a> {
    /// The survey, and the engine that was asked.
    pub(super) fn of(view: &'a View, options: &'a Options) -> (Self, Engine) {
        let autoscaler = ClusterAutoscaler::of(view);
        let mut scalers = Scalers::new(options.autoscaled.iter().cloned(), autoscaler.clone());
        let mut subjects = subjects(view);
        let mut mentions = Mentions::new();
        mentions.add_volumes(view);
        for sample in subjects.iter().flat_map(|subject| &subject.samples) {
            mentions.add_spec(&sample.pod.spec);
        }
        let ground = Ground::of(view, &mentions, &options.group_by, &mut scalers);
        let absent = Absent::of(view);
        let mut engine = Engine::new(view, &ground, absent.clone());
        for subject in subjects.iter_mut().filter(|subject| !subject.is_daemon()) {
            let own: BTreeSet<Key> = subject.pods.iter().map(|pod| pod.meta.key()).collect();
            for sample in &mut subject.samples {
                sample.near = neighbours(view, &ground, &sample.pod, &own);
                sample.answers = engine.ask(&ground, &sample.pod, &sample.near);
            }
        }
        let spare_tolerations = spare_tolerations(view);
        (Self { view, options, ground, absent, subjects, autoscaler, spare_tolerations }, engine)
    }

    /// Workloads whose pods serve, DaemonSets aside.
    pub(super) fn services(&self) -> impl Iterator<Item = &Subject> {
        self.subjects.iter().filter(|subject| subject.is_service())
    }

    /// Workloads whose pods go where the scheduler puts them.
    pub(super) fn scheduled(&self) -> impl Iterator<Item = &Subject> {
        self.subjects.iter().filter(|subject| !subject.is_daemon())
    }

    /// The selector of a workload's pods: its own, else the labels that all its pods share.
    pub(super) fn selector(&self, subject: &Subject) -> LabelSelector {
        let key = &subject.name.key;
        let own = match &*subject.name.kind {
            "Deployment" => self.view.deployments.by_key(key).and_then(|it| it.spec.selector.clone()),
            "StatefulSet" => self.view.stateful_sets.by_key(key).and_then(|it| it.spec.selector.clone()),
            "ReplicaSet" => self.view.replica_sets.by_key(key).and_then(|it| it.spec.selector.clone()),
            _ => None,
        };
        own.unwrap_or_else(|| {
            const REVISIONS: [&str; 4] = [
                "pod-template-hash",
                "controller-revision-hash",
                "statefulset.kubernetes.io/pod-name",
                "apps.kubernetes.io/pod-index",
            ];
            let first = &subject.samples[0].pod.meta.labels;
            let shared = first.pairs().iter().filter(|(label, value)| {
                !REVISIONS.contains(&&**label)
                    && subject.pods.iter().all(|pod| pod.meta.labels.get(label) == Some(value))
            });
            LabelSelector { match_labels: shared.cloned().collect(), ..LabelSelector::default() }
        })
    }
}

/// All workloads that have pods, and those that will have some.
fn subjects(view: &View) -> Vec<Subject> {
    let mut by_name: BTreeMap<ObjectName, Subject> = BTreeMap::new();
    let is_meant =
        |pod: &&Arc<Pod>| pod.is_active() && !pod.is_mirror() && is_of_default_scheduler(&pod.spec);
    let mut pods: Vec<&Arc<Pod>> = view.pods.unordered().map(|(_, pod)| pod).filter(is_meant).collect();
    pods.sort_by_key(|pod| (&pod.meta.namespace, &pod.meta.name));
    for pod in pods {
        let workload = workload_of(view, pod);
        let name = match &workload {
            Some(workload) => ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            None => ObjectName::new("Pod", pod.meta.key()),
        };
        let sort = match &workload {
            Some(workload) if workload.is_batch() => Sort::Batch,
            Some(_) if is_daemon(pod) => Sort::Daemon,
            Some(_) | None => Sort::Service,
        };
        by_name.entry(name.clone()).or_insert_with(|| empty(name, workload, sort)).pods.push(pod.clone());
    }
    for (_, job) in view.cron_jobs.unordered() {
        if !is_of_default_scheduler(&job.spec.job_template.spec.template.spec) {
            continue;
        }
        let name = ObjectName::new("CronJob", job.meta.key());
        let workload = Workload { kind: name.kind.clone(), key: name.key.clone() };
        let subject = by_name.entry(name.clone()).or_insert_with(|| empty(name, Some(workload), Sort::Batch));
        if subject.pods.is_empty() {
            subject.samples.push(sample(of_template(&job.meta, &job.spec.job_template.spec.template)));
        }
    }
    let mut subjects: Vec<Subject> = by_name.into_values().collect();
    for subject in &mut subjects {
        complete(view, subject);
    }
    subjects
}

/// Whether the scheduler that is asked here places the pod. Those of Fargate (`fargate-scheduler`) and others have ways of their
/// own.
fn is_of_default_scheduler(spec: &PodSpec) -> bool {
    matches!(&*spec.scheduler_name, "" | "default-scheduler")
}

fn empty(name: ObjectName, workload: Option<Workload>, sort: Sort) -> Subject {
    Subject { name, workload, sort, replicas: 0, pods: Vec::new(), samples: Vec::new(), system: None }
}

/// What follows from a workload's pods.
fn complete(view: &View, subject: &mut Subject) {
    let mut specs: FxHashSet<*const PodSpec> = FxHashSet::default();
    for pod in &subject.pods {
        // Siblings share their spec, those of a DaemonSet differ in the node that they name.
        if specs.insert(Arc::as_ptr(&pod.spec)) && (specs.len() == 1 || subject.sort != Sort::Daemon) {
            subject.samples.push(sample(pod.clone()));
        }
    }
    subject.system = System::of(&subject.samples[0].pod);
    let wanted = subject.workload.as_ref().and_then(|workload| workload.replicas(view));
    let wanted = wanted.and_then(|wanted| usize::try_from(wanted).ok());
    subject.replicas = wanted.unwrap_or(subject.pods.len());
}

fn sample(pod: Arc<Pod>) -> Sample {
    Sample { pod, answers: Vec::new(), near: Vec::new() }
}

/// A pod as its template makes one.
fn of_template(owner: &Meta, template: &PodTemplate) -> Arc<Pod> {
    let mut pod = Pod { spec: template.spec.clone(), ..Pod::default() };
    pod.meta.namespace = owner.namespace.clone();
    pod.meta.name = Name::from(format!("{}-template", owner.name));
    pod.meta.labels = template.meta.labels.clone();
    Arc::new(pod)
}

/// The pods, other than its own siblings, that a pod must be near: one for each kind of node and set of labels.
fn neighbours(view: &View, ground: &Ground, pod: &Pod, own: &BTreeSet<Key>) -> Vec<(Arc<Pod>, KindId)> {
    let affinity = pod.spec.affinity.as_deref().and_then(|affinity| affinity.pod_affinity.as_ref());
    let mut near = BTreeMap::new();
    for term in affinity.into_iter().flat_map(|affinity| &affinity.required) {
        let Some(Ok(selector)) = term.label_selector.as_ref().map(LabelSelector::compile) else { continue };
        for namespace in namespaces(view, pod, term) {
            for ix in view.select_pods(&namespace, &selector) {
                let other = &view.pods[ix];
                let kind =
                    other.node.as_ref().and_then(|node| beside(view, ground, node, &term.topology_key));
                if let Some(kind) = kind.filter(|_| other.is_active() && !own.contains(&other.meta.key())) {
                    let key = (kind, namespace.clone(), other.meta.labels.clone());
                    let best = near.entry(key).or_insert_with(|| other.clone());
                    // Whichever comes first, always the same.
                    if other.meta.name < best.meta.name {
                        *best = other.clone();
                    }
                }
            }
        }
    }
    near.into_iter().map(|((kind, ..), pod)| (pod, kind)).collect()
}

/// The kind of a node; of one that is left out (Fargate) a kind in the same domain, which stands for it.
fn beside(view: &View, ground: &Ground, name: &NodeName, topology: &str) -> Option<KindId> {
    ground.kind_of(name).or_else(|| {
        let domain = view.node(name)?.meta.labels.value(topology)?;
        let is_there = |kind: &NodeKind| kind.sample.meta.labels.value(topology) == Some(domain);
        ground.kinds().find(|(_, kind)| is_there(kind)).map(|(id, _)| id)
    })
}

/// The namespaces that a term means (its own list and selector, else the pod's own).
fn namespaces(view: &View, pod: &Pod, term: &PodAffinityTerm) -> BTreeSet<Namespace> {
    let mut all: BTreeSet<Namespace> =
        term.namespaces.iter().map(|name| Namespace::new(name.clone())).collect();
    match &term.namespace_selector {
        Some(selector) => {
            if let Ok(selector) = selector.compile() {
                let chosen = view.namespaces.unordered().map(|(_, namespace)| &namespace.meta);
                let chosen = chosen.filter(|meta| selector.matches(|key| meta.labels.value(key)));
                all.extend(chosen.map(|meta| Namespace::new(meta.name.text().clone())));
            }
        }
        None if all.is_empty() => {
            all.insert(pod.meta.namespace.clone());
        }
        None => {}
    }
    all
}

/// Tolerations of what has no active pod, or pods of another scheduler: workloads at zero, pods that have ended, custom resources.
fn spare_tolerations(view: &View) -> Vec<Toleration> {
    let mut specs: Vec<Arc<PodSpec>> = Vec::new();
    specs.extend(view.deployments.unordered().map(|(_, it)| it.spec.template.spec.clone()));
    specs.extend(view.stateful_sets.unordered().map(|(_, it)| it.spec.template.spec.clone()));
    specs.extend(view.jobs.unordered().map(|(_, it)| it.spec.template.spec.clone()));
    let is_spare = |pod: &&Arc<Pod>| !pod.is_active() || !is_of_default_scheduler(&pod.spec);
    let spare = view.pods.unordered().map(|(_, pod)| pod).filter(|pod| is_spare(pod) && !is_daemon(pod));
    specs.extend(spare.map(|pod| pod.spec.clone()));
    let templates = view.cron_jobs.unordered().map(|(_, it)| &it.spec.job_template.spec.template.spec);
    specs.extend(templates.filter(|spec| !is_of_default_scheduler(spec)).cloned());
    let mut seen: FxHashSet<*const PodSpec> = FxHashSet::default();
    specs.retain(|spec| seen.insert(Arc::as_ptr(spec)));
    let mut all: Vec<Toleration> = Vec::new();
    let mut add = |toleration: &Toleration| {
        if !all.contains(toleration) {
            all.push(toleration.clone());
        }
    };
    specs.iter().flat_map(|spec| &spec.tolerations).for_each(&mut add);
    for other in view.others() {
        if other.meta.raw.0.as_deref().is_some_and(|raw| raw.contains("\"tolerations\"")) {
            find_tolerations(&render(&Object::Other(other.clone())), &mut add);
        }
    }
    all
}

/// Members called `tolerations`, however deep.
fn find_tolerations(value: &Value, add: &mut impl FnMut(&Toleration)) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if key == "tolerations"
                    && let Ok(list) = serde_json::from_value::<Vec<Toleration>>(member.clone())
                {
                    list.iter().for_each(&mut *add);
                } else {
                    find_tolerations(member, add);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find_tolerations(item, add)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a toleration covers every taint.
pub(super) fn is_for_everything(toleration: &Toleration) -> bool {
    toleration.key.is_empty()
        && toleration.effect.is_none()
        && toleration.operator == Some(TolerationOperator::Exists)
}
