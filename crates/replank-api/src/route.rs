//! Paths: which resource, which object, which part of it.

use std::sync::Arc;

use hyper::Method;
use replank_apiserver::{ApiError, ResourceName, ResourceType};
use replank_model::object::meta::Key;
use replank_model::text::{Name, Namespace};
use replank_schema::{Resource, discovery};

use crate::mirror::Snapshot;
use crate::query::unescape;
use crate::served::{Older, OlderVersion, Versions};

/// Where a path leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// To a resource.
    Resource(Box<Target>),
    /// To a part that objects of a custom resource do not have.
    NoPart(ResourceName, Key),
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
    /// The version that it is asked for in, where that is older than the one that is kept.
    pub older: Option<Box<Older>>,
}

impl Target {
    /// `apiVersion` of the objects as they are asked for.
    #[must_use]
    pub fn api_version(&self) -> String {
        self.older
            .as_ref()
            .map_or_else(|| self.resource.api_version().to_string(), |older| older.version.api_version())
    }

    /// Namespace and name of the object.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        Some(Key { namespace: self.namespace.clone().unwrap_or_default(), name: self.name.clone()? })
    }
}

/// Finds out where a path leads.
#[must_use]
pub fn route(path: &str, snapshot: &Snapshot, served: &Arc<dyn Versions>) -> Route {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Route::Other,
    };
    if !is_served(group, version, snapshot, &**served) {
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
        // A binding is made in a namespace, not kept: what is written is a part of a pod.
        ["bindings"] if group.is_empty() && namespace.is_some() => ("pods", None, Some("binding".to_owned())),
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, part @ ..] => (*plural, Some(*name), Some(part.join("/"))),
        [] => return Route::NoResource,
    };
    let Some((resource, is_custom, older)) = find(group, version, plural, (snapshot, served)) else {
        return Route::NoResource;
    };
    let name = name.map(|name| unescape(name, false));
    let is_out_of_place = match (resource.is_namespaced, namespace) {
        (true, None) => name.is_some(),
        (true, Some(_)) | (false, None) => false,
        (false, Some(_)) => true,
    };
    let is_odd = name.as_ref().is_some_and(|name| name.contains('/'));
    // What stands behind a part of a custom resource is not looked at.
    let part = match part {
        Some(part) if is_custom => part.split('/').next().map(str::to_owned),
        part => part,
    };
    let has_part = part.as_deref().is_none_or(|part| has_part(&resource, is_custom, part));
    if is_out_of_place || is_odd {
        return Route::NoResource;
    }
    if !has_part {
        return match name.filter(|_| is_custom) {
            // Its handler says that the object is not there.
            Some(name) => {
                Route::NoPart(resource.name, Key::new(namespace.unwrap_or_default(), name.as_str()))
            }
            None => Route::NoResource,
        };
    }
    Route::Resource(Box::new(Target {
        resource,
        namespace: namespace.map(|namespace| Namespace::from(unescape(namespace, false).as_str())),
        name: name.map(|name| Name::from(name.as_str())),
        part,
        is_custom,
        is_watch,
        older: older.map(|older| Box::new(Older::new(older, served.clone()))),
    }))
}

/// Whether anything is served of a group version.
fn is_served(group: &str, version: &str, snapshot: &Snapshot, served: &dyn Versions) -> bool {
    let of_discovery = discovery().all().filter(|one| one.name() == group);
    let mut versions = of_discovery.flat_map(|one| &one.versions);
    let is_there = |one: &Resource| served.serves(group, version, &one.response_kind.kind);
    versions.any(|one| one.version == version && one.resources.iter().any(is_there))
        || served.older().iter().any(|one| one.group == group && one.version == version)
        || snapshot.custom.iter().any(|one| &*one.name.group == group && &*one.version == version)
}

/// The resource, whether a definition declares it, and the older version that it is asked for in.
fn find(
    group: &str,
    version: &str,
    plural: &str,
    (snapshot, served): (&Snapshot, &Arc<dyn Versions>),
) -> Option<(ResourceType, bool, Option<OlderVersion>)> {
    if let Some(resource) = ResourceType::built_in(group, version, plural)
        && served.serves(group, version, &resource.name.kind)
    {
        return Some((resource.clone(), false, None));
    }
    for older in served.older().iter().filter(|one| one.group == group && one.version == version) {
        let newer = ResourceType::built_in(&older.newer_group, &older.newer_version, plural);
        if let Some(newer) = newer.filter(|newer| *newer.name.kind == *older.kind) {
            return Some((newer.clone(), false, Some(older.clone())));
        }
    }
    let is_it = |one: &&ResourceType| {
        &*one.name.group == group && &*one.version == version && &*one.name.plural == plural
    };
    Some((snapshot.custom.iter().find(is_it)?.clone(), true, None))
}

/// Whether objects of a resource have such a part.
fn has_part(resource: &ResourceType, is_custom: bool, part: &str) -> bool {
    let name = &resource.name;
    let word = part.split('/').next().unwrap_or_default();
    if is_custom {
        return resource.has_part(part);
    }
    // What is known here by its kind, and to a server only by a definition: NodeClaims.
    let Some(known) = discovery().resource(&name.group, &resource.version, &name.plural) else {
        return resource.has_part(part);
    };
    let parts = known.subresources.as_slice();
    // Only a proxy's path goes on.
    parts.iter().any(|one| one.subresource == part || (one.subresource == "proxy" && word == "proxy"))
}

/// Why a method cannot be used where a path leads, if it cannot: discovery lists what can. An object that has no method at all is not there.
#[must_use]
pub fn not_allowed(method: &Method, target: &Target) -> Option<ApiError> {
    let name = &target.resource.name;
    let known = discovery().resource(&name.group, &target.resource.version, &name.plural)?;
    let word = target.part.as_deref().map(|part| part.split('/').next().unwrap_or_default());
    let verbs = match word {
        Some(word) => &known.subresources.iter().find(|part| part.subresource == word)?.verbs,
        None => &known.verbs,
    };
    let is_collection = target.name.is_none() && word.is_none();
    let of_objects = ["get", "update", "patch", "delete"];
    if !is_collection && word.is_none() && !verbs.iter().any(|verb| of_objects.contains(&&**verb)) {
        return Some(ApiError::no_resource());
    }
    // All namespaces at once can only be listed.
    let is_of_all = is_collection && target.resource.is_namespaced && target.namespace.is_none();
    if is_of_all && !verbs.iter().any(|verb| verb == "list") {
        return Some(ApiError::no_resource());
    }
    let verb = match (method.as_str(), is_collection) {
        ("GET", true) => "list",
        _ if is_of_all => return Some(ApiError::method_not_allowed()),
        ("GET", false) => "get",
        ("POST", true) => "create",
        ("POST", false) if word.is_some() => "create",
        ("PUT", false) => "update",
        ("PATCH", false) => "patch",
        ("DELETE", false) => "delete",
        ("DELETE", true) => "deletecollection",
        _ => return Some(ApiError::method_not_allowed()),
    };
    (!verbs.iter().any(|known| known == verb)).then(ApiError::method_not_allowed)
}

/// What is said of a path that leads to no resource.
#[must_use]
pub fn no_resource() -> ApiError {
    ApiError::no_resource()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::Publisher;
    use crate::served::Newest;

    fn refused(method: &Method, path: &str) -> Option<u16> {
        let snapshot = Publisher::new([], Vec::new(), 1).mirror().snapshot();
        let served: Arc<dyn Versions> = Arc::new(Newest);
        let Route::Resource(target) = route(path, &snapshot, &served) else {
            panic!("{path} leads to a resource")
        };
        not_allowed(method, &target).map(|error| error.code)
    }

    #[test]
    fn what_discovery_does_not_list_is_not_allowed() {
        assert_eq!(refused(&Method::GET, "/apis/authorization.k8s.io/v1/subjectaccessreviews"), Some(405));
        assert_eq!(refused(&Method::POST, "/apis/authorization.k8s.io/v1/subjectaccessreviews"), None);
        assert_eq!(refused(&Method::GET, "/apis/authorization.k8s.io/v1/subjectaccessreviews/x"), Some(404));
        assert_eq!(refused(&Method::DELETE, "/api/v1/namespaces"), Some(405));
        assert_eq!(refused(&Method::POST, "/api/v1/namespaces/a/pods/x"), Some(405));
        assert_eq!(refused(&Method::POST, "/api/v1/namespaces/a/pods/x/eviction"), None);
        assert_eq!(refused(&Method::PUT, "/api/v1/namespaces/a/pods"), Some(405));
        assert_eq!(refused(&Method::POST, "/api/v1/pods"), Some(405));
    }
}
