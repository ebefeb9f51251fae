//! What is asked of the simulation itself, beside the API of Kubernetes.

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request};
use replank_apiserver::ApiError;

use crate::answer::{self, Answer};
use crate::manage::Manage;
use crate::owner::Owner;

/// What is asked fits into this.
const BODY_MAX: usize = 64 * 1024;

/// Answers what is asked of the simulation.
pub(super) async fn manage(owner: &Owner, request: Request<Incoming>) -> Answer {
    if request.method() != Method::POST {
        return answer::refusal(&ApiError::method_not_allowed());
    }
    let bytes = match Limited::new(request.into_body(), BODY_MAX).collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(error) => return answer::refusal(&ApiError::bad_request(&error.to_string())),
    };
    let ask: Manage = match serde_json::from_slice(&bytes) {
        Ok(ask) => ask,
        Err(error) => return answer::refusal(&ApiError::bad_request(&error.to_string())),
    };
    match owner.manage(ask).await {
        Some(Ok(value)) => answer::json(200, &value),
        Some(Err(why)) => answer::refusal(&ApiError::bad_request(&why)),
        None => answer::refusal(&ApiError::internal("the cluster is being stopped")),
    }
}
