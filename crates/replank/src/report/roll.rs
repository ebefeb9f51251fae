//! How the roll went: nodes, pods, batch, budgets, workloads.

use replank_model::time::Span;
use replank_rehearse::{BudgetFigures, RehearsalResult, StageEntry, WorkloadFigures};

use super::About;
use super::batch;
use super::page::{Cell, Lean, Page, Tone};
use super::tally::Summary;
use super::verdict::is_script_alone;
use super::words::{count, grouped, number, span, wall};

/// Rows of a table that a person reads; the others are counted, and are all in `-o json`.
const ROWS_MAX: usize = 12;
/// Column of the text beside a label.
const AT: usize = 12;

pub(super) fn write(page: &mut Page, result: &RehearsalResult, about: &About<'_>) {
    if is_script_alone(result) {
        let watched = page.paint(&span(result.watched), Tone::Strong);
        page.heading("The script", &format!("{watched} of virtual time on {}", about.snapshot));
    } else {
        let duration = page.paint(&span(result.virtual_duration), Tone::Strong);
        let what = format!("{duration} of virtual time, {} on {}", about.plan, about.snapshot);
        page.heading("The roll", &what);
    }
    figures(page, result);
    if let Some(summary) = about.spread {
        page.labelled(AT, "seeds", &spread(summary));
    }
    stages(page, &result.stages);
    budgets(page, &result.budgets);
    workloads(page, &result.workloads);
}

/// `1 to 5: 9m38s to 11m2s, median 9m51s; all pass`
fn spread(summary: &Summary) -> String {
    let duration = summary.virtual_duration_ms;
    let text = |millis| span(Span::from_millis(millis));
    let durations = match duration.min == duration.max {
        true => text(duration.min),
        false => {
            format!("{} to {}, median {}", text(duration.min), text(duration.max), text(duration.median))
        }
    };
    format!("1 to {}: {durations}; {}", summary.seeds, summary.verdicts())
}

fn figures(page: &mut Page, result: &RehearsalResult) {
    let end = result.start + if is_script_alone(result) { result.watched } else { result.virtual_duration };
    page.labelled(AT, "time", &format!("{} to {end}", result.start));
    let nodes = &result.nodes;
    let cordoned = match nodes.cordoned {
        0 => String::new(),
        number => format!("; {} left cordoned", grouped(number)),
    };
    page.labelled(
        AT,
        "nodes",
        &format!(
            "{} of {} replaced, at most {} more than before{cordoned}",
            grouped(nodes.replaced),
            grouped(nodes.total),
            number(nodes.surge_max.into())
        ),
    );
    page.labelled(AT, "pods", &pods(result));
    batch::write(page, AT, &result.batch);
    let rehearsed = format!(
        "{} in {}",
        count(usize::try_from(result.events).unwrap_or(usize::MAX), "event"),
        wall(result.wall_ms),
    );
    page.labelled(AT, "rehearsed", &rehearsed);
    page.labelled(AT, "trace", &format!("{}, seed {}", result.trace_hash, result.seed));
}

/// A canary or a wave that ran nothing has shown nothing of what new nodes do to pods.
fn stages(page: &mut Page, stages: &[StageEntry]) {
    for stage in stages.iter().filter(|stage| stage.pods == 0) {
        let name = stage.wave.map_or_else(|| "canary".to_owned(), |wave| format!("wave {wave}"));
        let text = format!(
            "the {name} of group {} ran no pod besides those of DaemonSets, {} to {}: it shows nothing of how pods run on new nodes",
            stage.group, stage.from, stage.until
        );
        page.labelled(AT, "untried", &text);
    }
}

fn pods(result: &RehearsalResult) -> String {
    let pods = &result.pods;
    let moved = match (pods.moved, pods.moved_more_than_once) {
        (0, _) => "none moved".to_owned(),
        (moved, 0) => format!("{} moved, none more than once", grouped(moved)),
        (moved, again) => format!("{} moved, {} more than once", grouped(moved), grouped(again)),
    };
    let refused = match pods.evictions_refused {
        0 => "no eviction refused".to_owned(),
        number => format!("{} refused by the API server", count(number, "eviction")),
    };
    let homeless = match pods.unschedulable_max {
        0 => "no pod was ever unschedulable".to_owned(),
        number => format!("up to {} unschedulable at once", grouped(number)),
    };
    let preempted = match pods.preempted {
        0 => String::new(),
        number => format!("; {} preempted by pods of higher priority", grouped(number)),
    };
    format!("{moved}; {refused}; {homeless}{preempted}")
}

fn budgets(page: &mut Page, budgets: &[BudgetFigures]) {
    if budgets.is_empty() {
        return;
    }
    let tone = |budget: &BudgetFigures| {
        if budget.violations > 0 {
            Tone::Bad
        } else if budget.min_healthy <= budget.desired_healthy {
            Tone::Plain
        } else {
            Tone::Good
        }
    };
    let mut sorted: Vec<&BudgetFigures> = budgets.iter().collect();
    sorted
        .sort_by_key(|budget| (usize::MAX - budget.violations, budget.min_healthy - budget.desired_healthy));
    let mut rows = vec![header(["disruption budget", "must stay", "fewest healthy", "violations"])];
    rows.extend(sorted.iter().take(ROWS_MAX).map(|budget| {
        vec![
            (format!("{}/{}", budget.namespace, budget.name), Tone::Plain),
            (number(budget.desired_healthy.into()), Tone::Plain),
            (number(budget.min_healthy.into()), tone(budget)),
            (grouped(budget.violations), if budget.violations > 0 { Tone::Bad } else { Tone::Plain }),
        ]
    }));
    page.gap();
    page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right], &rows);
    more(page, sorted.len(), "budgets with more allowed disruptions");
    for budget in sorted.iter().filter(|budget| budget.undercut_by_interruptions > 0) {
        page.wrapped(2, &involuntary(budget), Tone::Warning);
    }
}

/// A disruption that could not be prevented is not a violation, but it is reported.
fn involuntary(budget: &BudgetFigures) -> String {
    let pods = budget.undercut_by_interruptions;
    let were = if pods == 1 { "was" } else { "were" };
    format!(
        "{}/{} was violated by interruptions: {} {were} deleted below the required number of healthy pods, just before their instance was lost. This is an involuntary disruption, not a violation by Replank.",
        budget.namespace,
        budget.name,
        count(pods, "pod"),
    )
}

/// Workloads that were short of pods for a moment; the others are counted.
fn workloads(page: &mut Page, workloads: &[WorkloadFigures]) {
    if workloads.is_empty() {
        return;
    }
    let mut short: Vec<&WorkloadFigures> = workloads.iter().filter(|w| w.min_ready < w.desired).collect();
    short.sort_by_key(|workload| (workload.min_ready > 0, workload.min_ready - workload.desired));
    let full = workloads.len() - short.len();
    page.gap();
    if !short.is_empty() {
        let mut rows = vec![header(["workload", "wanted", "fewest ready", ""])];
        rows.extend(short.iter().take(ROWS_MAX).map(|workload| row(workload)));
        page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Left], &rows);
        more(page, short.len(), "workloads with fewer missing pods");
    }
    if full > 0 {
        let of = if short.is_empty() { "workload" } else { "other workload" };
        page.wrapped(2, &format!("{} had all pods Ready all the time.", count(full, of)), Tone::Good);
    }
}

fn row(workload: &WorkloadFigures) -> Vec<Cell> {
    let (tone, word) = match workload.min_ready {
        ..=0 if workload.without_ready > Span::ZERO => {
            (Tone::Bad, format!("none for {}", span(workload.without_ready)))
        }
        ..=0 => (Tone::Bad, String::new()),
        1.. => (Tone::Warning, String::new()),
    };
    vec![
        (format!("{} {}/{}", workload.kind, workload.namespace, workload.name), Tone::Plain),
        (number(workload.desired.into()), Tone::Plain),
        (number(workload.min_ready.into()), tone),
        (word, tone),
    ]
}

fn header<const N: usize>(titles: [&str; N]) -> Vec<Cell> {
    titles.into_iter().map(|title| (title.to_owned(), Tone::Faint)).collect()
}

fn more(page: &mut Page, all: usize, what: &str) {
    if all > ROWS_MAX {
        page.wrapped(
            2,
            &format!("and {} {what}: -o json has them all", grouped(all - ROWS_MAX)),
            Tone::Faint,
        );
    }
}
