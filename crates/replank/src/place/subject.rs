//! From what was named to what is asked: a pod of the snapshot, one more pod of a workload, the pods of a manifest.

use std::sync::Arc;

use replank_advice::place::PlacementQuery;
use replank_facts::plan::nearest;
use replank_facts::pod_factory::{PodFactory, SubjectError};
use replank_facts::workload::{Workload, workload_of};
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object, render};
use replank_model::text::{Name, Namespace};
use replank_model::view::View;

use super::input::Manifest;
use crate::cli::PlaceArgs;
use crate::failure::Failure;

/// What is asked.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) object: String,
    pub(super) editable: Option<String>,
    pub(super) notes: Vec<String>,
    /// What further copies are made from.
    pub(super) factory: PodFactory,
    /// The first pod; none of a DaemonSet, which has one for each node.
    pub(super) first: Option<Arc<Pod>>,
    /// How many copies, unless the command line says.
    pub(super) copies: usize,
}

/// Kinds by the names that `kubectl` knows them by.
const KINDS: [(Kind, &[&str]); 7] = [
    (Kind::Deployment, &["deployment", "deployments", "deploy", "deployments.apps", "deployment.apps"]),
    (Kind::ReplicaSet, &["replicaset", "replicasets", "rs", "replicasets.apps", "replicaset.apps"]),
    (Kind::ReplicationController, &["replicationcontroller", "replicationcontrollers", "rc"]),
    (Kind::StatefulSet, &["statefulset", "statefulsets", "sts", "statefulsets.apps", "statefulset.apps"]),
    (Kind::DaemonSet, &["daemonset", "daemonsets", "ds", "daemonsets.apps", "daemonset.apps"]),
    (Kind::Job, &["job", "jobs", "jobs.batch", "job.batch"]),
    (Kind::CronJob, &["cronjob", "cronjobs", "cj", "cronjobs.batch", "cronjob.batch"]),
];
const POD: [&str; 3] = ["pod", "pods", "po"];

/// What an argument names.
enum Named {
    Pod(Key),
    Workload(Kind, Key),
    Custom(String, Key),
}

/// What POD names, with everything that is needed to ask.
pub(super) fn of_argument(
    query: &mut PlacementQuery,
    text: &str,
    args: &PlaceArgs,
) -> Result<Asked, Failure> {
    let key = |namespace: &str, name: &str| Key::new(Namespace::from(namespace), Name::from(name));
    let own = args.namespace.as_str();
    let parts: Vec<&str> = text.split('/').collect();
    let named = match parts.as_slice() {
        [name] => Named::Pod(key(own, name)),
        [kind, name] if POD.contains(&&*kind.to_lowercase()) => Named::Pod(key(own, name)),
        [kind, name] if is_kind(query.view(), kind) => kind_of(kind, key(own, name)),
        [namespace, name] => Named::Pod(key(namespace, name)),
        [namespace, kind, name] if POD.contains(&&*kind.to_lowercase()) => Named::Pod(key(namespace, name)),
        [namespace, kind, name] => kind_of(kind, key(namespace, name)),
        _ => {
            return Err(Failure::usage_message(format!("{text:?} is not a pod name"))
                .next("write NAME, NAMESPACE/NAME or KIND/NAME, as in deployment/web"));
        }
    };
    match named {
        Named::Pod(key) => of_pod(query, &key, args),
        Named::Workload(kind, key) => {
            let found = query.view().object(kind, &key);
            let object =
                found.ok_or_else(|| no_such(query.view(), kind.plural(), kind.api_version(), &key))?;
            of_workload(query, &object)
        }
        Named::Custom(kind, key) => {
            let found =
                query.view().others().find(|other| is_called(&other.kind, &kind) && other.meta.key() == key);
            let object = found.cloned().map(Object::Other);
            let object = object.ok_or_else(|| no_such(query.view(), &kind, "", &key))?;
            of_workload(query, &object)
        }
    }
}

/// Whether a word is the name of a kind that can be asked about.
pub(super) fn is_kind_name(text: &str) -> bool {
    let text = text.to_lowercase();
    POD.contains(&&*text) || KINDS.iter().any(|(_, names)| names.contains(&&*text))
}

fn is_kind(view: &View, text: &str) -> bool {
    let text = text.to_lowercase();
    KINDS.iter().any(|(_, names)| names.contains(&&*text))
        || view.others().any(|other| is_called(&other.kind, &text))
}

fn is_called(kind: &str, text: &str) -> bool {
    let (kind, text) = (kind.to_lowercase(), text.to_lowercase());
    text == kind || text == format!("{kind}s")
}

fn kind_of(text: &str, key: Key) -> Named {
    let lower = text.to_lowercase();
    match KINDS.iter().find(|(_, names)| names.contains(&&*lower)) {
        Some((kind, _)) => Named::Workload(*kind, key),
        None => Named::Custom(text.to_owned(), key),
    }
}

fn of_pod(query: &mut PlacementQuery, key: &Key, args: &PlaceArgs) -> Result<Asked, Failure> {
    let mut notes = Vec::new();
    if query.restore(key).is_some() {
        notes.push("its node is assumed gone; checked as if the pod were recreated".to_owned());
    }
    let view = query.view();
    let Some(pod) = view.pods.by_key(key).cloned() else { return Err(no_such(view, "pods", "v1", key)) };
    let workload = workload_of(view, &pod);
    let editable = workload.as_ref().map(Workload::argument);
    if pod.is_terminal() {
        notes.push(format!("the pod has finished ({}); checked as if it were recreated", pod.status.phase));
    } else if pod.is_terminating() {
        notes.push("the pod is terminating; checked as if it were recreated".to_owned());
    }
    let owner = workload.as_ref().and_then(|workload| object_of(view, workload));
    let factory = match (&owner, args.replicas) {
        (Some(owner), Some(_)) => query.factory(owner).unwrap_or_else(|_| PodFactory::of_pod(&pod)),
        (Some(_) | None, _) => PodFactory::of_pod(&pod),
    };
    let first = match (&pod.node, args.replicas) {
        (Some(node), None) => {
            notes.push(format!("the pod is on {node}; checked as if it were scheduled now"));
            query.release(&pod)
        }
        (Some(node), Some(_)) => {
            notes.push(format!("the pod stays on {node}; checked for further copies"));
            query.make(&factory)
        }
        (None, _) => query.release(&pod),
    };
    notes.extend(other_scheduler(&first));
    let object = format!("Pod {}", pod.meta.key());
    Ok(Asked { object, editable, notes, factory, first: Some(first), copies: 1 })
}

/// The object of a workload, if it makes pods.
fn object_of(view: &View, workload: &Workload) -> Option<Object> {
    let typed = KINDS.iter().find(|(kind, _)| kind.as_str() == &*workload.kind);
    match typed {
        Some((Kind::DaemonSet, _)) => None,
        Some((kind, _)) => view.object(*kind, &workload.key),
        None => view
            .others()
            .find(|other| other.kind == workload.kind && other.meta.key() == workload.key)
            .cloned()
            .map(Object::Other),
    }
}

fn of_workload(query: &mut PlacementQuery, object: &Object) -> Result<Asked, Failure> {
    let mut asked = of_object(query, object)?;
    asked.copies = 1;
    if !asked.factory.is_per_node() {
        asked.notes.push("checked for one more of its pods".to_owned());
    }
    Ok(asked)
}

fn of_object(query: &mut PlacementQuery, object: &Object) -> Result<Asked, Failure> {
    let factory = query.factory(object).map_err(|error| match error {
        error @ SubjectError::NoTemplate { .. } => {
            Failure::usage(error).next("name a Pod, Deployment, StatefulSet, DaemonSet, Job or CronJob")
        }
        error @ (SubjectError::Unreadable(_) | SubjectError::Forbidden { .. }) => Failure::usage(error),
    })?;
    let first = (!factory.is_per_node()).then(|| query.make(&factory));
    let name = object.meta().name.clone();
    let editable =
        (object.kind() != Kind::Pod).then(|| format!("{}/{name}", object.kind_name().to_lowercase()));
    let notes =
        first.as_ref().and_then(|pod| other_scheduler(pod)).into_iter().chain(named_node(object)).collect();
    let copies = factory.wanted;
    Ok(Asked {
        object: format!("{} {}", object.kind_name(), object.meta().key()),
        editable,
        notes,
        factory,
        first,
        copies,
    })
}

/// All workloads of a manifest, with everything else of it taken to be there.
pub(super) fn of_manifest(query: &mut PlacementQuery, manifest: Manifest) -> Result<Vec<Asked>, Failure> {
    manifest.others.into_iter().for_each(|object| query.put(object));
    let mut all = Vec::with_capacity(manifest.workloads.len());
    for object in &manifest.workloads {
        // Looked at before it is put among the others.
        let notes = known_before(query.view(), object);
        let mut asked = of_object(query, object)?;
        asked.notes.extend(notes);
        all.push(asked);
    }
    Ok(all)
}

/// What has to be known about a manifest's object beside what is in the snapshot.
fn known_before(view: &View, object: &Object) -> Vec<String> {
    let mut notes = Vec::new();
    let meta = object.meta();
    if !view.namespaces.is_empty() && view.namespaces.by_key(&Key::cluster(meta.namespace.as_str())).is_none()
    {
        notes.push(format!(
            "namespaces {:?} not found: the API server accepts the object once its namespace exists",
            meta.namespace.as_str()
        ));
    }
    if let Some(known) = view.object(object.kind(), &meta.key()) {
        let pods = view.pods_of(&known.meta().uid).len()
            + view
                .replica_sets
                .unordered()
                .map(|(_, set)| set)
                .map(|set| {
                    let is_own = set.meta.controller().is_some_and(|owner| owner.uid == known.meta().uid);
                    if is_own { view.pods_of(&set.meta.uid).len() } else { 0 }
                })
                .sum::<usize>();
        notes.push(if object.kind() == Kind::Pod {
            "a pod of this name is in the snapshot and stays; checked for another like it".to_owned()
        } else {
            format!(
                "it is in the snapshot: its {pods} pods stay, and the new ones are checked in addition, as in the surge of a rolling update; name it instead of its manifest to check the current one"
            )
        });
    }
    notes
}

/// Whether a spec names the node by itself.
fn named_node(object: &Object) -> Option<String> {
    let value = render(object);
    let places =
        ["/spec/nodeName", "/spec/template/spec/nodeName", "/spec/jobTemplate/spec/template/spec/nodeName"];
    let node =
        places.iter().find_map(|place| value.pointer(place)?.as_str().filter(|node| !node.is_empty()))?;
    Some(format!(
        "its spec names the node {node}, so the scheduler skips it and the kubelet there admits or rejects it; checked as if no node were named"
    ))
}

fn other_scheduler(pod: &Pod) -> Option<String> {
    let name = &pod.spec.scheduler_name;
    let is_other = !name.is_empty() && &**name != "default-scheduler";
    is_other
        .then(|| format!("the pod uses the scheduler {name}; this is what the default scheduler would do"))
}

/// In the API server's words, and where the name might be meant.
fn no_such(view: &View, plural: &str, api_version: &str, key: &Key) -> Failure {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let resource = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    let error = Failure::usage_message(format!("{resource} \"{}\" not found", key.name));
    let next =
        elsewhere(view, plural, key).or_else(|| provisioners(view, key)).or_else(|| alike(view, plural, key));
    error.next(next.unwrap_or_else(|| {
        format!("not in the namespace {} of the snapshot; pass its namespace with -n", key.namespace)
    }))
}

fn all_of(view: &View, plural: &str) -> Vec<Key> {
    let kind = Kind::TYPED.iter().find(|kind| kind.plural() == plural);
    kind.map_or(Vec::new(), |kind| view.objects_of(*kind).iter().map(|object| object.meta().key()).collect())
}

fn elsewhere(view: &View, plural: &str, key: &Key) -> Option<String> {
    let all = all_of(view, plural);
    let found: Vec<&str> =
        all.iter().filter(|other| other.name == key.name).map(|other| other.namespace.as_str()).collect();
    let first = found.first()?;
    Some(format!("there is one in {}: pass -n {first}", found.join(" and in ")))
}

/// A workload with the name that was read as a pod name.
fn provisioners(view: &View, key: &Key) -> Option<String> {
    let found = KINDS.iter().find_map(|(kind, _)| {
        let all = view.objects_of(*kind);
        let mut named = all.iter().filter(|object| object.meta().name == key.name);
        let own = named.clone().find(|object| object.meta().namespace == key.namespace);
        own.or_else(|| named.next()).cloned()
    })?;
    let kind = found.kind_name().to_lowercase();
    let meta = found.meta();
    let is_default = meta.namespace.as_str() == "default";
    let flag = if is_default { String::new() } else { format!("-n {} ", meta.namespace) };
    Some(format!("there is a {} of that name: replank place {flag}{kind}/{} …", found.kind_name(), meta.name))
}

fn alike(view: &View, plural: &str, key: &Key) -> Option<String> {
    let all = all_of(view, plural);
    let own = all.iter().filter(|other| other.namespace == key.namespace);
    let meant = nearest(key.name.as_str(), own.map(|other| other.name.as_str()))?;
    Some(format!("did you mean {meant}?"))
}
