//! Calls to AWS, signed.
//!
//! A call that only reads is tried again after a pause, with jitter; of one that writes only what was refused for its rate, or cannot have arrived. Whatever else becomes
//! of a write is for the caller to read back: an SDK's retries would be repeats.

use std::sync::PoisonError;

use http::Method;
use serde_json::Value;

use super::credentials::find;
use super::error::AwsError;
use super::found::Found;
use super::held::Held;
use super::place::AwsAsked;
use super::profile::Profiles;
use super::service::{Access, Service};
use super::wire::{Draft, Wire, query_draft};

/// Whether a call may be sent again, and until when.
#[derive(Clone, Copy)]
pub(super) enum Manner<'m> {
    /// It changes nothing.
    Read,
    /// It changes something; whether it may still be sent is asked before each attempt.
    Write(&'m (dyn Fn() -> bool + Sync)),
}

impl Manner<'_> {
    fn access(self) -> Access {
        match self {
            Self::Read => Access::Read,
            Self::Write(_) => Access::Write,
        }
    }
}

/// A way to AWS, with credentials.
#[derive(Debug)]
pub(super) struct Caller {
    wire: Wire,
    profiles: Profiles,
    profile: Option<String>,
    held: Held,
}

impl Caller {
    /// Looks for the region; credentials are looked for when they are needed.
    pub(super) fn new(asked: &AwsAsked) -> Result<Self, AwsError> {
        let profiles = Profiles::read();
        if let Some(profile) = asked.profile.as_ref().filter(|profile| !profiles.has(profile)) {
            return Err(AwsError::NoProfile { profile: profile.clone(), known: profiles.names() });
        }
        let wire = Wire::new(asked, &profiles)?;
        Ok(Self { wire, profiles, profile: asked.profile.clone(), held: Held::default() })
    }

    /// The next calls open connections of their own.
    pub(super) fn forget_connections(&self) {
        self.wire.clients.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(super) fn region(&self) -> &str {
        &self.wire.region
    }

    /// A call of a query protocol.
    pub(super) async fn query(
        &self,
        (service, action): (Service, &str),
        params: &Value,
        manner: Manner<'_>,
    ) -> Result<Value, AwsError> {
        let answer = self.call(&query_draft(service, action, params), manner).await?;
        match manner {
            Manner::Read if answer.is_null() => Err(AwsError::Unreadable {
                action: format!("{}:{action}", service.name()),
                why: format!("it has no {action}Result"),
            }),
            Manner::Read | Manner::Write(_) => Ok(answer),
        }
    }

    /// A call of EKS: `action` names it in errors and statements.
    pub(super) async fn eks(
        &self,
        action: &str,
        (method, path, query): (Method, &str, &str),
        body: Option<&Value>,
        manner: Manner<'_>,
    ) -> Result<Value, AwsError> {
        let headers = body.map(|_| ("content-type", "application/json".to_owned())).into_iter().collect();
        let draft = Draft {
            service: Service::Eks,
            action: action.to_owned(),
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: body.map(|body| body.to_string().into_bytes()).unwrap_or_default(),
        };
        self.call(&draft, manner).await
    }

    /// A call of a JSON protocol: one address, and the action in a header.
    pub(super) async fn json(
        &self,
        (service, action): (Service, &str),
        (version, target): (&str, &str),
        body: &Value,
        manner: Manner<'_>,
    ) -> Result<Value, AwsError> {
        let draft = Draft {
            service,
            action: action.to_owned(),
            method: Method::POST,
            path: "/".to_owned(),
            query: String::new(),
            headers: vec![
                ("content-type", format!("application/x-amz-json-{version}")),
                ("x-amz-target", format!("{target}.{action}")),
            ],
            body: body.to_string().into_bytes(),
        };
        self.call(&draft, manner).await
    }

    /// The value of a public parameter.
    pub(super) async fn parameter(&self, name: &str) -> Result<String, AwsError> {
        let body = serde_json::json!({ "Name": name });
        let call = (Service::Ssm, "GetParameter");
        let answer = self.json(call, ("1.1", "AmazonSSM"), &body, Manner::Read).await?;
        answer["Parameter"]["Value"].as_str().map(str::to_owned).ok_or_else(|| AwsError::Unreadable {
            action: "ssm:GetParameter".to_owned(),
            why: format!("it has no value of {name}"),
        })
    }

    async fn call(&self, draft: &Draft, manner: Manner<'_>) -> Result<Value, AwsError> {
        let mut backoff = self.wire.backoff(format!("{}/{}", draft.service.name(), draft.action));
        let bucket = self.wire.bucket(draft.service, manner.access());
        let (mut tries, mut is_renewed) = (0, false);
        loop {
            while let Err(wait) = bucket.take() {
                tokio::time::sleep(wait).await;
            }
            let found = self.credentials(None).await?;
            if let Manner::Write(is_in_time) = manner
                && !is_in_time()
            {
                return Err(late(draft));
            }
            let error = match self.wire.send(draft, Some(&found)).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            tries += 1;
            let reads = self.wire.reads(draft.service);
            match (&error, manner) {
                // Such an answer means that nothing was done: once with new credentials, or by the server's clock.
                (AwsError::NotAccepted { .. }, _) if !is_renewed => {
                    is_renewed = true;
                    self.credentials(Some(&found)).await?;
                    continue;
                }
                (_, Manner::Read) if error.is_passing() && tries < reads => {}
                (_, Manner::Write(_)) if error.is_throttled() => {}
                (AwsError::Unreachable { is_unsent: true, .. }, Manner::Write(_)) => {}
                (_, Manner::Read | Manner::Write(_)) => return Err(error),
            }
            let pause = backoff.next();
            if error.is_throttled() {
                bucket.close(pause);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Credentials for a call; others than those that AWS has refused.
    async fn credentials(&self, refused: Option<&Found>) -> Result<Found, AwsError> {
        let find = find(&self.wire, &self.profiles, self.profile.as_deref());
        self.held.get(refused, find).await
    }
}

/// The code of a call that was not sent, since its time was over.
pub(super) const LATE: &str = "Late";

fn late(draft: &Draft) -> AwsError {
    let action = format!("{}:{}", draft.service.name(), draft.action);
    AwsError::Refused { action, status: 0, code: LATE.to_owned(), message: "its time is over".to_owned() }
}

#[cfg(test)]
impl Caller {
    /// One with profiles of its own, and the one of them that is meant.
    pub(super) fn of_profile(asked: &AwsAsked, profile: &str, config: &str) -> Result<Self, AwsError> {
        let (profiles, wire) = (Profiles::of_config(config), Wire::hasty(asked)?);
        Ok(Self { wire, profiles, profile: Some(profile.to_owned()), held: Held::default() })
    }

    /// What was called so far.
    pub(super) fn called(&self) -> std::collections::BTreeSet<String> {
        self.wire.called()
    }

    /// One with credentials of its own, and short pauses.
    pub(super) fn with(asked: &AwsAsked, found: Found) -> Result<Self, AwsError> {
        Ok(Self { held: Held::of(found), wire: Wire::hasty(asked)?, ..Self::new(asked)? })
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
