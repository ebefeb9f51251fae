//! What somebody is told who may not (apiserver `pkg/endpoints/handlers/responsewriters/errors.go`).

use replank_apiserver::{About, ApiError};

use super::attributes::{Attributes, Place};
use super::user::User;

/// 403, with what was asked for, and why it was refused if there is more to say.
#[must_use]
pub fn denied(user: &User, asked: &Attributes, reason: &str) -> ApiError {
    let mut why = format!("User {:?} cannot {} ", user.name, asked.verb);
    let about = match &asked.place {
        Place::Path(path) => {
            why.push_str(&format!("path {path:?}"));
            None
        }
        Place::Resource { group, resource, part, namespace, name } => {
            let slash = if part.is_empty() { "" } else { "/" };
            why.push_str(&format!("resource \"{resource}{slash}{part}\" in API group \"{group}\" "));
            match namespace.as_str() {
                "" => why.push_str("at the cluster scope"),
                namespace => why.push_str(&format!("in the namespace {namespace:?}")),
            }
            Some(About {
                group: group.as_str().into(),
                kind: resource.as_str().into(),
                name: name.as_str().into(),
            })
        }
    };
    if !reason.is_empty() {
        why.push_str(": ");
        why.push_str(reason);
    }
    ApiError::forbidden_to_user(about, &why)
}
