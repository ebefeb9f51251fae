//! Requests that are about no object: discovery, OpenAPI, version, health, and reviews.

use serde_json::{Value, json};

use super::draw::Draw;
use super::kinds::Kind;
use super::step::{Class, Step};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// One request about the server itself.
pub(super) fn about(kinds: &[Kind], draw: &mut Draw) -> Step {
    let kind = draw.pick(kinds);
    let group = kind.version.split('/').next().unwrap_or_default();
    let path = match draw.below(14) {
        0 => kind.base.clone(),
        1 if kind.version.contains('/') => format!("/apis/{group}"),
        2 => format!("/openapi/v3{}", kind.base),
        3 => draw.text(&["/api", "/apis", "/api/", "/apis/", "/version", "/version/", "/openapi/v3"]),
        4 => draw.text(&[
            "/healthz",
            "/livez",
            "/readyz",
            "/livez/ping",
            "/readyz/etcd",
            "/healthz/none",
            "/readyz?verbose",
        ]),
        5 => draw.text(&[
            "/",
            "/none",
            "/apis/none",
            "/apis/none/v1",
            "/apis/apps/v9",
            "/api/v2",
            "/openapi/v3/apis/none/v1",
            "/apis/apps/v1/none",
        ]),
        6 => draw.text(&[
            "/.well-known/openid-configuration",
            "/openid/v1/jwks",
            "/metrics/none",
            "/logs",
            "/apis/apps/v1beta1",
            "/openapi/v2/none",
        ]),
        7 => format!("{}/", kind.base),
        _ => kind.base.clone(),
    };
    let method =
        if draw.percent(6) { draw.text(&["POST", "DELETE", "PUT", "OPTIONS"]) } else { "GET".to_owned() };
    let mut step = Step::new(Class::Meta, &method, path.clone());
    if draw.percent(15) {
        step.accept = draw.text(&[AGGREGATED, "application/yaml", "*/*", "text/html"]);
        // All groups at once hold those that other walks define.
        if step.accept == AGGREGATED && path.trim_end_matches('/') == "/apis" {
            "application/json".clone_into(&mut step.accept);
        }
    }
    step
}

/// One review of access.
pub(super) fn review(kinds: &[Kind], namespace: &str, draw: &mut Draw) -> Step {
    let users = [
        ("somebody", json!(["system:authenticated"])),
        ("system:kube-scheduler", json!(["system:authenticated"])),
        ("system:kube-controller-manager", json!([])),
        ("system:node:n", json!(["system:nodes", "system:authenticated"])),
        ("root", json!(["system:masters"])),
        ("system:serviceaccount:kube-system:deployment-controller", json!(["system:serviceaccounts"])),
        ("system:serviceaccount:kube-system:generic-garbage-collector", json!([])),
        ("system:anonymous", json!(["system:unauthenticated"])),
        ("", json!(["cluster-admins"])),
    ];
    let (user, groups) = draw.pick(&users).clone();
    let verb = draw.text(&[
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
        "bind",
        "*",
    ]);
    let kind = draw.pick(kinds);
    let group = kind.version.split_once('/').map_or("", |(group, _)| group);
    let resource = json!({"verb": verb, "group": group, "resource": kind.plural, "namespace": draw.text(&["", "default", "kube-system"]),
        "subresource": draw.text(&["", "", "status", "scale"])});
    let path = draw.text(&[
        "/",
        "/healthz",
        "/version",
        "/metrics",
        "/api",
        "/apis/apps",
        "/openapi/v3",
        "/none",
        "*",
    ]);
    let attributes = match draw.below(6) {
        0 => json!({"nonResourceAttributes": {"path": path, "verb": verb}}),
        1 => json!({"resourceAttributes": resource, "nonResourceAttributes": {"path": path, "verb": verb}}),
        2 if draw.percent(30) => json!({}),
        _ => json!({ "resourceAttributes": resource }),
    };
    let mut spec: Value = attributes;
    let base = "/apis/authorization.k8s.io/v1";
    let (path, kind) = match draw.below(8) {
        0 => (format!("{base}/selfsubjectaccessreviews"), "SelfSubjectAccessReview"),
        1 => (format!("{base}/namespaces/{namespace}/localsubjectaccessreviews"), "LocalSubjectAccessReview"),
        2 => ("/apis/authentication.k8s.io/v1/tokenreviews".to_owned(), "TokenReview"),
        3 => ("/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned(), "SelfSubjectReview"),
        _ => (format!("{base}/subjectaccessreviews"), "SubjectAccessReview"),
    };
    match kind {
        "TokenReview" => spec = json!({"token": draw.text(&["", "bad", "a.b.c"])}),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            spec["user"] = json!(user);
            spec["groups"] = groups;
        }
        _ => {}
    }
    let version =
        if path.contains("authentication") { "authentication.k8s.io/v1" } else { "authorization.k8s.io/v1" };
    Step::new(Class::Review, "POST", path).json(&json!({"apiVersion": version, "kind": kind, "spec": spec}))
}
