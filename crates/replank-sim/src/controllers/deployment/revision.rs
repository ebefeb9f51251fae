//! Which ReplicaSet has the present template, its revision, and making it (`sync.go`, `getNewReplicaSet`).

use std::sync::Arc;

use replank_model::labels::TextMap;
use replank_model::object::Kind;
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Meta;
use replank_model::object::pod::PodTemplate;
use replank_model::object::workload::{Deployment, ReplicaSet, ReplicaSetSpec};
use replank_model::text::{Name, Text};

use super::sets::{size, total_size};
use super::{Look, Memory, Split};
use crate::controllers::{hash, pods};
use replank_apiserver::{ApiError, DeleteOptions};

/// Number of a template in the Deployment's history.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// Numbers that a template had before.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// Replicas of the Deployment when the ReplicaSet was last sized.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// The same with the surge.
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// Label that tells the ReplicaSets of one Deployment apart.
const HASH_LABEL: &str = "pod-template-hash";
/// Annotations of the Deployment that its ReplicaSets do not get.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAX,
    "deprecated.deployment.rollback.to",
];
/// Longest name of an object.
const NAME_MAX: usize = 253;
/// Longest list of former revisions.
const HISTORY_CHARS_MAX: usize = 2000;

/// Makes the new ReplicaSet if there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Leave,
}

impl Look<'_, '_> {
    /// The ReplicaSet of the present template, its revision set, and the others; it is made on wish.
    pub(super) fn split(&mut self, make: bool) -> Result<Split, ApiError> {
        if let Some(kept) = self.kept.take() {
            return Ok(kept);
        }
        let missing = if make { Missing::Make } else { Missing::Leave };
        let at = self.present;
        let mut old = self.sets.clone();
        let found = at.map(|at| old.remove(at));
        let revision = old.iter().map(|set| revision_of(set)).max().unwrap_or(0) + 1;
        let new = match (found, missing) {
            (Some(found), _) => Some(self.refresh(&found, revision)?),
            (None, Missing::Make) => Some(self.make(&old, revision)?),
            (None, Missing::Leave) => None,
        };
        if let (Some(new), Some(at)) = (&new, at) {
            self.sets[at] = new.clone();
        }
        Ok(Split { new, old })
    }

    /// Brings the annotations of the new ReplicaSet up to date, and the Deployment's revision.
    fn refresh(&mut self, found: &Arc<ReplicaSet>, revision: i64) -> Result<Arc<ReplicaSet>, ApiError> {
        let annotations = self.annotated(&found.meta.annotations, revision);
        let min_ready = self.deployment.spec.min_ready_seconds;
        if annotations != found.meta.annotations || found.spec.min_ready_seconds != min_ready {
            let mut set = ReplicaSet::clone(found);
            set.meta.annotations = annotations;
            set.spec.min_ready_seconds = min_ready;
            return self.ctx.api.update(set);
        }
        let mut changed = self.set_revision(found.meta.annotations.value(REVISION).unwrap_or_default());
        if self.has_deadline() && self.progress().is_none() {
            let message = format!("Found new replica set \"{}\"", found.meta.name);
            self.set_progress(ConditionStatus::True, "FoundNewReplicaSet", &message);
            changed = true;
        }
        if changed {
            self.store_deployment()?;
        }
        Ok(found.clone())
    }

    fn make(&mut self, old: &[Arc<ReplicaSet>], revision: i64) -> Result<Arc<ReplicaSet>, ApiError> {
        let set = self.new_set(old, revision);
        let name = set.meta.name.clone();
        let wanted = (set.spec.template.clone(), set.meta.key());
        match self.ctx.api.create(set) {
            Ok(created) => {
                self.set_revision(&revision.to_string());
                if self.has_deadline() {
                    let message = format!("Created new replica set \"{name}\"");
                    self.set_progress(ConditionStatus::True, "NewReplicaSetCreated", &message);
                }
                self.store_deployment()?;
                let wanted = created.spec.replicas.unwrap_or(1);
                if wanted > 0 {
                    self.tell_of_scaling(name.as_str(), 0, wanted);
                }
                Ok(created)
            }
            Err(error) if error.reason == "AlreadyExists" => {
                let (template, key) = wanted;
                let known = self.ctx.view().replica_sets.by_key(&key).cloned();
                let ours = known.filter(|known| {
                    let owner = known.meta.controller();
                    owner.is_some_and(|owner| owner.uid == self.deployment.meta.uid)
                        && same_but_hash(&known.spec.template, &template)
                });
                match ours {
                    Some(known) => {
                        if self.set_revision(&revision.to_string()) {
                            self.store_deployment()?;
                        }
                        Ok(known)
                    }
                    None => {
                        // Another template with the same hash: the next try has another name.
                        let status = &mut Arc::make_mut(&mut self.deployment).status;
                        status.collision_count = Some(status.collision_count.unwrap_or(0) + 1);
                        self.store_deployment()?;
                        Err(error)
                    }
                }
            }
            Err(error) if pods::is_namespace_terminating(&error) => Err(error),
            Err(error) => {
                if self.has_deadline() {
                    let message = format!("Failed to create new replica set \"{name}\": {error}");
                    self.set_progress(ConditionStatus::False, "ReplicaSetCreateError", &message);
                    self.store_deployment()?;
                }
                Err(error)
            }
        }
    }

    fn new_set(&self, old: &[Arc<ReplicaSet>], revision: i64) -> ReplicaSet {
        let deployment = &*self.deployment;
        let hash =
            hash::of_template(self.ctx.api, &deployment.spec.template, deployment.status.collision_count);
        let mut template = deployment.spec.template.clone();
        template.meta.labels = template.meta.labels.with(HASH_LABEL, hash.as_str());
        let mut selector = deployment.spec.selector.clone().unwrap_or_default();
        selector.match_labels.insert(Text::from(HASH_LABEL), Text::from(hash.as_str()));
        let longest = NAME_MAX - 1 - hash.len();
        let prefix: String = deployment.meta.name.as_str().chars().take(longest).collect();
        let max = self.replicas().saturating_add(self.max_surge());
        let annotations = self
            .annotated(&TextMap::default(), revision)
            .with(DESIRED, self.replicas().to_string())
            .with(MAX, max.to_string());
        ReplicaSet {
            meta: Meta {
                name: Name::from(format!("{prefix}-{hash}")),
                namespace: deployment.meta.namespace.clone(),
                labels: template.meta.labels.clone(),
                annotations,
                owner_references: vec![pods::controller_reference(deployment)].into(),
                ..Meta::default()
            },
            spec: ReplicaSetSpec {
                replicas: Some(self.next_size(total_size(old), 0)),
                min_ready_seconds: deployment.spec.min_ready_seconds,
                selector: Some(selector),
                template,
            }
            .into(),
            ..ReplicaSet::default()
        }
    }

    /// A ReplicaSet's annotations with the Deployment's and the revision (`SetNewReplicaSetAnnotations`).
    fn annotated(&self, known: &TextMap, revision: i64) -> TextMap {
        let mut annotations = known.clone();
        for (key, value) in self.deployment.meta.annotations.iter() {
            if !NOT_COPIED.contains(&key) && annotations.value(key) != Some(value) {
                annotations = annotations.with(key, value);
            }
        }
        let former = known.value(REVISION);
        let Ok(number) = former.unwrap_or("0").parse::<i64>() else { return annotations };
        if number >= revision {
            return annotations;
        }
        annotations = annotations.with(REVISION, revision.to_string());
        match former {
            None => annotations,
            Some(former) => {
                let history = longer_history(known.value(REVISION_HISTORY).unwrap_or_default(), former);
                history.map_or_else(|| annotations.clone(), |text| annotations.with(REVISION_HISTORY, text))
            }
        }
    }

    fn set_revision(&mut self, revision: &str) -> bool {
        if self.deployment.meta.annotations.value(REVISION) == Some(revision) {
            return false;
        }
        let meta = &mut Arc::make_mut(&mut self.deployment).meta;
        meta.annotations = meta.annotations.with(REVISION, revision);
        true
    }

    /// Writes this look's copy: its status and annotations. Fails if the Deployment has changed since it was read.
    pub(super) fn store_deployment(&mut self) -> Result<(), ApiError> {
        self.ctx.api.update_status::<Deployment>(&*self.deployment)
    }

    /// Deletes old ReplicaSets beyond the history limit, those of the lowest revisions first.
    pub(super) fn clean_up(&mut self, old: &[Arc<ReplicaSet>]) -> Result<(), ApiError> {
        let Some(limit) = self.deployment.spec.revision_history_limit.or(Some(10)).filter(|l| *l != i32::MAX)
        else {
            return Ok(());
        };
        let mut alive: Vec<_> = old.iter().filter(|set| !set.meta.is_terminating()).cloned().collect();
        let excess = alive.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        alive.sort_by_key(|set| (revision_of(set), set.meta.creation_timestamp, set.meta.name.clone()));
        for set in alive.into_iter().take(excess) {
            let is_settled = set.status.observed_generation >= set.meta.generation;
            if set.status.replicas != 0 || size(&set) != 0 || !is_settled {
                continue;
            }
            let gone = self.ctx.api.delete(Kind::ReplicaSet, &set.meta.key(), &DeleteOptions::default());
            match gone {
                Ok(_) => {}
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The list of former revisions with one more, the oldest left out where it grows too long; `None` leaves it.
fn longer_history(history: &str, former: &str) -> Option<String> {
    if history.is_empty() {
        return Some(former.to_owned());
    }
    let mut list: Vec<&str> = history.split(',').collect();
    let mut length = history.len() + former.len() + 1;
    while length > HISTORY_CHARS_MAX && !list.is_empty() {
        length -= list.remove(0).len() + 1;
    }
    if length > HISTORY_CHARS_MAX {
        return None;
    }
    list.push(former);
    Some(list.join(","))
}

fn revision_of(set: &ReplicaSet) -> i64 {
    set.meta.annotations.value(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The ReplicaSet that has a Deployment's present template, the oldest of several.
pub(super) fn present(
    memory: &mut Memory,
    sets: &[Arc<ReplicaSet>],
    deployment: &Deployment,
) -> Option<usize> {
    sets.iter().position(|set| {
        memory.has_same_spec(set, deployment)
            && same_meta_but_hash(&set.spec.template, &deployment.spec.template)
    })
}

/// Whether two templates are equal but for the label that the controller adds (`EqualIgnoreHash`).
fn same_but_hash(a: &PodTemplate, b: &PodTemplate) -> bool {
    a.spec == b.spec && same_meta_but_hash(a, b)
}

fn same_meta_but_hash(a: &PodTemplate, b: &PodTemplate) -> bool {
    a.meta.annotations == b.meta.annotations
        && a.meta.finalizers == b.meta.finalizers
        && labels_but_hash(a).eq(labels_but_hash(b))
}

fn labels_but_hash(template: &PodTemplate) -> impl Iterator<Item = (&str, &str)> {
    template.meta.labels.iter().filter(|(key, _)| *key != HASH_LABEL)
}
