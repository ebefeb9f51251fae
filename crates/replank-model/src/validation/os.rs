//! What an operating system does not have (`validateOS`, `validateLinux`, `validateWindows`), and Windows' own options.

use super::containers;
use super::error::{Causes, Shown};
use super::field::Field;
use super::names;

/// The pod's operating system and what does not go with it.
pub(super) fn os(spec: &Field<'_>, causes: &mut Causes) {
    let Some(os) = spec.child("os").set() else { return };
    match os.child("name").text() {
        "" => causes.required(os.at("name"), ""),
        "linux" => linux(spec, causes),
        "windows" => windows(spec, causes),
        word => causes.not_supported(&os.path, Shown::word(word), &["linux", "windows"]),
    }
}

fn contexts<'a>(spec: &Field<'a>) -> impl Iterator<Item = Field<'a>> {
    containers::visit(spec).map(|container| container.child("securityContext"))
}

fn linux(spec: &Field<'_>, causes: &mut Causes) {
    for context in [spec.child("securityContext")].into_iter().chain(contexts(spec)) {
        if let Some(options) = context.child("windowsOptions").set() {
            causes.forbidden(options.path, "windows options cannot be set for a linux pod");
        }
    }
}

/// Members of a pod that Windows does not have, in upstream's order; those of the security context are marked.
const NOT_FOR_WINDOWS: [(bool, &str); 15] = [
    (true, "appArmorProfile"),
    (true, "seLinuxOptions"),
    (false, "hostUsers"),
    (false, "hostPID"),
    (false, "hostIPC"),
    (true, "seccompProfile"),
    (true, "fsGroup"),
    (true, "fsGroupChangePolicy"),
    (true, "sysctls"),
    (false, "shareProcessNamespace"),
    (true, "runAsUser"),
    (true, "runAsGroup"),
    (true, "supplementalGroups"),
    (true, "supplementalGroupsPolicy"),
    (true, "seLinuxChangePolicy"),
];

const NOT_FOR_WINDOWS_CONTAINERS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

fn windows(spec: &Field<'_>, causes: &mut Causes) {
    const WHY: &str = "cannot be set for a windows pod";
    let context = spec.child("securityContext");
    for (in_context, name) in NOT_FOR_WINDOWS {
        let member = if in_context { context.child(name) } else { spec.child(name) };
        // Upstream has these behind no pointer, so that false is as good as absent.
        let is_given = match name {
            "hostPID" | "hostIPC" => member.is_true(),
            "sysctls" => !member.is_empty(),
            _ => member.is_set(),
        };
        if is_given {
            causes.forbidden(member.path, WHY);
        }
    }
    for context in contexts(spec) {
        for member in NOT_FOR_WINDOWS_CONTAINERS.map(|name| context.child(name)) {
            if member.is_set() {
                causes.forbidden(member.path, WHY);
            }
        }
    }
}

/// Containers that are processes of the host (`validateWindowsHostProcessPod`).
pub(super) fn host_process(spec: &Field<'_>, causes: &mut Causes) {
    let of_pod = spec.child("securityContext").child("windowsOptions").child("hostProcess").flag();
    let (mut all, mut processes) = (0, 0);
    for context in contexts(spec) {
        all += 1;
        let own = context.child("windowsOptions").child("hostProcess");
        if let (Some(of_pod), Some(flag)) = (of_pod, own.flag())
            && of_pod != flag
        {
            let why = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            causes.invalid(&own.path, Shown::plain(flag), why);
        }
        processes += usize::from(own.flag().or(of_pod) == Some(true));
    }
    if processes == 0 {
        return;
    }
    if processes != all {
        let why =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        causes.invalid(&spec.path, Shown::text(""), why);
    }
    if !spec.child("hostNetwork").is_true() {
        let why = "hostNetwork must be true if pod contains any hostProcess containers";
        causes.invalid(spec.at("hostNetwork"), Shown::plain(false), why);
    }
}

/// Longest credential spec.
const CREDENTIAL_BYTES_MAX: usize = 64 << 10;

/// Options of a security context (`validateWindowsSecurityContextOptions`).
pub(super) fn windows_options(options: &Field<'_>, causes: &mut Causes) {
    if let Some(name) = options.child("gmsaCredentialSpecName").set() {
        for rule in names::subdomain(name.text()) {
            causes.invalid(&name.path, Shown::word(name.text()), rule);
        }
    }
    if let Some(spec) = options.child("gmsaCredentialSpec").set() {
        if spec.is_empty() {
            let why = "gmsaCredentialSpec cannot be an empty string";
            causes.invalid(&spec.path, Shown::word(""), why);
        } else if spec.len() > CREDENTIAL_BYTES_MAX {
            let why = "gmsaCredentialSpec size must be under 64 KiB";
            causes.invalid(&spec.path, Shown::word(spec.text()), why);
        }
    }
    if let Some(user) = options.child("runAsUserName").set() {
        for why in user_problems(user.text()) {
            causes.invalid(&user.path, Shown::word(user.text()), why);
        }
    }
}

fn user_problems(text: &str) -> Vec<&'static str> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = text.split('\\').collect();
    let (domain, user) = match parts.as_slice() {
        _ if text.is_empty() => return vec!["runAsUserName cannot be an empty string"],
        _ if text.chars().any(|character| character.is_ascii_control()) => {
            return vec!["runAsUserName cannot contain control characters"];
        }
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => return vec!["runAsUserName cannot contain more than one backslash"],
    };
    if let Some(domain) = domain {
        if domain.len() >= 256 {
            problems.push("runAsUserName's Domain length must be under 256 characters");
        }
        if !is_net_bios(domain) && !is_windows_domain(domain) {
            problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        problems.push("runAsUserName's User cannot be empty");
    } else if user.len() > 104 {
        problems.push("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|character| matches!(character, '.' | ' ')) {
        problems.push("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        problems.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
    problems
}

fn is_net_bios(text: &str) -> bool {
    let count = text.chars().count();
    (1..=15).contains(&count)
        && !text.starts_with('.')
        && !text.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_windows_domain(text: &str) -> bool {
    text.split('.').all(|part| {
        let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = part.as_bytes();
        part.len() <= 63
            && end(bytes.first())
            && end(bytes.last())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    })
}
