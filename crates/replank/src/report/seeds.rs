//! The report of many rehearsals of one plan.

use replank_model::time::Span;
use replank_rehearse::Verdict;

use super::page::{Lean, Look, Page, Tone};
use super::run::Run;
use super::tally::{Summary, WorkloadSpread};
use super::words::{count, grouped, span};

/// A table of rehearsals and what they have in common.
pub(crate) fn seeds(runs: &[Run], summary: &Summary, look: Look) -> String {
    let mut page = Page::new(look);
    page.heading("Rehearsals", &count(runs.len(), "seed"));
    let titles = ["seed", "verdict", "duration", "moved", "refused", "batch killed", "trace"];
    let mut rows = vec![titles.map(|title| (title.to_owned(), Tone::Faint)).to_vec()];
    rows.extend(runs.iter().map(|run| {
        vec![
            (run.seed().to_string(), Tone::Plain),
            (run.verdict().as_str().to_owned(), tone(run.verdict())),
            (span(run.duration()), Tone::Strong),
            (grouped(run.moved()), Tone::Plain),
            (grouped(run.refused()), Tone::Plain),
            (grouped(run.killed()), if run.killed() > 0 { Tone::Bad } else { Tone::Plain }),
            (run.trace_hash().to_owned(), Tone::Faint),
        ]
    }));
    let right = Lean::Right;
    page.table(&[right, Lean::Left, right, right, right, right, Lean::Left], &rows);
    conclude(&mut page, summary);
    page.into_text()
}

fn conclude(page: &mut Page, summary: &Summary) {
    let duration = summary.virtual_duration_ms;
    let text = |millis| span(Span::from_millis(millis));
    page.gap();
    let spread = format!("{} / {} / {}", text(duration.min), text(duration.median), text(duration.max));
    page.labelled(14, "duration", &format!("{spread} (min / median / max)"));
    page.labelled(14, "verdicts", &summary.verdicts());
    page.labelled(14, "promises", &promises(summary));
    let short: Vec<&WorkloadSpread> = summary
        .workloads
        .iter()
        .filter(|workload| workload.min_ready.min < i64::from(workload.desired))
        .collect();
    if !short.is_empty() {
        page.gap();
        let titles = ["workload", "wanted", "fewest ready: min", "median", "max"];
        let mut rows = vec![titles.map(|title| (title.to_owned(), Tone::Faint)).to_vec()];
        rows.extend(short.iter().map(|workload| {
            let ready = workload.min_ready;
            let tone = if ready.min <= 0 { Tone::Bad } else { Tone::Warning };
            vec![
                (format!("{} {}/{}", workload.kind, workload.namespace, workload.name), Tone::Plain),
                (workload.desired.to_string(), Tone::Plain),
                (ready.min.to_string(), tone),
                (ready.median.to_string(), Tone::Plain),
                (ready.max.to_string(), Tone::Plain),
            ]
        }));
        page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right, Lean::Right], &rows);
    }
    let verdict = page.paint(summary.verdict.as_str(), tone(summary.verdict));
    page.heading("Verdict", &verdict);
    page.wrapped(2, "Worst values of all seeds. Show one rehearsal with --seed N.", Tone::Plain);
}

fn promises(summary: &Summary) -> String {
    let killed = match summary.batch_killed {
        0 => "no batch pod terminated before it finished".to_owned(),
        number => format!("{} TERMINATED before they finished", count(number, "batch pod")),
    };
    let budgets = match summary.budget_violations {
        0 => "no budget violated".to_owned(),
        number => format!("{} of budgets", count(number, "VIOLATION")),
    };
    format!("{killed}, {budgets}")
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Passes => Tone::Good,
        Verdict::Findings | Verdict::Partial => Tone::Warning,
        Verdict::Incomplete | Verdict::Blocked | Verdict::Refused => Tone::Bad,
    }
}
