//! Pod specs on the wire: taking out what differs between siblings, and putting it back.
//!
//! Three things make the specs of one template's pods differ in a dump: the node, the name of the generated token
//! volume, and, for DaemonSets, the node's name inside required affinity (pkg/controller/daemon/util
//! `ReplaceDaemonSetPodNodeNameNodeAffinity`). Without them the specs are equal and one copy serves all.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::object::pod::{Pod, PodSpec};
use crate::object::render::{merge, subtract};
use crate::reader::{self, Wrong};
use crate::text::{NodeName, Text};
use crate::tree::{self, Parser, Taken};

/// What a pod has of its own in its spec.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Own {
    pub(super) node: Option<NodeName>,
    pub(super) pin: Option<NodeName>,
    pub(super) token: Option<Text>,
}

/// Takes the pod's own parts out of a spec.
pub(super) fn split(spec: &mut Map<String, Value>) -> Own {
    let node = match spec.remove("nodeName") {
        Some(Value::String(node)) if !node.is_empty() => Some(NodeName::from(node)),
        _ => None,
    };
    Own { node, pin: take_pin(spec), token: take_token(spec) }
}

/// Puts the pod's own parts back into a spec.
pub(super) fn join(spec: &mut Map<String, Value>, own: &Own) {
    if let Some(node) = &own.node {
        spec.insert("nodeName".into(), Value::from(node.as_str()));
    }
    if let Some(pin) = &own.pin {
        let field = serde_json::json!([{"key": "metadata.name", "operator": "In", "values": [pin.as_str()]}]);
        for term in required_terms(spec).into_iter().flatten() {
            if let Value::Object(term) = term {
                term.insert("matchFields".into(), field.clone());
            }
        }
    }
    if let Some(token) = &own.token {
        rename_token_volume(spec, TOKEN_VOLUME, &format!("{TOKEN_VOLUME}-{token}"));
    }
}

/// A typed spec from JSON that has no parts of a pod's own.
pub(super) fn spec_from_value(mut value: Value) -> Result<PodSpec, Wrong> {
    crate::wire::strip_nulls(&mut value);
    let mut spec: PodSpec = reader::read(&value)?;
    if let Ok(typed) = serde_json::to_value(&spec) {
        subtract(&mut value, &typed);
    }
    if value.as_object().is_some_and(|rest| !rest.is_empty()) {
        spec.raw = Some(Arc::from(value.to_string()));
    }
    Ok(spec)
}

/// The JSON of a shared spec.
pub(super) fn spec_to_value(spec: &PodSpec) -> Value {
    let rest = spec.raw.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let mut value = rest.unwrap_or_else(|| Value::Object(Map::new()));
    if let Ok(typed) = serde_json::to_value(spec) {
        merge(&mut value, typed);
    }
    value
}

/// A pod's spec, as the API's JSON in which the pod's own parts are, in the member `spec` of an object without any other; and what becomes of it where
/// it is changed: the spec, the node, and the suffix of the token volume. What nobody models is left as it is.
///
/// # Errors
/// What the change fails with.
///
/// # Panics
/// If the change leaves what is no spec.
pub fn change_spec<E>(
    pod: &Pod,
    change: impl FnOnce(&mut Value) -> Result<(), E>,
) -> Result<(PodSpec, Option<NodeName>, Option<Text>), E> {
    let mut value = Value::Object(Map::from_iter([("spec".to_owned(), own_spec(pod))]));
    change(&mut value)?;
    let Value::Object(mut members) = value["spec"].take() else { panic!("a spec is an object") };
    let Own { node, pin: _, token } = split(&mut members);
    let value = Value::Object(members);
    let spec = spec_from_text(&value.to_string());
    debug_assert!(
        spec.as_ref().is_none_or(|spec| spec_from_value(value.clone()).is_ok_and(|read| read == *spec)),
        "text is read to the same"
    );
    let spec = match spec {
        Some(spec) => spec,
        None => spec_from_value(value).expect("a spec that was rendered can be read"),
    };
    Ok((spec, node, token))
}

/// As [`spec_from_value`], from text, which takes half the time; `None` if it is unusual.
fn spec_from_text(text: &str) -> Option<PodSpec> {
    let tree = Parser::new(text)?.object(&mut |_, _, _| Taken::Not)?;
    let mut spec: PodSpec = tree::read(tree.root()).ok()?;
    tree::say(tree.root(), &spec).ok()?;
    spec.raw = tree::rest(tree.root()).map(Arc::from);
    Some(spec)
}

/// The JSON of a pod's spec.
pub(super) fn own_spec(pod: &Pod) -> Value {
    let mut spec = spec_to_value(&pod.spec);
    if let Value::Object(members) = &mut spec {
        join(members, &Own { node: pod.node.clone(), pin: pod.pin.clone(), token: pod.token.clone() });
    }
    spec
}

/// `#[serde(with)]` for a template's spec.
pub(super) mod shared_spec {
    use std::sync::Arc;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use crate::object::pod::PodSpec;

    pub(crate) fn serialize<S: Serializer>(spec: &Arc<PodSpec>, serializer: S) -> Result<S::Ok, S::Error> {
        super::spec_to_value(spec).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<PodSpec>, D::Error> {
        let value = Value::deserialize(deserializer)?;
        super::spec_from_value(value).map(Arc::new).map_err(D::Error::custom)
    }
}

/// Name of the token volume, less its generated suffix (plugin/pkg/admission/serviceaccount).
pub(super) const TOKEN_VOLUME: &str = "kube-api-access";

fn take_token(spec: &mut Map<String, Value>) -> Option<Text> {
    let volumes = spec.get("volumes")?.as_array()?;
    let full = volumes.iter().find_map(|volume| {
        let name = volume.get("name")?.as_str()?;
        let suffix = name.strip_prefix(TOKEN_VOLUME)?.strip_prefix('-')?;
        (volume.get("projected").is_some() && suffix.len() == 5).then(|| name.to_owned())
    })?;
    let suffix = Text::from(&full[TOKEN_VOLUME.len() + 1..]);
    rename_token_volume(spec, &full, TOKEN_VOLUME);
    Some(suffix)
}

fn rename_token_volume(spec: &mut Map<String, Value>, from: &str, to: &str) {
    let rename = |item: &mut Value| {
        if let Some(name) = item.get_mut("name").filter(|name| name.as_str() == Some(from)) {
            *name = Value::from(to);
        }
    };
    if let Some(Value::Array(volumes)) = spec.get_mut("volumes") {
        volumes.iter_mut().for_each(rename);
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let Some(Value::Array(containers)) = spec.get_mut(list) else { continue };
        for container in containers {
            if let Some(Value::Array(mounts)) = container.get_mut("volumeMounts") {
                mounts.iter_mut().for_each(rename);
            }
        }
    }
}

/// How often a token volume without a pod's letters is named among values, at any depth.
pub(super) fn token_volumes<'v>(values: impl Iterator<Item = &'v Value>) -> usize {
    let named = |value: &Value| match value {
        Value::String(text) => usize::from(text == TOKEN_VOLUME),
        Value::Array(items) => token_volumes(items.iter()),
        Value::Object(members) => {
            members.keys().filter(|key| *key == TOKEN_VOLUME).count() + token_volumes(members.values())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    values.map(named).sum()
}

fn take_pin(spec: &mut Map<String, Value>) -> Option<NodeName> {
    let terms = required_terms(spec)?;
    let mut pin: Option<String> = None;
    for term in terms.iter() {
        let name = pinned_name(term)?;
        if pin.as_deref().is_some_and(|pin| pin != name) {
            return None;
        }
        pin = Some(name.to_owned());
    }
    for term in terms {
        if let Value::Object(term) = term {
            term.remove("matchFields");
        }
    }
    pin.map(NodeName::from)
}

/// The node's name if a term's fields are exactly `metadata.name In [name]`.
fn pinned_name(term: &Value) -> Option<&str> {
    let [field] = term.get("matchFields")?.as_array()?.as_slice() else { return None };
    let [name] = field.get("values")?.as_array()?.as_slice() else { return None };
    let is_name = field.get("key")?.as_str()? == "metadata.name" && field.get("operator")?.as_str()? == "In";
    if is_name { name.as_str() } else { None }
}

fn required_terms(spec: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    spec.get_mut("affinity")?
        .get_mut("nodeAffinity")?
        .get_mut("requiredDuringSchedulingIgnoredDuringExecution")?
        .get_mut("nodeSelectorTerms")?
        .as_array_mut()
}
