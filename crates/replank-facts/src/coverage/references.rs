//! What objects name that is not there.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::Kind;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::Pod;
use replank_model::text::Namespace;
use replank_model::view::View;

use super::form::Dangling;
use super::kinds::Question;

/// What is missing of one kind.
#[derive(Default)]
struct Missing {
    objects: BTreeSet<Key>,
    references: usize,
    example: Option<String>,
}

/// Collects what is missing.
#[derive(Default)]
struct Search {
    missing: BTreeMap<Kind, Missing>,
}

impl Search {
    fn miss(&mut self, kind: Kind, key: Key, by: impl FnOnce() -> String) {
        let missing = self.missing.entry(kind).or_default();
        missing.references += 1;
        if missing.example.is_none() {
            missing.example = Some(format!("{} names {kind} {key}", by()));
        }
        missing.objects.insert(key);
    }

    /// The controller of an object, where its kind is typed: those of custom resources are seldom saved, and what is known of them is read off their pods.
    fn owner(&mut self, view: &View, kind: Kind, meta: &Meta) {
        let Some(owner) = meta.controller() else { return };
        let Some(above) = Kind::of(&owner.api_version, &owner.kind) else { return };
        let namespace = if above.is_namespaced() { meta.namespace.clone() } else { Namespace::default() };
        let key = Key { namespace, name: owner.name.clone() };
        if view.slot_of(above, &key).is_none() {
            self.miss(above, key, || format!("{kind} {}", meta.key()));
        }
    }

    fn pod(&mut self, view: &View, pod: &Pod) {
        let by = || format!("Pod {}", pod.meta.key());
        if let Some(node) = &pod.node
            && view.node(node).is_none()
        {
            self.miss(Kind::Node, Key::cluster(node.text().clone()), by);
        }
        self.owner(view, Kind::Pod, &pod.meta);
        let claims =
            pod.spec.volumes.iter().filter_map(|volume| volume.source.persistent_volume_claim.as_ref());
        for claim in claims {
            let key = Key { namespace: pod.meta.namespace.clone(), name: claim.claim_name.clone() };
            match view.persistent_volume_claims.by_key(&key) {
                None => self.miss(Kind::PersistentVolumeClaim, key, by),
                Some(claim) => {
                    let volume = Key::cluster(claim.spec.volume_name.clone());
                    if !claim.spec.volume_name.is_empty() && view.persistent_volumes.by_key(&volume).is_none()
                    {
                        let by = || format!("PersistentVolumeClaim {}", claim.meta.key());
                        self.miss(Kind::PersistentVolume, volume, by);
                    }
                }
            }
        }
    }
}

/// What objects that a question is about name, and what is not there. Pods that have ended hold nothing, and their nodes may be gone.
pub(super) fn dangling(view: &View, question: Question) -> Vec<Dangling> {
    match question {
        Question::Roll | Question::Placement | Question::Scaling => {}
        Question::Leftovers | Question::PodAutoscaler | Question::Migration => return Vec::new(),
    }
    let mut search = Search::default();
    for (_, pod) in view.pods.sorted().into_iter().filter(|(_, pod)| !pod.is_terminal()) {
        search.pod(view, pod);
    }
    for (_, set) in view.replica_sets.sorted() {
        if set.spec.replicas != Some(0) {
            search.owner(view, Kind::ReplicaSet, &set.meta);
        }
    }
    let dangling = search.missing.into_iter().map(|(kind, missing)| Dangling {
        kind: kind.as_str().to_owned(),
        resource: kind.plural().to_owned(),
        objects: missing.objects.len(),
        references: missing.references,
        example: missing.example.unwrap_or_default(),
    });
    dangling.collect()
}
