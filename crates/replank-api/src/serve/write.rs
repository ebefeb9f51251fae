//! Requests that the owner of the world answers: whatever changes something.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper::{Method, Request};
use replank_apiserver::json::{self, Response, Wire};
use replank_apiserver::{ApiError, Caller, Hooks};
use replank_model::object::meta::Key;
use replank_schema::{discovery, types};
use serde_json::Value;

use super::access::{Access, Admitted};
use super::conversion::Conversion;
use super::hooks;
use super::render::Renderer;
use super::signing;
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

/// Who asks, let in.
#[derive(Clone, Debug)]
pub(super) struct Gate<'a> {
    /// The gate.
    pub(super) access: &'a Access,
    /// Who has passed it.
    pub(super) admitted: &'a Admitted,
    /// Where webhooks' answers are kept, if they are called.
    pub(super) hooks: Option<Arc<Hooks>>,
    /// How the version that is asked for becomes the one that is kept, where a webhook knows.
    pub(super) conversion: Option<Conversion>,
}

/// Has a request answered by the owner.
pub(super) async fn write(
    owner: &Owner,
    gate: Gate<'_>,
    request: Request<Incoming>,
    target: &Target,
    render: &Renderer,
) -> Answer {
    let asked = request.method().clone();
    let Some(method) = method(&asked) else {
        return render.refusal(&ApiError::method_not_allowed());
    };
    let path = kept_path(request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(), target);
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let user_agent = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
    let user_agent = user_agent.unwrap_or_default().to_owned();
    let whole = Limited::new(request.into_body(), BODY_MAX).collect();
    let bytes = match tokio::time::timeout(BODY_WITHIN, whole).await.unwrap_or_else(|late| Err(late.into())) {
        Ok(whole) => whole.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return render.refusal(&ApiError::too_large(BODY_MAX));
        }
        Err(error) => return render.refusal(&ApiError::bad_request(&error.to_string())),
    };
    let expected = expected(method, target);
    let body = match wire::decode(&content_type, &bytes, expected.as_wire(), target.is_custom) {
        Ok(body) => body,
        // A patch is read when there is something that it can be applied to.
        Err(error) if error.code == 400 && matches!(expected, Expected::Patch) => {
            return render.refusal(&read::get(owner.mirror(), target).err().unwrap_or(error));
        }
        Err(error) => return render.refusal(&error),
    };
    let duplicates = body.duplicates;
    let (spoken, named) = spoken(target);
    let body = match kept_body(body.value, method, target, spoken.is_some()) {
        Ok(body) => body,
        Err(error) => return render.refusal(&error),
    };
    if let Err(error) = gate.access.check_signing(gate.admitted, &asked, target, &body) {
        return render.refusal(&error);
    }
    let request_fault = signing::fault(&asked, target, &body);
    let caller = Caller { user: gate.admitted.user.info(), request_fault, hooks: gate.hooks.clone() };
    let wire = Wire { user_agent, duplicates, spoken, named, caller, connect: None };
    // What a dry run answers is stored nowhere, and what a deletion answers is stored no more.
    let is_stored = match method {
        json::Method::Post | json::Method::Put | json::Method::Patch => !path.contains("dryRun"),
        json::Method::Get | json::Method::Delete => false,
    };
    let request = json::Request { method, path, content_type, body, wire: Some(wire) };
    if let Some(question) = gate.admitted.question(&request.path) {
        let (answered, warnings) = gate.access.answer(gate.admitted, &question, target, &request);
        let mut answer = match answered {
            Ok(value) => render.value(201, target, value),
            Err(error) => render.refusal(&error),
        };
        answer::warn(&mut answer, &warnings);
        return answer;
    }
    if let Err(error) = gate.access.check_grant(gate.admitted, target, &request).await {
        return render.refusal(&error);
    }
    let response = match &gate.hooks {
        Some(called) => hooks::answered(owner, request, called).await,
        None => owner.request(request).await,
    };
    match response {
        Some(Response { code, body, warnings }) => {
            let body = match &target.older {
                Some(older) if body["apiVersion"] == *target.resource.api_version() => older.shown(body),
                Some(_) | None => body,
            };
            let body = match &gate.conversion {
                Some(conversion) if body["apiVersion"] == *conversion.kept.resource.api_version() => {
                    match conversion.shown(vec![body], &owner.mirror().snapshot()).await {
                        Ok(shown) => shown.into_iter().next().unwrap_or_default(),
                        Err(error) => return render.refusal(&error),
                    }
                }
                Some(_) | None => body,
            };
            let mut answer = match is_stored && gate.conversion.is_none() {
                true => answered(owner.mirror(), target, render, code, body),
                false => render.value(code, target, body),
            };
            answer::warn(&mut answer, &warnings);
            answer
        }
        None => render.refusal(&ApiError::internal("the cluster is being stopped")),
    }
}

/// The path of the version that is kept.
fn kept_path(path: String, target: &Target) -> String {
    let Some(older) = &target.older else { return path };
    let of = |api_version: &str| match api_version.contains('/') {
        true => format!("/apis/{api_version}/"),
        false => format!("/api/{api_version}/"),
    };
    path.replacen(&of(&older.version.api_version()), &of(&target.resource.api_version()), 1)
}

/// The version in which a client writes, where its types are known as well as those of the one that is kept. Parts of objects have one version alone.
/// Where they are not known, it only names the fields that are managed.
fn spoken(target: &Target) -> (Option<json::Spoken>, Option<json::Spoken>) {
    let is_whole = target.part.as_deref().is_none_or(|part| part == "status");
    let Some(older) = target.older.as_ref().filter(|_| is_whole) else { return (None, None) };
    let of = &older.version;
    let spoken = Some(json::Spoken(Arc::new((**older).clone())));
    match types().of_kind(&of.group, &of.version, &of.kind) {
        Some(_) => (spoken, None),
        None => (None, spoken),
    }
}

/// A body in the version that is kept. Patches are taken as they are: they say only what changes.
fn kept_body(body: Value, method: json::Method, target: &Target, is_spoken: bool) -> Result<Value, ApiError> {
    let Some(older) = target.older.as_ref().filter(|_| body.is_object() && !is_spoken) else {
        return Ok(body);
    };
    match method {
        json::Method::Post | json::Method::Put if body["apiVersion"] == older.version.api_version() => {
            older.kept(&body).map_err(|why| ApiError::bad_request(&why))
        }
        json::Method::Patch if body["apiVersion"] == older.version.api_version() => {
            let mut body = body;
            body["apiVersion"] = target.resource.api_version().to_string().into();
            Ok(body)
        }
        json::Method::Get
        | json::Method::Delete
        | json::Method::Post
        | json::Method::Put
        | json::Method::Patch => Ok(body),
    }
}

/// The owner's answer. The object that was written is in the mirror by now: whoever asks for it later is given the same bytes.
fn answered(mirror: &Mirror, target: &Target, render: &Renderer, code: u16, body: Value) -> Answer {
    if !render.is_cached_json() || target.older.is_some() {
        return render.value(code, target, body);
    }
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let resource = &target.resource;
    if text("/kind") != &*resource.name.kind {
        return render.value(code, target, body);
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
        None => render.value(code, target, body),
    }
}

/// What a body should be.
enum Expected {
    Object(String, String),
    Options,
    Patch,
    Nothing,
}

impl Expected {
    fn as_wire(&self) -> wire::Expected<'_> {
        match self {
            Self::Object(api_version, kind) => wire::Expected::Object(api_version, kind),
            Self::Options => wire::Expected::Options,
            Self::Patch => wire::Expected::Patch,
            Self::Nothing => wire::Expected::Nothing,
        }
    }
}

fn expected(method: json::Method, target: &Target) -> Expected {
    let part = target.part.as_deref().and_then(|part| part.split('/').next());
    let is_stream = matches!(part, Some("exec" | "attach" | "portforward" | "proxy" | "log"));
    match method {
        _ if is_stream => Expected::Nothing,
        json::Method::Get => Expected::Nothing,
        json::Method::Delete => Expected::Options,
        json::Method::Patch => Expected::Patch,
        json::Method::Post | json::Method::Put => {
            let resource = &target.resource;
            let own = || match part {
                Some("binding") => ("v1".to_owned(), "Binding".to_owned()),
                Some(_) | None => (target.api_version(), resource.name.kind.to_string()),
            };
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
