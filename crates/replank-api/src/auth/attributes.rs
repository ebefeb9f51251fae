//! What a request wants to do to what, as authorization asks (apiserver `pkg/endpoints/request/requestinfo.go`).

use crate::query::{Query, unescape};

/// What a request wants to do to what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `get`, `list`, `create`, …; for other paths the method in lower case.
    pub verb: String,
    /// What it is done to.
    pub place: Place,
}

/// What something is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Objects of a resource.
    Resource {
        /// API group; empty for the core group.
        group: String,
        /// Plural name.
        resource: String,
        /// The part of the object; empty for all of it.
        part: String,
        /// Empty for cluster-scoped resources, and for all namespaces.
        namespace: String,
        /// Empty for all objects.
        name: String,
    },
    /// A path that leads to no resource.
    Path(String),
}

impl Default for Place {
    fn default() -> Self {
        Self::Path("/".to_owned())
    }
}

impl Attributes {
    /// Reads a request.
    #[must_use]
    pub fn read(method: &str, path: &str, query: &Query) -> Self {
        let parts: Vec<&str> = path.trim_matches('/').split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
            _ => {
                let verb = method.to_ascii_lowercase();
                return Self { verb, place: Place::Path(unescape(path, false)) };
            }
        };
        let verb = match method {
            "POST" => "create",
            "GET" | "HEAD" => "get",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            _ => "",
        };
        let (verb, rest) = match rest {
            [word @ ("proxy" | "watch"), rest @ ..] if !rest.is_empty() => (*word, rest),
            rest => (verb, rest),
        };
        let (namespace, rest) = match rest {
            // `namespaces/x` and its parts are the namespace itself, which counts as being in itself.
            ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize"] => {
                (*namespace, rest)
            }
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            rest => ("", rest),
        };
        let text = |at: usize| rest.get(at).map(|part| unescape(part, false)).unwrap_or_default();
        let (resource, mut name) = (text(0), text(1));
        let part = text(2);
        let verb = match verb {
            "get" | "delete" | "watch" if name.is_empty() => {
                name = named(query);
                match verb {
                    "delete" => "deletecollection",
                    "get" if !query.is_set("watch") => "list",
                    _ => "watch",
                }
            }
            verb => verb,
        };
        let namespace = unescape(namespace, false);
        let place = Place::Resource { group: group.to_owned(), resource, part, namespace, name };
        Self { verb: verb.to_owned(), place }
    }

    /// A request for an object of a resource.
    #[must_use]
    pub fn of(verb: &str, (group, resource): (&str, &str), namespace: &str, name: &str) -> Self {
        let place = Place::Resource {
            group: group.to_owned(),
            resource: resource.to_owned(),
            part: String::new(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        Self { verb: verb.to_owned(), place }
    }
}

/// The name that a field selector asks for: who may read one object may list it by its name.
fn named(query: &Query) -> String {
    let selector = query.get("fieldSelector").unwrap_or_default();
    let of_term = |term: &str| {
        let (field, value) = term.split_once("==").or_else(|| term.split_once('='))?;
        (field == "metadata.name").then(|| value.to_owned())
    };
    selector.split(',').find_map(of_term).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, path: &str, query: &str) -> (String, String) {
        let read = Attributes::read(method, path, &Query::read(query));
        let place = match read.place {
            Place::Path(path) => path,
            Place::Resource { group, resource, part, namespace, name } => {
                format!("{group}|{resource}|{part}|{namespace}|{name}")
            }
        };
        (read.verb, place)
    }

    #[test]
    fn verbs_and_places_are_as_upstream_reads_them() {
        let cases = [
            ("GET", "/api/v1/pods", "", "list", "|pods|||"),
            ("GET", "/api/v1/pods", "watch=1", "watch", "|pods|||"),
            ("GET", "/api/v1/watch/namespaces/a/pods", "", "watch", "|pods||a|"),
            ("HEAD", "/api/v1/namespaces/a/pods/p/log", "", "get", "|pods|log|a|p"),
            ("POST", "/api/v1/namespaces/a/pods/p/eviction", "", "create", "|pods|eviction|a|p"),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/a/deployments",
                "",
                "deletecollection",
                "apps|deployments||a|",
            ),
            ("DELETE", "/api/v1/namespaces/a", "", "delete", "|namespaces||a|a"),
            ("PUT", "/api/v1/namespaces/a/finalize", "", "update", "|namespaces|finalize|a|a"),
            ("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dx", "list", "|pods|||x"),
            ("GET", "/api/v1", "", "get", "/api/v1"),
            ("POST", "/metrics", "", "post", "/metrics"),
        ];
        for (method, path, query, verb, place) in cases {
            assert_eq!(read(method, path, query), (verb.to_owned(), place.to_owned()), "{method} {path}");
        }
    }
}
