//! Manifests and parts of them.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::anyhow;
use replank_hpa::problems;
use replank_intake::document::{Document, Found};
use replank_intake::limits::Limits;
use replank_intake::problem::{Lost, Problem};
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::{Object, render};
use replank_model::text::Namespace;
use replank_model::validation::validate;
use replank_rehearse::replay::Rule;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// What may be tried instead: fields of an autoscaler's spec.
#[derive(Debug)]
pub(super) struct Attempt {
    /// What it is called.
    pub(super) name: String,
    fields: Map<String, Value>,
}

/// What a variant has instead of what is there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tried<'a> {
    /// Nothing.
    AsItIs,
    /// Other fields.
    Fields(&'a Attempt),
    /// Rules that hold at certain hours.
    Rules(&'a [Rule]),
}

/// Fields that may be tried.
const TRIED: [&str; 4] = ["behavior", "maxReplicas", "metrics", "minReplicas"];

/// The objects of a manifest.
pub(super) fn manifest(path: &Path, namespace: &Namespace) -> Result<Vec<Object>, Failure> {
    let mut objects = Vec::new();
    for document in documents(path)? {
        validate(&document.value)
            .map_err(|refusal| Failure::usage(refusal).next(format!("correct {}", document.place())))?;
        objects.push(object(document, namespace)?);
    }
    if !objects.iter().any(|object| matches!(object, Object::HorizontalPodAutoscaler(_))) {
        return Err(Failure::usage_message(format!("no HorizontalPodAutoscaler in {}", name(path)))
            .next("pass one of apiVersion autoscaling/v2: kubectl get hpa NAME -o yaml prints it"));
    }
    Ok(objects)
}

fn object(document: Document, namespace: &Namespace) -> Result<Object, Failure> {
    let place = document.place();
    let mut value = document.value;
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&value, "apiVersion"), text(&value, "kind"));
    if kind == "HorizontalPodAutoscaler" && version != "autoscaling/v2" {
        return Err(Failure::usage_message(format!("{place}: {kind} {version:?} is not supported"))
            .next("use autoscaling/v2: kubectl get hpa NAME -o yaml prints it"));
    }
    if value["metadata"]["namespace"].is_null() {
        value["metadata"]["namespace"] = namespace.as_str().into();
    }
    let object = Object::from_json(value)
        .map_err(|error| Failure::usage(anyhow::Error::new(error).context(place.to_string())))?;
    if let Object::HorizontalPodAutoscaler(hpa) = &object {
        is_right(hpa).map_err(|failure| failure.next(format!("correct {place}")))?;
    }
    Ok(object)
}

fn is_right(hpa: &HorizontalPodAutoscaler) -> Result<(), Failure> {
    let found = problems(hpa);
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::usage_message(format!(
        "HorizontalPodAutoscaler \"{}\" is invalid: {}",
        hpa.meta.name,
        found.join(", ")
    )))
}

/// What is to be tried: the fields of `behavior` alone, fields of `spec`, or a whole HorizontalPodAutoscaler.
pub(super) fn attempt(path: &Path) -> Result<Attempt, Failure> {
    let name = name(path);
    let documents = documents(path)?;
    let [document] = documents.as_slice() else {
        let error = anyhow!("{name} holds {} documents, expected one", documents.len());
        return Err(Failure::usage(error).next("use one --try for each"));
    };
    let wrong = |what: &str| {
        Failure::usage_message(format!("{name} {what}"))
            .next("pass a behavior, such as scaleDown: {stabilizationWindowSeconds: 600}")
    };
    let Value::Object(members) = &document.value else { return Err(wrong("is not a mapping")) };
    let is_behavior = members.keys().any(|key| matches!(&**key, "scaleUp" | "scaleDown"));
    let fields = if is_behavior {
        if let Some(other) = members.keys().find(|key| !matches!(&***key, "scaleUp" | "scaleDown")) {
            return Err(wrong(&format!("has {other:?} in addition to scaleUp and scaleDown")));
        }
        Map::from_iter([("behavior".to_owned(), document.value.clone())])
    } else {
        let spec = members.get("spec").unwrap_or(&document.value);
        let all = spec.as_object().cloned().unwrap_or_default();
        let is_whole = members.contains_key("spec");
        let other =
            all.keys().find(|key| !(TRIED.contains(&&***key) || is_whole && &***key == "scaleTargetRef"));
        if let Some(other) = other {
            return Err(wrong(&format!("has {other:?}, which cannot be tried ({})", TRIED.join(", "))));
        }
        all.into_iter().filter(|(key, _)| TRIED.contains(&&**key)).collect()
    };
    if fields.is_empty() {
        return Err(wrong("contains nothing to try"));
    }
    Ok(Attempt { name, fields })
}

impl Attempt {
    /// The autoscaler with its fields in the place of its own.
    pub(super) fn on(&self, hpa: &HorizontalPodAutoscaler) -> Result<HorizontalPodAutoscaler, Failure> {
        let mut value = render(&Object::from(hpa.clone()));
        for (key, field) in &self.fields {
            value["spec"][key] = field.clone();
        }
        let wrong =
            |error: anyhow::Error| Failure::usage(error.context(format!("{} cannot be tried", self.name)));
        let object = Object::from_json(value).map_err(|error| wrong(anyhow::Error::new(error)))?;
        let Object::HorizontalPodAutoscaler(changed) = &object else {
            return Err(wrong(anyhow!("it became {}", object.reference())));
        };
        is_right(changed).map_err(|failure| wrong(failure.error).next("correct it and try again"))?;
        Ok(HorizontalPodAutoscaler::clone(changed))
    }
}

/// All documents of a file, whatever they are.
pub(super) fn documents(path: &Path) -> Result<Vec<Document>, Failure> {
    let cannot =
        |error: anyhow::Error| Failure::usage(error.context(format!("{} cannot be read", name(path))));
    let mut documents: Vec<Document> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    read(vec![Source::from_argument(path.as_os_str())], &Limits::default(), &mut |found| match found {
        Found::Document(document) => documents.push(document),
        Found::List { .. } => {}
        Found::Problem(problem) => problems.push(problem),
    })
    .map_err(|error| cannot(anyhow::Error::new(error)))?;
    match problems.into_iter().find(|problem| problem.lost != Lost::Nothing) {
        Some(problem) => Err(cannot(anyhow::Error::new(problem))),
        None => Ok(documents),
    }
}

pub(super) fn name(path: &Path) -> String {
    if path.as_os_str() == OsStr::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
