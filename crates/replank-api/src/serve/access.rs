//! The gate: who asks, as whom, and whether they may; and what is answered about that itself.

use std::sync::Arc;

use hyper::header::AUTHORIZATION;
use hyper::{HeaderMap, Method};
use replank_apiserver::json::{self, Request, Response};
use replank_apiserver::{About, ApiError, ResourceName};
use replank_model::object::meta::Key;
use replank_model::object::render;
use replank_schema::discovery;
use serde_json::Value;

use super::peer::Peer;
use super::signing;
use crate::auth::{
    Attributes, Authorization, Authorizer, EscalationCheck, Place, Reviewer, User, Ways, authenticate,
    denied, escalates, guards, impersonated, is_review, keys, provider, token_request,
};
use crate::owner::Owner;
use crate::pace::Pace;
use crate::pki::Identity;
use crate::query::Query;
use crate::read::get;
use crate::route::Target;

/// The gate.
#[derive(Debug)]
pub(super) struct Access {
    owner: Owner,
    identity: Option<Identity>,
    authorizer: Authorizer,
    /// In which ways clients have acted as others.
    ways: Ways,
}

/// Somebody who may do what they want to.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    /// Who.
    pub(super) user: User,
    /// What they want.
    pub(super) asked: Attributes,
}

/// What is asked about somebody, rather than of objects.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// Who they are, or what they may do.
    Review {
        /// The kind of question.
        resource: ResourceName,
        /// The version that it is asked in.
        api_version: String,
        /// The namespace of the path.
        namespace: String,
    },
    /// A token for a service account.
    Token(Key),
}

impl Access {
    pub(super) fn new(owner: Owner, identity: Option<Identity>, mode: Authorization) -> Self {
        let authorizer = Authorizer::new(mode, Arc::clone(owner.mirror()));
        Self { owner, identity, authorizer, ways: Ways::default() }
    }

    /// Lets a request in.
    ///
    /// # Errors
    /// 401 for a token that is worth nothing, 403 for what is not allowed.
    pub(super) fn enter(
        &self,
        (method, path, query): (&Method, &str, &Query),
        headers: &HeaderMap,
        peer: &Peer,
    ) -> Result<Admitted, ApiError> {
        let user = match &self.identity {
            None => User::admin(),
            Some(identity) => {
                let snapshot = self.owner.mirror().snapshot();
                let known = authenticate(identity, headers, &snapshot, Pace::outside());
                authenticated(peer, known, headers)?
            }
        };
        let asked = Attributes::read(method.as_str(), path, query);
        let user = impersonated((&self.authorizer, &self.ways), user, headers, &asked)?;
        let verdict = self.authorizer.decide(&user, &asked);
        if verdict.is_allowed {
            Ok(Admitted { user, asked })
        } else {
            Err(denied(&user, &asked, &verdict.reason))
        }
    }

    /// Refuses what somebody may not have signed, approve or sign.
    ///
    /// # Errors
    /// 403.
    pub(super) fn check_signing(
        &self,
        admitted: &Admitted,
        method: &Method,
        target: &Target,
        body: &Value,
    ) -> Result<(), ApiError> {
        signing::check((&self.authorizer, &admitted.user, self.owner.mirror()), method, target, body)
    }

    /// Refuses a stream to a container to those who may not create one, whatever the method is that it is asked for with.
    ///
    /// # Errors
    /// 403.
    pub(super) fn check_action(&self, admitted: &Admitted) -> Result<(), ApiError> {
        let Place::Resource { group, resource, name, .. } = &admitted.asked.place else { return Ok(()) };
        let asked = Attributes { verb: "create".to_owned(), ..admitted.asked.clone() };
        let verdict = self.authorizer.decide(&admitted.user, &asked);
        if verdict.is_allowed {
            return Ok(());
        }
        let about = About {
            group: group.as_str().into(),
            kind: resource.as_str().into(),
            name: name.as_str().into(),
        };
        Err(ApiError::forbidden_to_user(Some(about), &verdict.reason))
    }

    /// What is served about the tokens' key; `None` for other paths.
    pub(super) fn keys(&self, path: &str, host: &str) -> Option<Value> {
        let signer = &self.identity.as_ref()?.signer;
        match path.trim_end_matches('/') {
            "/openid/v1/jwks" => Some(keys(signer)),
            "/.well-known/openid-configuration" => Some(provider(&format!("https://{host}"))),
            _ => None,
        }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn answer(
        &self,
        admitted: &Admitted,
        question: &Question,
        target: &Target,
        request: &Request,
    ) -> (Result<Value, ApiError>, Vec<String>) {
        let snapshot = self.owner.mirror().snapshot();
        match (question, &self.identity) {
            (Question::Review { resource, api_version, namespace }, identity) => {
                let reviewer = Reviewer {
                    identity: identity.as_ref(),
                    authorizer: &self.authorizer,
                    snapshot: &snapshot,
                    now: Pace::outside(),
                };
                let now = reviewer.now.floor_seconds();
                match json::Question::read(&target.resource, namespace, request, now) {
                    Ok(asked) => {
                        let of = (resource, api_version.as_str());
                        let answered = reviewer.answer(&admitted.user, of, namespace, &asked.value);
                        (answered, asked.warnings)
                    }
                    Err(error) => (Err(error), Vec::new()),
                }
            }
            (Question::Token(account), Some(identity)) => {
                let manager = request.wire.as_ref().map(|wire| json::of_agent(&wire.user_agent));
                let (manager, now) = (manager.as_deref(), Pace::outside());
                let answered =
                    token_request(&identity.signer, &snapshot, account, &request.body, manager, now);
                (answered, Vec::new())
            }
            (Question::Token(_), None) => (Err(ApiError::no_resource()), Vec::new()),
        }
    }

    /// Refuses a write by which somebody would grant what they do not hold.
    ///
    /// # Errors
    /// 403 with what is missing; what the write itself is refused with.
    pub(super) async fn check_grant(
        &self,
        admitted: &Admitted,
        target: &Target,
        request: &Request,
    ) -> Result<(), ApiError> {
        if !guards(&target.resource.name) || target.part.is_some() || admitted.user.is_master() {
            return Ok(());
        }
        let old = get(self.owner.mirror(), target).ok().map(|stored| render(&stored.object));
        let new = match request.method {
            json::Method::Get | json::Method::Delete => return Ok(()),
            json::Method::Post | json::Method::Put => request.body.clone(),
            // What a patch comes to is known by trying it.
            json::Method::Patch => {
                let sign = if request.path.contains('?') { '&' } else { '?' };
                let path = format!("{}{sign}dryRun=All", request.path);
                match self.owner.request(Request { path, ..request.clone() }).await {
                    Some(Response { code: 200 | 201, body, .. }) => body,
                    // The write itself will be refused likewise.
                    Some(_) | None => return Ok(()),
                }
            }
        };
        let namespace = target.namespace.as_ref().map(ToString::to_string).unwrap_or_default();
        let check = EscalationCheck {
            resource: &target.resource.name,
            namespace: &namespace,
            old: old.as_ref(),
            new: &new,
        };
        escalates(&self.authorizer, &admitted.user, check)
    }
}

/// Who a client is, by its certificate if it has one that is worth something, else by what it shows in a request.
fn authenticated(peer: &Peer, shown: Option<User>, headers: &HeaderMap) -> Result<User, ApiError> {
    match peer {
        Peer::User(user) => Ok((**user).clone()),
        Peer::Nobody => shown.ok_or_else(ApiError::unauthorized),
        // A token may be worth something all the same.
        Peer::Untrusted if headers.contains_key(AUTHORIZATION) => shown.ok_or_else(ApiError::unauthorized),
        Peer::Untrusted => Err(ApiError::unauthorized()),
    }
}

impl Admitted {
    /// What is asked about somebody, if that is what the request is.
    pub(super) fn question(&self, path: &str) -> Option<Question> {
        let Place::Resource { group, resource, part, namespace, name } = &self.asked.place else {
            return None;
        };
        if self.asked.verb != "create" {
            return None;
        }
        if (group.as_str(), resource.as_str(), part.as_str()) == ("", "serviceaccounts", "token") {
            return Some(Question::Token(Key::new(namespace.as_str(), name.as_str())));
        }
        let path = path.split('?').next().unwrap_or_default();
        let version = path.trim_matches('/').split('/').nth(2)?;
        let known = discovery().resource(group, version, resource)?;
        let kind = known.response_kind.kind.as_str();
        let resource = ResourceName {
            group: group.as_str().into(),
            plural: resource.as_str().into(),
            kind: kind.into(),
        };
        let api_version = format!("{group}/{version}");
        is_review(&resource).then(|| Question::Review { resource, api_version, namespace: namespace.clone() })
    }
}
