//! The report of many rehearsals of one plan.

use replank_model::time::Span;
use replank_rehearse::Verdict;

use super::badness::Badness;
use super::page::{Lean, Look, Page, Tone};
use super::run::Run;
use super::tally::{Summary, WorkloadSpread};
use super::words::{count, grouped, number, span};

/// Rows that a person reads.
const ROWS_MAX: usize = 20;

/// Which of many rehearsals are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All of them, by seed.
    All,
    /// The worst, where there are many.
    Worst,
}

impl Rows {
    /// All where they are asked for.
    pub(crate) fn of(all: bool) -> Self {
        if all { Self::All } else { Self::Worst }
    }
}

/// A table of rehearsals and what they have in common.
pub(crate) fn seeds(runs: &[Run], summary: &Summary, which: Rows, look: Look) -> String {
    let mut page = Page::new(look);
    let mut shown: Vec<&Run> = runs.iter().collect();
    let title = count(runs.len(), "seed");
    let beside = match which {
        Rows::Worst if runs.len() > ROWS_MAX => {
            shown.sort_by_key(|run| std::cmp::Reverse(Badness::of(run)));
            shown.truncate(ROWS_MAX);
            format!("{title}, of which these {ROWS_MAX} are the worst")
        }
        Rows::Worst | Rows::All => title,
    };
    page.heading("Rehearsals", &beside);
    let titles = ["seed", "verdict", "duration", "replaced", "moved", "refused", "batch killed", "trace"];
    let mut rows = vec![titles.map(|title| (title.to_owned(), Tone::Faint)).to_vec()];
    rows.extend(shown.iter().map(|run| {
        vec![
            (run.seed().to_string(), Tone::Plain),
            (run.verdict().as_str().to_owned(), tone(run.verdict())),
            (span(run.duration()), Tone::Strong),
            (grouped(run.replaced()), Tone::Plain),
            (grouped(run.moved()), Tone::Plain),
            (grouped(run.refused()), Tone::Plain),
            (grouped(run.killed()), if run.killed() > 0 { Tone::Bad } else { Tone::Plain }),
            (run.trace_hash().to_owned(), Tone::Faint),
        ]
    }));
    let right = Lean::Right;
    page.table(&[right, Lean::Left, right, right, right, right, right, Lean::Left], &rows);
    if shown.len() < runs.len() {
        let more = format!("and {} more: --all-seeds lists them", grouped(runs.len() - shown.len()));
        page.wrapped(2, &more, Tone::Faint);
    }
    conclude(&mut page, summary);
    page.into_text()
}

fn conclude(page: &mut Page, summary: &Summary) {
    let duration = summary.virtual_duration_ms;
    let text = |millis| span(Span::from_millis(millis));
    page.gap();
    let spread = format!("{} / {} / {}", text(duration.min), text(duration.median), text(duration.max));
    page.labelled(14, "duration", &format!("{spread} (min / median / max)"));
    let at_most = format!(
        "90 % at most {}, 95 % at most {}, 99 % at most {}",
        text(duration.p90),
        text(duration.p95),
        text(duration.p99)
    );
    page.labelled(14, "", &at_most);
    let nodes = summary.nodes_replaced;
    let spread = [nodes.min, nodes.median, nodes.max].map(number).join(" / ");
    page.labelled(14, "replaced", &format!("{spread} nodes (min / median / max)"));
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
                (number(workload.desired.into()), Tone::Plain),
                (number(ready.min), tone),
                (number(ready.median), Tone::Plain),
                (number(ready.max), Tone::Plain),
            ]
        }));
        page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right, Lean::Right], &rows);
    }
    let verdict = page.paint(summary.verdict.as_str(), tone(summary.verdict));
    page.heading("Verdict", &verdict);
    let worst = summary.worst_seed.map_or_else(String::new, |seed| {
        format!(" The worst rehearsal is that of seed {seed}. Show it with --seed {seed}.")
    });
    page.wrapped(2, &format!("Worst values of all seeds.{worst}"), Tone::Plain);
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
