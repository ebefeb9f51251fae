//! A sync in words and as JSON.

use replank_facts::coverage::Coverage;
use replank_hpa::{
    Counted, Fault, Groups, Limited, MetricStep, PolicyKind, Proposal, Stabilized, Start, Working,
};
use replank_model::object::autoscaling::{HorizontalPodAutoscaler, HpaScalingRules};
use replank_model::text::Name;
use serde_json::{Value, json};

use super::explain::Explained;
use crate::failure::Failure;
use crate::report::words::{count, span};
use crate::report::{Look, Page, Tone};

/// Column where texts begin.
const AT: usize = 16;
/// Pods that are named.
const PODS_MAX: usize = 4;
/// Version of the JSON.
const VERSION: &str = "replank.dev/hpa-explanation/v1alpha1";

/// Text for people.
pub(super) fn text(explained: &Explained, look: Look) -> String {
    let mut page = Page::new(look);
    let (hpa, steps) = (&explained.hpa, &explained.outcome.steps);
    let target = &hpa.spec.scale_target_ref;
    let (min, max) = (hpa.spec.min_replicas.unwrap_or(1), hpa.spec.max_replicas);
    page.heading(
        &format!("HorizontalPodAutoscaler {}", hpa.meta.key()),
        &format!("{} {}, {min} to {max} replicas", target.kind, target.name),
    );
    match &steps.scale {
        Some(scale) => page.labelled(
            AT,
            "scale",
            &format!(
                "{} desired, {} current; pods selected by {}",
                replicas(scale.spec_replicas),
                scale.status_replicas,
                if scale.selector.is_empty() { "nothing" } else { &scale.selector }
            ),
        ),
        None => page.labelled(AT, "scale", "could not be read"),
    }
    if let Some(words) = steps.start.and_then(start) {
        page.labelled(AT, "", words);
    }
    for (number, source) in explained.sources.iter().enumerate() {
        page.labelled(AT, if number == 0 { "metrics from" } else { "" }, source);
    }
    for (index, step) in steps.metrics.iter().enumerate() {
        metric(&mut page, index, step);
    }
    if let Some(chosen) = steps.chosen {
        let why = match chosen.index {
            Some(index) if steps.metrics.len() > 1 => {
                format!(", from metric {}, which needs the most", index + 1)
            }
            Some(_) | None => String::new(),
        };
        page.heading("Asked for", &format!("{}{why}", replicas(chosen.replicas)));
        if let Some(error) = explained.outcome.error.as_ref() {
            page.wrapped(2, &format!("{error}: this prevents scale-down, not scale-up"), Tone::Warning);
        }
    }
    steps.stabilized.iter().for_each(|stabilized| windows(&mut page, stabilized));
    steps.limited.iter().for_each(|limited| limits(&mut page, hpa, limited, steps.bounds));
    result(&mut page, explained);
    page.into_text()
}

fn start(start: Start) -> Option<&'static str> {
    match start {
        Start::Disabled => {
            Some("the desired count is 0, and the controller did not set it: it does not scale")
        }
        Start::AboveMaximum => Some("above the maximum: scaled down to it at once, regardless of metrics"),
        Start::BelowMinimum => Some("below the minimum: scaled up to it at once, regardless of metrics"),
        Start::Measured => None,
    }
}

fn replicas(number: i32) -> String {
    count(usize::try_from(number).unwrap_or(0), "replica")
}

fn metric(page: &mut Page, index: usize, step: &MetricStep) {
    match &step.result {
        Ok(proposal) => {
            page.heading(&format!("Metric {}", index + 1), &proposal.name);
            measured(page, proposal);
        }
        Err(fault) => {
            page.heading(&format!("Metric {}", index + 1), &page.paint("unavailable", Tone::Bad));
            page.wrapped(2, &format!("{}: {}", fault.reason, fault.cause), Tone::Bad);
        }
    }
}

fn measured(page: &mut Page, proposal: &Proposal) {
    let working = &proposal.working;
    if let Some(groups) = &working.groups {
        page.labelled(AT, "pods", &pods(groups));
    }
    let first = &working.first;
    let milli = |number: i64| amount(number);
    match (first.utilization, first.requests) {
        (Some(percent), Some(requests)) => page.labelled(
            AT,
            "measured",
            &format!(
                "{} of {} requested: {percent}%, a whole number; target {}%; {percent} / {} = {:.4}",
                milli(first.usage),
                milli(requests),
                first.target,
                first.target,
                first.ratio
            ),
        ),
        _ => page.labelled(
            AT,
            "measured",
            &format!(
                "{} in all; target {}; ratio {:.4}",
                milli(first.usage),
                milli(first.target),
                first.ratio
            ),
        ),
    }
    if let Some(refill) = &working.refill {
        let mut parts = Vec::new();
        if let Some(usage) = refill.missing_as {
            let how = match (usage, first.utilization) {
                (0, _) => "nothing".to_owned(),
                (percent, Some(_)) => format!("{percent}% of their request"),
                (target, None) => format!("the target of {}", amount(target)),
            };
            parts.push(format!("pods without a sample count as using {how}"));
        }
        if refill.unready_as_nothing {
            parts.push("pods that are not ready count as using 0".to_owned());
        }
        if parts.is_empty() {
            parts.push("no values are filled in, because the ratio is 1".to_owned());
        }
        let pods = count(refill.pods, "pod");
        page.labelled(AT, "filled in", &format!("{}: {pods}, ratio {:.4}", parts.join(", "), refill.ratio));
    }
    page.labelled(AT, "so", &counted(working));
}

fn pods(groups: &Groups) -> String {
    let mut parts = vec![format!("{} measured", groups.ready.len())];
    let others = [
        (&groups.unready, "not ready, or still starting"),
        (&groups.missing, "without a sample"),
        (&groups.ignored, "terminating or failed"),
    ];
    for (pods, what) in others {
        if !pods.is_empty() {
            parts.push(format!("{} {what} ({})", pods.len(), names(pods)));
        }
    }
    parts.join("; ")
}

fn names(pods: &[Name]) -> String {
    let mut shown: Vec<String> = pods.iter().take(PODS_MAX).map(ToString::to_string).collect();
    if pods.len() > PODS_MAX {
        shown.push(format!("{} more", pods.len() - PODS_MAX));
    }
    shown.join(", ")
}

fn counted(working: &Working) -> String {
    let wanted = replicas(working.replicas);
    let ratio = working.refill.as_ref().map_or(working.first.ratio, |refill| refill.ratio);
    match working.counted {
        Counted::WithinTolerance => format!("within the tolerance: stays at {wanted}"),
        Counted::Times(pods) => format!("{ratio:.4} × {}, rounded up: {wanted}", count(pods, "pod")),
        Counted::Turned => format!("the filled-in values would reverse the direction: stays at {wanted}"),
        Counted::Against => {
            format!("the filled-in values would scale against the ratio: stays at {wanted}")
        }
        Counted::Shared => format!("divided by the target, rounded up: {wanted}"),
        Counted::FromZero => format!("there are no pods: the ratio itself, rounded up: {wanted}"),
    }
}

/// Thousandths as a quantity.
fn amount(milli: i64) -> String {
    replank_model::quantity::Quantity::from_milli(milli, replank_model::quantity::Format::DecimalSi)
        .to_string()
}

fn windows(page: &mut Page, stabilized: &Stabilized) {
    page.heading("Windows", &format!("{} → {}", stabilized.wanted, stabilized.replicas));
    let bound = |bound: &replank_hpa::Bound, what: &str| match bound.from {
        Some(from) => {
            format!(
                "{what} {} in the last {}, recommended at {}",
                bound.replicas,
                span(bound.window),
                from.at
            )
        }
        None if bound.window.as_millis() == 0 => "no window: at once".to_owned(),
        None => format!("no other recommendation is known from the last {}", span(bound.window)),
    };
    if let Some(ceiling) = &stabilized.ceiling {
        page.labelled(AT, "up", &bound(ceiling, "no more than the lowest,"));
    }
    page.labelled(AT, "down", &bound(&stabilized.floor, "no fewer than the highest,"));
    page.wrapped(
        2,
        "Earlier recommendations are in the controller's memory, not in the snapshot: the desired replicas count as the last one.",
        Tone::Faint,
    );
}

/// Directions that the spec forbids, and what that means.
fn disabled(hpa: &HorizontalPodAutoscaler) -> Vec<(&'static str, &'static str)> {
    let is = |rules: &Option<HpaScalingRules>| {
        rules.as_ref().is_some_and(|rules| rules.select_policy.as_deref() == Some("Disabled"))
    };
    let Some(behavior) = &hpa.spec.behavior else { return Vec::new() };
    let up = is(&behavior.scale_up).then_some(("scaleUp", "it never adds replicas"));
    let down = is(&behavior.scale_down).then_some(("scaleDown", "it never removes replicas"));
    up.into_iter().chain(down).collect()
}

fn limits(page: &mut Page, hpa: &HorizontalPodAutoscaler, limited: &Limited, (min, max): (i32, i32)) {
    page.heading("Bounds and policies", &format!("{} ({})", replicas(limited.replicas), limited.reason));
    page.labelled(AT, "bounds", &format!("{min} to {max}"));
    for (direction, means) in disabled(hpa) {
        page.labelled(AT, "disabled", &format!("behavior.{direction}.selectPolicy: Disabled: {means}"));
    }
    for step in &limited.policies {
        let unit = match step.policy.kind {
            PolicyKind::Pods => count(usize::try_from(step.policy.value).unwrap_or(0), "pod"),
            PolicyKind::Percent => format!("{}%", step.policy.value),
        };
        page.labelled(
            AT,
            "policy",
            &format!("{unit} in {} from {}: up to {}", span(step.policy.period), step.at_start, step.allows),
        );
    }
    match limited.rate {
        Some(rate) if limited.policies.is_empty() => {
            page.labelled(AT, "rate", &format!("up to {rate} in one sync"));
        }
        Some(_) | None => {}
    }
}

fn result(page: &mut Page, explained: &Explained) {
    let outcome = &explained.outcome;
    let beside = match (outcome.scaled_to, &outcome.steps.scale) {
        (Some(to), Some(scale)) => {
            page.paint(&format!("{} → {to} replicas", scale.spec_replicas), Tone::Strong)
        }
        (Some(to), None) => replicas(to),
        (None, Some(scale)) => format!("stays at {}", replicas(scale.spec_replicas)),
        (None, None) => page.paint("nothing can be done", Tone::Bad),
    };
    page.heading("Result", &beside);
    for condition in &outcome.status.conditions {
        let label = format!("{} {}", condition.r#type, condition.status);
        page.wrapped(2, &format!("{label}: {}: {}", condition.reason, condition.message), Tone::Plain);
    }
    for event in &outcome.events {
        let tone = if event.is_warning { Tone::Warning } else { Tone::Plain };
        page.wrapped(2, &format!("event {}: {}", event.reason, event.message), tone);
    }
}

/// JSON for programs.
pub(super) fn json(explained: &Explained, coverage: &Coverage) -> Result<String, Failure> {
    let outcome = &explained.outcome;
    let steps = &outcome.steps;
    let metrics: Vec<Value> = steps.metrics.iter().map(of_metric).collect();
    let events = outcome.events.iter().map(|event| {
        json!({"type": if event.is_warning { "Warning" } else { "Normal" }, "reason": event.reason, "message": event.message})
    });
    let value = json!({
        "apiVersion": VERSION,
        "name": explained.hpa.meta.key().to_string(),
        "now": explained.now,
        "coverage": coverage,
        "metricsFrom": explained.sources,
        "scale": steps.scale.as_ref().map(|scale| json!({"specReplicas": scale.spec_replicas,
            "statusReplicas": scale.status_replicas, "selector": scale.selector})),
        "minReplicas": explained.hpa.spec.min_replicas.unwrap_or(1),
        "maxReplicas": explained.hpa.spec.max_replicas,
        "disabled": disabled(&explained.hpa).into_iter().map(|(direction, _)| direction).collect::<Vec<_>>(),
        "metrics": metrics,
        "askedFor": steps.chosen.map(|chosen| json!({"replicas": chosen.replicas, "metric": chosen.index})),
        "stabilized": steps.stabilized.as_ref().map(|stabilized| json!({"wanted": stabilized.wanted,
            "floor": stabilized.floor.replicas, "ceiling": stabilized.ceiling.map(|ceiling| ceiling.replicas),
            "replicas": stabilized.replicas})),
        "limited": steps.limited.as_ref().map(|limited| json!({"replicas": limited.replicas, "reason": limited.reason,
            "message": limited.message, "rate": limited.rate})),
        "scaledTo": outcome.scaled_to,
        "error": outcome.error,
        "status": outcome.status,
        "events": events.collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&value).map_err(Failure::internal)?;
    text.push('\n');
    Ok(text)
}

fn of_metric(step: &MetricStep) -> Value {
    match &step.result {
        Ok(proposal) => {
            let working = &proposal.working;
            let groups = working.groups.as_ref().map(|groups| {
                json!({"ready": groups.ready, "unready": groups.unready, "missing": groups.missing, "ignored": groups.ignored})
            });
            let ratio = working.refill.as_ref().map_or(working.first.ratio, |refill| refill.ratio);
            json!({"spec": step.spec, "name": proposal.name, "pods": groups, "current": proposal.status,
                "usage": amount(working.first.usage), "ratio": finite(working.first.ratio), "ratioFilledIn": finite(ratio),
                "because": because(working.counted), "replicas": working.replicas})
        }
        Err(Fault { reason, cause, .. }) => json!({"spec": step.spec, "error": cause, "reason": reason}),
    }
}

fn finite(ratio: f64) -> Option<f64> {
    ratio.is_finite().then_some(ratio)
}

fn because(counted: Counted) -> &'static str {
    match counted {
        Counted::WithinTolerance => "withinTolerance",
        Counted::Times(_) => "ratioTimesPods",
        Counted::Turned => "wouldTurn",
        Counted::Against => "againstRatio",
        Counted::Shared => "shared",
        Counted::FromZero => "fromZero",
    }
}
