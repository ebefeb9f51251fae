//! A token for a service account (pkg/registry/core/serviceaccount/storage/token.go).

use replank_apiserver::{ApiError, Cause, ResourceName};
use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use serde_json::{Value, json};

use super::claims::{Account, Claims, ISSUER, account_storage, named, secret_storage};
use super::signer::TokenSigner;
use crate::mirror::{Snapshot, StorageId};

/// How long a token counts if nobody says, in seconds.
const LASTS: i64 = 3600;
/// What a token lasts for that a pod mounts as every pod does.
const MOUNTED_LASTS: i64 = 3607;
/// What such a token really lasts for: who does not read the file anew is warned about first.
const MOUNTED_REALLY_LASTS: i64 = 365 * 24 * 3600;
/// The shortest and the longest.
const BOUNDS: (i64, i64) = (600, 1 << 32);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    audiences: Option<Vec<String>>,
    expiration_seconds: Option<i64>,
    bound_object_ref: Option<Bound>,
}

/// What a token ends with.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Bound {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
}

/// Issues a token for the account of a key; `manager` is who asks, as managed fields name it.
///
/// # Errors
/// 404 without the account or what the token is bound to, 400, 409 and 422 for a request that cannot be met.
pub fn token_request(
    signer: &TokenSigner,
    snapshot: &Snapshot,
    account: &Key,
    body: &Value,
    manager: Option<&str>,
    now: Time,
) -> Result<Value, ApiError> {
    let accounts =
        ResourceName { group: "".into(), plural: "serviceaccounts".into(), kind: "ServiceAccount".into() };
    let given = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, of) = (given("apiVersion"), given("kind"));
    if !of.is_empty() && of != "TokenRequest" {
        return Err(ApiError::bad_request(&format!(
            "{of} in version \"v1\" cannot be handled as a TokenRequest: no kind {of:?} is registered for version \
             {version:?} in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        )));
    }
    let stored = snapshot.get(&account_storage(), account);
    let stored = stored.ok_or_else(|| ApiError::not_found(accounts, account))?;
    let spec = body.get("spec").cloned().unwrap_or_else(|| json!({}));
    let read: Spec = serde_json::from_value(spec).map_err(|error| {
        ApiError::bad_request(&format!(
            "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: {error}"
        ))
    })?;
    check(account, body, &read)?;
    let seconds = read.expiration_seconds.unwrap_or(LASTS);
    let issued = now.as_millis() / 1000;
    let audiences = read.audiences.clone().filter(|audiences| !audiences.is_empty());
    let audiences = audiences.unwrap_or_else(|| vec![ISSUER.to_owned()]);
    let mut owner = Account {
        namespace: account.namespace.as_str().to_owned(),
        serviceaccount: named(&stored.object),
        ..Account::default()
    };
    if let Some(bound) = &read.bound_object_ref {
        bind(snapshot, account, bound, &mut owner)?;
    }
    let is_mounted = owner.pod.is_some()
        && seconds == MOUNTED_LASTS
        && audiences.iter().any(|audience| audience == ISSUER);
    if is_mounted {
        owner.warnafter = Some(issued + seconds);
    }
    let claims = Claims {
        aud: audiences.clone(),
        exp: Some(issued + if is_mounted { MOUNTED_REALLY_LASTS } else { seconds }),
        iat: Some(issued),
        iss: ISSUER.to_owned(),
        jti: random_uid()?,
        account: Some(owner),
        nbf: Some(issued),
        sub: format!("system:serviceaccount:{}:{}", account.namespace, account.name),
        ..Claims::default()
    };
    let claims = serde_json::to_value(&claims).map_err(|error| ApiError::internal(&error.to_string()))?;
    let token = signer.sign(&claims).map_err(|error| ApiError::internal(&error.to_string()))?;
    let bound = body.pointer("/spec/boundObjectRef").cloned().unwrap_or_default();
    let mut answer = json!({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": account.name.as_str(), "namespace": account.namespace.as_str(),
            "uid": stored.meta().uid.as_str(), "creationTimestamp": now.floor_seconds().to_string()},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound},
        "status": {"token": token,
            "expirationTimestamp": (now.floor_seconds() + Span::from_secs(seconds)).to_string()}});
    if let Some(manager) = manager {
        answer["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Update", "apiVersion": "authentication.k8s.io/v1",
            "time": now.floor_seconds().to_string(), "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": managed(body)},
            "subresource": "token"}]);
    }
    Ok(answer)
}

/// The fields that a request sets: how long a token lasts always, as that is filled in before.
fn managed(body: &Value) -> Value {
    let mut fields = json!({"f:expirationSeconds": {}});
    if body.pointer("/spec/audiences").and_then(Value::as_array).is_some_and(|all| !all.is_empty()) {
        fields["f:audiences"] = json!({});
    }
    if let Some(bound) = body.pointer("/spec/boundObjectRef").and_then(Value::as_object) {
        let mut below = serde_json::Map::from_iter([(".".to_owned(), json!({}))]);
        let said = bound.iter().filter(|(_, one)| one.as_str().is_some_and(|text| !text.is_empty()));
        below.extend(said.map(|(name, _)| (format!("f:{name}"), json!({}))));
        fields["f:boundObjectRef"] = Value::Object(below);
    }
    fields
}

fn check(account: &Key, body: &Value, spec: &Spec) -> Result<(), ApiError> {
    let kind = ResourceName {
        group: "authentication.k8s.io".into(),
        plural: "tokenrequests".into(),
        kind: "TokenRequest".into(),
    };
    for (field, own) in [("name", account.name.as_str()), ("namespace", account.namespace.as_str())] {
        let given = body.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
        if !given.is_empty() && given != own {
            let whose = if field == "name" { "name" } else { "namespace" };
            let why = format!("must match the service account {whose} if specified");
            let cause = Cause::invalid(format!("metadata.{field}"), &format!("{given:?}"), &why);
            return Err(ApiError::invalid(kind, account.name.as_str(), vec![cause]));
        }
    }
    let seconds = spec.expiration_seconds.unwrap_or(LASTS);
    let why = if seconds < BOUNDS.0 {
        "may not specify a duration less than 10 minutes"
    } else if seconds > BOUNDS.1 {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let cause = Cause::invalid("spec.expirationSeconds", &seconds.to_string(), why);
    Err(ApiError::invalid(kind, "", vec![cause]))
}

/// Binds a token to an object: it ends with it.
fn bind(snapshot: &Snapshot, account: &Key, bound: &Bound, owner: &mut Account) -> Result<(), ApiError> {
    let (storage, plural, namespace) = match (bound.api_version.as_str(), bound.kind.as_str()) {
        ("v1", "Pod") => (StorageId::Typed(Kind::Pod), "pods", account.namespace.as_str()),
        ("v1", "Secret") => (secret_storage(), "secrets", account.namespace.as_str()),
        ("v1", "Node") => (StorageId::Typed(Kind::Node), "nodes", ""),
        (version, kind) => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(ApiError::bad_request(&why));
        }
    };
    let key = Key::new(namespace, bound.name.as_str());
    let name = |plural: &str| ResourceName {
        group: "".into(),
        plural: plural.into(),
        kind: bound.kind.as_str().into(),
    };
    let stored = snapshot.get(&storage, &key).ok_or_else(|| ApiError::not_found(name(plural), &key))?;
    let found = named(&stored.object);
    if !bound.uid.is_empty() && bound.uid != found.uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
             deleted and then recreated",
            bound.uid
        );
        return Err(ApiError::conflict(name(&bound.kind), &key, &why));
    }
    if let Object::Pod(pod) = &stored.object {
        if *pod.spec.service_account_name != *account.name.as_str() {
            let why = format!(
                "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                account.name.as_str()
            );
            return Err(ApiError::bad_request(&why));
        }
        let of_name =
            |name: &NodeName| snapshot.get(&StorageId::Typed(Kind::Node), &Key::cluster(name.text().clone()));
        owner.node = pod.node.as_ref().and_then(of_name).map(|node| named(&node.object));
        owner.pod = Some(found);
    } else if bound.kind == "Secret" {
        owner.secret = Some(found);
    } else {
        owner.node = Some(found);
    }
    Ok(())
}

/// A random UUID.
fn random_uid() -> Result<String, ApiError> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| ApiError::internal("the system gives no random numbers"))?;
    let drawn = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0x3 << 62) | (4 << 76) | (2 << 62);
    let hex = format!("{drawn:032x}");
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}
