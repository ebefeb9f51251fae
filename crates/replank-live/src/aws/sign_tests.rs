//! Signatures held against botocore's: the same random requests, signed by both.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::*;
use crate::aws::stand_in::python_with_botocore;

/// How many requests are signed.
const REQUESTS: u64 = 300;

/// Signs what it reads, and prints the values of `Authorization`.
const SCRIPT: &str = r#"
import json, sys
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
signed = []
for one in json.load(sys.stdin):
    auth = SigV4Auth(Credentials(one["access"], one["secret"]), one["service"], one["region"])
    query = "?" + one["query"] if one["query"] else ""
    headers = dict(one["headers"])
    request = AWSRequest(one["method"], "https://" + headers["host"] + one["path"] + query, headers, one["body"].encode())
    request.context["timestamp"] = one["time"]
    text = auth.string_to_sign(request, auth.canonical_request(request))
    names = auth.signed_headers(auth.headers_to_sign(request))
    signed.append("AWS4-HMAC-SHA256 Credential=%s, SignedHeaders=%s, Signature=%s" % (auth.scope(request), names, auth.signature(text, request)))
json.dump(signed, sys.stdout)
"#;

/// Draws that follow from a number.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> usize {
        self.0 += 1;
        usize::try_from(xxh3_64_with_seed(b"signatures", self.0) % bound).expect("it is small")
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len() as u64)]
    }

    fn text(&mut self) -> String {
        const PARTS: &[&str] = &[
            "a", "Z", "9", "-", "_", "~", " ", "  ", "+", ":", "@", "=", "&", "%", "ü", "日", "é.b", ",",
            "'", "*", "(",
        ];
        (0..=self.below(9)).map(|_| self.of(PARTS)).collect()
    }
}

fn drawn(number: u64) -> Value {
    let mut draws = Draws(number * 1_000);
    // A segment of dots alone, or an empty one, is no path of AWS's APIs.
    let path: String = (0..draws.below(4)).map(|_| format!("/x{}", escaped(&draws.text()))).collect();
    let path = if path.is_empty() { "/".to_owned() } else { path };
    let mut pairs: Vec<(String, String)> =
        (0..draws.below(4)).map(|_| (escaped(&draws.text()), escaped(&draws.text()))).collect();
    pairs.sort();
    let query: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let time =
        format!("2026{:02}{:02}T{:02}0102Z", draws.below(12) + 1, draws.below(28) + 1, draws.below(24));
    let mut headers = vec![("host", "eks.eu-west-1.amazonaws.com".to_owned()), ("x-amz-date", time.clone())];
    for name in ["content-type", "x-amz-security-token", "x-amz-target"] {
        if draws.below(2) == 0 {
            headers.push((
                name,
                format!("  v{}  ", draws.text().replace(|letter: char| !letter.is_ascii(), "")),
            ));
        }
    }
    headers.sort();
    json!({"method": draws.of(&["GET", "POST", "DELETE", "PUT"]), "path": path, "query": query.join("&"), "headers": headers, "body": draws.text(),
        "access": "AKIDEXAMPLE", "secret": format!("s/{}", draws.text()), "time": time,
        "region": draws.of(&["eu-west-1", "us-gov-east-1", "cn-north-1"]), "service": draws.of(&["eks", "autoscaling", "ec2", "sts", "ssm"])})
}

fn ours(request: &Value) -> String {
    let text = |member: &str| request[member].as_str().expect("it is text");
    let headers: Vec<(String, String)> =
        serde_json::from_value(request["headers"].clone()).expect("they are pairs");
    let headers: Vec<(&str, String)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let key = Key {
        access_key: text("access").to_owned(),
        secret_key: text("secret").to_owned(),
        session_token: None,
    };
    let unsigned = Unsigned {
        method: text("method"),
        path: text("path"),
        query: text("query"),
        headers: &headers,
        body: text("body").as_bytes(),
    };
    authorization(&unsigned, &key, (text("region"), text("service")), text("time"))
}

#[test]
fn botocore_signs_random_requests_alike() {
    let Some(python) = python_with_botocore() else { return };
    let requests: Vec<Value> = (0..REQUESTS).map(drawn).collect();
    let mut child = Command::new(&python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let sent = Value::from(requests.clone()).to_string();
    child.stdin.take().expect("it reads").write_all(sent.as_bytes()).expect("it reads all");
    let output = child.wait_with_output().expect("it ends");
    let theirs: Vec<String> = serde_json::from_slice(&output.stdout).expect("it prints a list");
    assert_eq!(theirs.len(), requests.len());
    for (request, theirs) in requests.iter().zip(&theirs) {
        assert_eq!(&ours(request), theirs, "{request}");
    }
}
