//! Security contexts of pods and containers (`validatePodSpecSecurityContext`, `ValidateSecurityContext`). The server is
//! taken to allow privileged containers, as it is started almost everywhere.

use std::collections::BTreeSet;

use super::error::{Causes, Shown};
use super::field::Field;
use super::{containers, mounts, names, os, show};

/// Of a pod.
pub(super) fn of_pod(spec: &Field<'_>, causes: &mut Causes) {
    let context = spec.child("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(&context.child(name), causes);
    }
    context.child("supplementalGroups").items().for_each(|group| id(&group, causes));
    if spec.child("shareProcessNamespace").is_true() && spec.child("hostPID").is_true() {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        causes.invalid(context.at("shareProcessNamespace"), Shown::plain(true), why);
    }
    sysctls(spec, &context.child("sysctls"), causes);
    let word = |name: &str, known: &[&str], causes: &mut Causes| {
        let field = context.child(name);
        if field.is_set() && !known.contains(&field.text()) {
            causes.not_supported(&field.path, Shown::word(field.text()), known);
        }
    };
    word("fsGroupChangePolicy", &["Always", "OnRootMismatch"], causes);
    seccomp(&context.child("seccompProfile"), causes);
    os::windows_options(&context.child("windowsOptions"), causes);
    app_armor(&context.child("appArmorProfile"), causes);
    word("supplementalGroupsPolicy", &["Merge", "Strict"], causes);
    // The gate SELinuxMount is off in 1.36.
    word("seLinuxChangePolicy", &["Recursive"], causes);
}

fn id(field: &Field<'_>, causes: &mut Causes) {
    if let Some(number) = field.number() {
        for rule in names::user_id(number) {
            causes.invalid(&field.path, Shown::plain(number), rule);
        }
    }
}

/// Of a container.
pub(super) fn of_container(context: &Field<'_>, host_users: bool, causes: &mut Causes) {
    if !context.is_set() {
        return;
    }
    for name in ["runAsUser", "runAsGroup"] {
        id(&context.child(name), causes);
    }
    if let Some(proc) = context.child("procMount").set() {
        if !matches!(proc.text(), "Default" | "Unmasked") {
            causes.not_supported(&proc.path, Shown::word(proc.text()), &["Default", "Unmasked"]);
        }
        if host_users && proc.text() == "Unmasked" {
            let why = "`hostUsers` must be false to use `Unmasked`";
            causes.invalid(&proc.path, Shown::word(proc.text()), why);
        }
    }
    seccomp(&context.child("seccompProfile"), causes);
    if context.child("allowPrivilegeEscalation").flag() == Some(false) {
        let shown = || show::shown("core.SecurityContext", context.value);
        if context.child("privileged").is_true() {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            causes.invalid(&context.path, shown(), why);
        }
        let added = context.child("capabilities").child("add");
        for _ in added.texts().filter(|capability| *capability == "CAP_SYS_ADMIN") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            causes.invalid(&context.path, shown(), why);
        }
    }
    os::windows_options(&context.child("windowsOptions"), causes);
    app_armor(&context.child("appArmorProfile"), causes);
}

fn seccomp(profile: &Field<'_>, causes: &mut Causes) {
    if !profile.is_set() {
        return;
    }
    let (kind, local) = (profile.child("type"), profile.child("localhostProfile"));
    match kind.text() {
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => causes.required(&kind.path, "type is required when seccompProfile is set"),
        word => {
            let known = ["Localhost", "RuntimeDefault", "Unconfined"];
            causes.not_supported(&kind.path, Shown::word(word), &known);
        }
    }
    match (kind.text() == "Localhost", local.is_set()) {
        (true, true) => mounts::descending(&local, causes),
        (true, false) => causes.required(&local.path, "must be set when seccomp type is Localhost"),
        (false, true) => {
            let why = "can only be set when seccomp type is Localhost";
            causes.invalid(&local.path, show::shown("core.SeccompProfile", profile.value), why);
        }
        (false, false) => {}
    }
}

/// Longest path of a profile (`PATH_MAX - 1`).
const PROFILE_BYTES_MAX: usize = 4_095;

fn app_armor(profile: &Field<'_>, causes: &mut Causes) {
    if !profile.is_set() {
        return;
    }
    let (kind, local) = (profile.child("type"), profile.child("localhostProfile"));
    match kind.text() {
        "Localhost" => {
            let text = local.text();
            if !local.is_set() || text.is_empty() {
                causes.required(&local.path, "must be set when AppArmor type is Localhost");
            } else if text.trim() != text {
                causes.invalid(&local.path, Shown::text(text), "must not be padded with whitespace");
            }
            if text.len() > PROFILE_BYTES_MAX {
                causes.too_long(&local.path, PROFILE_BYTES_MAX);
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if local.is_set() {
                let why = "can only be set when AppArmor type is Localhost";
                causes.invalid(&local.path, Shown::word(local.text()), why);
            }
        }
        "" => causes.required(&kind.path, "type is required when appArmorProfile is set"),
        word => {
            let known = ["Localhost", "RuntimeDefault", "Unconfined"];
            causes.not_supported(&kind.path, Shown::word(word), &known);
        }
    }
}

fn sysctls(spec: &Field<'_>, field: &Field<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for name in field.items().map(|sysctl| sysctl.child("name")) {
        let text = name.text();
        if text.is_empty() {
            causes.required(&name.path, "");
        } else if !is_sysctl(text) {
            let why = "must have at most 253 characters and match regex \
                       ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            causes.invalid(&name.path, Shown::text(text), why);
        } else if seen.contains(text) {
            causes.duplicate(&name.path, Shown::text(text));
        }
        let shared = match namespace(text) {
            Some(Namespace::Net) if spec.child("hostNetwork").is_true() => Some("hostNetwork"),
            Some(Namespace::Ipc) if spec.child("hostIPC").is_true() => Some("hostIPC"),
            Some(Namespace::Net | Namespace::Ipc) | None => None,
        };
        if let Some(shared) = shared {
            let why = format!("may not be specified when '{shared}' is true");
            causes.invalid(&name.path, Shown::text(text), why);
        }
        seen.insert(text);
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_part = |part: &str| match part.as_bytes() {
        [] => false,
        [only] => is_end(*only),
        [first, middle @ .., last] => {
            is_end(*first)
                && is_end(*last)
                && middle.iter().all(|byte| is_end(*byte) || matches!(byte, b'-' | b'_'))
        }
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_part)
}

fn is_end(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Which namespace of the kernel a setting belongs to.
enum Namespace {
    Ipc,
    Net,
}

/// Settings of the namespace for communication between processes, besides message queues.
const IPC_SETTINGS: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// `component-helpers/node/util/sysctl/namespace.go`.
fn namespace(name: &str) -> Option<Namespace> {
    let normal = normalized(name);
    let normal = normal.split('*').next().unwrap_or("");
    let below = |prefix: &str| normal.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    if IPC_SETTINGS.contains(&normal) || below("fs.mqueue") {
        return Some(Namespace::Ipc);
    }
    below("net").then_some(Namespace::Net)
}

/// With dots between the parts: where the first separator is a slash, slashes and dots are exchanged.
fn normalized(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('/') => {
            let swap = |character| match character {
                '/' => '.',
                '.' => '/',
                other => other,
            };
            name.chars().map(swap).collect()
        }
        Some(_) | None => name.to_owned(),
    }
}

/// What does not go with users of its own (`validateHostUsers`).
pub(super) fn host_users(spec: &Field<'_>, causes: &mut Causes) {
    if spec.child("hostUsers").flag() != Some(false) {
        return;
    }
    for (name, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.child(name).is_true() {
            causes.forbidden(spec.at(shown), "when `hostUsers` is false");
        }
    }
    for container in containers::visit(spec) {
        let devices = container.child("volumeDevices");
        if !devices.is_empty() {
            causes.forbidden(devices.path, "when `hostUsers` is false");
        }
    }
}
