//! The nodes of a cluster, as a person names them.

use serde_json::Value;

use crate::connect::{Connection, JSON};
use crate::error::{LiveError, Missing};

/// Lists nodes page by page, those that a label selector matches, where one is given. A page of 0 is everything at once, as with `kubectl --chunk-size=0`.
///
/// # Errors
/// Where the server cannot be asked or says no.
pub async fn nodes(
    connection: &Connection,
    selector: Option<&str>,
    page: u64,
) -> Result<Vec<Value>, LiveError> {
    let rule = || Missing { group: String::new(), resource: "nodes".to_owned(), verbs: &["list"] };
    let selector = selector.map(|text| format!("&labelSelector={}", encoded(text))).unwrap_or_default();
    let mut all = Vec::new();
    let mut token = String::new();
    loop {
        let from = if token.is_empty() { String::new() } else { format!("&continue={}", encoded(&token)) };
        let path = format!("/api/v1/nodes?limit={page}{selector}{from}");
        let mut told = connection.json(&path, JSON, rule()).await?;
        if let Value::Array(items) = told["items"].take() {
            all.extend(items);
        }
        match told["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
            Some(next) => next.clone_into(&mut token),
            None => return Ok(all),
        }
    }
}

/// A value of a query: everything but what RFC 3986 leaves unreserved is escaped.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn a_selector_goes_into_a_query_whole() {
        assert_eq!(encoded("a in (b,c),!d&limit=1"), "a%20in%20%28b%2Cc%29%2C%21d%26limit%3D1");
    }
}
