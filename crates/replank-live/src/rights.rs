//! What whoever asks may do, before anything is changed.

use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::connect::{Call, Connection, JSON};
use crate::error::{LiveError, Missing};

/// A rule that a command needs: as it stands in a ClusterRole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Resource, with its subresource.
    pub resource: &'static str,
    /// Verbs.
    pub verbs: &'static [&'static str],
}

impl From<&Rule> for Missing {
    fn from(rule: &Rule) -> Self {
        Self { group: rule.group.to_owned(), resource: rule.resource.to_owned(), verbs: rule.verbs }
    }
}

/// The rules of which a verb is not allowed, asked one by one (SelfSubjectAccessReview), in one namespace or in all. A server that does not answer such questions is taken to allow
/// everything: it will say no itself.
///
/// # Errors
/// Where the server cannot be asked.
pub async fn missing(
    connection: &Connection,
    namespace: Option<&str>,
    rules: &[Rule],
) -> Result<Vec<Rule>, LiveError> {
    let mut missing = Vec::new();
    // Whoever may do everything is not asked about each thing.
    let all = Rule { group: "*", resource: "*", verbs: &[] };
    if is_allowed(connection, namespace, &all, "*").await? {
        return Ok(missing);
    }
    for rule in rules {
        for verb in rule.verbs {
            if !is_allowed(connection, namespace, rule, verb).await? {
                missing.push(rule.clone());
                break;
            }
        }
    }
    Ok(missing)
}

async fn is_allowed(
    connection: &Connection,
    namespace: Option<&str>,
    rule: &Rule,
    verb: &str,
) -> Result<bool, LiveError> {
    let (resource, subresource) = rule.resource.split_once('/').unwrap_or((rule.resource, ""));
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes":
        {"group": rule.group, "resource": resource, "subresource": subresource, "verb": verb, "namespace": namespace.unwrap_or_default()}}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let call = Call {
        method: Method::POST,
        path: path.to_owned(),
        body: Some((JSON, review.to_string().into_bytes())),
    };
    let (response, _) = connection.exchange(&call, JSON).await?;
    let is_answered = response.status().is_success();
    let body = response.into_body().collect().await;
    let told: Option<Value> = body.ok().and_then(|body| serde_json::from_slice(&body.to_bytes()).ok());
    Ok(!is_answered || told.is_none_or(|told| told["status"]["allowed"] == true))
}
