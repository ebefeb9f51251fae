//! Secrets that hold a token of a service account (pkg/controller/serviceaccount/tokens_controller.go).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use replank_api::auth::{Claims, Named};
use replank_apiserver::{Api, DeleteOptions};
use replank_model::object::Object;
use replank_model::object::meta::Key;
use serde_json::{Value, json};

use super::edit::{read, text, update};
use crate::trust::Trust;

/// The type of such Secrets.
pub(super) const TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation that names the account.
pub(super) const NAME: &str = "/metadata/annotations/kubernetes.io~1service-account.name";
/// The annotation with the account's uid.
const UID: &str = "/metadata/annotations/kubernetes.io~1service-account.uid";

/// Fills a Secret, or deletes it where its account is gone.
pub(super) fn fill(api: &mut Api, key: &Key, trust: &Trust) {
    let Some(mut secret) = read(api, "", "Secret", key) else { return };
    let name = text(&secret, NAME).to_owned();
    if text(&secret, "/type") != TYPE || name.is_empty() {
        return;
    }
    let account = Key { namespace: key.namespace.clone(), name: name.as_str().into() };
    let uid = api.view().other("", "ServiceAccount", &account).map(|account| account.meta.uid.to_string());
    let Some(uid) = uid.filter(|uid| [uid, ""].contains(&text(&secret, UID))) else {
        let known = api.view().other("", "Secret", key).cloned();
        if let Some(known) = known {
            drop(api.delete_known(&Object::Other(known), &DeleteOptions::default()));
        }
        return;
    };
    let claims =
        Claims::of_secret(key.namespace.as_str(), key.name.as_str(), &Named { name, uid: uid.clone() });
    let claims = serde_json::to_value(claims).unwrap_or_default();
    let Ok(token) = trust.signer.sign(&claims) else { return };
    secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = uid.into();
    if !secret["data"].is_object() {
        secret["data"] = json!({});
    }
    let wanted =
        [("ca.crt", trust.authority.as_str()), ("namespace", key.namespace.as_str()), ("token", &token)];
    for (member, value) in wanted {
        if secret["data"].get(member).and_then(Value::as_str).is_none_or(str::is_empty) {
            secret["data"][member] = STANDARD.encode(value).into();
        }
    }
    update(api, secret);
}
