//! Manifests: from files to objects, with the API server's words for what is not right.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::anyhow;
use replank_advice::place::is_workload;
use replank_facts::plan::nearest;
use replank_intake::document::{Document, Found};
use replank_intake::limits::Limits;
use replank_intake::problem::{Lost, Problem};
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_model::object::{Kind, Object};
use replank_model::text::Namespace;
use replank_model::validation::{unknown_fields, validate};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::printer::Printer;

/// The objects of a manifest, in its order.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// What it is called.
    pub(crate) name: String,
    /// Pods and what makes some.
    pub(crate) workloads: Vec<Object>,
    /// Everything else.
    pub(super) others: Vec<Object>,
}

/// Reads a manifest from a file, or from standard input (`-`).
pub(crate) fn manifest(
    path: &Path,
    namespace: &Namespace,
    printer: &mut Printer,
) -> Result<Manifest, Failure> {
    let is_stdin = path.as_os_str() == OsStr::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let cannot = |error: anyhow::Error| Failure::usage(error.context(format!("{name} cannot be read")));
    let mut documents: Vec<Document> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    read(vec![Source::from_argument(path.as_os_str())], &Limits::default(), &mut |found| match found {
        Found::Document(document) => documents.push(document),
        Found::List { .. } => {}
        Found::Problem(problem) => problems.push(problem),
    })
    .map_err(|error| cannot(anyhow::Error::new(error)))?;
    if let Some(problem) = problems.into_iter().find(|problem| problem.lost != Lost::Nothing) {
        return Err(cannot(anyhow::Error::new(problem)));
    }
    let mut manifest = Manifest { name, workloads: Vec::new(), others: Vec::new() };
    for document in documents {
        validate(&document.value)
            .map_err(|refusal| Failure::usage(refusal).next(format!("correct {}", document.place())))?;
        // What nobody reads is most often mistyped; kubectl refuses it unless it is told not to.
        for unknown in unknown_fields(&document.value) {
            printer.warning(&format!("{}: unknown field {unknown:?}", document.place()));
        }
        let is_workload = is_workload_kind(&document.value);
        if is_workload {
            is_served(&document.value).map_err(|failure| match &failure.next {
                Some(_) => failure,
                None => failure.next(format!("correct {}", document.place())),
            })?;
        }
        let object = object(document.value, namespace)
            .map_err(|error| Failure::usage(error.context(document.source.to_string())))?;
        if is_workload { manifest.workloads.push(object) } else { manifest.others.push(object) }
    }
    if manifest.workloads.is_empty() {
        let error = anyhow!("no pod or workload in {}", manifest.name);
        return Err(
            Failure::usage(error).next("pass a Pod, Deployment, StatefulSet, DaemonSet, Job or CronJob")
        );
    }
    Ok(manifest)
}

/// Kinds that make pods, as Kubernetes 1.36 serves them.
const SERVED: [(&str, &str); 9] = [
    ("v1", "Pod"),
    ("v1", "PodTemplate"),
    ("v1", "ReplicationController"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
];
/// Groups whose kinds are Kubernetes' own, or were: what they do not serve, nobody else does.
const OWN_GROUPS: [&str; 4] = ["", "apps", "batch", "extensions"];

/// Whether the API server would know the kind; of a custom one, whether it would take the pods that its template makes.
fn is_served(object: &Value) -> Result<(), Failure> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if SERVED.contains(&(version, kind)) {
        return Ok(());
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    if OWN_GROUPS.contains(&group) {
        let failure = Failure::usage_message(format!("no matches for kind {kind:?} in version {version:?}"));
        let meant = nearest(kind, SERVED.iter().map(|(_, kind)| *kind));
        let meant = SERVED.iter().find(|(_, known)| *known == kind || Some(*known) == meant);
        return Err(match meant {
            Some((version, kind)) => failure.next(format!("did you mean {kind} in version {version}?")),
            None => failure,
        });
    }
    let template = object.pointer("/spec/template").cloned().unwrap_or_default();
    let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": template["metadata"], "spec": template["spec"]});
    if !pod["metadata"].is_object() {
        pod["metadata"] = json!({});
    }
    pod["metadata"]["name"] = name;
    validate(&pod).map_err(Failure::usage)
}

/// Whether an object is to be asked about: also one that ought to have a template, so that validation says that it has not.
fn is_workload_kind(object: &Value) -> bool {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    match Kind::of(text("apiVersion"), text("kind")) {
        Some(
            Kind::Pod
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::ReplicationController
            | Kind::StatefulSet
            | Kind::DaemonSet
            | Kind::Job
            | Kind::CronJob,
        ) => true,
        Some(_) | None => is_workload(object),
    }
}

/// An object as the API server takes it.
fn object(mut value: Value, namespace: &Namespace) -> Result<Object, anyhow::Error> {
    name(&mut value);
    let object = Object::from_json(value)?;
    let kind = object.kind();
    let is_namespaced = if kind == Kind::Other {
        !object.meta().namespace.is_empty() || object.api_version().contains('/')
    } else {
        kind.is_namespaced()
    };
    if is_namespaced && object.meta().namespace.is_empty() {
        return Ok(object.map_meta(|meta| meta.namespace = namespace.clone()));
    }
    Ok(object)
}

/// A name in place of the one that the API server would make, which ends in five letters drawn by lot.
fn name(object: &mut Value) {
    let text =
        |key: &str| object["metadata"][key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    if let (None, Some(prefix)) = (text("name"), text("generateName")) {
        object["metadata"]["name"] = Value::from(format!("{prefix}xxxxx"));
    }
}
