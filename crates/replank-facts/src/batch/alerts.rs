//! Alerts of PrometheusRules (`monitoring.coreos.com`) that fire when a Job or a Workflow fails.
//!
//! Of Jobs kube-state-metrics counts `kube_job_failed` and `kube_job_status_failed`, with the labels `namespace` and `job_name` (docs/metrics/workload/
//! job-metrics.md; kubernetes-mixin's alert `KubeJobFailed` reads the first). Of Workflows Argo's controller counts `argo_workflows_count` by status,
//! since 3.6 `argo_workflows_gauge` and `argo_workflows_total_count` by phase (argo-workflows docs/metrics.md). Whether an alert reaches anybody is
//! Alertmanager's to say, whose routes are in no snapshot.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::view::View;
use serde_json::Value;

/// Counts of failed Jobs.
const OF_JOBS: [&str; 2] = ["kube_job_failed", "kube_job_status_failed"];
/// Counts of Workflows by how they stand.
const OF_WORKFLOWS: [&str; 3] =
    ["argo_workflows_count", "argo_workflows_gauge", "argo_workflows_total_count"];

/// All alerts of a cluster that tell of failed work.
#[derive(Clone, Debug, Default)]
pub struct Alerts(Vec<(Alert, String)>);

/// One alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Its PrometheusRule.
    pub rule: Key,
    /// Its name.
    pub name: String,
    /// Its label `severity`.
    pub severity: Option<String>,
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alert {}", self.name)?;
        if let Some(severity) = &self.severity {
            write!(f, ", severity {severity}")?;
        }
        write!(f, " (PrometheusRule {})", self.rule)
    }
}

impl Alerts {
    /// Reads them.
    #[must_use]
    pub fn read(view: &View) -> Self {
        let mut all = Vec::new();
        let rules = view
            .others()
            .filter(|other| &*other.kind == "PrometheusRule" && other.group() == "monitoring.coreos.com");
        for rule in rules {
            let raw = render(&Object::Other(rule.clone()));
            let groups = raw["spec"]["groups"].as_array().into_iter().flatten();
            for one in groups.flat_map(|group| group["rules"].as_array().into_iter().flatten()) {
                let (Some(name), Some(expr)) = (one["alert"].as_str(), text(&one["expr"])) else { continue };
                let is_of_failures = OF_JOBS.iter().chain(&OF_WORKFLOWS).any(|metric| expr.contains(metric));
                if is_of_failures {
                    let severity = one["labels"]["severity"].as_str().map(str::to_owned);
                    all.push((Alert { rule: rule.meta.key(), name: name.to_owned(), severity }, expr));
                }
            }
        }
        Self(all)
    }

    /// Those that fire when this Job or Workflow fails, each once.
    pub fn of_failed<'a>(&'a self, kind: &'a str, key: &'a Key) -> impl Iterator<Item = Alert> + 'a {
        self.0.iter().filter(move |(_, expr)| tells_of(expr, kind, key)).map(|(alert, _)| alert.clone())
    }
}

/// An expression; a number may stand for one.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether an expression counts the failure of this Job or Workflow.
fn tells_of(expr: &str, kind: &str, key: &Key) -> bool {
    let metrics: &[&str] = match kind {
        "Job" => &OF_JOBS,
        "Workflow" => &OF_WORKFLOWS,
        _ => &[],
    };
    metrics.iter().any(|metric| {
        selections(expr, metric).any(|selection| match kind {
            "Job" => selection.iter().all(|matcher| match matcher.label {
                "namespace" => matcher.accepts(key.namespace.as_str()),
                "job_name" => matcher.accepts(key.name.as_str()),
                _ => true,
            }),
            _ => {
                // Without it all Workflows are counted, whatever becomes of them.
                let is_state = |matcher: &&Matcher<'_>| matches!(matcher.label, "status" | "phase");
                let state = selection.iter().find(is_state);
                state.is_some_and(|state| {
                    !state.accepts("Succeeded") && (state.accepts("Failed") || state.accepts("Error"))
                }) && selection
                    .iter()
                    .all(|matcher| matcher.label != "namespace" || matcher.accepts(key.namespace.as_str()))
            }
        })
    })
}

/// The label matchers with which an expression selects a metric, for each time that it does. That it is absent tells of no failure.
fn selections<'e>(expr: &'e str, metric: &'e str) -> impl Iterator<Item = Vec<Matcher<'e>>> + 'e {
    expr.match_indices(metric).filter_map(move |(at, _)| {
        let (before, after) = (&expr[..at], &expr[at + metric.len()..]);
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
        let is_part = before.ends_with(is_name) || after.starts_with(is_name);
        let is_absent = ["absent(", "absent_over_time("].iter().any(|name| before.trim_end().ends_with(name));
        (!is_part && !is_absent).then(|| match after.trim_start().strip_prefix('{') {
            Some(selector) => matchers(selector),
            None => Vec::new(),
        })
    })
}

/// One of `namespace="shop"`, `job_name=~"pay-.*"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Matcher<'e> {
    label: &'e str,
    is_pattern: bool,
    is_negated: bool,
    value: &'e str,
}

/// The matchers up to the closing brace. What cannot be read ends them.
fn matchers(mut rest: &str) -> Vec<Matcher<'_>> {
    let mut all = Vec::new();
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
        let Some(at) = rest.find(['=', '!', '}']).filter(|at| !rest[*at..].starts_with('}')) else {
            return all;
        };
        let (label, behind) = rest.split_at(at);
        let operators = [("=~", true, false), ("!~", true, true), ("!=", false, true), ("=", false, false)];
        let read = operators.iter().find_map(|(operator, is_pattern, is_negated)| {
            Some((behind.strip_prefix(operator)?.trim_start(), *is_pattern, *is_negated))
        });
        let Some((quoted, is_pattern, is_negated)) = read else { return all };
        let Some(quote) = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`')) else {
            return all;
        };
        let Some((value, behind)) = quoted[1..].split_once(quote) else { return all };
        all.push(Matcher { label: label.trim(), is_pattern, is_negated, value });
        rest = behind;
    }
}

impl Matcher<'_> {
    /// Whether a label with this value is selected. A pattern that cannot be worked out selects all: the alert is named, and whoever reads it looks.
    fn accepts(&self, label: &str) -> bool {
        let matches = match self.is_pattern {
            false => self.value == label,
            true => match fits(self.value, label) {
                Some(fits) => fits,
                None => return true,
            },
        };
        matches != self.is_negated
    }
}

/// Whether a text is one of a pattern's alternatives; of patterns, `.*`, `.+` and `.` are known. Prometheus' patterns are of the whole text.
fn fits(pattern: &str, text: &str) -> Option<bool> {
    let mut fits = false;
    for one in pattern.trim_matches(['(', ')']).split('|') {
        let one = one.trim_start_matches('^').trim_end_matches('$');
        let unknown = |letter: char| !(letter.is_ascii_alphanumeric() || "-_.*+/:".contains(letter));
        let repeats = |at: usize| at == 0 || !one[..at].ends_with('.');
        if one.contains(unknown) || one.match_indices(['*', '+']).any(|(at, _)| repeats(at)) {
            return None;
        }
        fits |= fits_one(one, text);
    }
    Some(fits)
}

fn fits_one(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return text.is_empty() };
    let mut shorter = text.chars();
    let head = shorter.next();
    if let Some(rest) = pattern.strip_prefix(".*") {
        return fits_one(rest, text) || head.is_some() && fits_one(pattern, shorter.as_str());
    }
    if let Some(rest) = pattern.strip_prefix(".+") {
        return head.is_some() && (fits_one(rest, shorter.as_str()) || fits_one(pattern, shorter.as_str()));
    }
    head.is_some_and(|head| first == '.' || first == head) && fits_one(&pattern[1..], shorter.as_str())
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use serde_json::json;

    use super::*;

    fn firing(expr: &str, kind: &str) -> usize {
        let rule = json!({"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "r", "namespace": "monitoring", "uid": "r"},
        "spec": {"groups": [{"name": "g", "rules": [
            {"alert": "Failed", "expr": expr, "labels": {"severity": "warning"}},
            {"record": "failed", "expr": "kube_job_failed"},
            {"alert": "Other", "expr": "up == 0"},
        ]}]}});
        let view: View =
            [rule].into_iter().map(|rule| Delta::Put(Object::from_json(rule).expect("an object"))).collect();
        let alerts = Alerts::read(&view);
        let key = Key::new("shop", "pay-29474280");
        let told: Vec<String> = alerts.of_failed(kind, &key).map(|alert| alert.to_string()).collect();
        assert!(
            told.iter().all(|one| one == "alert Failed, severity warning (PrometheusRule monitoring/r)"),
            "{told:?}"
        );
        told.len()
    }

    #[test]
    fn an_alert_on_failed_jobs_is_one_where_it_selects_the_job() {
        for expr in [
            "kube_job_failed > 0",
            "kube_job_failed{job=\"kube-state-metrics\", namespace=~\".*\"}  > 0",
            "sum by (job_name) (kube_job_status_failed{namespace='shop',job_name=~\"^pay-.*|book-.+$\"}) > 0",
            "kube_job_failed{namespace!=\"test\"} > 0",
            "kube_job_failed{namespace=~\"[a-z]{4}\"} > 0",
            "kube_job_failed{namespace=\"test\"} > 0 or kube_job_failed{namespace=\"shop\"} > 0",
        ] {
            assert_eq!(firing(expr, "Job"), 1, "{expr}");
            assert_eq!(firing(expr, "Workflow"), 0, "{expr}");
        }
        for expr in [
            "kube_job_failed{namespace=\"test\"} > 0",
            "kube_job_failed{namespace!~\"shop|test\"} > 0",
            "kube_job_status_failed{job_name=~\"backup-.*\"} > 0",
            "kube_job_failed{namespace=~\"sho\"} > 0",
            "absent(kube_job_failed{job=\"kube-state-metrics\"})",
            "my_kube_job_failed > 0",
            "kube_job_failed_total > 0",
        ] {
            assert_eq!(firing(expr, "Job"), 0, "{expr}");
        }
    }

    #[test]
    fn an_alert_on_workflows_is_one_where_it_counts_those_that_failed() {
        for expr in [
            "argo_workflows_count{status=\"Failed\"} > 0",
            "increase(argo_workflows_total_count{phase=~\"Failed|Error\", namespace=\"shop\"}[5m]) > 0",
        ] {
            assert_eq!(firing(expr, "Workflow"), 1, "{expr}");
            assert_eq!(firing(expr, "Job"), 0, "{expr}");
        }
        for expr in [
            "argo_workflows_count > 1000",
            "argo_workflows_gauge{phase=\"Pending\"} > 10",
            "argo_workflows_total_count{phase=\"Failed\", namespace=\"test\"} > 0",
        ] {
            assert_eq!(firing(expr, "Workflow"), 0, "{expr}");
        }
    }
}
