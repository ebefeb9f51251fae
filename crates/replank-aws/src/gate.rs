//! Who may come in: keys, those that STS hands out among them, and the region that requests are signed for.
//!
//! A session token says itself what it is worth, and is signed with the account's secret: nothing of it is kept, and it lasts as long as the key does.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use replank_model::time::{Span, Time};
use ring::hmac;
use ring::rand::SecureRandom;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::service::Service;
use crate::sigv4::{Authorization, Credentials, Doubt, Signed};
use crate::text::{pairs, unescape};

/// What tokens for Kubernetes begin with (aws-iam-authenticator, `pkg/token`).
const KUBERNETES: &str = "k8s-aws-v1.";
/// The header that names the cluster in them.
const CLUSTER: &str = "x-k8s-aws-id";
/// How long STS takes a presigned request, whatever it says: so long does a token for Kubernetes last.
const PRESIGNED_FOR: Span = Span::from_minutes(15);
/// The region of STS' global endpoint.
const GLOBAL: &str = "us-east-1";

/// What requests are held to.
#[derive(Clone, Debug)]
pub struct Gate {
    credentials: Credentials,
    region: String,
}

/// Credentials that last for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temporary {
    /// The key.
    pub credentials: Credentials,
    /// `AWS_SESSION_TOKEN`.
    pub token: String,
    /// Until when.
    pub until: Time,
}

/// What a session token says.
#[derive(Serialize, Deserialize)]
struct Session {
    role: String,
    session: String,
    /// Seconds since 1970.
    until: i64,
    key: String,
}

impl Gate {
    /// A gate of a region that knows a key.
    #[must_use]
    pub fn new(credentials: Credentials, region: &str) -> Self {
        Self { credentials, region: region.to_owned() }
    }

    /// Credentials of a role, for a while; `None` where the system has no randomness.
    pub(crate) fn hand_out(&self, role: &str, session: &str, until: Time) -> Option<Temporary> {
        let mut bytes = [0; 16];
        ring::rand::SystemRandom::new().fill(&mut bytes).ok()?;
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let key: String = bytes.iter().map(|byte| char::from(letters[usize::from(byte % 32)])).collect();
        let until = until.floor_seconds();
        let said = Session {
            role: role.to_owned(),
            session: session.to_owned(),
            until: until.as_millis() / 1000,
            key: format!("ASIA{key}"),
        };
        let said_text = URL_SAFE_NO_PAD.encode(serde_json::to_string(&said).ok()?);
        let signature = URL_SAFE_NO_PAD.encode(self.tag("token", &said_text));
        let credentials = Credentials { secret_key: self.secret_of(&said_text), access_key: said.key };
        Some(Temporary { credentials, token: format!("{said_text}.{signature}"), until })
    }

    fn tag(&self, purpose: &str, text: &str) -> Vec<u8> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.credentials.secret_key.as_bytes());
        hmac::sign(&key, format!("{purpose} {text}").as_bytes()).as_ref().to_vec()
    }

    fn secret_of(&self, said: &str) -> String {
        STANDARD.encode(&self.tag("secret", said)[..30])
    }

    /// Whose a key is, and its secret.
    fn known(
        &self,
        access_key: &str,
        token: Option<&str>,
        now: Time,
    ) -> Result<(Credentials, Caller), Doubt> {
        let Some(token) = token else {
            let is_own = access_key == self.credentials.access_key;
            return is_own.then(|| (self.credentials.clone(), Caller::User)).ok_or(Doubt::UnknownKey);
        };
        let (said_text, signature) = token.split_once('.').ok_or(Doubt::UnknownKey)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Doubt::UnknownKey)?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.credentials.secret_key.as_bytes());
        hmac::verify(&key, format!("token {said_text}").as_bytes(), &signature)
            .map_err(|_| Doubt::UnknownKey)?;
        let said = URL_SAFE_NO_PAD.decode(said_text).map_err(|_| Doubt::UnknownKey)?;
        let said: Session = serde_json::from_slice(&said).map_err(|_| Doubt::UnknownKey)?;
        if said.key != access_key {
            return Err(Doubt::UnknownKey);
        }
        if said.until * 1000 <= now.as_millis() {
            return Err(Doubt::Expired);
        }
        let credentials = Credentials { secret_key: self.secret_of(said_text), access_key: said.key };
        Ok((credentials, Caller::Role { role: said.role, session: said.session }))
    }

    /// Who has signed a request.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn admit(&self, found: &Authorization, request: &Signed<'_>, now: Time) -> Result<Caller, Doubt> {
        let service =
            Service::of_signing_name(&found.service).ok_or_else(|| Doubt::Unserved(found.service.clone()))?;
        let is_global = service == Service::Sts && found.region == GLOBAL;
        if found.region != self.region && !is_global {
            return Err(Doubt::Unfit(format!(
                "Credential should be scoped to a valid region, not '{}'. ",
                found.region
            )));
        }
        let (credentials, caller) = self.known(&found.access_key, found.token(request), now)?;
        let at_least = if service == Service::Sts { PRESIGNED_FOR } else { Span::ZERO };
        found.verify(request, &credentials, at_least, now)?;
        Ok(caller)
    }

    /// Who a token for Kubernetes is of, as `aws eks get-token` makes one: a presigned request to STS that names the cluster.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn of_kubernetes(&self, token: &str, cluster: &str, now: Time) -> Result<Caller, Doubt> {
        let wrong = |why: &str| Doubt::Incomplete(why.to_owned());
        let encoded = token.strip_prefix(KUBERNETES).ok_or(Doubt::Missing)?;
        let url = URL_SAFE_NO_PAD.decode(encoded).ok().and_then(|url| String::from_utf8(url).ok());
        let url = url.ok_or_else(|| wrong("the token is no URL"))?;
        let rest = url.split_once("://").map(|(_, rest)| rest).ok_or_else(|| wrong("the token is no URL"))?;
        let (place, query) = rest.split_once('?').ok_or_else(|| wrong("the URL has no query"))?;
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        let members = pairs(query);
        let is_asked = members.iter().any(|(key, value)| key == "Action" && value == "GetCallerIdentity");
        if !is_asked {
            return Err(wrong("the URL asks for something else than GetCallerIdentity"));
        }
        let headers = vec![("host".to_owned(), host.to_owned()), (CLUSTER.to_owned(), cluster.to_owned())];
        let path = format!("/{}", unescape(path, false));
        let request = Signed { method: "GET", path: &path, query, headers: &headers, body: b"" };
        let found = Authorization::read(&headers, query)?;
        if found.service != Service::Sts.signing_name() || !found.headers.iter().any(|name| name == CLUSTER) {
            return Err(wrong("the URL is not signed for STS and a cluster"));
        }
        self.admit(&found, &request, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        let credentials = Credentials { access_key: "AKIAX".to_owned(), secret_key: "s".to_owned() };
        Gate::new(credentials, "eu-west-1")
    }

    #[test]
    fn credentials_of_a_role_are_known_until_they_are_over() {
        let (gate, until) = (gate(), Time::from_millis(1_000_000));
        let Temporary { credentials, token, until: told } =
            gate.hand_out("shop", "me", until).expect("there is randomness");
        assert_eq!(told, until);
        let key = &*credentials.access_key;
        let known = |key: &str, token: Option<&str>, at: i64| gate.known(key, token, Time::from_millis(at));
        let caller = Caller::Role { role: "shop".to_owned(), session: "me".to_owned() };
        assert_eq!(known(key, Some(&token), 999_999), Ok((credentials.clone(), caller)));
        assert_eq!(known(key, Some(&token), 1_000_000), Err(Doubt::Expired));
        assert_eq!(known(key, None, 0), Err(Doubt::UnknownKey));
        assert_eq!(known("AKIAX", Some(&token), 0), Err(Doubt::UnknownKey));
        assert_eq!(known("AKIAX", Some("session"), 0), Err(Doubt::UnknownKey));
        let other = gate.hand_out("shop", "me", until).expect("there is randomness");
        assert_ne!(other.credentials, credentials);
        assert_eq!(known(key, Some(&other.token), 0), Err(Doubt::UnknownKey));
        let (said, signature) = token.split_once('.').expect("it has two parts");
        let longer = URL_SAFE_NO_PAD.encode(
            String::from_utf8(URL_SAFE_NO_PAD.decode(said).expect("it is base64"))
                .expect("it is text")
                .replace("1000", "9000"),
        );
        assert_eq!(known(key, Some(&format!("{longer}.{signature}")), 0), Err(Doubt::UnknownKey));
    }
}
