//! The frame of what code scanning reads: SARIF 2.1.0 (OASIS).

use serde_json::{Value, json};

use crate::failure::Failure;

/// Where the form is defined.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A log of one run: the rules, and what was found by them.
pub(crate) fn log(rules: &[Value], results: &[Value]) -> Result<String, Failure> {
    log_of(rules, results, &[])
}

/// The same, with what kept the run from seeing everything.
pub(crate) fn log_of(rules: &[Value], results: &[Value], notifications: &[Value]) -> Result<String, Failure> {
    let mut all = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "replank",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "results": results,
        }],
    });
    if !notifications.is_empty() {
        all["runs"][0]["invocations"] =
            json!([{"executionSuccessful": false, "toolExecutionNotifications": notifications}]);
    }
    let text = serde_json::to_string_pretty(&all).map_err(Failure::internal)?;
    Ok(text + "\n")
}

/// A path as a URI reference (RFC 3986, 4.2).
pub(crate) fn uri(path: &str) -> String {
    if path == "-" || path == "<stdin>" {
        return "stdin".to_owned();
    }
    let mut uri = String::new();
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("./my cluster.json"), "my%20cluster.json");
        assert_eq!(uri("-"), "stdin");
        assert_eq!(uri("dumps/a:b.json"), "dumps/a%3Ab.json");
    }
}
