//! Revisions of StatefulSets and DaemonSets (pkg/controller/history).

use std::sync::Arc;

use replank_model::admission::default_pod_template;
use replank_model::delta::Delta;
use replank_model::object::meta::{Meta, Raw};
use replank_model::object::pod::{Pod, PodTemplate};
use replank_model::object::workload::ControllerRevision;
use replank_model::object::{Kind, Object, render};
use replank_model::selector::Selector;
use replank_model::text::{Name, Text, Uid};
use replank_model::view::{Ix, Tabled, View};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::json;

use super::index::Index;
use super::{Ctx, hash, pods};
use replank_apiserver::{ApiError, DeleteOptions};

/// Label with the hash of a StatefulSet's revision.
pub(super) const HASH_LABEL: &str = "controller.kubernetes.io/hash";
/// Label of pods, and of a DaemonSet's revisions, that says which revision they are of.
const POD_LABEL: &str = "controller-revision-hash";
/// Longest prefix of a revision's name.
const PREFIX_MAX: usize = 223;

/// The templates that revisions stand for, read once each.
#[derive(Debug, Default)]
pub(crate) struct History {
    templates: FxHashMap<Uid, Option<Arc<PodTemplate>>>,
}

impl History {
    /// The template that a revision stands for; `None` where its data cannot be read.
    pub(crate) fn template(&mut self, revision: &Arc<ControllerRevision>) -> Option<Arc<PodTemplate>> {
        if let Some(template) = &revision.template {
            return Some(template.clone());
        }
        self.templates
            .entry(revision.meta.uid.clone())
            .or_insert_with(|| read(revision).map(Arc::new))
            .clone()
    }

    /// A revision went.
    pub(crate) fn forget(&mut self, uid: &Uid) {
        self.templates.remove(uid);
    }
}

/// The template in a revision's data: `{"spec": {"template": {…, "$patch": "replace"}}}`, completed as an API server of
/// this version completes it.
fn read(revision: &Arc<ControllerRevision>) -> Option<PodTemplate> {
    let mut value = render(&Object::ControllerRevision(revision.clone()));
    let template = value.pointer_mut("/data/spec/template")?.as_object_mut()?;
    template.remove("$patch");
    default_pod_template(template);
    serde_json::from_value(serde_json::Value::Object(template.clone())).ok()
}

/// The revisions of an owner, those of nobody that fit among them, from the oldest to the newest.
pub(crate) fn list<R: Tabled>(
    ctx: &Ctx<'_>,
    index: &Index,
    owner: &R,
    selector: &Selector,
) -> Vec<Arc<ControllerRevision>> {
    let mut found = list_all(ctx, index, owner);
    found.retain(|revision| selector.matches(|key| revision.meta.labels.value(key)));
    sort(&mut found);
    found
}

/// The revisions of an owner and all those of nobody in its namespace.
pub(crate) fn list_all<R: Tabled>(ctx: &Ctx<'_>, index: &Index, owner: &R) -> Vec<Arc<ControllerRevision>> {
    let meta = owner.meta();
    let mut slots = index.owned_by(Kind::ControllerRevision, &meta.uid);
    slots.extend(index.orphans(Kind::ControllerRevision, &meta.namespace));
    let table = &ctx.view().controller_revisions;
    slots.into_iter().filter_map(|slot| table.get(Ix::new(slot)).cloned()).collect()
}

/// By number, then age, then name.
pub(crate) fn sort(revisions: &mut [Arc<ControllerRevision>]) {
    revisions.sort_by(|a, b| {
        let key = |r: &ControllerRevision| (r.revision, r.meta.creation_timestamp, r.meta.name.clone());
        key(a).cmp(&key(b))
    });
}

/// The number after the last revision's.
pub(crate) fn next_number(revisions: &[Arc<ControllerRevision>]) -> i64 {
    revisions.iter().map(|revision| revision.revision).max().unwrap_or(0) + 1
}

/// Stores a revision for a template. Of two templates with one hash the second gets another by counting up `collisions`.
pub(crate) fn create<R: Tabled>(
    ctx: &mut Ctx<'_>,
    owner: &R,
    template: &PodTemplate,
    number: i64,
    collisions: &mut i32,
) -> Result<Arc<ControllerRevision>, ApiError> {
    /// Templates that share a hash of 32 bits: more than a few do not occur.
    const COLLISIONS_MAX: i32 = 1_000;
    loop {
        let hash = hash::of_template(ctx.api, template, Some(*collisions));
        let revision = revision_of(owner, template, number, &hash, HASH_LABEL);
        let key = revision.meta.key();
        match ctx.api.create(revision) {
            Err(error) if error.reason == "AlreadyExists" && *collisions < COLLISIONS_MAX => {
                let known = ctx.view().controller_revisions.by_key(&key).cloned();
                if let Some(known) = known.filter(|known| stands_for(known, template)) {
                    return Ok(known);
                }
                *collisions += 1;
            }
            done => return done,
        }
    }
}

/// Whether a revision is that of a template.
pub(super) fn stands_for(revision: &Arc<ControllerRevision>, template: &PodTemplate) -> bool {
    revision.template.as_deref() == Some(template) || read(revision).is_some_and(|read| read == *template)
}

/// The revision of a template, not yet stored. `label` is that which carries the hash.
pub(crate) fn revision_of<R: Tabled>(
    owner: &R,
    template: &PodTemplate,
    number: i64,
    hash: &str,
    label: &str,
) -> ControllerRevision {
    let meta = owner.meta();
    let prefix: String = meta.name.as_str().chars().take(PREFIX_MAX).collect();
    let mut data = json!({"data": {"spec": {"template": template}}});
    data["data"]["spec"]["template"]["$patch"] = "replace".into();
    ControllerRevision {
        meta: Meta {
            name: Name::from(format!("{prefix}-{hash}")),
            namespace: meta.namespace.clone(),
            labels: template.meta.labels.with(label, hash),
            annotations: meta.annotations.clone(),
            owner_references: vec![pods::controller_reference(owner)].into(),
            raw: Raw(Some(Arc::from(data.to_string()))),
            ..Meta::default()
        },
        revision: number,
        template: Some(Arc::new(template.clone())),
    }
}

/// Supplies the revisions that a snapshot lacks, and says for how many sets. `kubectl get all` leaves them out, and without
/// them every DaemonSet and StatefulSet would take its pods to be of an older template and replace them all. The newest pod
/// of a set is taken to be of its present template.
pub fn supply(view: &mut View) -> usize {
    let has_some: FxHashSet<Uid> = view
        .controller_revisions
        .unordered()
        .filter_map(|(_, revision)| Some(revision.meta.controller()?.uid.clone()))
        .collect();
    let mut missing: Vec<ControllerRevision> = Vec::new();
    for (_, set) in view.daemon_sets.unordered().filter(|(_, set)| !has_some.contains(&set.meta.uid)) {
        if set.status.observed_generation < set.meta.generation {
            continue;
        }
        let Some(hash) = newest_hash(view, &set.meta.uid) else { continue };
        let name = format!("{}-{hash}", set.meta.name);
        missing.push(supplied(&**set, &set.spec.template, POD_LABEL, &name, &hash));
    }
    for (_, set) in view.stateful_sets.unordered().filter(|(_, set)| !has_some.contains(&set.meta.uid)) {
        // One whose template has changed since is to be updated, whatever its revisions are called.
        if set.status.observed_generation < set.meta.generation {
            continue;
        }
        // On the pods of a StatefulSet the label has the revision's whole name.
        let named = Some(&set.status.update_revision).filter(|name| !name.is_empty()).cloned();
        let Some(name) = named.or_else(|| newest_hash(view, &set.meta.uid)) else { continue };
        let hash = name.rsplit('-').next().unwrap_or(&name);
        missing.push(supplied(&**set, &set.spec.template, HASH_LABEL, &name, hash));
    }
    let count = missing.len();
    for revision in missing {
        view.apply(Delta::from(revision));
    }
    count
}

fn supplied<R: Tabled>(
    owner: &R,
    template: &PodTemplate,
    label: &str,
    name: &str,
    hash: &str,
) -> ControllerRevision {
    let mut revision = revision_of(owner, template, 1, &hash::of_json(template, None), label);
    revision.meta.name = Name::from(name);
    revision.meta.uid = Uid::from(format!("revision-of-{}", owner.meta().uid));
    revision.meta.labels = revision.meta.labels.with(label, hash);
    revision.meta.creation_timestamp = owner.meta().creation_timestamp;
    revision
}

/// What an owner's newest pod has on its label.
fn newest_hash(view: &View, owner: &Uid) -> Option<Text> {
    let pods = view.pods_of(owner).iter().filter_map(|ix| view.pods.get(*ix));
    let newest = pods.filter(|pod| !pod.meta.is_terminating() && pod.meta.labels.contains_key(POD_LABEL));
    let age = |pod: &&Arc<Pod>| (pod.meta.creation_timestamp, pod.meta.name.clone());
    newest.max_by_key(age)?.meta.labels.get(POD_LABEL).cloned()
}

/// Gives an old revision a new number: its template is the present one again.
pub(crate) fn renumber(
    ctx: &mut Ctx<'_>,
    revision: &Arc<ControllerRevision>,
    number: i64,
) -> Result<Arc<ControllerRevision>, ApiError> {
    if revision.revision == number {
        return Ok(revision.clone());
    }
    ctx.api.modify::<ControllerRevision>(&revision.meta.key(), |revision| revision.revision = number)
}

/// Deletes a revision.
pub(crate) fn delete(ctx: &mut Ctx<'_>, revision: &ControllerRevision) -> Result<(), ApiError> {
    let options = DeleteOptions::default();
    match ctx.api.delete(Kind::ControllerRevision, &revision.meta.key(), &options) {
        Ok(_) => Ok(()),
        Err(error) if error.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use replank_model::time::Span;
    use serde_json::Value;

    use super::*;
    use crate::testing::{node, start};
    use crate::{CloudTimings, KubeletModel, Settings, World};

    /// A DaemonSet and a StatefulSet with a running pod each, as `kubectl get all` shows them.
    fn snapshot() -> View {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        let set = |kind: &str, name: &str, status: Value| {
            json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 1},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "updateStrategy": {"type": "RollingUpdate"},
                    "template": {"metadata": {"labels": {"app": name}}, "spec": spec}}, "status": status})
        };
        let pod = |kind: &str, set: &str, name: &str, hash: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name,
                    "labels": {"app": set, "controller-revision-hash": hash}, "creationTimestamp": "2025-12-01T00:00:00Z",
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": set, "uid": set, "controller": true}]},
                "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
        };
        let all = vec![
            node("n", "a"),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "ns"}}),
            set("DaemonSet", "agent", json!({"observedGeneration": 1})),
            pod("DaemonSet", "agent", "agent-x", "6d5f9c"),
            set(
                "StatefulSet",
                "db",
                json!({"observedGeneration": 1, "replicas": 1, "readyReplicas": 1,
                "currentReplicas": 1, "currentRevision": "db-7c9d", "updateRevision": "db-7c9d"}),
            ),
            pod("StatefulSet", "db", "db-0", "db-7c9d"),
        ];
        all.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("an object"))).collect()
    }

    /// The pods that are left of the first ones after a few minutes.
    fn left_after_minutes(view: View) -> usize {
        let settings =
            Settings { start: start(), seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
        let mut world = World::new(settings, view);
        world.run_until(start() + Span::from_minutes(5));
        let pods = world.view().pods.sorted();
        pods.iter().filter(|(_, pod)| ["agent-x", "db-0"].contains(&pod.meta.uid.as_str())).count()
    }

    #[test]
    fn a_snapshot_without_revisions_keeps_its_pods() {
        let mut view = snapshot();
        assert_eq!(left_after_minutes(view.clone()), 0, "they would all count as old ones");
        assert_eq!(supply(&mut view), 2);
        assert_eq!(supply(&mut view), 0, "once is enough");
        assert_eq!(left_after_minutes(view), 2);
    }
}
