//! The API server's metric of requests at deprecated versions.
//!
//! `apiserver_requested_deprecated_apis` (apiserver, endpoints/metrics) is 1 for each group, version and resource that has been
//! asked for since the server's start. It tells neither who asked nor for what object, and counts the server's own requests.

use std::sync::Arc;

use super::{Scan, Use};
use crate::finding::{Confidence, Evidence};
use crate::source::Place;

const METRIC: &str = "apiserver_requested_deprecated_apis";

/// Whether a text is in the form of Prometheus, with this metric.
pub(super) fn is_metrics(text: &str) -> bool {
    let head = text.trim_start().as_bytes();
    (head.starts_with(b"# HELP") || head.starts_with(b"# TYPE") || head.starts_with(METRIC.as_bytes()))
        && text.lines().any(|line| line.starts_with(METRIC))
}

pub(super) fn scan(scan: &mut Scan<'_>, name: &Arc<str>, text: &str) {
    for (line, number) in text.lines().zip(1..) {
        let Some((labels, value)) = line.strip_prefix(METRIC).and_then(sample) else { continue };
        if value == 0.0 {
            continue;
        }
        let label =
            |key: &str| labels.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| &**value);
        let place = Place { source: name.clone(), line: number, column: 1 };
        requested(scan, (label("group"), label("version"), label("resource")), &place);
    }
}

fn requested(scan: &mut Scan<'_>, (group, version, resource): (&str, &str, &str), place: &Place) {
    let rows: Vec<_> = scan
        .measure
        .table
        .lookup_resource(group, Some(version), resource)
        .map(|row| row.gvk.clone())
        .collect();
    for gvk in rows {
        scan.used(Use {
            api_version: &gvk.api_version(),
            kind: &gvk.kind,
            name: "",
            namespace: None,
            holder: None,
            place: place.clone(),
            evidence: Evidence::Requested,
            confidence: Confidence::Medium,
        });
    }
}

/// Labels and value of a line behind the metric's name (exposition format 0.0.4).
fn sample(rest: &str) -> Option<(Vec<(&str, String)>, f64)> {
    let mut rest = rest.strip_prefix('{')?;
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(end) = rest.strip_prefix('}') {
            let value = end.split_whitespace().next()?.parse().ok()?;
            return Some((labels, value));
        }
        let (key, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.push((key, value));
        rest = &quoted[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_hold_anything_in_quotes() {
        let (labels, value) = sample(r#"{group="a,}b",version="v\"1",} 1 1700000000"#).unwrap();
        assert_eq!(labels, [("group", "a,}b".to_owned()), ("version", "v\"1".to_owned())]);
        assert_eq!(value, 1.0);
        assert!(sample("{group=\"a").is_none());
    }
}
