//! Plain discovery: `/api`, `/apis` and what is below them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use replank_schema::{Group, Resource, Scope, Subresource};
use ring::digest::{SHA256, digest};
use serde::Serialize;

use super::catalog::Catalog;

/// meta/v1 APIVersions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiVersions {
    kind: &'static str,
    versions: [&'static str; 1],
    #[serde(rename = "serverAddressByClientCIDRs")]
    addresses: [ServerAddress; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress {
    #[serde(rename = "clientCIDR")]
    client: &'static str,
    server_address: String,
}

/// What `/api` answers.
pub(crate) fn api_versions(server: &str) -> ApiVersions {
    let address = ServerAddress { client: "0.0.0.0/0", server_address: server.to_owned() };
    ApiVersions { kind: "APIVersions", versions: ["v1"], addresses: [address] }
}

/// meta/v1 APIGroupList.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiGroupList {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup>,
}

/// meta/v1 APIGroup.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiGroup {
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    name: String,
    versions: Vec<GroupVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_version: Option<GroupVersion>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
    version: String,
}

/// What `/apis` answers.
pub(crate) fn group_list(catalog: &Catalog) -> ApiGroupList {
    let groups = catalog.groups.iter().map(|group| api_group(group, ("", ""))).collect();
    ApiGroupList { kind: "APIGroupList", api_version: "v1", groups }
}

/// What `/apis/GROUP` answers.
pub(crate) fn one_group(group: &Group) -> ApiGroup {
    api_group(group, ("APIGroup", "v1"))
}

fn api_group(group: &Group, (kind, api_version): (&'static str, &'static str)) -> ApiGroup {
    let name = group.name();
    let versions = group.versions.iter().map(|one| GroupVersion {
        group_version: format!("{name}/{}", one.version),
        version: one.version.clone(),
    });
    let versions: Vec<GroupVersion> = versions.collect();
    ApiGroup {
        kind,
        api_version,
        name: name.to_owned(),
        preferred_version: versions.first().cloned(),
        versions,
    }
}

/// meta/v1 APIResourceList.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiResourceList {
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    group_version: String,
    resources: Vec<ApiResource>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource {
    name: String,
    singular_name: String,
    namespaced: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    version: String,
    kind: String,
    verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_version_hash: Option<String>,
}

/// What `/apis/GROUP/VERSION` and `/api/v1` answer; `None` for a version that is not served.
pub(crate) fn resource_list(catalog: &Catalog, group: &Group, version: &str) -> Option<ApiResourceList> {
    let known = group.versions.iter().find(|known| known.version == version)?;
    let name = group.name();
    let mut resources = Vec::new();
    for one in &known.resources {
        resources.push(ApiResource {
            name: one.resource.clone(),
            singular_name: one.singular_resource.clone(),
            namespaced: one.scope == Scope::Namespaced,
            kind: one.response_kind.kind.clone(),
            verbs: one.verbs.clone(),
            short_names: one.short_names.clone(),
            categories: one.categories.clone(),
            storage_version_hash: storage_hash(catalog, (name, version), one),
            ..ApiResource::default()
        });
        resources.extend(one.subresources.iter().map(|part| subresource(one, part, (name, version))));
    }
    let group_version = if name.is_empty() { version.to_owned() } else { format!("{name}/{version}") };
    // The core group is listed in the oldest form of the list, which had no version.
    let api_version = if name.is_empty() { "" } else { "v1" };
    Some(ApiResourceList { kind: "APIResourceList", api_version, group_version, resources })
}

/// A part names group and version only where they are not those of the resource.
fn subresource(one: &Resource, part: &Subresource, own: (&str, &str)) -> ApiResource {
    let kind = part.response_kind.clone();
    let is_foreign =
        kind.as_ref().is_some_and(|kind| !kind.version.is_empty() && (&*kind.group, &*kind.version) != own);
    let foreign = kind.clone().filter(|_| is_foreign);
    ApiResource {
        name: format!("{}/{}", one.resource, part.subresource),
        namespaced: one.scope == Scope::Namespaced,
        group: foreign.as_ref().map(|kind| kind.group.clone()).unwrap_or_default(),
        version: foreign.map(|kind| kind.version).unwrap_or_default(),
        kind: kind.map(|kind| kind.kind).unwrap_or_default(),
        verbs: part.verbs.clone(),
        ..ApiResource::default()
    }
}

/// What changes when a resource is stored in another version: the first 8 bytes of a hash of group, version and kind (apiserver, discovery/storageversionhash.go).
/// What is not stored has none.
fn storage_hash(catalog: &Catalog, (group, version): (&str, &str), one: &Resource) -> Option<String> {
    if !one.verbs.iter().any(|verb| verb == "watch") {
        return None;
    }
    let kind = &one.response_kind.kind;
    let (group, version) = match (group, &*one.resource) {
        ("events.k8s.io", "events") => ("", "v1"),
        ("autoscaling", "horizontalpodautoscalers") => (group, "v2"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies" | "mutatingadmissionpolicybindings")
        | ("apiextensions.k8s.io", "customresourcedefinitions") => (group, "v1beta1"),
        (_, plural) => (group, catalog.stored_version(group, plural).unwrap_or(version)),
    };
    let hash = digest(&SHA256, format!("{group}/{version}/{kind}").as_bytes());
    Some(STANDARD.encode(&hash.as_ref()[..8]))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::mirror::Publisher;

    fn catalog() -> Catalog {
        Catalog::of(&Publisher::new([], Vec::new(), 1).mirror().snapshot(), &crate::served::Newest)
    }

    fn resources(group: &str, version: &str) -> Vec<Value> {
        let catalog = catalog();
        let group =
            if group.is_empty() { &catalog.core } else { catalog.group(group).expect("it is served") };
        let list = resource_list(&catalog, group, version).expect("it is served");
        list.resources.iter().map(|one| serde_json::to_value(one).expect("plain data")).collect()
    }

    #[test]
    fn hashes_are_those_of_a_real_server() {
        let of = |list: &[Value], name: &str| {
            list.iter().find(|one| one["name"] == name).map(|one| one["storageVersionHash"].clone())
        };
        let apps = resources("apps", "v1");
        assert_eq!(of(&apps, "daemonsets"), Some("dd7pWHUlMKQ=".into()));
        assert_eq!(of(&apps, "daemonsets/status"), Some(Value::Null));
        assert_eq!(
            of(&resources("autoscaling", "v1"), "horizontalpodautoscalers"),
            Some("qwQve8ut294=".into())
        );
        assert_eq!(of(&resources("events.k8s.io", "v1"), "events"), Some("r2yiGXH7wu8=".into()));
        assert_eq!(of(&resources("", "v1"), "bindings"), Some(Value::Null));
    }

    #[test]
    fn a_part_of_another_group_says_so() {
        let core = resources("", "v1");
        let eviction = core.iter().find(|one| one["name"] == "pods/eviction").expect("it is listed");
        assert_eq!((&eviction["group"], &eviction["version"]), (&"policy".into(), &"v1".into()));
        let status = core.iter().find(|one| one["name"] == "pods/status").expect("it is listed");
        assert_eq!(status.get("group"), None);
    }
}
