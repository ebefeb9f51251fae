//! The server's own log: what a user asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// What one user asked of a server.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Requests by verb and resource, such as `create pods/eviction`.
    pub requests: BTreeMap<String, usize>,
    /// Evictions that were granted.
    pub granted: usize,
    /// Evictions that were refused.
    pub refused: usize,
    /// Evictions without the uid of the pod that is meant.
    pub without_uid: usize,
    /// Evictions that were dry runs.
    pub dry: usize,
    /// Requests that could change something, and were no dry runs.
    pub writes: usize,
    /// Pods that were deleted instead of evicted.
    pub deleted_pods: usize,
}

impl Asked {
    /// All requests.
    #[must_use]
    pub fn all(&self) -> usize {
        self.requests.values().sum()
    }

    /// Evictions that were asked for.
    #[must_use]
    pub fn evictions(&self) -> usize {
        self.requests.get("create pods/eviction").copied().unwrap_or_default()
    }
}

/// What must hold of a log.
#[derive(Clone, Debug)]
pub struct Floor {
    /// In words.
    pub what: String,
    /// Whether it does.
    pub holds: bool,
}

/// Verbs that change nothing.
const READS: [&str; 3] = ["get", "list", "watch"];

/// What a user asked for, by the log of a server from this byte on.
///
/// # Errors
/// It cannot be read, or is not one.
pub fn log_of(file: &Path, user: &str, from: u64) -> Result<Asked> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let text = String::from_utf8_lossy(&text[usize::try_from(from)?.min(text.len())..]);
    let mut asked = Asked::default();
    asked.take_all(&text, user).with_context(|| file.display().to_string())?;
    Ok(asked)
}

impl Asked {
    fn take_all(&mut self, text: &str, user: &str) -> Result<()> {
        let mut seen = BTreeSet::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let event: Value = serde_json::from_str(line).context("a line of the log is not whole")?;
            // A watch is told of when it begins, and when it ends.
            if event["user"]["username"] == user
                && seen.insert(event["auditID"].as_str().unwrap_or_default().to_owned())
            {
                self.take(&event);
            }
        }
        ensure!(!seen.is_empty(), "{user} has asked for nothing");
        Ok(())
    }

    fn take(&mut self, event: &Value) {
        let (verb, about) = (event["verb"].as_str().unwrap_or_default(), &event["objectRef"]);
        let resource = about["resource"].as_str().unwrap_or("paths");
        let under = about["subresource"].as_str().map(|name| format!("/{name}")).unwrap_or_default();
        *self.requests.entry(format!("{verb} {resource}{under}")).or_default() += 1;
        let is_dry = event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun=All"))
            || event["requestObject"]["dryRun"][0] == "All"
            || event["requestObject"]["deleteOptions"]["dryRun"][0] == "All";
        let is_review = resource.ends_with("reviews");
        self.writes += usize::from(!READS.contains(&verb) && !is_dry && !is_review);
        if resource != "pods" {
            return;
        }
        self.deleted_pods += usize::from(verb.starts_with("delete") && under.is_empty());
        if under != "/eviction" {
            return;
        }
        let code = event["responseStatus"]["code"].as_u64().unwrap_or_default();
        self.dry += usize::from(is_dry);
        self.refused += usize::from(code == 429);
        self.granted += usize::from(code < 300 && !is_dry);
        let meant = &event["requestObject"]["deleteOptions"]["preconditions"]["uid"];
        self.without_uid += usize::from(!meant.is_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_log_says_is_counted() {
        let event = |id: &str, user: &str, verb: &str, about: Value, body: Value, code: u16| {
            json!({"auditID": id, "user": {"username": user}, "verb": verb, "objectRef": about, "requestURI": "/x",
                "requestObject": body, "responseStatus": {"code": code}})
        };
        let eviction = json!({"resource": "pods", "subresource": "eviction"});
        let meant = json!({"deleteOptions": {"preconditions": {"uid": "u"}}});
        let dry = json!({"deleteOptions": {"preconditions": {"uid": "u"}, "dryRun": ["All"]}});
        let events = [
            event("1", "replank", "watch", json!({"resource": "pods"}), Value::Null, 200),
            event("1", "replank", "watch", json!({"resource": "pods"}), Value::Null, 200),
            event("2", "replank", "create", eviction.clone(), meant.clone(), 201),
            event("3", "replank", "create", eviction.clone(), meant, 429),
            event("4", "replank", "create", eviction.clone(), json!({}), 201),
            event("5", "replank", "create", eviction, dry, 201),
            event("6", "replank", "delete", json!({"resource": "pods"}), Value::Null, 200),
            event("7", "kubectl", "delete", json!({"resource": "pods"}), Value::Null, 200),
            event("8", "replank", "create", json!({"resource": "selfsubjectrulesreviews"}), Value::Null, 201),
        ];
        let mut asked = Asked::default();
        let text = events.map(|event| format!("{event}\n")).concat();
        asked.take_all(&text, "replank").expect("it is a log");
        assert_eq!((asked.all(), asked.evictions()), (7, 4), "a watch that ends was counted when it began");
        assert_eq!((asked.granted, asked.refused, asked.without_uid, asked.dry), (2, 1, 1, 1));
        assert_eq!((asked.deleted_pods, asked.writes), (1, 4), "a dry run and a review write nothing");
        assert!(Asked::default().take_all(&text, "nobody").is_err());
    }
}
