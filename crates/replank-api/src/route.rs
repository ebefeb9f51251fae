//! Paths: which resource, which object, which part of it.

use replank_apiserver::{ApiError, ResourceType};
use replank_model::object::meta::Key;
use replank_model::text::{Name, Namespace};
use replank_schema::discovery;

use crate::mirror::Snapshot;
use crate::query::unescape;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// To a resource.
    Resource(Target),
    /// To none, in a group version that is served.
    NoResource,
    /// Nowhere in particular: paths that are not of resources are looked at by their words.
    Other,
}

/// A resource of the API, or an object or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The resource.
    pub resource: ResourceType,
    /// The namespace; `None` for cluster-scoped resources, and for all namespaces.
    pub namespace: Option<Namespace>,
    /// The object; `None` for the collection.
    pub name: Option<Name>,
    /// The part of the object, with what follows it: `status`, `log`, `proxy/a/b`.
    pub part: Option<String>,
    /// Whether a definition declares the resource.
    pub is_custom: bool,
    /// Whether it is asked for by the old form of a watch, `/api/v1/watch/pods`.
    pub is_watch: bool,
}

impl Target {
    /// Namespace and name of the object.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        Some(Key { namespace: self.namespace.clone().unwrap_or_default(), name: self.name.clone()? })
    }
}

/// Finds out where a path leads.
#[must_use]
pub fn route(path: &str, snapshot: &Snapshot) -> Route {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Route::Other,
    };
    if !is_served(group, version, snapshot) {
        return Route::Other;
    }
    let (is_watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        // `namespaces/x/pods` is a resource in a namespace; `namespaces/x` and `namespaces/x/status` are the namespace.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        rest => (None, rest),
    };
    let (plural, name, part) = match rest {
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, part @ ..] => (*plural, Some(*name), Some(part.join("/"))),
        [] => return Route::NoResource,
    };
    let Some((resource, is_custom)) = find(group, version, plural, snapshot) else {
        return Route::NoResource;
    };
    let name = name.map(|name| unescape(name, false));
    let is_out_of_place = match (resource.is_namespaced, namespace) {
        (true, None) => name.is_some(),
        (true, Some(_)) | (false, None) => false,
        (false, Some(_)) => true,
    };
    let is_odd = name.as_ref().is_some_and(|name| name.contains('/'));
    let has_part = part.as_deref().is_none_or(|part| has_part(&resource, is_custom, part));
    if is_out_of_place || is_odd || !has_part {
        return Route::NoResource;
    }
    Route::Resource(Target {
        resource,
        namespace: namespace.map(|namespace| Namespace::from(unescape(namespace, false).as_str())),
        name: name.map(|name| Name::from(name.as_str())),
        part,
        is_custom,
        is_watch,
    })
}

/// Whether anything is served of a group version.
fn is_served(group: &str, version: &str, snapshot: &Snapshot) -> bool {
    let of_discovery = discovery().all().filter(|one| one.name() == group);
    let mut versions = of_discovery.flat_map(|one| &one.versions);
    versions.any(|one| one.version == version)
        || snapshot.custom.iter().any(|one| &*one.name.group == group && &*one.version == version)
}

fn find(group: &str, version: &str, plural: &str, snapshot: &Snapshot) -> Option<(ResourceType, bool)> {
    if let Some(resource) = ResourceType::built_in(group, version, plural) {
        return Some((resource.clone(), false));
    }
    let is_it = |one: &&ResourceType| {
        &*one.name.group == group && &*one.version == version && &*one.name.plural == plural
    };
    Some((snapshot.custom.iter().find(is_it)?.clone(), true))
}

/// Whether objects of a resource have such a part.
fn has_part(resource: &ResourceType, is_custom: bool, part: &str) -> bool {
    let name = &resource.name;
    let word = part.split('/').next().unwrap_or_default();
    if is_custom {
        return resource.has_part(part);
    }
    let known = discovery().resource(&name.group, &resource.version, &name.plural);
    let parts = known.map(|known| known.subresources.as_slice()).unwrap_or_default();
    // Only a proxy's path goes on.
    parts.iter().any(|one| one.subresource == part || (one.subresource == "proxy" && word == "proxy"))
}

/// What is said of a path that leads to no resource.
#[must_use]
pub fn no_resource() -> ApiError {
    ApiError::no_resource()
}
