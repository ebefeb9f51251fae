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
    /// What it was rehearsed with.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

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

/// What rehearsals have in common so far. It grows with what differs between them, not with their number, but for a number each.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    verdicts: BTreeMap<Verdict, usize>,
    durations: Numbers,
    batch_killed: usize,
    budget_violations: usize,
    workloads: BTreeMap<(Text, Text, Text), (i32, Numbers)>,
}

/// How often each number was met.
#[derive(Debug, Default)]
struct Numbers(BTreeMap<i64, usize>);

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

impl Numbers {
    fn add(&mut self, number: i64) {
        *self.0.entry(number).or_default() += 1;
    }

    /// Of at least one number.
    fn spread(&self) -> Spread {
        let last = self.0.values().sum::<usize>().saturating_sub(1);
        Spread { min: self.at(0), median: self.at(last / 2), max: self.at(last) }
    }

    /// The number that stands there when all are sorted.
    fn at(&self, index: usize) -> i64 {
        let mut seen = 0;
        let reached = self.0.iter().find(|(_, times)| {
            seen += **times;
            seen > index
        });
        reached.map_or(0, |(number, _)| *number)
    }
}

impl Tally {
    /// Takes in one rehearsal.
    pub(crate) fn add(&mut self, result: &RehearsalResult) {
        *self.verdicts.entry(result.verdict).or_default() += 1;
        self.durations.add(result.virtual_duration.as_millis());
        self.batch_killed += result.batch.killed;
        self.budget_violations += result.budgets.iter().map(|budget| budget.violations).sum::<usize>();
        for workload in &result.workloads {
            let key = (workload.kind.clone(), workload.namespace.clone(), workload.name.clone());
            let (_, ready) = self.workloads.entry(key).or_insert((workload.desired, Numbers::default()));
            ready.add(workload.min_ready.into());
        }
    }

    /// What they come to.
    pub(crate) fn summary(&self) -> Summary {
        let number = |verdict| self.verdicts.get(&verdict).copied().unwrap_or(0);
        let workloads = self.workloads.iter().map(|((kind, namespace, name), (desired, ready))| {
            let (kind, namespace, name) = (kind.clone(), namespace.clone(), name.clone());
            WorkloadSpread { kind, namespace, name, desired: *desired, min_ready: ready.spread() }
        });
        Summary {
            seeds: self.verdicts.values().sum(),
            verdict: self.verdicts.keys().max().copied().unwrap_or(Verdict::Passes),
            passes: number(Verdict::Passes),
            findings: number(Verdict::Findings),
            partial: number(Verdict::Partial),
            incomplete: number(Verdict::Incomplete),
            blocked: number(Verdict::Blocked),
            refused: number(Verdict::Refused),
            virtual_duration_ms: self.durations.spread(),
            batch_killed: self.batch_killed,
            budget_violations: self.budget_violations,
            workloads: workloads.collect(),
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
