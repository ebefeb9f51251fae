//! Remedies as they are pasted: YAML for the pod's spec, commands for everything else.
//!
//! The YAML is a patch as `kubectl patch` takes it: maps hold what changes, `null` takes out, lists are whole; containers
//! alone are merged by name.

use replank_facts::why::Shown;
use replank_model::object::affinity::{TaintEffect, Toleration};
use replank_model::object::pod::PodSpec;
use serde_json::{Map, Value, json};

use super::change::Change;
use super::edit;
use super::remedy::Remedy;

/// Members that come first, in this order; the others follow by name.
const FIRST: [&str; 9] =
    ["name", "key", "operator", "value", "values", "effect", "maxSkew", "topologyKey", "whenUnsatisfiable"];

impl Remedy {
    /// Lines to paste: commands begin with `kubectl`, what belongs into a pod's spec is YAML.
    #[must_use]
    pub fn paste(&self, spec: &PodSpec) -> Vec<String> {
        let after = edit::spec(spec, &self.changes);
        let patch = after.map_or(Vec::new(), |after| patch(spec, &after));
        let yaml = patch.iter().map(|(key, value)| {
            let remark = match *key {
                "containers" | "initContainers" => "   # kubectl patch merges containers by name",
                _ if has_null(value) => "   # null removes it in kubectl patch",
                _ => "",
            };
            format!("{key}: {}{remark}", flow(value))
        });
        yaml.chain(self.changes.iter().flat_map(lines)).collect()
    }
}

/// What a patch of the pod's spec says, by member.
pub(super) fn patch(before: &PodSpec, after: &PodSpec) -> Vec<(&'static str, Value)> {
    let spread = |spec: &PodSpec| as_written(json!(spec.topology_spread_constraints));
    let attraction = |spec: &PodSpec| as_written(json!(spec.affinity.as_deref()));
    let maps = [
        ("nodeSelector", json!(before.node_selector), json!(after.node_selector)),
        ("tolerations", json!(own(&before.tolerations)), json!(own(&after.tolerations))),
        ("affinity", attraction(before), attraction(after)),
        ("topologySpreadConstraints", spread(before), spread(after)),
        ("resources", json!(before.resources), json!(after.resources)),
        ("priorityClassName", json!(before.priority_class_name), json!(after.priority_class_name)),
    ];
    let mut patch: Vec<(&'static str, Value)> = maps
        .into_iter()
        .filter_map(|(key, before, after)| Some((key, difference(&before, &after)?)))
        .collect();
    let changed: Vec<Value> = before
        .containers
        .iter()
        .zip(&after.containers)
        .filter_map(|(before, after)| {
            let resources = difference(&json!(before.resources), &json!(after.resources))?;
            Some(json!({"name": after.name, "resources": resources}))
        })
        .collect();
    if !changed.is_empty() {
        patch.push(("containers", Value::Array(changed)));
    }
    patch
}

/// The patch (RFC 7386) from one value to another.
fn difference(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return Some(after.clone()) };
    let gone = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let other = after.iter().filter_map(|(key, value)| {
        let known = before.get(key).unwrap_or(&Value::Null);
        Some((key.clone(), difference(known, value)?))
    });
    Some(Value::Object(gone.chain(other).collect()))
}

/// Tolerations less those that admission adds (plugin DefaultTolerationSeconds).
fn own(tolerations: &[Toleration]) -> Vec<&Toleration> {
    const ADDED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    let is_added = |one: &&Toleration| {
        ADDED.contains(&&*one.key)
            && one.effect == Some(TaintEffect::NoExecute)
            && one.toleration_seconds == Some(300)
    };
    tolerations.iter().filter(|one| !is_added(one)).collect()
}

/// Terms and constraints less what admission writes into their selectors for `matchLabelKeys`.
fn as_written(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = as_written(item.take())),
        Value::Object(members) => {
            let lists = ["matchLabelKeys", "mismatchLabelKeys"].iter().filter_map(|list| members.get(*list));
            let keys: Vec<Value> =
                lists.filter_map(Value::as_array).flat_map(|keys| keys.iter().cloned()).collect();
            if let Some(Value::Object(selector)) = members.get_mut("labelSelector")
                && let Some(Value::Array(expressions)) = selector.get_mut("matchExpressions")
            {
                expressions.retain(|expression| !keys.contains(&expression["key"]));
                if expressions.is_empty() {
                    selector.remove("matchExpressions");
                }
            }
            members.values_mut().for_each(|member| *member = as_written(member.take()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    value
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().any(has_null),
        Value::Array(items) => items.iter().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// YAML in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => format!("{{{}}}", flow_members(members)),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => word(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn flow_members(members: &Map<String, Value>) -> String {
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_by_key(|(key, _)| (rank(key), key.as_str()));
    let texts: Vec<String> =
        sorted.into_iter().map(|(key, value)| format!("{}: {}", word(key), flow(value))).collect();
    texts.join(", ")
}

/// In quotes unless it can be read as nothing but text.
fn word(text: &str) -> String {
    let is_of_words =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/');
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_amount = text.strip_suffix('m').or_else(|| text.strip_suffix('i')).is_some_and(|digits| {
        let digits = digits.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or(digits);
        !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit())
    });
    let is_other =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&&*text.to_ascii_lowercase());
    let is_plain = is_amount || (begins && text.chars().all(is_of_words) && !is_other);
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// What is done elsewhere than in the pod's spec, or cannot be said by a patch.
fn lines(change: &Change) -> Vec<String> {
    let one = |line: String| vec![line];
    match change {
        // These are in the patch.
        Change::Tolerate(_)
        | Change::Select { .. }
        | Change::Unselect { .. }
        | Change::Admit { .. }
        | Change::Unrequire { .. }
        | Change::UnrequireAll
        | Change::PreferApart { .. }
        | Change::PreferNear
        | Change::Request { .. }
        | Change::Skew { .. }
        | Change::SpreadAnyway { .. }
        | Change::Prioritize { .. } => Vec::new(),
        Change::ReleasePort { port, .. } => one(format!("# remove hostPort: {port} from ports")),
        Change::MakeClaim { claim, class } => {
            let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim.name, "namespace": claim.namespace},
                "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "10Gi"}}}});
            one(format!("kubectl apply -f - <<< '{claim}'   # with the size it needs"))
        }
        Change::Reclass { claim, to, .. } => one(format!(
            "storageClassName: {to}   # of the claim; delete the existing one first: kubectl -n {} delete pvc {}",
            claim.namespace, claim.name
        )),
        Change::RenewClaim { claim, .. } => {
            one(format!("kubectl -n {} delete pvc {}   # then recreate it", claim.namespace, claim.name))
        }
        Change::Label { node, key, to, .. } => {
            one(format!("kubectl label node {node} {key}={to} --overwrite"))
        }
        Change::Unlabel { node, key } => one(format!("kubectl label node {node} {key}-")),
        Change::Uncordon { node } => one(format!("kubectl uncordon {node}")),
        Change::Untaint { node, taint } => one(format!("kubectl taint node {node} {}-", Shown(taint))),
        Change::Free { node, .. } => {
            one(format!("kubectl get pods -A --field-selector spec.nodeName={node}"))
        }
        Change::AddNode { .. } | Change::Enlarge { .. } => Vec::new(),
    }
}
