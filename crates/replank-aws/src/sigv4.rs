//! Signatures of requests: AWS Signature Version 4 ("Create a signed AWS API request" in the IAM user guide).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use replank_model::time::{Span, Time};
use ring::rand::SecureRandom;
use ring::{digest, hmac};

use crate::text::{escape, pairs, unescape};

/// How far a request's time may be from ours.
const SKEW_MAX_SECS: i64 = 5 * 60;
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A key that requests are signed with.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_key: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

impl Credentials {
    /// New ones.
    ///
    /// # Errors
    /// Where the system has no randomness.
    pub fn generate() -> Result<Self, ring::error::Unspecified> {
        let mut bytes = [0; 46];
        ring::rand::SystemRandom::new().fill(&mut bytes)?;
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let key: String =
            bytes[..16].iter().map(|byte| char::from(letters[usize::from(byte % 32)])).collect();
        Ok(Self {
            access_key: format!("AKIA{key}"),
            secret_key: STANDARD.encode(&bytes[16..]).replace('+', "x"),
        })
    }
}

/// A request as far as it is signed.
#[derive(Clone, Debug)]
pub struct Signed<'r> {
    /// The method.
    pub method: &'r str,
    /// The path, as it was sent.
    pub path: &'r str,
    /// The query, as it was sent.
    pub query: &'r str,
    /// Headers, by lower-case names.
    pub headers: &'r [(String, String)],
    /// The body.
    pub body: &'r [u8],
}

/// Why a request is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It is not signed.
    Missing,
    /// What is there of a signature cannot be read.
    Incomplete(String),
    /// Nobody has the key.
    UnknownKey,
    /// It is another signature.
    Mismatch,
    /// It was signed too long ago, or is from the future; in AWS' words.
    Skewed(String),
    /// It is signed for something else than what it asks, or leaves out what has to be signed; in AWS' words.
    Unfit(String),
    /// Its key was handed out for a while, which is over.
    Expired,
    /// It is signed for a service that is not served.
    Unserved(String),
}

/// What a request says of its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The access key.
    pub access_key: String,
    /// The day, as `20261127`.
    pub day: String,
    /// The region.
    pub region: String,
    /// The service, as it is signed for.
    pub service: String,
    /// Names of the headers that are signed.
    pub headers: Vec<String>,
    /// The signature.
    pub signature: String,
    /// What else a query says that has its signature in itself.
    pub presigned: Option<Presigned>,
}

/// What a presigned query says of its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presigned {
    /// When it was signed, as it is written.
    pub date: String,
    /// How long it is to be taken.
    pub expires: Span,
    /// The session token.
    pub token: Option<String>,
}

/// A week: so long may a presigned query be taken.
const EXPIRES_MAX_SECS: i64 = 7 * 24 * 60 * 60;

impl Authorization {
    /// Reads the header `Authorization`, or what stands for it in a query.
    ///
    /// # Errors
    /// Where there is neither, or it cannot be read.
    pub fn read(headers: &[(String, String)], query: &str) -> Result<Self, Doubt> {
        match find(headers, "authorization") {
            Some(header) => Self::of_header(header),
            None if query.contains("X-Amz-Signature=") => Self::of_query(query),
            None => Err(Doubt::Missing),
        }
    }

    fn of_header(header: &str) -> Result<Self, Doubt> {
        let incomplete = |what: &str| {
            Doubt::Incomplete(format!(
                "Authorization header requires '{what}' parameter. Authorization={}",
                header.split_whitespace().next().unwrap_or_default()
            ))
        };
        let rest = header.strip_prefix(ALGORITHM).ok_or_else(|| {
            Doubt::Incomplete("Authorization header requires the algorithm AWS4-HMAC-SHA256.".to_owned())
        })?;
        let part = |name: &str| {
            let found =
                rest.split(',').filter_map(|part| part.trim().split_once('=')).find(|(key, _)| *key == name);
            found.map(|(_, value)| value).ok_or_else(|| incomplete(name))
        };
        Self::of_parts(part("Credential")?, part("SignedHeaders")?, part("Signature")?, None)
            .ok_or_else(|| incomplete("Credential"))
    }

    /// A presigned query ("Authenticating Requests: Using Query Parameters").
    fn of_query(query: &str) -> Result<Self, Doubt> {
        let all = pairs(query);
        let find = |name: &str| all.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let part = |name: &str| {
            let missing = || Doubt::Incomplete(format!("AWS query-string parameters must include '{name}'."));
            find(name).ok_or_else(missing)
        };
        if part("X-Amz-Algorithm")? != ALGORITHM {
            return Err(Doubt::Incomplete(format!("X-Amz-Algorithm has to be {ALGORITHM}.")));
        }
        // STS takes queries that do not say how long they are to be taken.
        let expires = find("X-Amz-Expires").unwrap_or("900");
        let expires = expires.parse().ok().filter(|seconds| (0..=EXPIRES_MAX_SECS).contains(seconds));
        let expires = expires.ok_or_else(|| {
            Doubt::Incomplete(
                "X-Amz-Expires must be less than a week (in seconds); and not negative.".to_owned(),
            )
        })?;
        let presigned = Presigned {
            date: part("X-Amz-Date")?.to_owned(),
            expires: Span::from_secs(expires),
            token: find("X-Amz-Security-Token").map(str::to_owned),
        };
        let (credential, headers) = (part("X-Amz-Credential")?, part("X-Amz-SignedHeaders")?);
        Self::of_parts(credential, headers, part("X-Amz-Signature")?, Some(presigned)).ok_or_else(|| {
            Doubt::Incomplete("X-Amz-Credential is no key with the scope of a request.".to_owned())
        })
    }

    fn of_parts(
        credential: &str,
        headers: &str,
        signature: &str,
        presigned: Option<Presigned>,
    ) -> Option<Self> {
        let scope: Vec<&str> = credential.split('/').collect();
        let [access_key, day, region, service, "aws4_request"] = scope.as_slice() else { return None };
        Some(Self {
            access_key: (*access_key).to_owned(),
            day: (*day).to_owned(),
            region: (*region).to_owned(),
            service: (*service).to_owned(),
            headers: headers.split(';').map(str::to_owned).collect(),
            signature: signature.to_owned(),
            presigned,
        })
    }

    /// The session token that comes with it.
    #[must_use]
    pub fn token<'r>(&'r self, request: &Signed<'r>) -> Option<&'r str> {
        match &self.presigned {
            Some(presigned) => presigned.token.as_deref(),
            None => find(request.headers, "x-amz-security-token").filter(|token| !token.is_empty()),
        }
    }

    /// Whether the request is signed by whoever has a key, and not long ago. A presigned one is taken as long as it says, and at least for a while.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn verify(
        &self,
        request: &Signed<'_>,
        known: &Credentials,
        at_least: Span,
        now: Time,
    ) -> Result<(), Doubt> {
        if self.access_key != known.access_key {
            return Err(Doubt::UnknownKey);
        }
        if !self.headers.iter().any(|name| name == "host" || name == ":authority") {
            return Err(Doubt::Unfit(
                "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.".to_owned(),
            ));
        }
        let date = match &self.presigned {
            Some(presigned) => &*presigned.date,
            None => find(request.headers, "x-amz-date").ok_or_else(|| {
                Doubt::Incomplete(
                    "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
                        .to_owned(),
                )
            })?,
        };
        let signed = moment(date).ok_or_else(|| {
            Doubt::Incomplete(format!("Date must be in ISO-8601 'basic format'. Got '{date}'."))
        })?;
        if !date.starts_with(&self.day) {
            return Err(Doubt::Mismatch);
        }
        let ahead = Span::from_secs(SKEW_MAX_SECS);
        let lasts = self.presigned.as_ref().map_or(ahead, |presigned| presigned.expires.max(at_least));
        let basic = |time: Time| time.to_string().replace(['-', ':'], "");
        let whole = |time: Time| time.floor_seconds();
        if whole(now) - signed > lasts {
            let minutes = lasts.as_millis() / 60_000;
            let bound = basic(whole(now) - lasts);
            return Err(Doubt::Skewed(format!(
                "Signature expired: {date} is now earlier than {bound} ({} - {minutes} min.)",
                basic(whole(now))
            )));
        }
        if signed - whole(now) > ahead {
            let bound = basic(whole(now) + ahead);
            return Err(Doubt::Skewed(format!(
                "Signature not yet current: {date} is still later than {bound} ({} + 5 min.)",
                basic(whole(now))
            )));
        }
        let payload = hex(digest::digest(&digest::SHA256, request.body).as_ref());
        let claimed = find(request.headers, "x-amz-content-sha256").unwrap_or(&payload);
        if claimed != payload && claimed != "UNSIGNED-PAYLOAD" {
            return Err(Doubt::Mismatch);
        }
        // Clients escape the query anew, as the rules say, or sign it as they send it (botocore, where a URL has one already).
        let query = match &self.presigned {
            Some(_) => without_signature(request.query),
            None => request.query.to_owned(),
        };
        let queries = [escaped(&query), as_sent(&query)];
        let is_signed = queries.iter().any(|query| self.is_signed(request, query, (date, claimed), known));
        is_signed.then_some(()).ok_or(Doubt::Mismatch)
    }

    /// Whether the signature is that of the request with its query in a form.
    fn is_signed(
        &self,
        request: &Signed<'_>,
        query: &str,
        (date, payload): (&str, &str),
        known: &Credentials,
    ) -> bool {
        let canonical = self.canonical(request, query, payload);
        let scope = format!("{}/{}/{}/aws4_request", self.day, self.region, self.service);
        let hashed = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        let to_sign = format!("{ALGORITHM}\n{date}\n{scope}\n{hashed}");
        let secret = format!("AWS4{}", known.secret_key);
        let key = [&*self.day, &*self.region, &*self.service, "aws4_request"]
            .into_iter()
            .fold(secret.into_bytes(), |key, part| sign(&key, part.as_bytes()));
        let expected = hex(&sign(&key, to_sign.as_bytes()));
        // Compared by their digests, so that the time it takes tells nothing.
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let tag = hmac::sign(&key, expected.as_bytes());
        hmac::verify(&key, self.signature.as_bytes(), tag.as_ref()).is_ok()
    }

    fn canonical(&self, request: &Signed<'_>, query: &str, payload: &str) -> String {
        // Every service but S3 escapes the path once more than it is sent.
        let path: Vec<String> = request.path.split('/').map(escape).collect();
        let path = if request.path.is_empty() { "/".to_owned() } else { path.join("/") };
        let mut headers = String::new();
        for name in &self.headers {
            let values: Vec<String> = request
                .headers
                .iter()
                .filter(|(key, _)| key == name)
                .map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect();
            headers += &format!("{name}:{}\n", values.join(","));
        }
        let method = request.method;
        format!("{method}\n{path}\n{}\n{headers}\n{}\n{payload}", query, self.headers.join(";"))
    }
}

/// A presigned query without its signature, which it cannot hold itself.
fn without_signature(query: &str) -> String {
    let parts: Vec<&str> = query.split('&').filter(|part| !part.starts_with("X-Amz-Signature=")).collect();
    parts.join("&")
}

/// A query with its pairs in order, escaped as the rules say; a plus stands for itself there.
fn escaped(query: &str) -> String {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (escape(&unescape(key, false)), escape(&unescape(value, false)))
    };
    in_order(parts.map(pair).collect())
}

/// A query with its pairs in order, each as it was sent.
fn as_sent(query: &str) -> String {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (key.to_owned(), value.to_owned())
    };
    in_order(parts.map(pair).collect())
}

fn in_order(mut pairs: Vec<(String, String)>) -> String {
    pairs.sort();
    let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join("&")
}

fn sign(key: &[u8], what: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), what).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn find<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// A moment in the form `20261127T010203Z`.
fn moment(text: &str) -> Option<Time> {
    let is_basic = text.len() == 16 && text.is_ascii() && text.as_bytes()[8] == b'T' && text.ends_with('Z');
    if !is_basic {
        return None;
    }
    let part = |from: usize, to: usize| &text[from..to];
    let extended = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(9, 11),
        part(11, 13),
        part(13, 15)
    );
    extended.parse().ok()
}
