//! All of them, and what makes them look.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::Object;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::text::{Name, Text};
use replank_model::time::{Span, Time};
use replank_model::view::Change;
use replank_sim::World;

use super::accounts::{ACCOUNT, AUTHORITY, furnish};
use super::aggregation::{GROUP, add_up};
use super::certificates;
use super::edit::text;
use super::endpoints;
use super::fairness;
use super::mirroring::mirror;
use super::node_labels;
use super::node_ttl::NodeTtl;
use super::protection;
use super::queue::{Queue, Task};
use super::tokens::{NAME, TYPE, fill};
use crate::trust::Trust;

/// Time between a change and the look that it causes.
const REACTION: Span = Span::from_millis(10);

/// The controllers.
#[derive(Debug)]
pub(crate) struct Controllers {
    trust: Trust,
    queue: Queue,
    node_ttl: NodeTtl,
    /// Secrets with tokens.
    tokens: BTreeSet<Key>,
    /// Cluster roles that others are added up to.
    aggregates: BTreeSet<Key>,
    /// What each Service selects, for those that select anything.
    selectors: BTreeMap<Key, Vec<(Text, Text)>>,
}

impl Controllers {
    pub(crate) fn new(trust: Trust) -> Self {
        Self {
            trust,
            queue: Queue::default(),
            node_ttl: NodeTtl::default(),
            tokens: BTreeSet::new(),
            aggregates: BTreeSet::new(),
            selectors: BTreeMap::new(),
        }
    }

    /// When something is to be looked at next.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.queue.next_due()
    }

    /// Takes in a change.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other kind makes anybody look")]
    pub(crate) fn note(&mut self, now: Time, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        let Some(one) = new.as_ref().or(old.as_ref()) else { return };
        let (key, at, is_gone) = (one.meta().key(), now + REACTION, new.is_none());
        match one {
            Object::Namespace(_) if !is_gone => self.queue.add(Task::Namespace(key), now),
            Object::PersistentVolume(_) | Object::PersistentVolumeClaim(_)
                if !is_gone && protection::is_missing(one) =>
            {
                self.queue.add(Task::Protect(one.kind(), key), at);
            }
            Object::Node(_) => {
                self.node_ttl.count(old.is_some(), new.is_some());
                if !is_gone {
                    self.queue.add(Task::Node(key), at);
                }
            }
            Object::Pod(_) => self.note_pod(old.as_ref(), new.as_ref(), at),
            Object::Service(service) => {
                let selector = service.spec.selector.pairs().to_vec();
                match is_gone || selector.is_empty() {
                    true => self.selectors.remove(&key),
                    false => self.selectors.insert(key.clone(), selector),
                };
                self.queue.add(Task::Endpoints(key.clone()), at);
                self.queue.add(Task::Mirror(key), at);
            }
            Object::Other(other) => self.note_other(other, key, at, is_gone),
            _ => {}
        }
    }

    /// The Services that select a pod, or did, have other endpoints where it is reached otherwise.
    fn note_pod(&mut self, old: Option<&Object>, new: Option<&Object>, at: Time) {
        let reached = |object: Option<&Object>| match object {
            Some(Object::Pod(pod)) => {
                let ends = (pod.is_terminal(), pod.is_terminating(), pod.is_ready());
                Some((pod.status.pod_ip.clone(), pod.meta.labels.clone(), pod.node.clone(), ends))
            }
            Some(_) | None => None,
        };
        let (was, is) = (reached(old), reached(new));
        let Some(namespace) = new.or(old).map(|pod| pod.meta().namespace.clone()) else { return };
        if was == is || self.selectors.is_empty() {
            return;
        }
        let first = Key { namespace: namespace.clone(), name: Name::default() };
        let of_namespace = self.selectors.range(first..).take_while(|(key, _)| key.namespace == namespace);
        let selected = of_namespace.filter(|(_, selector)| {
            [&was, &is]
                .into_iter()
                .flatten()
                .any(|(_, labels, ..)| selector.iter().all(|(label, value)| labels.get(label) == Some(value)))
        });
        let services: Vec<Key> = selected.map(|(key, _)| key.clone()).collect();
        services.into_iter().for_each(|key| self.queue.add(Task::Endpoints(key), at));
    }

    fn note_other(&mut self, other: &Other, key: Key, at: Time, is_gone: bool) {
        let of_namespace = |key: &Key| Task::Namespace(Key::cluster(key.namespace.text().clone()));
        match (other.group(), &*other.kind) {
            ("", "ConfigMap") if key.name.as_str() == AUTHORITY => self.queue.add(of_namespace(&key), at),
            ("", "Endpoints") => self.queue.add(Task::Mirror(key), at),
            ("", "ServiceAccount") if is_gone => {
                if key.name.as_str() == ACCOUNT {
                    self.queue.add(of_namespace(&key), at);
                }
                let of_account = self.tokens.iter().filter(|token| token.namespace == key.namespace);
                let tasks: Vec<Task> = of_account.cloned().map(Task::Token).collect();
                tasks.into_iter().for_each(|task| self.queue.add(task, at));
            }
            (protection::CLASS_GROUP, protection::CLASS_KIND) if !is_gone => {
                self.queue.add(Task::Class(key), at);
            }
            ("", "Secret") if is_gone => {
                self.tokens.remove(&key);
            }
            ("", "Secret") => {
                let secret = replank_model::object::render(&Object::Other(other.clone().into()));
                if text(&secret, "/type") == TYPE && !text(&secret, NAME).is_empty() {
                    self.tokens.insert(key.clone());
                    self.queue.add(Task::Token(key), at);
                }
            }
            (GROUP, "ClusterRole") => {
                let role = replank_model::object::render(&Object::Other(other.clone().into()));
                if is_gone || role.get("aggregationRule").is_none_or(serde_json::Value::is_null) {
                    self.aggregates.remove(&key);
                } else {
                    self.aggregates.insert(key);
                }
                let tasks: Vec<Task> = self.aggregates.iter().cloned().map(Task::Aggregate).collect();
                tasks.into_iter().for_each(|task| self.queue.add(task, at));
            }
            (fairness::GROUP, fairness::SCHEMA) if !is_gone => self.queue.add(Task::FlowSchema(key), at),
            (fairness::GROUP, fairness::LEVEL) => self.queue.add(Task::PriorityLevel(key), at),
            (certificates::GROUP, certificates::KIND) if !is_gone => {
                self.queue.add(Task::Certificate(key.clone()), at);
                self.queue.add(Task::CleanRequest(key), at);
            }
            (_, _) => {}
        }
    }

    /// Looks at everything that is due.
    pub(crate) fn run(&mut self, world: &mut World) {
        let now = world.now();
        while let Some(task) = self.queue.pop(now) {
            let (trust, node_ttl) = (&self.trust, &self.node_ttl);
            let again = world.request(|api| {
                match &task {
                    Task::CleanRequest(key) => return certificates::clean(api, key, now),
                    Task::Certificate(key) => certificates::look(api, key, trust, now),
                    Task::Namespace(key) => furnish(api, key, &trust.authority),
                    Task::Token(key) => fill(api, key, trust),
                    Task::Aggregate(key) => add_up(api, key),
                    Task::Endpoints(key) => endpoints::keep(api, key),
                    Task::Mirror(key) => mirror(api, key),
                    Task::Protect(kind, key) => protection::protect(api, *kind, key),
                    Task::FlowSchema(key) => fairness::tell(api, key, now),
                    Task::PriorityLevel(key) => {
                        for schema in fairness::of_level(api, key) {
                            fairness::tell(api, &schema, now);
                        }
                    }
                    Task::Class(key) => protection::keep_class(api, key),
                    Task::Node(key) => {
                        node_ttl.keep(api, key);
                        node_labels::keep(api, key);
                    }
                }
                None
            });
            if let Some(at) = again {
                self.queue.add(task, at);
            }
        }
    }
}
