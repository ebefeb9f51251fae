//! Operations of built-in resources, read off the table of paths.

use std::collections::BTreeMap;

use replank_schema::{Operation as Row, discovery, paths, types};

use super::operation::{Body, Operation};

/// What everything but streams is answered in.
const FORMS: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
/// What lists and watches are answered in besides.
const STREAMS: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];
/// Types of bodies and answers that are the same for all resources.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// What deletions take that the table does not have.
const BREAKING: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// Paths of a document, each with its operations.
pub(super) type Paths = BTreeMap<String, Vec<Operation>>;

/// The paths below one: `/api/v1/`, `/apis/apps/v1/`, and the discovery of it.
pub(super) fn below(prefix: &str) -> Paths {
    let of_prefix = paths().iter().filter(|(path, _)| path.starts_with(prefix));
    let mut made: Paths = of_prefix
        .map(|(path, methods)| {
            let mut operations: Vec<Operation> =
                methods.iter().map(|(method, row)| resource(path, method, row)).collect();
            // What is handed on takes every method.
            if let Some(row) = methods.get("get").filter(|_| is_proxy(path)) {
                operations.extend(["head", "options"].map(|method| resource(path, method, row)));
            }
            (path.clone(), operations)
        })
        .collect();
    let parts: Vec<&str> = prefix.trim_matches('/').split('/').collect();
    if let Some((id, words, answers)) = match parts.as_slice() {
        ["api"] => Some(("getCoreAPIVersions".to_owned(), "get available API versions", "APIVersions")),
        ["apis"] => Some(("getAPIVersions".to_owned(), "get available API versions", "APIGroupList")),
        ["apis", group] => {
            Some((format!("get{}APIGroup", camel_group(group)), "get information of a group", "APIGroup"))
        }
        ["api", _] | ["apis", _, _] => Some((
            format!("get{}APIResources", camel_path(&parts)),
            "get available resources",
            "APIResourceList",
        )),
        _ => None,
    } {
        let one = described(id, tag(&parts), words, Some(format!("{META}.{answers}")), &FORMS);
        made.insert(
            prefix.to_owned(),
            vec![Operation { consumes: FORMS.map(str::to_owned).to_vec(), ..one }],
        );
    }
    made
}

/// The paths that are no resources and no discovery, by their keys in `/openapi/v3`.
pub(super) fn others() -> [(&'static str, &'static str, Operation); 3] {
    let version = described(
        "getCodeVersion".into(),
        "version".into(),
        "get the version information for this server",
        Some("io.k8s.apimachinery.pkg.version.Info".into()),
        &["application/json"],
    );
    let keys = described(
        "getServiceAccountIssuerOpenIDKeyset".into(),
        "openid".into(),
        "get the public keys that verify tokens of service accounts",
        None,
        &["application/jwk-set+json"],
    );
    let issuer = described(
        "getServiceAccountIssuerOpenIDConfiguration".into(),
        "WellKnown".into(),
        "get the OpenID configuration of the issuer of service accounts' tokens",
        None,
        &["application/json"],
    );
    [
        ("version", "/version/", version),
        ("openid/v1/jwks", "/openid/v1/jwks/", keys),
        (".well-known/openid-configuration", "/.well-known/openid-configuration/", issuer),
    ]
}

/// A GET that takes nothing.
fn described(
    id: String,
    tag: String,
    words: &str,
    answers: Option<String>,
    produces: &[&'static str],
) -> Operation {
    Operation {
        method: "get".into(),
        id,
        tag,
        words: words.into(),
        action: None,
        about: None,
        parameters: Vec::new(),
        body: None,
        codes: vec!["200"],
        answers,
        consumes: produces.iter().map(|one| (*one).to_owned()).collect(),
        produces: produces.to_vec(),
    }
}

/// What a method of a resource takes and answers.
fn resource(path: &str, method: &str, row: &Row) -> Operation {
    let place = Place::of(path);
    let action = row.action.clone().unwrap_or_default();
    let own = types().name_of(&row.group, &row.version, &row.kind).map(str::to_owned);
    let meta = |name: &str| format!("{META}.{name}");
    let (body, answers, codes): (Option<(String, bool)>, Option<String>, &[&'static str]) =
        match action.as_str() {
            "list" => (None, own.clone().map(|name| format!("{name}List")), &["200"]),
            "post" => (own.clone().map(|name| (name, true)), own.clone(), &["200", "201", "202"]),
            "put" => (own.clone().map(|name| (name, true)), own.clone(), &["200", "201"]),
            "patch" => (Some((meta("Patch"), true)), own.clone(), &["200", "201"]),
            "delete" => {
                let answers = if answers_object(row) { own.clone() } else { Some(meta("Status")) };
                (Some((meta("DeleteOptions"), false)), answers, &["200", "202"])
            }
            "deletecollection" => (Some((meta("DeleteOptions"), false)), Some(meta("Status")), &["200"]),
            "watch" | "watchlist" => (None, Some(meta("WatchEvent")), &["200"]),
            "connect" => (None, None, &["200"]),
            _ if place.parts.first() == Some(&"log") => (None, None, &["200"]),
            _ => (None, own.clone(), &["200"]),
        };
    let mut parameters = row.params.clone();
    if matches!(action.as_str(), "delete" | "deletecollection")
        && !parameters.iter().any(|name| name == BREAKING)
    {
        parameters.push(BREAKING.to_owned());
        parameters.sort();
    }
    let any = || vec!["*/*".to_owned()];
    Operation {
        method: method.to_owned(),
        id: id(path, &place, &action, method, &kind_of(path, &place)),
        tag: tag(&place.head),
        words: words(&action, &place, row),
        about: Some((row.group.clone(), row.version.clone(), row.kind.clone())),
        parameters,
        body: body.map(|(name, is_required)| Body { name, is_required }),
        codes: codes.to_vec(),
        answers,
        consumes: if row.consumes.is_empty() { any() } else { row.consumes.clone() },
        produces: produces(&action, &place),
        action: Some(action),
    }
}

fn produces(action: &str, place: &Place<'_>) -> Vec<&'static str> {
    match action {
        "list" | "watch" | "watchlist" => [&FORMS[..], &STREAMS].concat(),
        "connect" => vec!["*/*"],
        _ if place.parts.first() == Some(&"log") => [&["text/plain"], &FORMS[..]].concat(),
        _ => FORMS.to_vec(),
    }
}

/// Deletions of these answer with the object, others with a Status (registries with `returnDeletedObject`).
fn answers_object(row: &Row) -> bool {
    match &*row.group {
        "" => matches!(
            &*row.kind,
            "PersistentVolume"
                | "PersistentVolumeClaim"
                | "Pod"
                | "PodTemplate"
                | "ResourceQuota"
                | "Service"
                | "ServiceAccount"
        ),
        "resource.k8s.io" => true,
        "storage.k8s.io" => row.kind != "CSIStorageCapacity",
        _ => false,
    }
}

fn is_proxy(path: &str) -> bool {
    path.ends_with("/{name}/proxy") || path.ends_with("/{name}/proxy/{path}")
}

/// What a path consists of.
struct Place<'a> {
    /// `api`, `v1`, or `apis`, group, version.
    head: Vec<&'a str>,
    is_watch: bool,
    is_namespaced: bool,
    plural: &'a str,
    /// What follows the name.
    parts: Vec<&'a str>,
}

impl<'a> Place<'a> {
    fn of(path: &'a str) -> Self {
        let all: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (head, rest) = all.split_at(if all[0] == "api" { 2 } else { 3 });
        let is_watch = rest.first() == Some(&"watch");
        let rest = if is_watch { &rest[1..] } else { rest };
        let (is_namespaced, rest) = match rest {
            ["namespaces", "{namespace}", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let parts = rest.get(2..).unwrap_or_default().to_vec();
        Self {
            head: head.to_vec(),
            is_watch,
            is_namespaced,
            plural: rest.first().copied().unwrap_or_default(),
            parts,
        }
    }
}

/// The kind of the resource, whatever its part answers with.
fn kind_of(path: &str, place: &Place<'_>) -> String {
    let (group, version) = match place.head.as_slice() {
        [_, version] => ("", *version),
        [_, group, version] => (*group, *version),
        _ => ("", ""),
    };
    let known = discovery().resource(group, version, place.plural);
    known.unwrap_or_else(|| panic!("{path} is of no resource")).response_kind.kind.clone()
}

/// The id of an operation, as upstream's installer makes it (apiserver, endpoints/installer.go and openapi.go).
fn id(path: &str, place: &Place<'_>, action: &str, method: &str, kind: &str) -> String {
    let mut made = match action {
        "get" => "read",
        "post" => "create",
        "put" => "replace",
        "deletecollection" => "delete",
        "watchlist" => "watch",
        other => other,
    }
    .to_owned();
    made.push_str(&camel_path(&place.head));
    match action {
        "connect" => made.push_str(&capital(method)),
        "deletecollection" => made.push_str("Collection"),
        _ => {}
    }
    if place.is_namespaced {
        made.push_str("Namespaced");
    }
    made.push_str(kind);
    if action == "watchlist" {
        made.push_str("List");
    }
    for part in &place.parts {
        match part.starts_with('{') {
            true => made.push_str("WithPath"),
            false => made.push_str(&capital(part)),
        }
    }
    let is_of_all =
        matches!(action, "list" | "watchlist") && !place.is_namespaced && is_in_namespaces(path, place);
    if is_of_all {
        made.push_str("ForAllNamespaces");
    }
    made
}

/// Whether there is a path of the same resource in one namespace.
fn is_in_namespaces(path: &str, place: &Place<'_>) -> bool {
    let head = place.head.join("/");
    let watch = if place.is_watch { "watch/" } else { "" };
    assert!(path.ends_with(place.plural), "{path}");
    paths().contains_key(&format!("/{head}/{watch}namespaces/{{namespace}}/{}", place.plural))
}

fn words(action: &str, place: &Place<'_>, row: &Row) -> String {
    let kind = &row.kind;
    let of = match place.parts.first() {
        Some(part) => format!("{part} of the specified "),
        None => "the specified ".to_owned(),
    };
    match action {
        "get" => format!("read {of}{kind}"),
        "list" => format!("list or watch objects of kind {kind}"),
        "post" if place.parts.is_empty() => format!("create a {kind}"),
        "post" => format!("create {of}{kind}"),
        "put" => format!("replace {of}{kind}"),
        "patch" => format!("partially update {of}{kind}"),
        "delete" => format!("delete a {kind}"),
        "deletecollection" => format!("delete collection of {kind}"),
        "watch" => format!("watch changes to an object of kind {kind}"),
        "watchlist" => format!("watch individual changes to a list of {kind}"),
        "connect" => format!("connect requests to {}", place.parts.first().copied().unwrap_or_default()),
        other => other.to_owned(),
    }
}

/// What operations of a group version are listed under: `core_v1`, `rbacAuthorization_v1`, or the group alone.
pub(super) fn tag(head: &[&str]) -> String {
    let group = |group: &str| {
        let made = camel_group(group);
        let mut letters = made.chars();
        letters
            .next()
            .map(|first| first.to_lowercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    };
    match head {
        ["api"] => "core".to_owned(),
        ["api", version] => format!("core_{version}"),
        ["apis", name] => group(name),
        ["apis", name, version] => format!("{}_{version}", group(name)),
        other => other.join("_"),
    }
}

/// Group and version as ids have them: `CoreV1`, `RbacAuthorizationV1`.
pub(super) fn camel_path(head: &[&str]) -> String {
    match head {
        ["api", version] => format!("Core{}", capital(version)),
        ["apis", group, version] => format!("{}{}", camel_group(group), capital(version)),
        _ => String::new(),
    }
}

fn camel_group(group: &str) -> String {
    group.trim_end_matches(".k8s.io").split('.').map(capital).collect()
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_a_real_server() {
        let all = [below("/api/v1/"), below("/apis/apps/v1/"), below("/apis/rbac.authorization.k8s.io/v1/")];
        let of = |path: &str, method: &str| {
            let operations = all.iter().find_map(|paths| paths.get(path)).expect("it is a path");
            operations
                .iter()
                .find(|one| one.method == method)
                .map(|one| one.id.clone())
                .expect("it has the method")
        };
        let pods = "/api/v1/namespaces/{namespace}/pods/{name}";
        assert_eq!(of(&format!("{pods}/exec"), "get"), "connectCoreV1GetNamespacedPodExec");
        assert_eq!(
            of(&format!("{pods}/proxy/{{path}}"), "put"),
            "connectCoreV1PutNamespacedPodProxyWithPath"
        );
        assert_eq!(of(&format!("{pods}/proxy"), "options"), "connectCoreV1OptionsNamespacedPodProxy");
        assert_eq!(of(&format!("{pods}/eviction"), "post"), "createCoreV1NamespacedPodEviction");
        assert_eq!(of("/apis/apps/v1/deployments", "get"), "listAppsV1DeploymentForAllNamespaces");
        assert_eq!(
            of("/apis/apps/v1/namespaces/{namespace}/deployments", "delete"),
            "deleteAppsV1CollectionNamespacedDeployment"
        );
        assert_eq!(
            of("/apis/rbac.authorization.k8s.io/v1/clusterroles", "get"),
            "listRbacAuthorizationV1ClusterRole"
        );
        assert_eq!(of("/apis/apps/v1/", "get"), "getAppsV1APIResources");
        assert_eq!(of("/api/v1/watch/namespaces/{name}", "get"), "watchCoreV1Namespace");
    }
}
