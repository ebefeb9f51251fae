//! Requests that botocore 1.44 has signed (`SigV4Auth`), at 2026-11-27T01:02:03Z.

use replank_aws::Credentials;
use replank_aws::sigv4::{Authorization, Doubt, Signed};
use replank_model::time::Time;
use serde::Deserialize;

#[derive(Deserialize)]
struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    fn signed(&self) -> Signed<'_> {
        Signed {
            method: &self.method,
            path: &self.path,
            query: &self.query,
            headers: &self.headers,
            body: self.body.as_bytes(),
        }
    }

    fn verify(&self, known: &Credentials, now: Time) -> Result<(), Doubt> {
        Authorization::read(&self.headers)?.verify(&self.signed(), known, now)
    }
}

fn requests() -> Vec<Request> {
    let requests: Vec<Request> = serde_json::from_str(include_str!("../signed.json")).expect("it is JSON");
    assert_eq!(requests.len(), 24);
    requests
}

fn known() -> Credentials {
    Credentials {
        access_key: "AKIAREHEARSALREHEARS".to_owned(),
        secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
    }
}

/// When they were signed, as their headers say.
fn at(request: &Request, seconds: i64) -> Time {
    let date = &request.headers.iter().find(|(name, _)| name == "x-amz-date").expect("it is signed").1;
    let [year, month, day, hour, minute, second] =
        [0..4, 4..6, 6..8, 9..11, 11..13, 13..15].map(|part| &date[part]);
    let signed: Time =
        format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z").parse().expect("it is a moment");
    Time::from_millis(signed.as_millis() + seconds * 1000)
}

#[test]
fn what_botocore_signs_is_believed() {
    for request in requests() {
        assert_eq!(request.verify(&known(), at(&request, 0)), Ok(()), "{} {}", request.path, request.query);
    }
}

#[test]
fn nothing_else_is() {
    for request in requests() {
        let now = at(&request, 10);
        let other = Credentials { secret_key: "another".to_owned(), ..known() };
        assert_eq!(request.verify(&other, now), Err(Doubt::Mismatch));
        let nobody = Credentials { access_key: "AKIANOBODY".to_owned(), ..known() };
        assert_eq!(request.verify(&nobody, now), Err(Doubt::UnknownKey));
        assert!(
            matches!(request.verify(&known(), at(&request, 301)), Err(Doubt::Skewed(words)) if words.starts_with("Signature expired: "))
        );
        assert!(
            matches!(request.verify(&known(), at(&request, -301)), Err(Doubt::Skewed(words)) if words.starts_with("Signature not yet current: "))
        );
        let changed = Request { body: format!("{} ", request.body), ..request };
        assert_eq!(changed.verify(&known(), now), Err(Doubt::Mismatch));
        let changed = Request { path: format!("{}x", changed.path), ..changed };
        assert_eq!(changed.verify(&known(), now), Err(Doubt::Mismatch));
    }
}

#[test]
fn what_is_not_signed_is_told_so() {
    assert_eq!(Authorization::read(&[]), Err(Doubt::Missing));
    let header = |value: &str| vec![("authorization".to_owned(), value.to_owned())];
    for wrong in [
        "Basic x",
        "AWS4-HMAC-SHA256 Credential=a/b",
        "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, SignedHeaders=host",
    ] {
        assert!(matches!(Authorization::read(&header(wrong)), Err(Doubt::Incomplete(_))), "{wrong}");
    }
}
