//! One request: who asks, where it leads, and what it is answered with.

use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, USER_AGENT};
use hyper::{Method, Request};
use replank_apiserver::ApiError;
use replank_model::object::Object;

use super::render::{self, Renderer};
use super::{manage, write};
use crate::answer::{self, Answer, Body};
use crate::meta::{Ask, Meta, not_found};
use crate::owner::Owner;
use crate::pki::Identity;
use crate::query::Query;
use crate::read;
use crate::route::{Route, Target, no_resource, route};
use crate::wire::{self, Endpoint};

/// Answers requests.
#[derive(Debug)]
pub(super) struct Handler {
    owner: Owner,
    identity: Option<Identity>,
    meta: Meta,
}

impl Handler {
    pub(super) fn new(owner: Owner, identity: Option<Identity>, meta: Meta) -> Self {
        Self { owner, identity, meta }
    }

    /// Answers a request.
    pub(super) async fn handle(&self, request: Request<Incoming>) -> Answer {
        let is_head = request.method() == Method::HEAD;
        let mut answer = self.answer(request).await;
        if is_head {
            *answer.body_mut() = Body::Whole(None);
        }
        answer
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        if !self.is_known(&request) {
            return answer::refusal(&ApiError::unauthorized());
        }
        let path = request.uri().path().to_owned();
        let query = Query::read(request.uri().query().unwrap_or_default());
        let snapshot = self.owner.mirror().snapshot();
        match route(&path, &snapshot) {
            Route::Resource(target) => self.resource(request, target, query).await,
            Route::NoResource => answer::refusal(&no_resource()),
            Route::Other if path == crate::manage::PATH => manage::manage(&self.owner, request).await,
            Route::Other => {
                let (method, headers) = (request.method(), request.headers());
                let ask = Ask { method, path: &path, query: &query, headers };
                self.meta.answer(&ask, &snapshot).unwrap_or_else(not_found)
            }
        }
    }

    /// Whether the client has shown the token.
    fn is_known(&self, request: &Request<Incoming>) -> bool {
        let Some(identity) = &self.identity else { return true };
        let shown = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = shown.and_then(|shown| shown.split_once(' '));
        token.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && identity.accepts(token.trim())
        })
    }

    async fn resource(&self, request: Request<Incoming>, target: Target, query: Query) -> Answer {
        let is_get = request.method() == Method::GET || request.method() == Method::HEAD;
        let is_plain = target.part.as_deref().is_none_or(|part| part == "status");
        let is_watch = is_get && target.part.is_none() && (target.is_watch || query.is_set("watch"));
        let render = match agreed(&request, &query, &target, is_watch) {
            Ok(render) => render,
            Err(answer) => return *answer,
        };
        if !is_get || !is_plain {
            return write::write(&self.owner, request, &target, render).await;
        }
        if is_watch {
            return self.watch(target, &query, render).await;
        }
        let mirror = self.owner.mirror();
        let found = match target.name {
            Some(_) => read::get(mirror, &target).map(|stored| render.stored(200, &target, &stored)),
            None => match read::list(mirror, &target, &query).await {
                Ok(listed) => Ok(render.list(&target, &listed).await),
                Err(error) => Err(error),
            },
        };
        found.unwrap_or_else(|error| render.refusal(&error))
    }

    async fn watch(&self, target: Target, query: &Query, render: Renderer) -> Answer {
        let (encode, media_type) = render.watch();
        match read::watch(self.owner.mirror().clone(), target, query, encode).await {
            Ok(pieces) => answer::stream(media_type, pieces),
            Err(error) => render.refusal(&error),
        }
    }
}

/// The encoding that a client and a path agree on.
fn agreed(
    request: &Request<Incoming>,
    query: &Query,
    target: &Target,
    is_watch: bool,
) -> Result<Renderer, Box<Answer>> {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_get = request.method() == Method::GET || request.method() == Method::HEAD;
    let endpoint = Endpoint {
        is_custom: target.is_custom,
        is_list: is_get && (target.name.is_none() || target.is_watch),
        is_watch,
        has_shapes: target.part.as_deref().is_none_or(|part| part == "status"),
    };
    match wire::accept(header(ACCEPT), header(USER_AGENT), query, endpoint) {
        Ok(accepted) => Ok(Renderer::new(accepted)),
        Err(refused) => Err(Box::new(render::refusal(&refused.error, refused.status))),
    }
}

/// Objects can be read by many threads at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Object>();
};
