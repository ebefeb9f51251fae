//! Remedies as they are pasted: YAML for the pod's spec, commands for everything else.

use replank_model::object::affinity::{PodAffinityTerm, Taint, TolerationOperator};
use replank_model::object::pod::PodSpec;
use serde_json::{Value, json};

use super::amount::amount;
use super::change::{Change, Required, Shown};
use super::edit::{lowered, toleration};
use super::remedy::Remedy;

impl Remedy {
    /// Lines to paste: commands begin with `kubectl`, what belongs into a pod's spec is YAML.
    #[must_use]
    pub fn paste(&self, spec: &PodSpec) -> Vec<String> {
        let (mut selector, mut tolerations, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for change in &self.changes {
            match change {
                Change::Tolerate(taint) => tolerations.push(flow(taint)),
                Change::Select { key, to, .. } => selector.push(format!("{key}: {to:?}")),
                Change::Unselect { key, .. } => selector.push(format!("{key}: null")),
                other => others.extend(lines(other, spec)),
            }
        }
        let selector = (!selector.is_empty()).then(|| format!("nodeSelector: {{{}}}", selector.join(", ")));
        let tolerations =
            (!tolerations.is_empty()).then(|| format!("tolerations: [{}]", tolerations.join(", ")));
        selector.into_iter().chain(tolerations).chain(others).collect()
    }
}

fn lines(change: &Change, spec: &PodSpec) -> Vec<String> {
    let one = |line: String| vec![line];
    match change {
        // These are gathered.
        Change::Tolerate(_) | Change::Select { .. } | Change::Unselect { .. } => Vec::new(),
        Change::Admit { key, value, .. } => {
            let values = values_of(spec, key);
            let values: Vec<String> = values.into_iter().chain([value.to_string()]).collect();
            one(format!("- {{key: {key}, operator: In, values: [{}]}}", values.join(", ")))
        }
        Change::Unrequire { requirement, .. } => one(format!(
            "# take out of requiredDuringSchedulingIgnoredDuringExecution: {}",
            Required(requirement)
        )),
        Change::UnrequireAll => {
            one("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: null}}".to_owned())
        }
        Change::PreferApart { term, .. } => {
            let away = spec.affinity.as_deref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
            away.map_or(Vec::new(), |away| preferred("podAntiAffinity", away.required.get(*term).into_iter()))
        }
        Change::PreferNear => {
            let near = spec.affinity.as_deref().and_then(|affinity| affinity.pod_affinity.as_ref());
            near.map_or(Vec::new(), |near| preferred("podAffinity", near.required.iter()))
        }
        Change::Request { resource, from, to } => match lowered(spec, resource, from - to) {
            Some((container, left)) => {
                let left = amount(resource, left);
                one(format!(
                    "containers: [{{name: {container}, resources: {{requests: {{{resource}: {left}}}}}}}]"
                ))
            }
            None => one(format!("resources: {{requests: {{{resource}: {}}}}}", amount(resource, *to))),
        },
        Change::ReleasePort { port, .. } => one(format!("# take hostPort: {port} out of ports")),
        Change::Skew { topology_key, to, .. } => {
            one(format!("topologySpreadConstraints: [{{topologyKey: {topology_key}, maxSkew: {to}}}]"))
        }
        Change::SpreadAnyway { topology_key, .. } => one(format!(
            "topologySpreadConstraints: [{{topologyKey: {topology_key}, whenUnsatisfiable: ScheduleAnyway}}]"
        )),
        Change::MakeClaim { claim, class } => {
            let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim.name, "namespace": claim.namespace},
                "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "10Gi"}}}});
            one(format!("kubectl apply -f - <<< '{claim}'   # with the size that it takes"))
        }
        Change::Reclass { claim, to, .. } => one(format!(
            "storageClassName: {to}   # of the claim; one that is there goes first: kubectl -n {} delete pvc {}",
            claim.namespace, claim.name
        )),
        Change::RenewClaim { claim, .. } => {
            one(format!("kubectl -n {} delete pvc {}   # then make it anew", claim.namespace, claim.name))
        }
        Change::Prioritize { class, .. } => one(format!("priorityClassName: {class}")),
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

/// Terms that were required, as preferences. JSON is YAML.
fn preferred<'a>(kind: &str, terms: impl Iterator<Item = &'a PodAffinityTerm>) -> Vec<String> {
    let terms: Vec<Value> = terms.map(|term| json!({"weight": 100, "podAffinityTerm": term})).collect();
    let terms = Value::Array(terms);
    vec![format!("affinity: {{{kind}: {{preferredDuringSchedulingIgnoredDuringExecution: {terms}}}}}")]
}

fn flow(taint: &Taint) -> String {
    let toleration = toleration(taint);
    let value = if taint.value.is_empty() { String::new() } else { format!(", value: {:?}", &*taint.value) };
    let operator = toleration.operator.map_or("Equal", |operator| match operator {
        TolerationOperator::Exists => "Exists",
        TolerationOperator::Equal | TolerationOperator::Lt | TolerationOperator::Gt => "Equal",
    });
    format!("{{key: {}, operator: {operator}{value}, effect: {}}}", taint.key, taint.effect)
}

fn values_of(spec: &PodSpec, key: &str) -> Vec<String> {
    let affinity = spec.affinity.as_deref().and_then(|affinity| affinity.node_affinity.as_ref());
    let terms = affinity.and_then(|affinity| affinity.required.as_ref());
    let mut all =
        terms.iter().flat_map(|required| &required.node_selector_terms).flat_map(|t| &t.match_expressions);
    let found = all.find(|requirement| &*requirement.key == key);
    found.map_or(Vec::new(), |requirement| requirement.values.iter().map(ToString::to_string).collect())
}
