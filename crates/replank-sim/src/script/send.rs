//! Requests of those who act on a world from outside.

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use serde_json::Value;

use crate::world::World;
use replank_apiserver::json::{Method, Request};

/// Something could not happen: what it is about is not there, or the API server refuses it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotPossible(pub String);

/// Sends a request about an object; a patch is a merge patch.
///
/// # Errors
/// If the API server refuses it.
pub fn send(
    world: &mut World,
    method: Method,
    kind: Kind,
    key: &Key,
    subresource: &str,
    body: Value,
) -> Result<(), NotPossible> {
    let root = if kind.api_version().contains('/') { "apis" } else { "api" };
    let namespace =
        if kind.is_namespaced() { format!("namespaces/{}/", key.namespace) } else { String::new() };
    let path =
        format!("/{root}/{}/{namespace}{}/{}{subresource}", kind.api_version(), kind.plural(), key.name);
    let content_type = "application/merge-patch+json".to_owned();
    let response = world.request(|api| api.handle(&Request { method, path, content_type, body, wire: None }));
    if response.code < 300 {
        return Ok(());
    }
    let message = response.body["message"].as_str().unwrap_or("refused").to_owned();
    Err(NotPossible(format!("{} {key}: {} {message}", kind.as_str(), response.code)))
}
