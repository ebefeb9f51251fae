//! Questions about who somebody is and what they may do (pkg/registry/authorization, pkg/registry/authentication). Nothing is stored.

use std::collections::BTreeMap;

use replank_apiserver::{ApiError, Cause, ResourceName};
use replank_model::time::Time;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::attributes::{Attributes, Place};
use super::authenticate::token_user;
use super::claims::ISSUER;
use super::rbac::{Authorizer, aggregate};
use super::user::User;
use crate::mirror::Snapshot;
use crate::pki::Identity;

/// Answers questions.
#[derive(Clone, Copy, Debug)]
pub struct Reviewer<'a> {
    /// What tokens are worth something.
    pub identity: Option<&'a Identity>,
    /// Who may do what.
    pub authorizer: &'a Authorizer,
    /// The objects.
    pub snapshot: &'a Snapshot,
    /// When it is asked.
    pub now: Time,
}

/// What is asked about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    user: String,
    groups: Vec<String>,
    uid: String,
    extra: BTreeMap<String, Vec<String>>,
    resource_attributes: Option<Resource>,
    non_resource_attributes: Option<NonResource>,
    namespace: String,
    token: String,
    audiences: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Resource {
    namespace: String,
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    name: String,
    field_selector: Option<Selector>,
    label_selector: Option<Selector>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    raw_selector: String,
    requirements: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct NonResource {
    path: String,
    verb: String,
}

impl NonResource {
    /// As Go's encoder writes the internal type, which has no tags.
    fn shown(&self) -> String {
        format!("{{\"Path\":{:?},\"Verb\":{:?}}}", self.path, self.verb)
    }
}

/// Whether the objects of a resource are questions.
#[must_use]
pub fn is_review(resource: &ResourceName) -> bool {
    match &*resource.group {
        "authentication.k8s.io" => matches!(&*resource.plural, "selfsubjectreviews" | "tokenreviews"),
        "authorization.k8s.io" => matches!(
            &*resource.plural,
            "selfsubjectaccessreviews"
                | "subjectaccessreviews"
                | "localsubjectaccessreviews"
                | "selfsubjectrulesreviews"
        ),
        _ => false,
    }
}

impl Reviewer<'_> {
    /// Answers a question that somebody asks.
    ///
    /// # Errors
    /// 400 and 422 for one that cannot be answered.
    pub fn answer(
        self,
        user: &User,
        (resource, api_version): (&ResourceName, &str),
        namespace: &str,
        body: &Value,
    ) -> Result<Value, ApiError> {
        let members = match body {
            Value::Object(members) => members.clone(),
            Value::Null => Map::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(ApiError::bad_request("the object provided is unrecognized (must be an object)"));
            }
        };
        let spec = members.get("spec").cloned().unwrap_or_else(|| json!({}));
        let read: Spec = serde_json::from_value(spec.clone())
            .map_err(|error| unreadable(resource, api_version, &error))?;
        let mut metadata = members.get("metadata").cloned().unwrap_or_else(|| json!({}));
        let kind = &*resource.kind;
        let status = match kind {
            "SelfSubjectReview" => {
                metadata = json!({"creationTimestamp": self.now.floor_seconds().to_string()});
                let status = json!({"userInfo": user.info()});
                return Ok(
                    json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "status": status}),
                );
            }
            "TokenReview" => self.token(&read)?,
            "SelfSubjectRulesReview" => {
                let status = self.rules(user, &read)?;
                return Ok(json!({"kind": kind, "apiVersion": api_version, "metadata": {}, "spec": {},
                    "status": status}));
            }
            _ => {
                check(resource, namespace, &metadata, &read)?;
                self.access(user, kind == "SelfSubjectAccessReview", &read)
            }
        };
        Ok(
            json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "spec": spec, "status": status}),
        )
    }

    fn access(self, user: &User, is_self: bool, spec: &Spec) -> Value {
        let other = User {
            name: spec.user.clone(),
            uid: spec.uid.clone(),
            groups: spec.groups.clone(),
            extra: spec.extra.clone(),
        };
        let user = if is_self { user } else { &other };
        let verdict = self.authorizer.decide(user, &spec.attributes());
        let mut status = json!({"allowed": verdict.is_allowed});
        if !verdict.reason.is_empty() {
            status["reason"] = verdict.reason.into();
        }
        status
    }

    fn rules(self, user: &User, spec: &Spec) -> Result<Value, ApiError> {
        if spec.namespace.is_empty() {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        let (rules, errors) = self.authorizer.rules(user, &spec.namespace);
        let on_resources = rules.iter().filter(|rule| !rule.resources.is_empty()).map(|rule| {
            let mut told =
                json!({"verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources});
            if !rule.resource_names.is_empty() {
                told["resourceNames"] = json!(rule.resource_names);
            }
            told
        });
        let on_paths = rules.iter().filter(|rule| !rule.paths.is_empty());
        let on_paths = on_paths.map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.paths}));
        let mut status = json!({"resourceRules": on_resources.collect::<Vec<_>>(),
            "nonResourceRules": on_paths.collect::<Vec<_>>(), "incomplete": false});
        if !errors.is_empty() {
            status["evaluationError"] = aggregate(&errors).into();
        }
        Ok(status)
    }

    fn token(self, spec: &Spec) -> Result<Value, ApiError> {
        if spec.token.is_empty() {
            return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
        }
        let found = match self.identity {
            Some(identity) => token_user(identity, &spec.token, &spec.audiences, self.snapshot, self.now),
            None => Err(String::new()),
        };
        Ok(match found {
            Ok((user, audiences)) => {
                let own = || vec![ISSUER.to_owned()];
                let audiences = if audiences.is_empty() { own() } else { audiences };
                json!({"authenticated": true, "user": user.info(), "audiences": audiences})
            }
            Err(why) if why.is_empty() => json!({"user": {}, "error": "invalid bearer token"}),
            Err(why) => json!({"user": {}, "error": format!("[invalid bearer token, {why}]")}),
        })
    }
}

impl Spec {
    fn attributes(&self) -> Attributes {
        if let Some(asked) = &self.resource_attributes {
            let place = Place::Resource {
                group: asked.group.clone(),
                resource: asked.resource.clone(),
                part: asked.subresource.clone(),
                namespace: asked.namespace.clone(),
                name: asked.name.clone(),
            };
            return Attributes { verb: asked.verb.clone(), place };
        }
        let asked = self.non_resource_attributes.clone().unwrap_or_default();
        Attributes { verb: asked.verb, place: Place::Path(asked.path) }
    }
}

/// Refuses a question that is not one (pkg/apis/authorization/validation).
fn check(resource: &ResourceName, namespace: &str, metadata: &Value, spec: &Spec) -> Result<(), ApiError> {
    let kind = &*resource.kind;
    let mut causes = Vec::new();
    match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(_), Some(path)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            causes.push(Cause::invalid("spec.nonResourceAttributes", &path.shown(), why));
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.push(Cause::invalid("spec.resourceAttributes", "null", why));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    if kind != "SelfSubjectAccessReview" && spec.user.is_empty() && spec.groups.is_empty() {
        causes.push(Cause::invalid("spec.user", "\"\"", "at least one of user or group must be specified"));
    }
    if let Some(asked) = &spec.resource_attributes {
        let selectors = [("fieldSelector", &asked.field_selector), ("labelSelector", &asked.label_selector)];
        for (name, selector) in selectors {
            if let Some(selector) = selector {
                check_selector(&format!("spec.resourceAttributes.{name}"), selector, &mut causes);
            }
        }
    }
    let of_namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    let is_local = kind == "LocalSubjectAccessReview";
    let is_free = |name: &str| name == "managedFields" || (is_local && name == "namespace");
    let says_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    let rest = metadata.as_object().into_iter().flatten();
    if rest.into_iter().any(|(name, value)| !is_free(name) && !says_nothing(value)) {
        let why = if is_local { "must be empty except for namespace" } else { "must be empty" };
        causes.push(Cause::invalid("metadata", &shown(metadata), why));
    }
    if is_local {
        if let Some(asked) = spec.resource_attributes.as_ref().filter(|asked| asked.namespace != of_namespace)
        {
            let shown = format!("{:?}", asked.namespace);
            let field = "spec.resourceAttributes.namespace";
            causes.push(Cause::invalid(field, &shown, "must match metadata.namespace"));
        }
        if let Some(path) = &spec.non_resource_attributes {
            let why = "disallowed on this kind of request";
            causes.push(Cause::invalid("spec.nonResourceAttributes", &path.shown(), why));
        }
    }
    if !causes.is_empty() {
        // The registry of reviews names no kind.
        let nameless = ResourceName { kind: "".into(), ..resource.clone() };
        return Err(ApiError::invalid(nameless, "", causes));
    }
    if is_local && namespace != of_namespace {
        return Err(ApiError::bad_request(&format!(
            "spec.resourceAttributes.namespace must match namespace: {namespace}"
        )));
    }
    Ok(())
}

/// A selector has either requirements or a text.
fn check_selector(at: &str, selector: &Selector, causes: &mut Vec<Cause>) {
    if !selector.raw_selector.is_empty() && !selector.requirements.is_empty() {
        let shown = format!("{:?}", selector.raw_selector);
        let why = "may not specified at the same time as requirements";
        causes.push(Cause::invalid(format!("{at}.rawSelector"), &shown, why));
    }
    if selector.raw_selector.is_empty() && selector.requirements.is_empty() {
        let why = format!("when {at} is specified, requirements or rawSelector is required");
        causes.push(Cause::required(format!("{at}.requirements"), &why));
    }
    for (index, requirement) in selector.requirements.iter().enumerate() {
        let at = format!("{at}.requirements[{index}]");
        let text = |name: &str| requirement.get(name).and_then(Value::as_str).unwrap_or_default();
        let has_values =
            requirement.get("values").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        match text("operator") {
            "In" | "NotIn" if !has_values => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{at}.values"), why));
            }
            "Exists" | "DoesNotExist" if has_values => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{at}.values"), why));
            }
            "" => causes.push(Cause::required(format!("{at}.operator"), "")),
            // A server that does not know an operator leaves it to the authorizer.
            _ => {}
        }
        if text("key").is_empty() && at.contains("fieldSelector") {
            causes.push(Cause::required(format!("{at}.key"), ""));
        }
    }
}

/// Metadata as Go's encoder writes it: members in the order of the struct.
fn shown(metadata: &Value) -> String {
    const ORDER: [&str; 14] = [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
    ];
    let members = ORDER.iter().chain(&["managedFields"]).filter_map(|name| {
        let value = metadata.get(*name).filter(|value| !value.is_null())?;
        Some(format!("{name:?}:{value}"))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn unreadable(resource: &ResourceName, api_version: &str, error: &serde_json::Error) -> ApiError {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let kind = &resource.kind;
    ApiError::bad_request(&format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"))
}
