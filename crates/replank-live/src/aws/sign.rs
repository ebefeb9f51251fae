//! Signatures of requests: AWS Signature Version 4, in the header `Authorization` ("Create a signed AWS API request" in the IAM user guide).

use ring::{digest, hmac};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A key that requests are signed with.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) access_key: String,
    pub(super) secret_key: String,
    pub(super) session_token: Option<String>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Key").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

/// What is signed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsigned<'r> {
    pub(super) method: &'r str,
    /// The path as it is sent, escaped.
    pub(super) path: &'r str,
    /// The query as it is sent: escaped, its parameters sorted.
    pub(super) query: &'r str,
    /// Headers that are signed, by lower-case names, sorted; `host` is among them.
    pub(super) headers: &'r [(&'r str, String)],
    pub(super) body: &'r [u8],
}

/// The value of `Authorization`. The time is written as `20261127T063000Z`.
pub(super) fn authorization(
    request: &Unsigned<'_>,
    key: &Key,
    (region, service): (&str, &str),
    time: &str,
) -> String {
    let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    // Blanks in a row count as one.
    let bare = |value: &str| value.split_whitespace().collect::<Vec<_>>().join(" ");
    let headers: String =
        request.headers.iter().map(|(name, value)| format!("{name}:{}\n", bare(value))).collect();
    // Except for S3, the path is escaped once more than it is sent.
    let path: Vec<String> = request.path.split('/').map(escaped).collect();
    let canonical = format!(
        "{}\n{}\n{}\n{headers}\n{names}\n{}",
        request.method,
        path.join("/"),
        request.query,
        hex(digest::digest(&digest::SHA256, request.body).as_ref())
    );
    let day = time.get(..8).unwrap_or(time);
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let text = format!(
        "{ALGORITHM}\n{time}\n{scope}\n{}",
        hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref())
    );
    let mut secret = format!("AWS4{}", key.secret_key).into_bytes();
    for part in [day, region, service, "aws4_request", &text] {
        let signed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), part.as_bytes());
        secret = signed.as_ref().to_vec();
    }
    format!(
        "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={}",
        key.access_key,
        hex(&secret)
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text as it stands in a path or a query: all but unreserved characters are escaped (RFC 3986).
pub(super) fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
#[path = "sign_tests.rs"]
mod botocore;

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        }
    }

    /// From AWS's test suite for Signature Version 4: `get-vanilla-query-order-key-case`, `post-x-www-form-urlencoded`.
    #[test]
    fn signatures_are_those_of_the_published_test_suite() {
        let headers =
            [("host", "example.amazonaws.com".to_owned()), ("x-amz-date", "20150830T123600Z".to_owned())];
        let get = Unsigned {
            method: "GET",
            path: "/",
            query: "Param1=value1&Param2=value2",
            headers: &headers,
            body: b"",
        };
        let signed = |request: &Unsigned<'_>| {
            authorization(request, &key(), ("us-east-1", "service"), "20150830T123600Z")
        };
        assert_eq!(
            signed(&get),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
        );
        let headers = [
            ("content-type", "application/x-www-form-urlencoded".to_owned()),
            ("host", "example.amazonaws.com".to_owned()),
            ("x-amz-date", "20150830T123600Z".to_owned()),
        ];
        let post =
            Unsigned { method: "POST", path: "/", query: "", headers: &headers, body: b"Param1=value1" };
        assert!(
            signed(&post)
                .ends_with("Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
            "{}",
            signed(&post)
        );
    }

    #[test]
    fn what_is_reserved_is_escaped() {
        assert_eq!(escaped("a b/c~é+"), "a%20b%2Fc~%C3%A9%2B");
    }
}
