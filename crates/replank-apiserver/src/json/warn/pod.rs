//! Warnings about pods and templates of pods (`pkg/api/pod/warnings.go`).

use std::collections::BTreeMap;

use replank_model::quantity::Quantity;
use serde_json::Value;

use super::super::members::{list, text};
use super::volumes;

/// Labels of nodes that went out of use, and what is said of them (`pkg/api/node/util.go`).
const LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// Kinds of volumes that went out of use.
const VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// What is said of a pod's or a template's spec; `at` is the path of the spec.
pub(super) fn warnings(at: &str, spec: &Value, told: &mut Vec<String>) {
    for key in spec.get("nodeSelector").and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key) {
        if let Some((_, why)) = LABELS.iter().find(|(known, _)| known == key) {
            told.push(format!("{at}.nodeSelector[{key}]: {why}"));
        }
    }
    for (index, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let at = format!("{at}.topologySpreadConstraints[{index}]");
        let key = text(constraint, "topologyKey");
        if let Some((_, why)) = LABELS.iter().find(|(known, _)| *known == key) {
            told.push(format!("{at}.topologyKey: {key} is {why}"));
        }
        no_selector(constraint, &at, told);
    }
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let known = VOLUMES.iter().find(|(kind, _)| volume.get(*kind).is_some_and(|one| !one.is_null()));
        if let Some((kind, why)) = known {
            let kind = if *kind == "storageos" { "storageOS" } else { kind };
            told.push(format!("{at}.volumes[{index}].{kind}: {why}"));
        }
    }
    volumes::warnings(list(spec, "volumes"), told);
    repeated(spec, at, told);
    for name in ["memory", "ephemeral-storage"] {
        fraction(spec.get("overhead"), name, &format!("{at}.overhead"), told);
    }
    let containers = containers(spec, at);
    for (at, container) in &containers {
        for (part, name) in [
            ("limits", "memory"),
            ("requests", "memory"),
            ("limits", "ephemeral-storage"),
            ("requests", "ephemeral-storage"),
        ] {
            let of = container.get("resources").and_then(|resources| resources.get(part));
            fraction(of, name, &format!("{at}.resources.{part}"), told);
        }
        hidden(container, at, told);
    }
    ports(&containers, told);
    port_names(&containers, told);
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        let why = "must be >= 0; negative values are invalid and will be treated as 1";
        told.push(format!("{at}.terminationGracePeriodSeconds: {why}"));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(of) = spec.get("affinity").and_then(|affinity| affinity.get(kind)) else { continue };
        let at = format!("{at}.affinity.{kind}");
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in list(of, required).iter().enumerate() {
            no_selector(term, &format!("{at}.{required}[{index}]"), told);
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in list(of, preferred).iter().enumerate() {
            let inner = term.get("podAffinityTerm").unwrap_or(&Value::Null);
            no_selector(inner, &format!("{at}.{preferred}[{index}].podAffinityTerm"), told);
        }
    }
}

fn no_selector(term: &Value, at: &str, told: &mut Vec<String>) {
    if term.get("labelSelector").is_none_or(Value::is_null) {
        told.push(format!("{at}.labelSelector: a null labelSelector results in matching no pod"));
    }
}

/// Aliases and secrets that are there twice.
fn repeated(spec: &Value, at: &str, told: &mut Vec<String>) {
    for (name, key) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let items = list(spec, name);
        for (index, item) in items.iter().enumerate() {
            let one = text(item, key);
            if items[..index].iter().any(|before| text(before, key) == one) {
                told.push(format!("{at}.{name}[{index}].{key}: duplicate {key} {one:?}"));
            }
        }
    }
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            told.push(format!("{at}.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
}

/// Bytes that are none as a whole.
fn fraction(of: Option<&Value>, name: &str, at: &str, told: &mut Vec<String>) {
    let Some(given) = of.and_then(|of| of.get(name)).and_then(Value::as_str) else { return };
    if given.parse::<Quantity>().is_ok_and(|quantity| quantity.milli_value() % 1000 != 0) {
        told.push(format!("{at}[{name}]: fractional byte value {given:?} is invalid, must be an integer"));
    }
}

/// All containers, with their paths.
fn containers<'v>(spec: &'v Value, at: &str) -> Vec<(String, &'v Value)> {
    let of = |name: &'static str| {
        list(spec, name).iter().enumerate().map(move |(index, one)| (format!("{at}.{name}[{index}]"), one))
    };
    of("initContainers").chain(of("containers")).chain(of("ephemeralContainers")).collect()
}

/// Variables that take the place of others without naming them.
fn hidden(container: &Value, at: &str, told: &mut Vec<String>) {
    let all = list(container, "env");
    for (index, one) in all.iter().enumerate() {
        let name = text(one, "name");
        if !all[..index].iter().any(|before| text(before, "name") == name) {
            continue;
        }
        let reference = format!("$({name})");
        let value = text(one, "value");
        let has_source = one.get("valueFrom").is_some_and(|from| !from.is_null());
        if has_source || value == reference || !value.contains(&reference) {
            told.push(format!(
                "{at}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

fn ports(containers: &[(String, &Value)], told: &mut Vec<String>) {
    let number = |port: &Value, name: &str| port.get(name).and_then(Value::as_i64).unwrap_or(0);
    let mut known: BTreeMap<(i64, &str), Vec<(String, &Value)>> = BTreeMap::new();
    for (at, container) in containers {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let at = format!("{at}.ports[{index}]");
            let (address, on_host) = (text(port, "hostIP"), number(port, "hostPort"));
            if !address.is_empty() && on_host == 0 {
                told.push(format!(
                    "{at}: hostIP set without hostPort: {{Name:{} HostPort:{on_host} ContainerPort:{} Protocol:{} HostIP:{address}}}",
                    text(port, "name"),
                    number(port, "containerPort"),
                    text(port, "protocol")
                ));
            }
            let others = known.entry((number(port, "containerPort"), text(port, "protocol"))).or_default();
            for (other_at, other) in others.iter() {
                let (other_address, other_port) = (text(other, "hostIP"), number(other, "hostPort"));
                let how = if address == other_address && on_host == other_port {
                    "duplicate"
                } else if on_host == 0 || other_port == 0 {
                    "overlapping"
                } else if on_host == other_port && address.is_empty() != other_address.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                told.push(format!("{at}: {how} port definition with {other_at}"));
            }
            others.push((at, port));
        }
    }
}

fn port_names(containers: &[(String, &Value)], told: &mut Vec<String>) {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    for (at, container) in containers {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let (name, at) = (text(port, "name"), format!("{at}.ports[{index}]"));
            match known.get(name) {
                _ if name.is_empty() => {}
                Some(other) => told.push(format!(
                    "{at}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
                )),
                None => drop(known.insert(name, at)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a test writes it where it is needed")]
    fn told(spec: Value) -> Vec<String> {
        let mut told = Vec::new();
        warnings("spec", &spec, &mut told);
        told
    }

    #[test]
    fn what_a_pod_is_warned_of() {
        let spec = json!({"terminationGracePeriodSeconds": -1, "topologySpreadConstraints": [{"topologyKey": "zone"}],
            "imagePullSecrets": [{"name": "a"}, {"name": "a"}], "containers": [
                {"name": "a", "ports": [{"name": "p", "containerPort": 80, "protocol": "TCP"}], "env": [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}],
                    "resources": {"requests": {"memory": "100m"}}},
                {"name": "b", "ports": [{"name": "p", "containerPort": 80, "protocol": "TCP"}]}]});
        assert_eq!(
            told(spec),
            [
                "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
                "spec.imagePullSecrets[1].name: duplicate name \"a\"",
                "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\" is invalid, must be an integer",
                "spec.containers[0].env[1]: hides previous definition of \"X\", which may be dropped when using apply",
                "spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]",
                "spec.containers[1].ports[0]: duplicate port name \"p\" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]",
                "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
            ]
        );
    }
}
