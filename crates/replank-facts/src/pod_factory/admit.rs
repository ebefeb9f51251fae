//! What the API server makes of a pod before it is stored, as far as its place depends on it.
//!
//! Sources (Kubernetes 1.36): the defaults are those of [`replank_model::admission`]; `plugin/pkg/admission/priority`,
//! `plugin/pkg/admission/storage/storageclass/setdefault`.

use replank_model::admission::{add_default_tolerations, default_pod, prepare_pod_for_create};
use replank_model::object::meta::Key;
use replank_model::object::pod::PreemptionPolicy;
use replank_model::object::policy::PriorityClass;
use replank_model::object::volume::{ClaimPhase, PersistentVolumeClaim};
use replank_model::text::{Name, Text};
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::{Map, Value, json};

use super::SubjectError;

/// Priorities of the classes that every cluster has (`SystemPriorityClasses`).
const SYSTEM_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// Fills in what a pod as submitted leaves out.
pub(super) fn admit(view: &View, pod: &mut Value) -> Result<(), SubjectError> {
    default_pod(pod);
    // The moment is written into conditions, which placing does not read.
    prepare_pod_for_create(pod, Time::from_millis(0));
    let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        add_default_tolerations(spec);
        priority(view, spec).map_err(|why| SubjectError::Forbidden { pod: Name::from(name), why })?;
    }
    Ok(())
}

/// Plugin Priority: the class's value goes into the spec.
fn priority(view: &View, spec: &mut Map<String, Value>) -> Result<(), Text> {
    let class = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, value, policy) = resolve(view, &class)?;
    let given = spec.get("priority").and_then(Value::as_i64);
    if let Some(given) = given.filter(|given| *given != i64::from(value)) {
        return Err(Text::from(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        )));
    }
    if !name.is_empty() {
        spec.insert("priorityClassName".to_owned(), Value::from(&*name));
    }
    spec.insert("priority".to_owned(), json!(value));
    let given = spec.get("preemptionPolicy").and_then(Value::as_str);
    if let Some(given) = given.filter(|given| json!(policy) != **given) {
        return Err(Text::from(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller \
             computed {policy} from the given PriorityClass name"
        )));
    }
    if spec.get("preemptionPolicy").is_none_or(Value::is_null) {
        spec.insert("preemptionPolicy".to_owned(), json!(policy));
    }
    Ok(())
}

fn resolve(view: &View, name: &str) -> Result<(Text, i32, PreemptionPolicy), Text> {
    let found = |class: &PriorityClass| {
        let policy = class.preemption_policy.unwrap_or(PreemptionPolicy::PreemptLowerPriority);
        (class.meta.name.text().clone(), class.value, policy)
    };
    let classes = &view.priority_classes;
    if name.is_empty() {
        // Of several defaults the lowest counts.
        let defaults = classes.unordered().map(|(_, class)| class).filter(|class| class.global_default);
        let default = defaults.min_by(|a, b| (a.value, &a.meta.name).cmp(&(b.value, &b.meta.name)));
        let none = (Text::from(""), 0, PreemptionPolicy::PreemptLowerPriority);
        return Ok(default.map_or(none, |class| found(class)));
    }
    if let Some(class) = classes.by_key(&Key::cluster(name)) {
        return Ok(found(class));
    }
    match SYSTEM_CLASSES.iter().find(|(system, _)| *system == name) {
        Some((_, value)) => Ok((Text::from(name), *value, PreemptionPolicy::PreemptLowerPriority)),
        None => Err(Text::from(format!("no PriorityClass with name {name} was found"))),
    }
}

/// A claim as it is stored: waiting, with the default class if it names none.
pub fn admit_claim(view: &View, claim: &mut PersistentVolumeClaim) {
    if claim.status.phase.is_none() {
        claim.status.phase = Some(ClaimPhase::Pending);
    }
    if claim.spec.storage_class_name.is_none() && claim.spec.volume_name.is_empty() {
        claim.spec.storage_class_name = default_class(view);
    }
}

/// The default storage class: of several the youngest, then the first by name (`GetDefaultClass`).
pub fn default_class(view: &View) -> Option<Name> {
    let is_default = |annotation| annotation == Some("true");
    let classes = view.storage_classes.unordered().map(|(_, class)| class).filter(|class| {
        is_default(class.meta.annotations.value("storageclass.kubernetes.io/is-default-class"))
    });
    let youngest = classes
        .min_by_key(|class| (std::cmp::Reverse(class.meta.creation_timestamp), class.meta.name.clone()));
    youngest.map(|class| class.meta.name.clone())
}
