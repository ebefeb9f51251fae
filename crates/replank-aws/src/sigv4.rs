//! Signatures of requests: AWS Signature Version 4 ("Create a signed AWS API request" in the IAM user guide).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use replank_model::time::Time;
use ring::rand::SecureRandom;
use ring::{digest, hmac};

use crate::text::{escape, unescape};

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
}

impl Authorization {
    /// Reads the header `Authorization`.
    ///
    /// # Errors
    /// Where there is none, or it cannot be read.
    pub fn read(headers: &[(String, String)]) -> Result<Self, Doubt> {
        let header = find(headers, "authorization").ok_or(Doubt::Missing)?;
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
        let scope: Vec<&str> = part("Credential")?.split('/').collect();
        let [access_key, day, region, service, "aws4_request"] = scope.as_slice() else {
            return Err(incomplete("Credential"));
        };
        Ok(Self {
            access_key: (*access_key).to_owned(),
            day: (*day).to_owned(),
            region: (*region).to_owned(),
            service: (*service).to_owned(),
            headers: part("SignedHeaders")?.split(';').map(str::to_owned).collect(),
            signature: part("Signature")?.to_owned(),
        })
    }

    /// Whether the request is signed by whoever has a key, and not long ago.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn verify(&self, request: &Signed<'_>, known: &Credentials, now: Time) -> Result<(), Doubt> {
        if self.access_key != known.access_key {
            return Err(Doubt::UnknownKey);
        }
        let date = find(request.headers, "x-amz-date").ok_or_else(|| {
            Doubt::Incomplete(
                "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
                    .to_owned(),
            )
        })?;
        let signed = moment(date).ok_or_else(|| {
            Doubt::Incomplete(format!("Date must be in ISO-8601 'basic format'. Got '{date}'."))
        })?;
        if !date.starts_with(&self.day) {
            return Err(Doubt::Mismatch);
        }
        let apart = (now.as_millis() - signed.as_millis()) / 1000;
        if apart.abs() > SKEW_MAX_SECS {
            let basic = |time: Time| time.to_string().replace(['-', ':'], "");
            let bound = |secs: i64| basic(Time::from_millis(now.as_millis() + secs * 1000));
            return Err(Doubt::Skewed(match apart > 0 {
                true => format!(
                    "Signature expired: {date} is now earlier than {} ({} - 5 min.)",
                    bound(-SKEW_MAX_SECS),
                    basic(now)
                ),
                false => format!(
                    "Signature not yet current: {date} is still later than {} ({} + 5 min.)",
                    bound(SKEW_MAX_SECS),
                    basic(now)
                ),
            }));
        }
        let payload = hex(digest::digest(&digest::SHA256, request.body).as_ref());
        let claimed = find(request.headers, "x-amz-content-sha256").unwrap_or(&payload);
        if claimed != payload && claimed != "UNSIGNED-PAYLOAD" {
            return Err(Doubt::Mismatch);
        }
        // Clients escape the query anew, as the rules say, or sign it as they send it (botocore, where a URL has one already).
        let queries = [escaped(request.query), as_sent(request.query)];
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
