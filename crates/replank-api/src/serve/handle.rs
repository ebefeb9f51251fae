//! One request: who asks, where it leads, and what it is answered with.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Method, Request};
use replank_apiserver::ApiError;
use replank_model::object::Object;
use serde_json::{Value, json};

use super::write;
use crate::answer::{self, Answer, Body, TEXT};
use crate::meta::meta;
use crate::owner::Owner;
use crate::pki::Identity;
use crate::query::Query;
use crate::read;
use crate::route::{Route, Target, no_resource, route};

/// Answers requests.
#[derive(Debug)]
pub(super) struct Handler {
    owner: Owner,
    identity: Option<Identity>,
}

impl Handler {
    pub(super) fn new(owner: Owner, identity: Option<Identity>) -> Self {
        Self { owner, identity }
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
            Route::Other => {
                let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
                match meta(&path, query.get("verbose").is_some()) {
                    Some(_) if !is_read => answer::refusal(&ApiError::method_not_allowed()),
                    Some(answer) => answer,
                    None => answer::whole(404, TEXT, "404 page not found\n"),
                }
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
        let is_get = request.method() == Method::GET;
        let is_plain = target.part.as_deref().is_none_or(|part| part == "status");
        if !is_get || !is_plain {
            return write::write(&self.owner, request).await;
        }
        let is_watch = target.is_watch || query.is_set("watch");
        if target.part.is_none() && is_watch {
            return self.watch(target, &query).await;
        }
        let mirror = self.owner.mirror();
        let found = match target.name {
            Some(_) => read::get(mirror, &target),
            None => read::list(mirror, &target, &query).await,
        };
        match found {
            Ok(value) => answer::json(200, &value),
            Err(error) => answer::refusal(&error),
        }
    }

    async fn watch(&self, target: Target, query: &Query) -> Answer {
        let write =
            Arc::new(|what: &str, object: Value| answer::line(&json!({"type": what, "object": object})));
        match read::watch(self.owner.mirror().clone(), target, query, write).await {
            Ok(pieces) => answer::stream(answer::JSON, pieces),
            Err(error) => answer::refusal(&error),
        }
    }
}

/// Objects can be read by many threads at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<Object>();
};
