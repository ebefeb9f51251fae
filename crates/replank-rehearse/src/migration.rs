//! A migration, rehearsed: what it does and when, what every Service has left at the worst moment, and whether pods are kept.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_core::migrate::{
    Migrated, Migration, autoscalers_of_kind, labels_of, ready_endpoints, record_key, services_of,
};
use replank_model::delta::Delta;
use replank_model::object::cluster::NamespaceObject;
use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Namespace, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{Command, Dependents, Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_protocol::waiting::Waiting;
use serde::Serialize;
use serde_json::Value;

use crate::by_hand;
use crate::complete::{complete, supply_endpoint_slices};
use replank_sim::Assumption;
use replank_sim::Sent;
use replank_sim::{Observer, Settings, World};

/// The outcome.
#[derive(Clone, Debug)]
pub struct MigrationResult {
    /// How it ended; `None` where its time was up.
    pub end: Option<End>,
    /// What it was still waiting on.
    pub waiting: Vec<Waiting>,
    /// From its beginning to its end.
    pub took: Span,
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// The Services that send to the pods.
    pub services: Vec<Served>,
    /// The autoscalers of the object.
    pub autoscalers: Vec<Name>,
    /// Pods at the beginning.
    pub pods: usize,
    /// Of these, there at the end.
    pub kept: usize,
    /// Most pods at one moment, of the object and what stands in for it.
    pub pods_max: usize,
    /// How long there was no such object of that name: nobody scaled or rolled it meanwhile.
    pub absent: Span,
    /// What had to be assumed.
    pub assumptions: Vec<Assumption>,
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// When, from the beginning.
    #[serde(rename = "atMs", serialize_with = "crate::millis::millis")]
    pub at: Span,
    /// What.
    pub what: String,
    /// Why it had no effect, where it had none.
    pub refused: Option<String>,
    /// What does the same by hand; nothing for what only Replank needs.
    pub command: Option<String>,
    /// What the command reads, where it reads a manifest.
    pub manifest: Option<Value>,
}

/// A Service, and what it had left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// Its name.
    pub service: Name,
    /// Ready endpoints at the beginning.
    pub before: usize,
    /// At the worst moment.
    pub fewest: usize,
    /// At the end.
    pub after: usize,
}

impl Served {
    /// Whether it was without any, though it had some.
    #[must_use]
    pub fn was_without(&self) -> bool {
        self.before > 0 && self.fewest == 0
    }
}

/// Runs a migration on a copy of a cluster, for at most `limit` of virtual time.
#[must_use]
pub fn rehearse_migration(
    mut view: View,
    settings: Settings,
    (kind, of): (Migrated, &Key),
    migration: Migration,
    limit: Span,
) -> MigrationResult {
    let kind = kind.kind();
    let mut assumptions = complete(&mut view);
    supply_namespace(&mut view, &of.namespace);
    let start = settings.start;
    let services = serving(&view, kind, of);
    assumptions.extend(supply_endpoint_slices(&mut view, &services, start));
    let mut world = World::new(settings, view);
    world.assume_operators();
    let pods = pods(world.view(), kind, of);
    let notes = Rc::new(RefCell::new(Notes::begin(world.view(), (kind, of), start, pods.len())));
    let autoscalers = autoscalers_of_kind(world.view(), &of.namespace, kind.as_str(), &of.name);
    let autoscalers = autoscalers.into_iter().map(|autoscaler| autoscaler.meta.name.clone()).collect();
    world.observe(Box::new(Shared(notes.clone())));
    world.put_in_charge(Box::new(migration));
    while world.end().is_none() && world.step_until(start + limit) {}
    let notes = notes.borrow();
    assumptions.extend(world.assumptions());
    let left = self::pods(world.view(), kind, of);
    let decided = world.decision().map(|decision| decision.waiting.to_vec());
    let ready = |service: &Name| ready_endpoints(world.view(), &beside(of, service));
    let services = notes.services.iter().map(|(service, (before, fewest))| Served {
        service: service.clone(),
        before: *before,
        fewest: *fewest,
        after: ready(service),
    });
    MigrationResult {
        end: world.end().cloned(),
        waiting: decided.unwrap_or_default(),
        took: world.now() - start,
        steps: notes.steps.clone(),
        services: services.collect(),
        autoscalers,
        pods: pods.len(),
        kept: pods.intersection(&left).count(),
        pods_max: notes.pods_max,
        absent: notes.absent + notes.gone_since.map_or(Span::ZERO, |since| world.now() - since),
        assumptions,
    }
}

/// The Services that send to the pods of an object.
fn serving(view: &View, kind: Kind, of: &Key) -> BTreeSet<Key> {
    let live = view.object(kind, of);
    let labels = live.as_ref().and_then(labels_of);
    let services = labels.map_or_else(Vec::new, |labels| services_of(view, &of.namespace, labels));
    services.into_iter().map(|service| service.meta.key()).collect()
}

/// Objects of a namespace that a dump leaves out would be refused.
fn supply_namespace(view: &mut View, namespace: &Namespace) {
    let key = Key::cluster(namespace.text().clone());
    if view.namespaces.by_key(&key).is_none() {
        let meta = Meta { name: key.name, uid: Uid::from("supplied"), ..Meta::default() };
        view.apply(Delta::from(NamespaceObject { meta, ..NamespaceObject::default() }));
    }
}

fn beside(of: &Key, name: &Name) -> Key {
    Key { namespace: of.namespace.clone(), name: name.clone() }
}

/// Uids of the pods of an object; of a Deployment also those of its twin, of its Rollout, and of ReplicaSets that are nobody's
/// meanwhile: those that the Services of its pods could send to.
fn pods(view: &View, kind: Kind, of: &Key) -> BTreeSet<Uid> {
    if kind != Kind::Deployment {
        let pods = view.pods.unordered().map(|(_, pod)| pod).filter(|pod| {
            let is_its = |owner: &OwnerReference| &*owner.kind == kind.as_str() && owner.name == of.name;
            pod.meta.namespace == of.namespace && pod.is_active() && pod.meta.controller().is_some_and(is_its)
        });
        return pods.map(|pod| pod.meta.uid.clone()).collect();
    }
    let twin = replank_core::migrate::twin_name(&of.name);
    let is_its = |set: &replank_model::object::workload::ReplicaSet| {
        let names = format!("{}-", of.name);
        set.meta.namespace == of.namespace
            && match set.meta.controller() {
                Some(owner) => owner.name == of.name || owner.name == twin,
                None => set.meta.name.as_str().starts_with(&names),
            }
    };
    let sets = view.replica_sets.unordered().map(|(_, set)| set).filter(|set| is_its(set));
    let pods = sets.flat_map(|set| view.pods_of(&set.meta.uid)).filter_map(|ix| view.pods.get(*ix));
    pods.filter(|pod| pod.is_active()).map(|pod| pod.meta.uid.clone()).collect()
}

/// What is noted while it goes on.
struct Notes {
    kind: Kind,
    of: Key,
    start: Time,
    steps: Vec<Step>,
    /// Ready endpoints at the beginning, and at the worst moment.
    services: BTreeMap<Name, (usize, usize)>,
    pods_max: usize,
    absent: Span,
    gone_since: Option<Time>,
}

impl Notes {
    fn begin(view: &View, (kind, of): (Kind, &Key), start: Time, pods_max: usize) -> Self {
        let services = serving(view, kind, of).into_iter().map(|service| {
            let ready = ready_endpoints(view, &service);
            (service.name, (ready, ready))
        });
        Self {
            kind,
            of: of.clone(),
            start,
            steps: Vec::new(),
            services: services.collect(),
            pods_max,
            absent: Span::ZERO,
            gone_since: None,
        }
    }

    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        let Change::Object { old, new, .. } = change else { return };
        let Some(object) = new.as_ref().or(old.as_ref()) else { return };
        if object.meta().namespace != self.of.namespace {
            return;
        }
        let kind = object.kind();
        if kind == Kind::EndpointSlice {
            for (service, (_, fewest)) in &mut self.services {
                let key = Key { namespace: self.of.namespace.clone(), name: service.clone() };
                *fewest = ready_endpoints(view, &key).min(*fewest);
            }
        } else if kind == Kind::Pod {
            self.pods_max = self.pods_max.max(pods(view, self.kind, &self.of).len());
        } else if kind == self.kind && object.meta().name == self.of.name {
            self.came_or_went(at, new.as_ref());
        }
    }

    fn came_or_went(&mut self, at: Time, new: Option<&Object>) {
        match (new, self.gone_since) {
            (None, None) => self.gone_since = Some(at),
            (Some(_), Some(since)) => {
                self.absent += at - since;
                self.gone_since = None;
            }
            (None, Some(_)) | (Some(_), None) => {}
        }
    }

    fn executed(&mut self, at: Time, sent: &Sent) {
        let refused = sent.result.as_ref().and_then(|(_, result)| result.as_ref().err());
        let refused = refused.map(ToString::to_string);
        self.steps.push(Step {
            at: at - self.start,
            what: migration_step(&sent.command, self.kind, &self.of),
            refused,
            command: by_hand::command(&sent.command, (self.kind, &self.of)),
            manifest: by_hand::manifest(&sent.command, (self.kind, &self.of)),
        });
    }
}

struct Shared(Rc<RefCell<Notes>>);

impl Observer for Shared {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        self.0.borrow_mut().changed(at, change, view);
    }

    fn executed(&mut self, at: Time, sent: &Sent, _view: &View) {
        self.0.borrow_mut().executed(at, sent);
    }
}

/// What a command of a migration of an object does, in words.
#[must_use]
pub fn migration_step(command: &Command, kind: Kind, of: &Key) -> String {
    let name = |object: &Object| format!("{} {}", object.kind_name(), object.meta().name);
    let record = record_key(kind, of).name;
    let is_record = |object: &Object| object.kind() == Kind::Other && object.meta().name == record;
    match &command.effect {
        Effect::Kubernetes(KubernetesEffect::Create { object }) if is_record(object) => {
            format!("records both manifests in {}", name(object))
        }
        Effect::Kubernetes(KubernetesEffect::Replace { object })
            if is_record(object) && object.meta().finalizers.is_empty() =>
        {
            format!("removes the finalizer from {}", name(object))
        }
        Effect::Kubernetes(KubernetesEffect::Replace { object }) if is_record(object) => {
            format!("records in {} that a Service has no endpoint", name(object))
        }
        Effect::Kubernetes(KubernetesEffect::Delete { object, .. }) if object.key.name == record => {
            format!("deletes ConfigMap {record}")
        }
        Effect::Kubernetes(KubernetesEffect::Create { object }) => format!("creates {}", name(object)),
        Effect::Kubernetes(KubernetesEffect::Delete { object, dependents: Dependents::Orphaned, .. }) => {
            format!("deletes {} {} and orphans its dependents", object.kind, object.key.name)
        }
        Effect::Kubernetes(KubernetesEffect::Delete {
            object, dependents: Dependents::Collected, ..
        }) => {
            // No other untyped object is deleted.
            let kind = if object.kind == Kind::Other { "Rollout" } else { object.kind.as_str() };
            format!("deletes {kind} {} with its dependents", object.key.name)
        }
        Effect::Kubernetes(KubernetesEffect::Replace {
            object: Object::HorizontalPodAutoscaler(autoscaler),
        }) => {
            let target = &autoscaler.spec.scale_target_ref;
            let (kind, name) = (&target.kind, &target.name);
            format!("points HorizontalPodAutoscaler {} at {kind} {name}", autoscaler.meta.name)
        }
        Effect::Kubernetes(KubernetesEffect::Replace { object: object @ Object::Deployment(deployment) }) => {
            format!("scales {} to {}", name(object), deployment.spec.replicas.unwrap_or(1))
        }
        Effect::Kubernetes(KubernetesEffect::Replace { object: Object::Other(other) }) => {
            format!("updates {} {}", other.kind, other.meta.name)
        }
        other @ (Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_)) => format!("{other:?}"),
    }
}
