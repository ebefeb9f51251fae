//! Discovery: groups, versions, resources and their verbs.

use std::sync::LazyLock;

use crate::table::table;
use serde::{Deserialize, Serialize};

/// What `/api` and `/apis` list.
#[derive(Debug)]
pub struct Discovery {
    /// The group without a name, `/api`.
    pub core: Vec<Group>,
    /// The others, `/apis`, in the server's order.
    pub groups: Vec<Group>,
}

impl Discovery {
    /// Every group.
    pub fn all(&self) -> impl Iterator<Item = &Group> {
        self.core.iter().chain(&self.groups)
    }

    /// A resource, by its plural name.
    #[must_use]
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        let group = self.all().find(|one| one.name() == group)?;
        let version = group.versions.iter().find(|one| one.version == version)?;
        version.resources.iter().find(|one| one.resource == plural)
    }
}

/// A group, its preferred version first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub metadata: GroupName,
    /// Its versions.
    pub versions: Vec<Version>,
}

impl Group {
    /// Its name; empty for the core group.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.metadata.name
    }
}

/// The `metadata` of a group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupName {
    /// Empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A version of a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Version {
    /// Such as `v1`.
    pub version: String,
    /// What it serves.
    pub resources: Vec<Resource>,
    /// `Current`.
    pub freshness: String,
}

/// A resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its plural name.
    pub resource: String,
    /// What it answers with.
    pub response_kind: ResponseKind,
    /// Whether its objects live in a namespace.
    pub scope: Scope,
    /// Its name in the singular.
    pub singular_resource: String,
    /// What can be done with it.
    pub verbs: Vec<String>,
    /// Shorter names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Names of sets that it is in, such as `all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Parts that are read or written on their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subresources: Vec<Subresource>,
}

/// A part of an object that is read or written on its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subresource {
    /// Its name.
    pub subresource: String,
    /// What it answers with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_kind: Option<ResponseKind>,
    /// What can be done with it.
    pub verbs: Vec<String>,
}

/// Group, version and kind of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseKind {
    /// Empty: as the resource.
    pub group: String,
    /// Empty: as the resource.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// Whether objects live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// They do not.
    Cluster,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Both {
    #[serde(rename = "/api")]
    core: List,
    #[serde(rename = "/apis")]
    groups: List,
}

/// The discovery of 1.36.
#[must_use]
pub fn discovery() -> &'static Discovery {
    static DISCOVERY: LazyLock<Discovery> = LazyLock::new(|| {
        let Both { core, groups } = table(include_bytes!("../data/discovery.json.gz"));
        Discovery { core: core.items, groups: groups.items }
    });
    &DISCOVERY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_can_be_evicted() {
        let pods = discovery().resource("", "v1", "pods").expect("pods are served");
        assert_eq!(pods.scope, Scope::Namespaced);
        let eviction = pods.subresources.iter().find(|one| one.subresource == "eviction");
        let kind = eviction.and_then(|one| one.response_kind.as_ref()).expect("it answers with a kind");
        assert_eq!((&*kind.group, &*kind.kind), ("policy", "Eviction"));
    }
}
