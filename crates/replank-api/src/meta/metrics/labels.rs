//! What a request is counted under (apiserver, endpoints/metrics/metrics.go).

use hyper::Method;

use crate::query::Query;

/// What a request is counted under.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Labels {
    pub(super) component: &'static str,
    pub(super) dry_run: String,
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) scope: &'static str,
    pub(super) subresource: String,
    pub(super) verb: &'static str,
    pub(super) version: String,
}

impl Labels {
    /// Reads them off a request: off its path alone, so that what leads nowhere is counted, too.
    pub(crate) fn of(method: &Method, path: &str, query: &Query, content_type: &str) -> Self {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return Self::of_other(method, &parts),
        };
        let (is_old_watch, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let (is_namespaced, rest) = match rest {
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (false, rest),
            ["namespaces", _, rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let is_named = rest.len() > 1;
        let is_by_name = query.text("fieldSelector").is_some_and(|text| text.starts_with("metadata.name="));
        let subresource = rest.get(2).copied().unwrap_or_default();
        let is_watch = is_old_watch || query.is_set("watch");
        Self {
            component: "apiserver",
            dry_run: query.get("dryRun").unwrap_or_default().to_owned(),
            group: group.to_owned(),
            resource: rest.first().copied().unwrap_or_default().to_owned(),
            scope: match (is_named || is_by_name, is_namespaced) {
                (true, _) => "resource",
                (false, true) => "namespace",
                (false, false) => "cluster",
            },
            subresource: subresource.to_owned(),
            verb: verb(method, (is_named, subresource), is_watch, content_type),
            version: version.to_owned(),
        }
    }

    /// Of a path that is no resource: the path stands for what it is, its checks and documents not told apart.
    fn of_other(method: &Method, parts: &[&str]) -> Self {
        let known = match parts {
            ["healthz" | "livez" | "readyz" | "version" | "metrics", ..] => format!("/{}", parts[0]),
            ["openapi", which @ ("v2" | "v3"), ..] => format!("/openapi/{which}"),
            _ => String::new(),
        };
        Self { subresource: known, verb: verb(method, (true, ""), false, ""), ..Self::default() }
    }

    /// Whether the request may change something.
    pub(crate) fn is_mutating(&self) -> bool {
        !matches!(self.verb, "GET" | "LIST" | "WATCH" | "HEAD")
    }

    /// Whether the answer lasts until somebody ends it.
    pub(crate) fn is_long(&self) -> bool {
        self.verb == "WATCH"
            || matches!(&*self.subresource, "log" | "exec" | "attach" | "proxy" | "portforward")
    }
}

fn verb(method: &Method, (is_named, part): (bool, &str), is_watch: bool, content_type: &str) -> &'static str {
    match *method {
        _ if matches!(part, "exec" | "attach" | "proxy" | "portforward") => "CONNECT",
        Method::GET if is_watch => "WATCH",
        Method::GET if is_named => "GET",
        Method::GET => "LIST",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH if content_type.starts_with("application/apply-patch") => "APPLY",
        Method::PATCH => "PATCH",
        Method::DELETE if is_named => "DELETE",
        Method::DELETE => "DELETECOLLECTION",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart_as_upstream_does() {
        let of = |method: Method, path: &str, query: &str, media: &str| {
            let labels = Labels::of(&method, path, &Query::read(query), media);
            format!(
                "{} {} {} {} {}",
                labels.verb, labels.group, labels.resource, labels.scope, labels.subresource
            )
        };
        assert_eq!(of(Method::GET, "/api/v1/pods", "watch=1", ""), "WATCH  pods cluster ");
        assert_eq!(of(Method::GET, "/api/v1/namespaces/a", "", ""), "GET  namespaces resource ");
        let deployments = "/apis/apps/v1/namespaces/a/deployments";
        assert_eq!(of(Method::DELETE, deployments, "", ""), "DELETECOLLECTION apps deployments namespace ");
        let patched =
            of(Method::PATCH, &format!("{deployments}/x/status"), "", "application/apply-patch+yaml");
        assert_eq!(patched, "APPLY apps deployments resource status");
        assert_eq!(of(Method::GET, "/readyz/etcd", "", ""), "GET    /readyz");
    }
}
