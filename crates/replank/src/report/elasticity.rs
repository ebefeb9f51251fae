//! What autoscalers made of their load.

use replank_model::time::Span;
use replank_rehearse::{AutoscalerFigures, RehearsalResult};

use super::page::{Page, Tone};
use super::words::{count, span};

/// What is said of a load that nothing can be compared with.
const UNKNOWN: &str = "not known: the pods have no requests";

/// Column of the text beside a label.
const AT: usize = 14;

pub(super) fn write(page: &mut Page, result: &RehearsalResult) {
    if result.autoscalers.is_empty() {
        return;
    }
    let watched = span(result.watched);
    page.heading("Elasticity", &format!("autoscalers under the load for {watched}"));
    for of in &result.autoscalers {
        let name = format!("{}/{}", of.namespace, of.name);
        let bounds = format!("{}, {} to {} replicas", of.target, of.min_replicas, of.max_replicas);
        page.beside(2, &[(&name, Tone::Note), (&bounds, Tone::Plain)]);
        page.labelled(AT, "replicas", &replicas(of));
        page.labelled(AT, "over target", &over(of));
        page.labelled(AT, "pending", &pending(of));
        of.failing.iter().for_each(|told| page.wrapped(2, told, Tone::Bad));
    }
}

pub(super) fn replicas(of: &AutoscalerFigures) -> String {
    let limit = if f64::from(of.max_replicas) < of.needed_max { ", more than its maximum" } else { "" };
    format!(
        "{} to {}, {} at the end; {:.1} needed at most{limit}; at least {} ready",
        of.replicas_min, of.replicas_max, of.replicas_end, of.needed_max, of.ready_min
    )
}

pub(super) fn over(of: &AutoscalerFigures) -> String {
    if of.unknown > Span::ZERO && of.unknown == of.watched {
        return UNKNOWN.to_owned();
    }
    if of.over == Span::ZERO {
        return "load never above target and tolerance".to_owned();
    }
    let share = of.over.as_secs_f64() / of.watched.as_secs_f64().max(1.0) * 100.0;
    let worst = match of.worst_load_over_target {
        Some(worst) => format!("{:.0}% at most", worst * 100.0),
        None => "no ready pods for a while".to_owned(),
    };
    let unknown = match of.unknown {
        Span::ZERO => String::new(),
        time => format!("; not known for {}", span(time)),
    };
    format!("{} ({share:.1}%), {worst}{unknown}", span(of.over))
}

pub(super) fn pending(of: &AutoscalerFigures) -> String {
    if of.longest < Span::from_secs(1) {
        return "no pod for longer than a second".to_owned();
    }
    let most = match of.pending_max {
        0 => "none for long".to_owned(),
        most => format!("up to {} at once, for {}", count(most, "pod"), span(of.pending)),
    };
    format!("{most}; the longest waited {}", span(of.longest))
}
