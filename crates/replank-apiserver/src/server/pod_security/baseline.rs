//! Checks of the level `baseline` (pod-security-admission `policy/check_*.go`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::words::{Pod, Violation, containers, member, plural, quoted, quoted_set, setters, text};

/// Capabilities that containers have anyway.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn found(reason: &'static str, detail: String) -> Option<Violation> {
    Some(Violation { reason, detail })
}

pub(super) fn app_armor(pod: Pod<'_>) -> Option<Violation> {
    const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
    let mut values: BTreeSet<&str> = BTreeSet::new();
    let bad = |profile: Option<&Value>| -> Option<String> {
        let kind = text(profile?, "type").to_owned();
        (!matches!(kind.as_str(), "RuntimeDefault" | "Localhost")).then_some(kind)
    };
    let of_pod = bad(pod.security("appArmorProfile"));
    let mut names = Vec::new();
    for container in pod.containers() {
        if bad(member(container, "appArmorProfile")).is_some() {
            names.push(text(container, "name"));
            values.extend(member(container, "appArmorProfile").map(|profile| text(profile, "type")));
        }
    }
    if of_pod.is_some() {
        values.extend(pod.security("appArmorProfile").map(|profile| text(profile, "type")));
    }
    let mut setters = setters(of_pod.is_some(), &names);
    let is_allowed =
        |value: &str| value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
    let mut notes: Vec<String> = pod
        .annotations()
        .filter(|(name, value)| name.starts_with(PREFIX) && !is_allowed(value))
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    notes.sort();
    if !notes.is_empty() {
        setters.push(plural("annotation", "annotations", notes.len()).to_owned());
    }
    if setters.is_empty() {
        return None;
    }
    let all: Vec<String> = values.into_iter().map(str::to_owned).chain(notes).collect();
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", all.len());
    found(reason, format!("{} must not set AppArmor profile type to {}", setters.join(" and "), quoted(&all)))
}

pub(super) fn capabilities(pod: Pod<'_>) -> Option<Violation> {
    let mut added: BTreeSet<&str> = BTreeSet::new();
    let mut names = Vec::new();
    for container in pod.containers() {
        let all = member(container, "capabilities").and_then(|all| all.get("add")).and_then(Value::as_array);
        let bad: Vec<&str> = all
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|one| !CAPABILITIES.contains(one))
            .collect();
        if !bad.is_empty() {
            names.push(text(container, "name"));
            added.extend(bad);
        }
    }
    if names.is_empty() {
        return None;
    }
    let who = containers(&names);
    found(
        "non-default capabilities",
        format!("{who} must not include {} in securityContext.capabilities.add", quoted_set(&added)),
    )
}

pub(super) fn host_namespaces(pod: Pod<'_>) -> Option<Violation> {
    let is_set = |name: &&str| pod.spec.get(*name) == Some(&Value::Bool(true));
    let set: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .iter()
        .copied()
        .filter(is_set)
        .map(|name| format!("{name}=true"))
        .collect();
    if set.is_empty() { None } else { found("host namespaces", set.join(", ")) }
}

pub(super) fn host_paths(pod: Pod<'_>) -> Option<Violation> {
    let volumes = pod.spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let is_host = |volume: &&Value| volume.get("hostPath").is_some_and(|path| !path.is_null());
    let names: Vec<&str> = volumes.filter(is_host).map(|volume| text(volume, "name")).collect();
    if names.is_empty() {
        return None;
    }
    found("hostPath volumes", format!("{} {}", plural("volume", "volumes", names.len()), quoted(&names)))
}

pub(super) fn host_ports(pod: Pod<'_>) -> Option<Violation> {
    let mut ports: BTreeSet<String> = BTreeSet::new();
    let mut names = Vec::new();
    for container in pod.containers() {
        let all = container.get("ports").and_then(Value::as_array).into_iter().flatten();
        let used: Vec<i64> =
            all.filter_map(|port| port.get("hostPort")?.as_i64()).filter(|port| *port != 0).collect();
        if !used.is_empty() {
            names.push(text(container, "name"));
            ports.extend(used.iter().map(i64::to_string));
        }
    }
    if names.is_empty() {
        return None;
    }
    let (who, uses) = (containers(&names), plural("uses", "use", names.len()));
    let what = plural("hostPort", "hostPorts", ports.len());
    let ports: Vec<String> = ports.into_iter().collect();
    found("hostPort", format!("{who} {uses} {what} {}", ports.join(", ")))
}

pub(super) fn probe_hosts(pod: Pod<'_>) -> Option<Violation> {
    const HANDLERS: [&str; 5] =
        ["/livenessProbe", "/readinessProbe", "/startupProbe", "/lifecycle/postStart", "/lifecycle/preStop"];
    let (mut names, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for container in pod.containers() {
        for handler in HANDLERS.iter().filter_map(|path| container.pointer(path)) {
            for way in ["httpGet", "tcpSocket"] {
                let host = handler.get(way).map(|way| text(way, "host")).unwrap_or_default();
                if !host.is_empty() {
                    names.insert(text(container, "name"));
                    hosts.insert(host);
                }
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    let names: Vec<&str> = names.into_iter().collect();
    let (who, uses) = (containers(&names), plural("uses", "use", names.len()));
    let what = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    found("probe or lifecycle host", format!("{who} {uses} {what} {}", quoted_set(&hosts)))
}

pub(super) fn privileged(pod: Pod<'_>) -> Option<Violation> {
    let is_bad = |container: &&Value| member(container, "privileged") == Some(&Value::Bool(true));
    let names: Vec<&str> = pod.containers().filter(is_bad).map(|container| text(container, "name")).collect();
    if names.is_empty() {
        return None;
    }
    found("privileged", format!("{} must not set securityContext.privileged=true", containers(&names)))
}

pub(super) fn proc_mount(pod: Pod<'_>) -> Option<Violation> {
    let mut kinds = BTreeSet::new();
    let mut names = Vec::new();
    for container in pod.containers() {
        let kind = member(container, "procMount").and_then(Value::as_str);
        if let Some(kind) = kind.filter(|kind| *kind != "Default") {
            names.push(text(container, "name"));
            kinds.insert(kind);
        }
    }
    if names.is_empty() {
        return None;
    }
    let who = containers(&names);
    found("procMount", format!("{who} must not set securityContext.procMount to {}", quoted_set(&kinds)))
}

pub(super) fn proc_mount_unless_own_users(pod: Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() { None } else { proc_mount(pod) }
}

/// SELinux' types, users and roles; `allowed` are types.
fn selinux(pod: Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let mut types = BTreeSet::new();
    let (mut has_user, mut has_role) = (false, false);
    let mut is_bad = |options: Option<&Value>| {
        let Some(options) = options else { return false };
        let kind = text(options, "type");
        let (is_type, is_user, is_role) =
            (!allowed.contains(&kind), !text(options, "user").is_empty(), !text(options, "role").is_empty());
        if is_type {
            types.insert(kind.to_owned());
        }
        has_user |= is_user;
        has_role |= is_role;
        is_type || is_user || is_role
    };
    let of_pod = is_bad(pod.security("seLinuxOptions"));
    let names: Vec<&str> = pod
        .containers()
        .filter(|container| is_bad(member(container, "seLinuxOptions")))
        .map(|container| text(container, "name"))
        .collect();
    let setters = setters(of_pod, &names);
    if setters.is_empty() {
        return None;
    }
    let mut data = Vec::new();
    if !types.is_empty() {
        data.push(format!("{} {}", plural("type", "types", types.len()), quoted_set(&types)));
    }
    data.extend(has_user.then(|| "user may not be set".to_owned()));
    data.extend(has_role.then(|| "role may not be set".to_owned()));
    let (who, what) = (setters.join(" and "), data.join("; "));
    found("seLinuxOptions", format!("{who} set forbidden securityContext.seLinuxOptions: {what}"))
}

pub(super) fn selinux_1_0(pod: Pod<'_>) -> Option<Violation> {
    selinux(pod, &["", "container_t", "container_init_t", "container_kvm_t"])
}

pub(super) fn selinux_1_31(pod: Pod<'_>) -> Option<Violation> {
    selinux(pod, &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"])
}

/// Annotations, before the profile had a field.
pub(super) fn seccomp_1_0(pod: Pod<'_>) -> Option<Violation> {
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
    let is_valid = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let names: Vec<&str> = pod.containers().map(|container| text(container, "name")).collect();
    let counts =
        |name: &str| name == POD || name.strip_prefix(CONTAINER).is_some_and(|name| names.contains(&name));
    let bad: BTreeSet<String> = pod
        .annotations()
        .filter(|(name, value)| counts(name) && !is_valid(value))
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    if bad.is_empty() {
        return None;
    }
    let what = plural("annotation", "annotations", bad.len());
    let all: Vec<String> = bad.into_iter().collect();
    found("seccompProfile", format!("forbidden {what} {}", all.join(", ")))
}

pub(super) fn seccomp_1_19(pod: Pod<'_>) -> Option<Violation> {
    let mut values = BTreeSet::new();
    let mut is_bad = |profile: Option<&Value>| {
        let Some(profile) = profile else { return false };
        let kind = text(profile, "type");
        let is_bad = !matches!(kind, "Localhost" | "RuntimeDefault");
        if is_bad {
            values.insert(kind.to_owned());
        }
        is_bad
    };
    let of_pod = is_bad(pod.security("seccompProfile"));
    let names: Vec<&str> = pod
        .containers()
        .filter(|container| is_bad(member(container, "seccompProfile")))
        .map(|container| text(container, "name"))
        .collect();
    let setters = setters(of_pod, &names);
    if setters.is_empty() {
        return None;
    }
    let who = setters.join(" and ");
    found(
        "seccompProfile",
        format!("{who} must not set securityContext.seccompProfile.type to {}", quoted_set(&values)),
    )
}

/// Sysctls that are safe, and since which minor version they are taken for it.
const SYSCTLS: [(u32, &str); 12] = [
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
];

fn sysctls(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    let all = pod.security("sysctls").and_then(Value::as_array).into_iter().flatten();
    let is_safe = |name: &str| SYSCTLS.iter().any(|(since, known)| *known == name && *since <= minor);
    let bad: Vec<&str> = all.map(|one| text(one, "name")).filter(|name| !is_safe(name)).collect();
    if bad.is_empty() { None } else { found("forbidden sysctls", bad.join(", ")) }
}

pub(super) fn sysctls_1_0(pod: Pod<'_>) -> Option<Violation> {
    sysctls(pod, 0)
}

pub(super) fn sysctls_1_27(pod: Pod<'_>) -> Option<Violation> {
    sysctls(pod, 27)
}

pub(super) fn sysctls_1_29(pod: Pod<'_>) -> Option<Violation> {
    sysctls(pod, 29)
}

pub(super) fn sysctls_1_32(pod: Pod<'_>) -> Option<Violation> {
    sysctls(pod, 32)
}

pub(super) fn host_process(pod: Pod<'_>) -> Option<Violation> {
    let is_bad = |options: Option<&Value>| {
        options.and_then(|options| options.get("hostProcess")) == Some(&Value::Bool(true))
    };
    let names: Vec<&str> = pod
        .containers()
        .filter(|container| is_bad(member(container, "windowsOptions")))
        .map(|container| text(container, "name"))
        .collect();
    let setters = setters(is_bad(pod.security("windowsOptions")), &names);
    if setters.is_empty() {
        return None;
    }
    let who = setters.join(" and ");
    found("hostProcess", format!("{who} must not set securityContext.windowsOptions.hostProcess=true"))
}
