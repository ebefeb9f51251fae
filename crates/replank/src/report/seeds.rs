//! The report of many rehearsals of one plan.

use std::collections::BTreeMap;

use replank_model::text::Text;
use replank_model::time::Span;
use replank_rehearse::{RehearsalResult, Verdict};
use serde::Serialize;

use super::page::{Lean, Look, Page, Tone};
use super::words::{count, grouped, span};

/// One rehearsal of many, short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    seed: u64,
    verdict: Verdict,
    duration: Span,
    moved: usize,
    refused: usize,
    killed: usize,
    trace_hash: String,
}

impl Run {
    pub(crate) fn of(result: &RehearsalResult) -> Self {
        Self {
            seed: result.seed,
            verdict: result.verdict,
            duration: result.virtual_duration,
            moved: result.pods.moved,
            refused: result.pods.evictions_refused,
            killed: result.batch.killed,
            trace_hash: result.trace_hash.clone(),
        }
    }
}

/// What many rehearsals have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// Rehearsals.
    pub(crate) seeds: usize,
    /// The worst verdict among them.
    pub(crate) verdict: Verdict,
    /// How many passed.
    pub(crate) passes: usize,
    /// How many came to an end with findings.
    pub(crate) findings: usize,
    /// How many replaced every node that can be emptied, and left some.
    pub(crate) partial: usize,
    /// How many came to an end on a cluster of which parts were not seen.
    pub(crate) incomplete: usize,
    /// How many were blocked.
    pub(crate) blocked: usize,
    /// Rehearsals that the plan refused to begin.
    pub(crate) refused: usize,
    /// Virtual durations.
    pub(crate) virtual_duration_ms: Spread,
    /// Batch pods that were ended before they were done, in all rehearsals.
    pub(crate) batch_killed: usize,
    /// Evictions that left a budget with too few healthy pods, in all rehearsals.
    pub(crate) budget_violations: usize,
    /// Workloads that had pods to be moved, with the fewest ready pods of each in any rehearsal.
    pub(crate) workloads: Vec<WorkloadSpread>,
}

/// Least, middle, most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spread {
    /// The least.
    pub(crate) min: i64,
    /// The one in the middle; of an even number, the lower of the two.
    pub(crate) median: i64,
    /// The most.
    pub(crate) max: i64,
}

/// One workload through many rehearsals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkloadSpread {
    /// Kind.
    pub(crate) kind: Text,
    /// Namespace.
    pub(crate) namespace: Text,
    /// Name.
    pub(crate) name: Text,
    /// Pods wanted.
    pub(crate) desired: i32,
    /// Fewest ready pods, over the rehearsals.
    pub(crate) min_ready: Spread,
}

impl Spread {
    /// Of at least one number.
    fn of(mut numbers: Vec<i64>) -> Self {
        numbers.sort_unstable();
        let at = |index: usize| numbers.get(index).copied().unwrap_or_default();
        Self {
            min: at(0),
            median: at(numbers.len().saturating_sub(1) / 2),
            max: at(numbers.len().saturating_sub(1)),
        }
    }
}

impl Summary {
    /// `passes 3 of 5, findings 2 of 5`
    pub(crate) fn verdicts(&self) -> String {
        let all = [
            (self.passes, "passes"),
            (self.findings, "findings"),
            (self.partial, "partial"),
            (self.incomplete, "incomplete"),
            (self.blocked, "blocked"),
            (self.refused, "refused"),
        ];
        let verdicts: Vec<String> = all
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| format!("{word} {number} of {}", self.seeds))
            .collect();
        verdicts.join(", ")
    }

    /// Of at least one rehearsal.
    pub(crate) fn of(results: &[RehearsalResult]) -> Self {
        let number = |verdict| results.iter().filter(|result| result.verdict == verdict).count();
        let mut ready: BTreeMap<(Text, Text, Text), (i32, Vec<i64>)> = BTreeMap::new();
        for workload in results.iter().flat_map(|result| &result.workloads) {
            let key = (workload.kind.clone(), workload.namespace.clone(), workload.name.clone());
            let entry = ready.entry(key).or_insert((workload.desired, Vec::new()));
            entry.1.push(workload.min_ready.into());
        }
        let workloads = ready.into_iter().map(|((kind, namespace, name), (desired, numbers))| {
            WorkloadSpread { kind, namespace, name, desired, min_ready: Spread::of(numbers) }
        });
        Self {
            seeds: results.len(),
            verdict: results.iter().map(|result| result.verdict).max().unwrap_or(Verdict::Passes),
            passes: number(Verdict::Passes),
            findings: number(Verdict::Findings),
            partial: number(Verdict::Partial),
            incomplete: number(Verdict::Incomplete),
            blocked: number(Verdict::Blocked),
            refused: number(Verdict::Refused),
            virtual_duration_ms: Spread::of(
                results.iter().map(|result| result.virtual_duration.as_millis()).collect(),
            ),
            batch_killed: results.iter().map(|result| result.batch.killed).sum(),
            budget_violations: results
                .iter()
                .flat_map(|result| &result.budgets)
                .map(|budget| budget.violations)
                .sum(),
            workloads: workloads.collect(),
        }
    }
}

/// A table of rehearsals and what they have in common.
pub(crate) fn seeds(runs: &[Run], summary: &Summary, look: Look) -> String {
    let mut page = Page::new(look);
    page.heading("Rehearsals", &count(runs.len(), "seed"));
    let titles = ["seed", "verdict", "duration", "moved", "refused", "batch killed", "trace"];
    let mut rows = vec![titles.map(|title| (title.to_owned(), Tone::Faint)).to_vec()];
    rows.extend(runs.iter().map(|run| {
        vec![
            (run.seed.to_string(), Tone::Plain),
            (run.verdict.as_str().to_owned(), tone(run.verdict)),
            (span(run.duration), Tone::Strong),
            (grouped(run.moved), Tone::Plain),
            (grouped(run.refused), Tone::Plain),
            (grouped(run.killed), if run.killed > 0 { Tone::Bad } else { Tone::Plain }),
            (run.trace_hash.clone(), Tone::Faint),
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
