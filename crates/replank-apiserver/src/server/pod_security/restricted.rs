//! Checks of the level `restricted` (pod-security-admission `policy/check_*.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::words::{Pod, Violation, containers, member, plural, quoted, quoted_set, setters, text};

fn found(reason: &'static str, detail: String) -> Option<Violation> {
    Some(Violation { reason, detail })
}

pub(super) fn escalation(pod: Pod<'_>) -> Option<Violation> {
    let is_bad =
        |container: &&Value| member(container, "allowPrivilegeEscalation") != Some(&Value::Bool(false));
    let names: Vec<&str> = pod.containers().filter(is_bad).map(|container| text(container, "name")).collect();
    if names.is_empty() {
        return None;
    }
    let who = containers(&names);
    found(
        "allowPrivilegeEscalation != false",
        format!("{who} must set securityContext.allowPrivilegeEscalation=false"),
    )
}

pub(super) fn escalation_1_25(pod: Pod<'_>) -> Option<Violation> {
    if pod.is_windows() { None } else { escalation(pod) }
}

pub(super) fn capabilities(pod: Pod<'_>) -> Option<Violation> {
    let (mut keeping, mut adding, mut added) = (Vec::new(), Vec::new(), BTreeSet::new());
    for container in pod.containers() {
        let name = text(container, "name");
        let list = |list: &str| -> Vec<&str> {
            let all =
                member(container, "capabilities").and_then(|all| all.get(list)).and_then(Value::as_array);
            all.into_iter().flatten().filter_map(Value::as_str).collect()
        };
        if !list("drop").contains(&"ALL") {
            keeping.push(name);
        }
        let bad: Vec<&str> = list("add").into_iter().filter(|one| *one != "NET_BIND_SERVICE").collect();
        if !bad.is_empty() {
            adding.push(name);
            added.extend(bad);
        }
    }
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details
            .push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&keeping)));
    }
    if !adding.is_empty() {
        let who = containers(&adding);
        details.push(format!(
            "{who} must not include {} in securityContext.capabilities.add",
            quoted_set(&added)
        ));
    }
    if details.is_empty() { None } else { found("unrestricted capabilities", details.join("; ")) }
}

pub(super) fn capabilities_1_25(pod: Pod<'_>) -> Option<Violation> {
    if pod.is_windows() { None } else { capabilities(pod) }
}

/// Kinds of volumes that are allowed.
const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
/// Kinds of volumes that are not, in the order in which they are looked for.
const RESTRICTED_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "portworxVolume",
    "photonPersistentDisk",
    "scaleIO",
    "storageos",
];

pub(super) fn volumes(pod: Pod<'_>) -> Option<Violation> {
    let has = |volume: &Value, kind: &str| volume.get(kind).is_some_and(|source| !source.is_null());
    let mut kinds = BTreeSet::new();
    let mut names = Vec::new();
    for volume in pod.spec.get("volumes").and_then(Value::as_array).into_iter().flatten() {
        if VOLUMES.iter().any(|kind| has(volume, kind)) {
            continue;
        }
        names.push(text(volume, "name"));
        kinds.insert(RESTRICTED_VOLUMES.into_iter().find(|kind| has(volume, kind)).unwrap_or("unknown"));
    }
    if names.is_empty() {
        return None;
    }
    let (what, uses) = (plural("volume", "volumes", names.len()), plural("uses", "use", names.len()));
    let kind = plural("restricted volume type", "restricted volume types", kinds.len());
    found(
        "restricted volume types",
        format!("{what} {} {uses} {kind} {}", quoted(&names), quoted_set(&kinds)),
    )
}

pub(super) fn non_root(pod: Pod<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    let of_pod = pod.security("runAsNonRoot").and_then(Value::as_bool);
    let (mut said, mut silent) = (Vec::new(), Vec::new());
    for container in pod.containers() {
        match member(container, "runAsNonRoot").and_then(Value::as_bool) {
            Some(false) => said.push(text(container, "name")),
            None if of_pod != Some(true) => silent.push(text(container, "name")),
            Some(true) | None => {}
        }
    }
    let setters = setters(of_pod == Some(false), &said);
    if !setters.is_empty() {
        let who = setters.join(" and ");
        return found(REASON, format!("{who} must not set securityContext.runAsNonRoot=false"));
    }
    if silent.is_empty() {
        return None;
    }
    found(REASON, format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&silent)))
}

pub(super) fn non_root_1_35(pod: Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() { None } else { non_root(pod) }
}

pub(super) fn user(pod: Pod<'_>) -> Option<Violation> {
    let is_root = |user: Option<&Value>| user.and_then(Value::as_i64) == Some(0);
    let names: Vec<&str> = pod
        .containers()
        .filter(|container| is_root(member(container, "runAsUser")))
        .map(|container| text(container, "name"))
        .collect();
    let setters = setters(is_root(pod.security("runAsUser")), &names);
    if setters.is_empty() {
        return None;
    }
    found("runAsUser=0", format!("{} must not set runAsUser=0", setters.join(" and ")))
}

pub(super) fn user_1_35(pod: Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() { None } else { user(pod) }
}

pub(super) fn seccomp(pod: Pod<'_>) -> Option<Violation> {
    const REASON: &str = "seccompProfile";
    let kind = |profile: Option<&Value>| profile.map(|profile| text(profile, "type").to_owned());
    let is_valid = |kind: &str| matches!(kind, "Localhost" | "RuntimeDefault");
    let mut values = BTreeSet::new();
    let of_pod = kind(pod.security("seccompProfile"));
    let is_set = of_pod.as_deref().is_some_and(is_valid);
    let is_pod_bad = of_pod.is_some() && !is_set;
    values.extend(of_pod.filter(|_| is_pod_bad));
    let (mut said, mut silent) = (Vec::new(), Vec::new());
    for container in pod.containers() {
        match kind(member(container, "seccompProfile")) {
            Some(kind) if !is_valid(&kind) => {
                said.push(text(container, "name"));
                values.insert(kind);
            }
            None if !is_set => silent.push(text(container, "name")),
            Some(_) | None => {}
        }
    }
    let setters = setters(is_pod_bad, &said);
    if !setters.is_empty() {
        let who = setters.join(" and ");
        let what = quoted_set(&values);
        return found(REASON, format!("{who} must not set securityContext.seccompProfile.type to {what}"));
    }
    if silent.is_empty() {
        return None;
    }
    let who = containers(&silent);
    found(
        REASON,
        format!(
            "pod or {who} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""
        ),
    )
}

pub(super) fn seccomp_1_25(pod: Pod<'_>) -> Option<Violation> {
    if pod.is_windows() { None } else { seccomp(pod) }
}
