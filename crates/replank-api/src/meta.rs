//! Paths that are of no resource: version, health, discovery.

use replank_schema::{Group, Scope, discovery};
use serde_json::{Value, json};

use crate::answer::{self, Answer, TEXT};

/// Checks that `readyz` and its siblings list; all of them hold as long as anybody answers.
const CHECKS: [&str; 3] = ["ping", "log", "etcd"];

/// Answers a path that is of no resource; `None` for one that is not known.
pub(crate) fn meta(path: &str, is_verbose: bool) -> Option<Answer> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["version"] => Some(answer::json(200, &version())),
        ["readyz" | "livez" | "healthz"] => Some(health(parts[0], is_verbose)),
        ["readyz" | "livez" | "healthz", check] if CHECKS.contains(check) => {
            Some(answer::whole(200, TEXT, "ok"))
        }
        ["api"] => Some(answer::json(
            200,
            &json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]}),
        )),
        ["api", version] => Some(answer::json(200, &resources(&discovery().core[0], version)?)),
        ["apis"] => {
            let groups: Vec<Value> = discovery().groups.iter().map(group).collect();
            Some(answer::json(200, &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})))
        }
        ["apis", name] => {
            let mut found = group(discovery().groups.iter().find(|group| group.name() == *name)?);
            found["kind"] = "APIGroup".into();
            found["apiVersion"] = "v1".into();
            Some(answer::json(200, &found))
        }
        ["apis", name, version] => {
            let group = discovery().groups.iter().find(|group| group.name() == *name)?;
            Some(answer::json(200, &resources(group, version)?))
        }
        _ => None,
    }
}

fn version() -> Value {
    json!({"major": "1", "minor": "36", "gitVersion": "v1.36.2", "gitCommit": "replank",
        "gitTreeState": "clean", "buildDate": "2026-11-20T00:00:00Z", "goVersion": "none", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1", "minCompatibilityMinor": "35"})
}

fn health(word: &str, is_verbose: bool) -> Answer {
    if !is_verbose {
        return answer::whole(200, TEXT, "ok");
    }
    let checks: String = CHECKS.iter().map(|check| format!("[+]{check} ok\n")).collect();
    answer::whole(200, TEXT, format!("{checks}{word} check passed\n"))
}

fn group(group: &Group) -> Value {
    let of =
        |version: &str| json!({"groupVersion": format!("{}/{version}", group.name()), "version": version});
    let versions: Vec<Value> = group.versions.iter().map(|version| of(&version.version)).collect();
    json!({"name": group.name(), "preferredVersion": versions.first(), "versions": versions})
}

fn resources(group: &Group, version: &str) -> Option<Value> {
    let known = group.versions.iter().find(|known| known.version == version)?;
    let group_version =
        if group.name().is_empty() { version.to_owned() } else { format!("{}/{version}", group.name()) };
    let mut resources: Vec<Value> = Vec::new();
    for one in &known.resources {
        let is_namespaced = one.scope == Scope::Namespaced;
        let mut entry = json!({"name": one.resource, "singularName": one.singular_resource,
            "namespaced": is_namespaced, "kind": one.response_kind.kind, "verbs": one.verbs});
        if !one.short_names.is_empty() {
            entry["shortNames"] = json!(one.short_names);
        }
        if !one.categories.is_empty() {
            entry["categories"] = json!(one.categories);
        }
        resources.push(entry);
        for part in &one.subresources {
            let kind = part.response_kind.as_ref();
            let mut entry = json!({"name": format!("{}/{}", one.resource, part.subresource), "singularName": "",
                "namespaced": is_namespaced, "kind": kind.map(|kind| &kind.kind), "verbs": part.verbs});
            if let Some(kind) = kind.filter(|kind| !kind.version.is_empty()) {
                entry["group"] = kind.group.as_str().into();
                entry["version"] = kind.version.as_str().into();
            }
            resources.push(entry);
        }
    }
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version,
        "resources": resources}))
}
