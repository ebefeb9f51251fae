//! One request: who asks, where it leads, and what it is answered with.

use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use replank_apiserver::json::{self, Connect, Wire};
use replank_apiserver::{About, ApiError, Caller};
use replank_model::object::Object;
use replank_schema::discovery;
use serde_json::Value;

use super::access::{Access, Admitted};
use super::conversion::{Conversion, Watched};
use super::hooks;
use super::manage;
use super::peer::Peer;
use super::render::{self, Renderer};
use super::stream::{self, Stream};
use super::write::{self, Gate};
use crate::answer::{self, Answer, Body};
use crate::meta::{Ask, Labels, Meta, not_found};
use crate::owner::Owner;
use crate::query::Query;
use crate::read::{self, Shaped, Shown};
use crate::route::{Route, Target, no_resource, not_allowed, route};
use crate::served::{Deprecation, Versions};
use crate::wire::{self, Endpoint, Media, Shapes};

/// Answers requests.
#[derive(Debug)]
pub(super) struct Handler {
    owner: Owner,
    access: Access,
    meta: Meta,
    versions: Arc<dyn Versions>,
    calls_webhooks: bool,
}

impl Handler {
    pub(super) fn new(owner: Owner, access: Access, meta: Meta, versions: Arc<dyn Versions>) -> Self {
        Self { owner, access, meta, versions, calls_webhooks: false }
    }

    /// Calls admission webhooks from now on.
    pub(super) fn call_webhooks(&mut self) {
        self.calls_webhooks = true;
    }

    /// Answers a request.
    pub(super) async fn handle(&self, request: Request<Incoming>, peer: &Peer) -> Answer {
        let is_head = request.method() == Method::HEAD;
        let encodings = request.headers().get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
        let takes_gzip = encodings.is_some_and(wire::accepts_gzip);
        let query = Query::read(request.uri().query().unwrap_or_default());
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let labels =
            Labels::of(request.method(), request.uri().path(), &query, content_type.unwrap_or_default());
        let under_way = self.meta.counter().begin(labels);
        let mut answer = self.answer(request, peer).await;
        if takes_gzip {
            answer = answer::compressed(answer).await;
        }
        under_way.answered(answer.status().as_u16(), answer.body().size_hint().exact());
        if is_head {
            *answer.body_mut() = Body::Whole(None);
        }
        answer.map(|body| body.keeping(under_way))
    }

    async fn answer(&self, request: Request<Incoming>, peer: &Peer) -> Answer {
        let path = request.uri().path().to_owned();
        let query = Query::read(request.uri().query().unwrap_or_default());
        let admitted = match self.access.enter((request.method(), &path, &query), request.headers(), peer) {
            Ok(admitted) => admitted,
            Err(error) => return render::refusal(&error, None),
        };
        if let Some(keys) = self.access.keys(&path, host(&request)) {
            let media_type = if path.ends_with("/jwks") { "application/jwk-set+json" } else { answer::JSON };
            let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
            if *request.method() != Method::GET {
                return answer::refusal(&ApiError::method_not_allowed());
            }
            if !accept
                .is_none_or(|text| ["*/*", "application/*", media_type].iter().any(|one| text.contains(one)))
            {
                let why = format!("406: Not Acceptable\n\nAvailable representations: {media_type}");
                return answer::refusal(&ApiError::unrouted(406, "NotAcceptable", &why));
            }
            return answer::whole(200, media_type, keys.to_string());
        }
        let snapshot = self.owner.mirror().snapshot();
        match route(&path, &snapshot, &self.versions) {
            Route::Resource(target) => {
                // What the router refuses itself is not warned of.
                let is_routed = not_allowed(request.method(), &target).is_none();
                let deprecation = self.deprecation(&target).filter(|_| is_routed);
                if let Some(Deprecation { removed, .. }) = &deprecation {
                    self.meta.counter().deprecated(&target, removed);
                }
                let warning = deprecation.map(|deprecation| deprecation.words);
                let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
                let is_offered = wire::is_offered(accept.unwrap_or_default(), target.name.is_none());
                let mut answer = self.resource(request, &admitted, *target, query).await;
                let is_refused = answer.status().as_u16() == 406 && !is_offered;
                answer::warn_first(&mut answer, warning.filter(|_| !is_refused).as_slice());
                answer
            }
            Route::NoResource if is_of_definition(&path, |group| self.meta.is_built_in(&snapshot, group)) => {
                not_found()
            }
            Route::NoPart(name, key) => answer::refusal(&ApiError::not_found(name, &key)),
            Route::NoResource => answer::refusal(&no_resource()),
            Route::Other if path == crate::manage::PATH => manage::manage(&self.owner, request).await,
            Route::Other => {
                let (method, headers) = (request.method(), request.headers());
                let ask = Ask { method, path: &path, query: &query, headers };
                self.meta.answer(&ask, &snapshot).unwrap_or_else(not_found)
            }
        }
    }

    /// What is said of a version that is to go.
    fn deprecation(&self, target: &Target) -> Option<Deprecation> {
        let api_version = target.api_version();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        self.versions.deprecation(group, version, &target.resource.name.kind).filter(|_| !target.is_custom)
    }

    async fn resource(
        &self,
        request: Request<Incoming>,
        admitted: &Admitted,
        target: Target,
        query: Query,
    ) -> Answer {
        let is_get = request.method() == Method::GET || request.method() == Method::HEAD;
        let is_plain = target.part.as_deref().is_none_or(|part| part == "status");
        let is_watch = is_get
            && target.part.is_none()
            && (target.is_watch || (target.name.is_none() && query.is_set("watch")));
        let refusal = not_allowed(request.method(), &target)
            .or_else(|| not_supported(request.method(), &target, &admitted.asked.verb));
        let render = match (self.agreed(&request, &query, &target, is_watch), &refusal) {
            (Ok(render), _) => render,
            // What cannot be done at all is not written in any form.
            (Err(_), Some(refusal)) => return render::refusal(refusal, None),
            // A watch is begun before it is looked in which form.
            (Err((answer, form)), None) => {
                // What is not there is not there in any form.
                if is_get && is_plain && target.name.is_some() && answer.status().as_u16() == 400 {
                    let found = match read::are_components(&target) {
                        true => read::component(&target).map(|_| ()),
                        false => read::get(self.owner.mirror(), &target).map(|_| ()),
                    };
                    return found.map_or_else(|error| render::refusal(&error, form), |()| *answer);
                }
                let begun = if is_watch { read::check_watch(&target, &query) } else { Ok(()) };
                return begun.map_or_else(|error| render::refusal(&error, form), |()| *answer);
            }
        };
        if let Some(refusal) = refusal {
            return render.refusal(&refusal);
        }
        if let Some(stream) = Stream::of(&target) {
            let is_allowed = match stream.is_action() {
                true => self.access.check_action(admitted),
                false => Ok(()),
            };
            let asked = match (is_allowed, stream.connect(&target, &query)) {
                (Err(error), _) | (Ok(()), Err(error)) => Err(error),
                (Ok(()), Ok(None)) => Ok(()),
                (Ok(()), Ok(Some(options))) => {
                    if let Some(refused) = self.refused(&request, &target, admitted, options).await {
                        return render.value(refused.code, &target, refused.body);
                    }
                    Ok(())
                }
            };
            let answered = asked.and_then(|()| {
                stream::answer(self.owner.mirror(), &target, stream, &query, request.headers())
            });
            return answered.unwrap_or_else(|error| render.refusal(&error));
        }
        let conversion = Conversion::of(&target, &self.owner.mirror().snapshot(), self.calls_webhooks);
        if let Some(conversion) = conversion.as_ref().filter(|_| is_get && is_plain) {
            if is_watch {
                let mirror = self.owner.mirror().clone();
                let watched = Watched { conversion: conversion.clone(), mirror };
                return self.watch(target, &query, render, Some(Arc::new(watched))).await;
            }
            return self.converted(conversion, &target, &query, &render).await;
        }
        if !is_get || !is_plain {
            let converts = target.resource.custom.as_ref().is_some_and(|custom| custom.conversion.is_some());
            let hooks = match self.calls_webhooks {
                true => hooks::begin(self.owner.mirror()).or_else(|| converts.then(Arc::default)),
                false => None,
            };
            let gate = Gate { access: &self.access, admitted, hooks, conversion };
            return write::write(&self.owner, gate, request, &target, &render).await;
        }
        if read::are_components(&target) {
            return components(&target, &query, &render, is_watch).await;
        }
        let is_of_leases = is_lease(&target);
        if is_of_leases {
            self.owner.look().await;
        }
        if is_watch {
            let watch = self.watch(target, &query, render, None).await;
            return if is_of_leases {
                watch.map(|body| body.keeping(self.owner.keep_looking()))
            } else {
                watch
            };
        }
        let mirror = self.owner.mirror();
        let found = match target.name {
            Some(_) => match read::get_at(mirror, &target, &query).await {
                Ok(stored) => Ok(render.stored(200, &target, &stored)),
                Err(error) => Err(error),
            },
            None => match read::list(mirror, &target, &query).await {
                Ok(listed) => Ok(render.list(&target, &listed).await),
                Err(error) => {
                    // What expires has been compacted away; upstream, leases and the compaction itself have raised the version meanwhile.
                    if error.reason == "Expired" {
                        self.owner.look().await;
                    }
                    Err(error)
                }
            },
        };
        found.unwrap_or_else(|error| render.refusal(&error))
    }

    /// What admission refuses a connection with, if there is anybody to ask and it is refused.
    async fn refused(
        &self,
        request: &Request<Incoming>,
        target: &Target,
        admitted: &Admitted,
        connect: Connect,
    ) -> Option<json::Response> {
        let hooks = if self.calls_webhooks { hooks::begin(self.owner.mirror()) } else { None };
        if hooks.is_none() && !hooks::has_policies(self.owner.mirror()) {
            return None;
        }
        let user_agent = request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok());
        let caller = Caller { user: admitted.user.info(), request_fault: None, hooks: hooks.clone() };
        let object = object_of(request.uri().path(), target.resource.is_namespaced);
        let wire = Wire {
            user_agent: user_agent.unwrap_or_default().to_owned(),
            caller,
            connect: Some(connect.clone()),
            ..Wire::default()
        };
        let asked = json::Request {
            method: json::Method::Post,
            path: object.to_owned(),
            content_type: String::new(),
            body: Value::Null,
            wire: Some(wire),
        };
        let response = match &hooks {
            Some(hooks) => hooks::answered(&self.owner, asked, hooks).await,
            None => self.owner.request(asked).await,
        };
        let stopped = || {
            let error = ApiError::internal("the cluster is being stopped");
            json::Response { code: error.code, body: error.to_status(), warnings: Vec::new() }
        };
        Some(response.unwrap_or_else(stopped)).filter(|response| response.code >= 300)
    }

    /// Reads in a version that a webhook converts.
    async fn converted(
        &self,
        conversion: &Conversion,
        target: &Target,
        query: &Query,
        render: &Renderer,
    ) -> Answer {
        let mirror = self.owner.mirror();
        let snapshot = mirror.snapshot();
        let found = match target.name {
            Some(_) => match read::get(mirror, &conversion.kept) {
                Ok(stored) => {
                    let one = conversion.one(&stored, &snapshot).await;
                    one.map(|stored| render.stored(200, target, &stored))
                }
                Err(error) => Err(error),
            },
            None => match read::list(mirror, &conversion.kept, query).await {
                Ok(listed) => match conversion.list(listed, &snapshot).await {
                    Ok(listed) => Ok(render.list(target, &listed).await),
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            },
        };
        found.unwrap_or_else(|error| render.refusal(&error))
    }

    /// The encoding that a client and a path agree on; where they do not, what is answered, and in which form other refusals are.
    fn agreed(
        &self,
        request: &Request<Incoming>,
        query: &Query,
        target: &Target,
        is_watch: bool,
    ) -> Result<Renderer, (Box<Answer>, Option<Media>)> {
        let header =
            |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_get = request.method() == Method::GET || request.method() == Method::HEAD;
        let shapes = match &target.part {
            Some(part) if part != "status" => Shapes::Whole,
            Some(_) | None if is_asked_only(target) => Shapes::Metadata,
            Some(_) | None => Shapes::All,
        };
        let endpoint = Endpoint {
            is_custom: target.is_custom,
            is_list: is_get && (target.name.is_none() || target.is_watch),
            is_watch,
            shapes,
        };
        match wire::accept(header(ACCEPT), header(USER_AGENT), query, endpoint) {
            Ok(accepted) => {
                let (mirror, clock) = (self.owner.mirror(), self.owner.clock().clone());
                let shaped = Shaped::new(accepted.media.shape, target, &mirror.snapshot(), query, clock);
                match shaped {
                    Ok(shaped) => Ok(Renderer::new(accepted, shaped)),
                    Err(error) => Err((Box::new(render::refusal(&error, accepted.status)), accepted.status)),
                }
            }
            Err(refused) => Err((Box::new(render::refusal(&refused.error, refused.status)), refused.status)),
        }
    }

    async fn watch(
        &self,
        target: Target,
        query: &Query,
        render: Renderer,
        shown: Option<Arc<dyn Shown>>,
    ) -> Answer {
        let (encode, media_type) = render.watch(&target);
        match read::watch(self.owner.mirror().clone(), target, query, (encode, shown)).await {
            Ok(pieces) => answer::stream(media_type, pieces),
            Err(error) => render.refusal(&error),
        }
    }
}

/// Whether a resource is kept up only for those who look at it.
fn is_lease(target: &Target) -> bool {
    let name = &target.resource.name;
    &*name.group == "coordination.k8s.io" && &*name.plural == "leases"
}

/// What the handler of custom resources says of a method that it does not know (apiextensions `customresource_handler.go`).
fn not_supported(method: &Method, target: &Target, verb: &str) -> Option<ApiError> {
    let is_known = match (method.as_str(), &target.name, &target.part) {
        ("GET" | "HEAD", _, _) => true,
        ("POST" | "DELETE", None, None) | ("PUT" | "PATCH", Some(_), _) | ("DELETE", Some(_), None) => true,
        (_, _, _) => false,
    };
    if !target.is_custom || is_known {
        return None;
    }
    if matches!(method.as_str(), "PUT" | "PATCH") {
        return Some(ApiError::bad_request("name must be provided"));
    }
    let name = &target.resource.name;
    let mut error = ApiError::method_not_allowed();
    error.message =
        format!("{verb} is not supported on resources of kind \"{}.{}\"", name.plural, name.group);
    error.about =
        Some(Box::new(About { group: name.group.clone(), kind: name.plural.clone(), name: "".into() }));
    Some(error)
}

/// The path of the object that a part is asked of: in a core resource, whatever names and what stands behind a proxy look like.
fn object_of(path: &str, is_namespaced: bool) -> &str {
    // `/api/v1/nodes/NAME`, `/api/v1/namespaces/NAMESPACE/pods/NAME`.
    let parts = if is_namespaced { 6 } else { 4 };
    path.match_indices('/').nth(parts).map_or(path, |(end, _)| &path[..end])
}

/// What is said of the components of the control plane.
async fn components(target: &Target, query: &Query, render: &Renderer, is_watch: bool) -> Answer {
    if is_watch {
        return render.refusal(&read::not_watched());
    }
    let found = match target.name {
        Some(_) => read::component(target).map(|stored| render.stored(200, target, &stored)),
        None => match read::components(target, query) {
            Ok(listed) => Ok(render.list(target, &listed).await),
            Err(error) => Err(error),
        },
    };
    found.unwrap_or_else(|error| render.refusal(&error))
}

/// Whether objects of a resource are answered and not kept.
fn is_asked_only(target: &Target) -> bool {
    let (name, version) = (&target.resource.name, &target.resource.version);
    let known = discovery().resource(&name.group, version, &name.plural);
    known.is_some_and(|known| known.verbs == ["create"])
}

/// Whether a path is in a group that only definitions declare resources of: what is not there is no Status in it.
fn is_of_definition(path: &str, is_built_in: impl Fn(&str) -> bool) -> bool {
    let mut parts = path.trim_matches('/').split('/');
    parts.next() == Some("apis") && parts.next().is_some_and(|group| !is_built_in(group))
}

/// The name that the client calls the server by.
fn host(request: &Request<Incoming>) -> &str {
    let authority = request.uri().authority().map(hyper::http::uri::Authority::as_str);
    let header = request.headers().get(HOST).and_then(|value| value.to_str().ok());
    authority.or(header).unwrap_or_default()
}

/// Objects can be read by many threads at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Object>();
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_behind_names_that_look_like_it() {
        let pod = "/api/v1/namespaces/exec-tools/pods/exec-1";
        assert_eq!(object_of(&format!("{pod}/exec"), true), pod);
        assert_eq!(object_of(&format!("{pod}/proxy/a/proxy"), true), pod);
        assert_eq!(object_of("/api/v1/nodes/proxy-1/proxy/x", false), "/api/v1/nodes/proxy-1");
    }
}
