//! The API server's metric of requests at deprecated versions.
//!
//! `apiserver_requested_deprecated_apis` (apiserver, endpoints/metrics) is 1 for each group, version and resource that has been
//! asked for since the server's start. It tells neither who asked nor for what object, and counts the server's own requests.

use std::sync::Arc;

use super::{Scan, Use};
use crate::finding::{Confidence, Evidence};
use crate::source::Place;

const METRIC: &str = "apiserver_requested_deprecated_apis";

/// Whether a text is in the form of Prometheus. A server that nobody has asked for a deprecated version has no line of this metric.
pub(super) fn is_metrics(text: &str) -> bool {
    let head = text.trim_start();
    let is_described = head.starts_with("# HELP ") || head.starts_with("# TYPE ");
    let first = text.lines().find(|line| !line.is_empty() && !line.starts_with('#'));
    head.starts_with(METRIC) || is_described && first.is_some_and(is_sample)
}

/// Whether a line is a name, labels in braces or none, and a number. A member of YAML (`replicas: 3`) has a colon at the end of its name.
fn is_sample(line: &str) -> bool {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'));
    let values = line.rsplit_once('}').map_or(&line[name.len()..], |(_, values)| values);
    let value = values.split_whitespace().next().unwrap_or_default();
    !name.is_empty() && is_name && !name.ends_with(':') && value.parse::<f64>().is_ok()
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
    fn metrics_are_known_without_this_one_and_manifests_are_none() {
        assert!(is_metrics("# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n"));
        assert!(is_metrics("# TYPE a:b counter\n\na:b{path=\"/x y\",code=\"200\"} 1.5e+06 1700000000\n"));
        assert!(is_metrics("# TYPE a gauge\na NaN\n"));
        assert!(is_metrics("apiserver_requested_deprecated_apis{group=\"batch\"} 1\n"));
        for manifest in
            ["replicas: 3\n", "apiVersion: v1\nkind: Pod\n", "a:\n- 1\n", "{a: 1}\n", "---\na: 1\n"]
        {
            assert!(!is_metrics(&format!("# TYPE of a manifest\n{manifest}")), "{manifest}");
            assert!(!is_metrics(manifest), "{manifest}");
        }
        assert!(!is_metrics("up 1\n"));
    }

    #[test]
    fn labels_may_hold_anything_in_quotes() {
        let (labels, value) = sample(r#"{group="a,}b",version="v\"1",} 1 1700000000"#).unwrap();
        assert_eq!(labels, [("group", "a,}b".to_owned()), ("version", "v\"1".to_owned())]);
        assert_eq!(value, 1.0);
        assert!(sample("{group=\"a").is_none());
    }
}
