//! Requests that the owner of the world answers: whatever changes something.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Method, Request};
use replank_apiserver::ApiError;
use replank_apiserver::json::{self, Response, Wire};
use replank_model::object::meta::Key;
use replank_schema::discovery;
use serde_json::Value;

use super::render::Renderer;
use crate::answer::{self, Answer};
use crate::mirror::{Mirror, StorageId};
use crate::owner::Owner;
use crate::read;
use crate::route::Target;
use crate::wire;

/// The largest body of a request, as upstream.
const BODY_MAX: usize = 3 * 1024 * 1024;

/// How long a client may take to send one.
const BODY_WITHIN: Duration = Duration::from_secs(60);

/// Has a request answered by the owner.
pub(super) async fn write(
    owner: &Owner,
    request: Request<Incoming>,
    target: &Target,
    render: Renderer,
) -> Answer {
    let Some(method) = method(request.method()) else {
        return render.refusal(&ApiError::method_not_allowed());
    };
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let user_agent = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
    let wire = Wire { user_agent: user_agent.unwrap_or_default().to_owned(), duplicates: Vec::new() };
    let whole = Limited::new(request.into_body(), BODY_MAX).collect();
    let bytes = match tokio::time::timeout(BODY_WITHIN, whole).await.unwrap_or_else(|late| Err(late.into())) {
        Ok(whole) => whole.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return render.refusal(&ApiError::too_large(BODY_MAX));
        }
        Err(error) => return render.refusal(&ApiError::bad_request(&error.to_string())),
    };
    let expected = expected(method, target);
    let body = match wire::decode(&content_type, &bytes, expected.as_wire()) {
        Ok(body) => body.value,
        Err(error) => return render.refusal(&error),
    };
    // What a dry run answers is stored nowhere, and what a deletion answers is stored no more.
    let is_stored = match method {
        json::Method::Post | json::Method::Put | json::Method::Patch => !path.contains("dryRun"),
        json::Method::Get | json::Method::Delete => false,
    };
    let request = json::Request { method, path, content_type, body, wire: Some(wire) };
    match owner.request(request).await {
        Some(Response { code, body, warnings }) => {
            let mut answer = match is_stored {
                true => answered(owner.mirror(), target, render, code, body),
                false => render.value(code, &body),
            };
            answer::warn(&mut answer, &warnings);
            answer
        }
        None => render.refusal(&ApiError::internal("the cluster is being stopped")),
    }
}

/// The owner's answer. The object that was written is in the mirror by now: whoever asks for it later is given the same bytes.
fn answered(mirror: &Mirror, target: &Target, render: Renderer, code: u16, body: Value) -> Answer {
    if !render.is_cached_json() {
        return render.value(code, &body);
    }
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let resource = &target.resource;
    if text("/kind") != &*resource.name.kind {
        return render.value(code, &body);
    }
    let key = Key::new(text("/metadata/namespace"), text("/metadata/name"));
    let version = text("/metadata/resourceVersion").parse().unwrap_or(0);
    let snapshot = mirror.snapshot();
    let stored = snapshot.get(&StorageId::of_resource(resource), &key);
    match stored.filter(|stored| stored.version() == version) {
        Some(stored) => {
            let tail = read::json::keep(resource, stored, body);
            answer::whole(code, answer::JSON, read::json::line(resource, &tail))
        }
        None => render.value(code, &body),
    }
}

/// What a body should be.
enum Expected {
    Object(String, String),
    Options,
    Patch,
}

impl Expected {
    fn as_wire(&self) -> wire::Expected<'_> {
        match self {
            Self::Object(api_version, kind) => wire::Expected::Object(api_version, kind),
            Self::Options => wire::Expected::Options,
            Self::Patch => wire::Expected::Patch,
        }
    }
}

fn expected(method: json::Method, target: &Target) -> Expected {
    match method {
        json::Method::Delete => Expected::Options,
        json::Method::Patch => Expected::Patch,
        json::Method::Get | json::Method::Post | json::Method::Put => {
            let resource = &target.resource;
            let own = || (resource.api_version().to_string(), resource.name.kind.to_string());
            let known = discovery().resource(&resource.name.group, &resource.version, &resource.name.plural);
            let part = target.part.as_deref().and_then(|part| {
                let parts = &known?.subresources;
                parts.iter().find(|one| one.subresource == part)?.response_kind.as_ref()
            });
            let (api_version, kind) = match part.filter(|kind| !kind.version.is_empty()) {
                Some(kind) if kind.group.is_empty() => (kind.version.clone(), kind.kind.clone()),
                Some(kind) => (format!("{}/{}", kind.group, kind.version), kind.kind.clone()),
                None => own(),
            };
            Expected::Object(api_version, kind)
        }
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
