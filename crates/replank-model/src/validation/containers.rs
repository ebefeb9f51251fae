//! Containers, init containers and ephemeral containers (`validateContainers`, `validateInitContainers`,
//! `validateEphemeralContainers`).

use std::collections::BTreeSet;

use super::error::{Causes, Shown};
use super::field::Field;
use super::{env, mounts, names, pod, probes, resources, security};

pub(super) use super::around::{Around, visit};

/// All containers of a spec.
pub(super) fn all(spec: &Field<'_>, around: &Around<'_>, causes: &mut Causes) {
    let names =
        |list: &str| spec.child(list).items().map(|container| container.child("name").text()).collect();
    regular(&spec.child("containers"), around, causes);
    let mut taken: BTreeSet<&str> = names("containers");
    let init: BTreeSet<&str> = names("initContainers");
    initial(&spec.child("initContainers"), &mut taken.clone(), around, causes);
    taken.extend(init);
    ephemeral(&spec.child("ephemeralContainers"), &taken, around, causes);
}

fn regular(field: &Field<'_>, around: &Around<'_>, causes: &mut Causes) {
    if field.is_empty() {
        return causes.required(&field.path, "");
    }
    let mut taken = BTreeSet::new();
    for container in field.items() {
        common(&container, around, causes);
        let name = container.child("name");
        if !taken.insert(name.text()) {
            causes.duplicate(&name.path, Shown::text(name.text()));
        }
        if let Some(lifecycle) = container.child("lifecycle").set() {
            probes::lifecycle(&lifecycle, around, causes);
        }
        probes::all(&container, around, causes);
        restart_policy(&container, causes);
    }
    host_ports(field.items(), &mut BTreeSet::new(), causes);
}

fn initial<'a>(field: &Field<'a>, taken: &mut BTreeSet<&'a str>, around: &Around<'_>, causes: &mut Causes) {
    for container in field.items() {
        common(&container, around, causes);
        let policy = container.child("restartPolicy");
        if policy.is_set() {
            restart_policy(&container, causes);
        } else if !container.child("restartPolicyRules").is_empty() {
            causes.required(&policy.path, "must specify restartPolicy when restart rules are used");
        }
        let name = container.child("name");
        if taken.contains(name.text()) {
            causes.duplicate(&name.path, Shown::text(name.text()));
        } else if !name.is_empty() {
            taken.insert(name.text());
        }
        // They run one by one, so each is alone with its ports; upstream calls each the first.
        let alone = container.moved(format!("{}[0]", field.path));
        host_ports([alone].into_iter(), &mut BTreeSet::new(), causes);
        if policy.text() == "Always" {
            if let Some(lifecycle) = container.child("lifecycle").set() {
                probes::lifecycle(&lifecycle, around, causes);
            }
            probes::all(&container, around, causes);
            continue;
        }
        for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if let Some(member) = container.child(name).set() {
                let why = "may not be set for init containers without restartPolicy=Always";
                causes.forbidden(member.path, why);
            }
        }
        for resize in container.child("resizePolicy").items() {
            let policy = resize.child("restartPolicy");
            if policy.text() == "RestartContainer" {
                let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                causes.invalid(&policy.path, Shown::word(policy.text()), why);
            }
        }
    }
}

/// Members that an ephemeral container may not have, in the order of the Go struct.
const NOT_EPHEMERAL: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

fn ephemeral(field: &Field<'_>, others: &BTreeSet<&str>, around: &Around<'_>, causes: &mut Causes) {
    let mut taken: BTreeSet<&str> = others.clone();
    for container in field.items() {
        common(&container, around, causes);
        only_in_pods(&container, causes);
        let name = container.child("name");
        if !taken.insert(name.text()) {
            causes.duplicate(&name.path, Shown::text(name.text()));
        }
        let target = container.child("targetContainerName");
        if !target.is_empty() && !others.contains(target.text()) {
            causes.not_found(&target.path, target.text(), "");
        }
        for member in NOT_EPHEMERAL.map(|name| container.child(name)) {
            // Resources are no pointer upstream: an empty object is as good as none.
            if member.is_set()
                && !(member.value.is_object() && member.is_empty() && member.path.ends_with("resources"))
            {
                causes.forbidden(member.path, "cannot be set for an Ephemeral Container");
            }
        }
        for mount in container.child("volumeMounts").items() {
            for path in ["subPath", "subPathExpr"].map(|name| mount.child(name)) {
                if !path.is_empty() {
                    causes.forbidden(path.path, "cannot be set for an Ephemeral Container");
                }
            }
        }
    }
}

/// What holds for all containers (`validateContainerCommon`).
fn common(container: &Field<'_>, around: &Around<'_>, causes: &mut Causes) {
    let name = container.child("name");
    if name.is_empty() {
        causes.required(&name.path, "");
    } else {
        names::label_at(&name, causes);
    }
    let image = container.child("image");
    if image.is_empty() {
        causes.required(image.path, "");
    }
    let known = ["File", "FallbackToLogsOnError"];
    pod::one_of(&container.child("terminationMessagePolicy"), &known, causes);
    ports(&container.child("ports"), causes);
    env::variables(&container.child("env"), causes);
    env::sources(&container.child("envFrom"), causes);
    mounts::mounts(container, around.volumes, causes);
    mounts::devices(container, around.volumes, causes);
    pod::one_of(&container.child("imagePullPolicy"), &["Always", "IfNotPresent", "Never"], causes);
    resources::of_container(&container.child("resources"), &around.claims, causes);
    resize_policy(&container.child("resizePolicy"), around.restart_policy, causes);
    security::of_container(&container.child("securityContext"), around.host_users, causes);
}

/// What holds in pods and not in templates (`validateContainerOnlyForPod`).
pub(super) fn only_in_pods(container: &Field<'_>, causes: &mut Causes) {
    let image = container.child("image");
    if image.text().trim() != image.text() {
        let why = "must not have leading or trailing whitespace";
        causes.invalid(&image.path, Shown::text(image.text()), why);
    }
}

fn ports(field: &Field<'_>, causes: &mut Causes) {
    let mut taken = BTreeSet::new();
    for port in field.items() {
        let name = port.child("name");
        if !name.is_empty() {
            let problems = names::port_name(name.text());
            if !problems.is_empty() {
                causes.broken_rules(&name.path, name.text(), problems);
            } else if !taken.insert(name.text()) {
                causes.duplicate(&name.path, Shown::text(name.text()));
            }
        }
        let inside = port.child("containerPort");
        if inside.number_or_zero() == 0 {
            causes.required(&inside.path, "");
        }
        for number in [inside, port.child("hostPort")] {
            let value = number.number_or_zero();
            if value != 0 {
                for rule in names::port_number(value) {
                    causes.invalid(&number.path, Shown::plain(value), rule);
                }
            }
        }
        let protocol = port.child("protocol");
        match protocol.text() {
            "" => causes.required(&protocol.path, ""),
            "TCP" | "UDP" | "SCTP" => {}
            word => causes.not_supported(&protocol.path, Shown::word(word), &["SCTP", "TCP", "UDP"]),
        }
    }
}

/// Ports of the host, which only one can have (`AccumulateUniqueHostPorts`).
fn host_ports<'a>(
    containers: impl Iterator<Item = Field<'a>>,
    taken: &mut BTreeSet<String>,
    causes: &mut Causes,
) {
    for port in containers.flat_map(|container| container.child("ports").items()) {
        let host = port.child("hostPort");
        let number = host.number_or_zero();
        if number == 0 {
            continue;
        }
        let words = format!("{}/{}/{number}", port.child("protocol").text(), port.child("hostIP").text());
        if !taken.insert(words.clone()) {
            causes.duplicate(host.path, Shown::text(&words));
        }
    }
}

fn resize_policy(field: &Field<'_>, pod_policy: &str, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for one in field.items() {
        let (resource, policy) = (one.child("resourceName").text(), one.child("restartPolicy").text());
        if !seen.insert(resource) {
            causes.duplicate(&one.path, Shown::word(resource));
        }
        for (word, known) in [(resource, ["cpu", "memory"]), (policy, ["NotRequired", "RestartContainer"])] {
            pod::one_of(&Field::new(&*field.path, &word.into()), &known, causes);
        }
        if pod_policy == "Never" && policy != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            causes.invalid(&field.path, Shown::word(policy), why);
        }
    }
}

/// When a container by itself is started again (`validateContainerRestartPolicy`).
fn restart_policy(container: &Field<'_>, causes: &mut Causes) {
    let policy = container.child("restartPolicy");
    let rules = container.child("restartPolicyRules");
    if !policy.is_set() {
        if rules.is_empty() {
            return;
        }
        causes.required(&policy.path, "must specify restartPolicy when restart rules are used");
    } else if !matches!(policy.text(), "Always" | "Never" | "OnFailure") {
        let known = ["Always", "Never", "OnFailure"];
        causes.not_supported(&policy.path, Shown::word(policy.text()), &known);
    }
    if rules.len() > 20 {
        causes.too_many(&rules.path, rules.len(), 20);
    }
    for rule in rules.items() {
        let action = rule.child("action");
        if !matches!(action.text(), "Restart" | "RestartAllContainers") {
            let known = ["Restart", "RestartAllContainers"];
            causes.not_supported(&action.path, Shown::word(action.text()), &known);
        }
        let codes = rule.child("exitCodes");
        if !codes.is_set() {
            causes.required(codes.path, "must be specified");
            continue;
        }
        let operator = codes.child("operator");
        if !matches!(operator.text(), "In" | "NotIn") {
            causes.not_supported(&operator.path, Shown::word(operator.text()), &["In", "NotIn"]);
        }
        let values = codes.child("values");
        if values.len() > 255 {
            causes.too_many(&values.path, values.len(), 255);
        }
    }
}

/// Files that variables are read from lie in empty directories (`validateFileKeyRefVolumes`).
pub(super) fn files_of_variables(spec: &Field<'_>, causes: &mut Causes) {
    for variable in visit(spec).flat_map(|container| container.child("env").items()) {
        let Some(reference) = variable.child("valueFrom").child("fileKeyRef").set() else { continue };
        let name = reference.child("volumeName");
        // Of volumes with one name, the last counts.
        let volumes =
            spec.child("volumes").items().filter(|volume| volume.child("name").text() == name.text());
        match volumes.last() {
            None => causes.not_found(&name.path, name.text(), ""),
            Some(volume) if !volume.child("emptyDir").is_set() => {
                let why = "referenced volume must be of type emptyDir";
                causes.invalid(&name.path, Shown::text(name.text()), why);
            }
            Some(_) => {}
        }
    }
}
