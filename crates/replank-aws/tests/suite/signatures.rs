//! Requests that botocore 1.44 has signed (`SigV4Auth`), at 2026-11-27T01:02:03Z.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use replank_aws::sigv4::{Authorization, Doubt, Signed};
use replank_aws::{Caller, Credentials, Gate};
use replank_model::time::{Span, Time};
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
        Authorization::read(&self.headers, &self.query)?.verify(&self.signed(), known, Span::ZERO, now)
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
    assert_eq!(Authorization::read(&[], ""), Err(Doubt::Missing));
    let header = |value: &str| vec![("authorization".to_owned(), value.to_owned())];
    for wrong in [
        "Basic x",
        "AWS4-HMAC-SHA256 Credential=a/b",
        "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, SignedHeaders=host",
    ] {
        assert!(matches!(Authorization::read(&header(wrong), ""), Err(Doubt::Incomplete(_))), "{wrong}");
    }
}

/// Requests that botocore 1.44 has presigned (`SigV4QueryAuth`) at 2026-11-27T01:02:03Z, and for how long.
#[derive(Deserialize)]
struct Presigned {
    #[serde(flatten)]
    request: Request,
    expires: i64,
}

fn presigned() -> Vec<Presigned> {
    let requests: Vec<Presigned> =
        serde_json::from_str(include_str!("../presigned.json")).expect("it is JSON");
    assert_eq!(requests.len(), 4);
    requests
}

fn after(seconds: i64) -> Time {
    let signed: Time = "2026-11-27T01:02:03Z".parse().expect("it is a moment");
    signed + Span::from_secs(seconds)
}

#[test]
fn what_botocore_presigns_is_believed_as_long_as_it_says() {
    for Presigned { request, expires } in presigned() {
        let what = &request.query;
        assert_eq!(request.verify(&known(), after(0)), Ok(()), "{what}");
        assert_eq!(request.verify(&known(), after(expires)), Ok(()), "{what}");
        assert!(matches!(request.verify(&known(), after(expires + 1)), Err(Doubt::Skewed(_))), "{what}");
        assert!(matches!(request.verify(&known(), after(-301)), Err(Doubt::Skewed(_))), "{what}");
        let other = Credentials { secret_key: "another".to_owned(), ..known() };
        assert_eq!(request.verify(&other, after(0)), Err(Doubt::Mismatch), "{what}");
        let longer = request.query.replace("X-Amz-Expires=", "X-Amz-Expires=1");
        let changed = Request { query: longer, ..request };
        assert_eq!(changed.verify(&known(), after(0)), Err(Doubt::Mismatch));
        let changed = Request { path: format!("{}x", changed.path), ..changed };
        assert_eq!(changed.verify(&known(), after(0)), Err(Doubt::Mismatch));
    }
}

#[test]
fn the_host_has_to_be_signed() {
    for request in requests() {
        let mut found = Authorization::read(&request.headers, &request.query).expect("it is signed");
        found.headers.retain(|name| name != "host");
        let verified = found.verify(&request.signed(), &known(), Span::ZERO, at(&request, 0));
        assert!(matches!(verified, Err(Doubt::Unfit(words)) if words.contains("must be a 'SignedHeader'")));
    }
}

#[test]
fn a_gate_goes_by_the_region_too() {
    let admitted = |region: &str, at_region: &str| {
        let request = &presigned()[1].request;
        let query = request.query.replace("eu-west-1", at_region);
        let found = Authorization::read(&request.headers, &query).expect("it is signed");
        let signed = Signed { query: &query, ..request.signed() };
        Gate::new(known(), region).admit(&found, &signed, after(0))
    };
    assert_eq!(admitted("eu-west-1", "eu-west-1"), Ok(Caller::User));
    assert_eq!(
        admitted("eu-west-1", "eu-west-2"),
        Err(Doubt::Unfit("Credential should be scoped to a valid region, not 'eu-west-2'. ".to_owned()))
    );
    assert!(matches!(admitted("eu-west-2", "eu-west-1"), Err(Doubt::Unfit(_))));
}

#[test]
fn tokens_for_kubernetes_are_of_one_cluster_and_last_a_quarter_of_an_hour() {
    let gate = Gate::new(known(), "eu-west-1");
    let url = |request: &Request| {
        let host = &request.headers.iter().find(|(name, _)| name == "host").expect("it has one").1;
        format!("https://{host}{}?{}", request.path, request.query)
    };
    let token = |url: &str| format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url));
    let requests = presigned();
    let right = token(&url(&requests[0].request));
    assert_eq!(gate.of_kubernetes(&right, "rehearsal", after(0)), Ok(Caller::User));
    assert_eq!(gate.of_kubernetes(&right, "rehearsal", after(900)), Ok(Caller::User));
    assert!(matches!(gate.of_kubernetes(&right, "rehearsal", after(901)), Err(Doubt::Skewed(_))));
    assert_eq!(gate.of_kubernetes(&right, "other", after(0)), Err(Doubt::Mismatch));
    assert_eq!(gate.of_kubernetes("k8s-aws-v2.x", "rehearsal", after(0)), Err(Doubt::Missing));
    for other in &requests[1..] {
        let wrong = gate.of_kubernetes(&token(&url(&other.request)), "rehearsal", after(0));
        assert!(matches!(wrong, Err(Doubt::Incomplete(_))), "{}", other.request.query);
    }
}
