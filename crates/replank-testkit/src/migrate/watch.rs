//! What is promised of a migration, watched on the API's JSON: no Service is without a ready endpoint at any moment; pods that are
//! kept keep their uids; at the end nothing of it is left, and every reference to the Deployment points at it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_model::object::{Kind, Object, render};
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_sim::Observer;
use serde_json::Value;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// When.
    pub at: Time,
    /// What happened.
    pub what: String,
}

#[derive(Debug, Default)]
struct Notes {
    /// Slices by name: their Service, and how many ready endpoints each has.
    slices: BTreeMap<String, (String, usize)>,
    /// Fewest ready endpoints of each Service, of those that had one.
    fewest: BTreeMap<String, usize>,
    breaches: Vec<Breach>,
}

/// Watches a world; clones share what they saw.
#[derive(Clone, Debug, Default)]
pub struct Watch(Rc<RefCell<Notes>>);

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn slice(object: &Object) -> Option<(String, (String, usize))> {
    let value = render(object);
    let service = text(&value, "/metadata/labels/kubernetes.io~1service-name").to_owned();
    let endpoints = value.get("endpoints").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let ready = endpoints
        .iter()
        .filter(|endpoint| endpoint.pointer("/conditions/ready").and_then(Value::as_bool) != Some(false));
    Some((text(&value, "/metadata/name").to_owned(), (service, ready.count())))
}

impl Notes {
    fn count(&self, service: &str) -> usize {
        self.slices.values().filter(|(of, _)| of == service).map(|(_, ready)| ready).sum()
    }

    fn look(&mut self, at: Time, service: &str) {
        let ready = self.count(service);
        let Some(fewest) = self.fewest.get_mut(service) else { return };
        *fewest = ready.min(*fewest);
        if ready == 0 {
            let what = format!("Service {service} has no ready endpoint");
            self.breaches.push(Breach { at, what });
        }
    }
}

impl Watch {
    /// Watches from here on: Services that have no ready endpoint are not looked at.
    #[must_use]
    pub fn of(view: &View) -> Self {
        let mut notes = Notes::default();
        notes.slices.extend(view.objects_of(Kind::EndpointSlice).iter().filter_map(slice));
        for object in view.objects_of(Kind::Service) {
            let name = object.meta().name.to_string();
            let ready = notes.count(&name);
            if ready > 0 {
                notes.fewest.insert(name, ready);
            }
        }
        Self(Rc::new(RefCell::new(notes)))
    }

    /// Fewest ready endpoints of each Service.
    #[must_use]
    pub fn fewest(&self) -> BTreeMap<String, usize> {
        self.0.borrow().fewest.clone()
    }

    /// What was broken so far.
    #[must_use]
    pub fn breaches(&self) -> Vec<Breach> {
        self.0.borrow().breaches.clone()
    }
}

impl Observer for Watch {
    fn changed(&mut self, at: Time, change: &Change, _view: &View) {
        let Change::Object { old, new, .. } = change else { return };
        let Some(object) =
            new.as_ref().or(old.as_ref()).filter(|object| object.kind() == Kind::EndpointSlice)
        else {
            return;
        };
        let Some((name, (service, ready))) = slice(object) else { return };
        let mut notes = self.0.borrow_mut();
        match new {
            Some(_) => notes.slices.insert(name, (service.clone(), ready)),
            None => notes.slices.remove(&name),
        };
        notes.look(at, &service);
    }
}

/// Uids of the pods that are there and not on their way out.
pub(super) fn pods(view: &View) -> BTreeSet<String> {
    let pods = view.objects_of(Kind::Pod);
    let stays = |pod: &&Object| pod.meta().deletion_timestamp.is_none();
    pods.iter().filter(stays).map(|pod| pod.meta().uid.to_string()).collect()
}

/// Uids of the claims of volumes that are there and not on their way out.
pub(super) fn claims(view: &View) -> BTreeSet<String> {
    let claims = view.objects_of(Kind::PersistentVolumeClaim);
    let stays = |claim: &&Object| claim.meta().deletion_timestamp.is_none();
    claims.iter().filter(stays).map(|claim| claim.meta().uid.to_string()).collect()
}

/// What others have said of autoscalers, budgets and Services: the same before and after.
pub(super) fn around(view: &View) -> BTreeMap<String, Value> {
    let kinds = [Kind::HorizontalPodAutoscaler, Kind::PodDisruptionBudget, Kind::Service];
    let all = kinds.into_iter().flat_map(|kind| view.objects_of(kind));
    all.map(|object| {
        let mut value = render(&object);
        let said = value.get_mut("metadata").and_then(|meta| meta.get_mut("annotations"));
        let ours: Vec<String> =
            said.iter().filter_map(|said| said.as_object()).flatten().map(|(key, _)| key.clone()).collect();
        let ours: Vec<String> = ours.into_iter().filter(|key| key.starts_with("replank.dev/")).collect();
        let spec = value.get("spec").cloned().unwrap_or_default();
        (object.reference().to_string(), serde_json::json!({"spec": spec, "ours": ours}))
    })
    .collect()
}

/// The same where a Rollout has taken over: autoscalers scale it.
pub(super) fn followed(mut around: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    for said in around.values_mut() {
        if let Some(target) = said.pointer_mut("/spec/scaleTargetRef") {
            target["apiVersion"] = "argoproj.io/v1alpha1".into();
            target["kind"] = "Rollout".into();
        }
    }
    around
}

/// What is wrong with a hand-over that is done: the Deployment wants no pods, the Rollout has all of its own, and nobody else has any.
pub(super) fn handed_over(view: &View) -> Vec<String> {
    let mut wrong = Vec::new();
    let all: Vec<Value> = [Kind::Deployment, Kind::Other, Kind::ReplicaSet]
        .into_iter()
        .flat_map(|kind| view.objects_of(kind))
        .map(|object| render(&object))
        .collect();
    let number = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_i64);
    let of =
        |kind: &str| all.iter().find(|value| value["kind"] == kind && text(value, "/metadata/name") == "web");
    if of("Deployment").and_then(|web| number(web, "/spec/replicas")) != Some(0) {
        wrong.push("the Deployment wants pods".to_owned());
    }
    let Some(rollout) = of("Rollout") else { return vec!["the Rollout does not exist".to_owned()] };
    let wanted = number(rollout, "/spec/replicas");
    if wanted == Some(0) || number(rollout, "/status/availableReplicas") != wanted {
        wrong.push(format!("the Rollout is not available: {rollout}"));
    }
    let is_its = |set: &Value| set.pointer("/metadata/ownerReferences/0/kind") == Some(&"Rollout".into());
    let sets = all.iter().filter(|value| value["kind"] == "ReplicaSet" && !is_its(value));
    wrong.extend(
        sets.filter(|set| number(set, "/spec/replicas") != Some(0))
            .map(|set| format!("{} still wants pods", text(set, "/metadata/name"))),
    );
    wrong
}

/// What is wrong with how it is left, when the object of that kind is to select `wanted`.
pub(super) fn left(view: &View, kind: Kind, wanted: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let objects: Vec<Value> = view.objects_of(kind).iter().map(render).collect();
    match objects.iter().find(|object| text(object, "/metadata/name") == "web") {
        None => wrong.push(format!("the {kind} does not exist")),
        Some(web) => {
            if web.pointer("/spec/selector/matchLabels") != Some(wanted) {
                wrong.push(format!("it selects {}", web["spec"]["selector"]));
            }
            if text(web, "/metadata/annotations/team") != "front" {
                wrong.push("it lost its annotations".to_owned());
            }
            let number = |path| web.pointer(path).and_then(Value::as_i64).unwrap_or(0);
            let (available, wanted) = if kind == Kind::DaemonSet {
                (number("/status/numberAvailable"), number("/status/desiredNumberScheduled"))
            } else {
                (number("/status/availableReplicas"), number("/spec/replicas"))
            };
            if available != wanted {
                wrong.push(format!("{available} of {wanted} available"));
            }
        }
    }
    let maps = view.objects_of(Kind::Other);
    let maps = maps.iter().filter(|object| object.kind_name() == "ConfigMap");
    wrong.extend(maps.map(|map| format!("ConfigMap {} is left", map.meta().name)));
    let others = [
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::ReplicaSet,
        Kind::ControllerRevision,
        Kind::Pod,
    ];
    for object in others.into_iter().flat_map(|kind| view.objects_of(kind)) {
        let value = render(&object);
        let meta = &value["metadata"];
        let carries = |member: &str| {
            let all = meta.get(member).and_then(Value::as_object);
            all.is_some_and(|all| all.keys().any(|key| key.starts_with("replank.dev/")))
        };
        if carries("labels") || carries("annotations") {
            wrong
                .push(format!("{} still carries a label or annotation of the migration", object.reference()));
        }
        let is_owned =
            meta.get("ownerReferences").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        let has_pods = value.pointer("/spec/replicas").and_then(Value::as_i64) != Some(0);
        let is_top = object.kind() == kind && object.meta().name.as_str() == "web";
        if !is_top && !is_owned && has_pods {
            wrong.push(format!("{} is nobody's", object.reference()));
        }
    }
    wrong
}
