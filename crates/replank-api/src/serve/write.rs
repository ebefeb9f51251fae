//! Requests that the owner of the world answers: whatever changes something.

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request};
use replank_apiserver::ApiError;
use replank_apiserver::json::{self, Response};
use serde_json::Value;

use crate::answer::{self, Answer};
use crate::owner::Owner;

/// The largest body of a request, as upstream.
const BODY_MAX: usize = 3 * 1024 * 1024;

/// Has a request answered by the owner.
pub(super) async fn write(owner: &Owner, request: Request<Incoming>) -> Answer {
    let Some(method) = method(request.method()) else {
        return answer::refusal(&ApiError::method_not_allowed());
    };
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let bytes = match Limited::new(request.into_body(), BODY_MAX).collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return answer::refusal(&ApiError::too_large(BODY_MAX));
        }
        Err(error) => return answer::refusal(&ApiError::bad_request(&error.to_string())),
    };
    let body = match bytes.is_empty() {
        true => Value::Null,
        false => match serde_json::from_slice(&bytes) {
            Ok(body) => body,
            Err(error) => return answer::refusal(&ApiError::bad_request(&error.to_string())),
        },
    };
    let request = json::Request { method, path, content_type, body };
    match owner.request(request).await {
        Some(Response { code, body }) => answer::status(code, &body),
        None => answer::refusal(&ApiError::internal("the cluster is being stopped")),
    }
}

fn method(method: &Method) -> Option<json::Method> {
    match *method {
        Method::GET => Some(json::Method::Get),
        Method::POST => Some(json::Method::Post),
        Method::PUT => Some(json::Method::Put),
        Method::PATCH => Some(json::Method::Patch),
        Method::DELETE => Some(json::Method::Delete),
        _ => None,
    }
}
