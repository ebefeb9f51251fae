//! What many rehearsals of one plan have in common.

use std::collections::BTreeMap;

use replank_model::text::Text;
use replank_rehearse::{RehearsalResult, Verdict};
use serde::{Deserialize, Serialize};

use super::badness::Badness;
use super::run::Run;
use super::words::grouped;

/// What rehearsals have in common so far. It grows with what differs between them, not with their number, but for a number each.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    verdicts: BTreeMap<Verdict, usize>,
    durations: Numbers,
    replaced: Numbers,
    batch_killed: usize,
    budget_violations: usize,
    workloads: BTreeMap<(Text, Text, Text), (i32, Numbers)>,
    /// That of the worst so far.
    worst: Option<Badness>,
}

/// How often each number was met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Numbers(BTreeMap<i64, usize>);

/// A workload's fewest ready pods in each of some rehearsals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lowest {
    kind: Text,
    namespace: Text,
    name: Text,
    desired: i32,
    ready: Numbers,
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
    /// The seed of the worst: by verdict; of those that are partial or blocked, by nodes replaced, the fewest first; then batch pods terminated, then duration;
    /// of several, the lowest. None where there was no rehearsal.
    pub(crate) worst_seed: Option<u64>,
    /// Virtual durations.
    pub(crate) virtual_duration_ms: Percentiles,
    /// Nodes replaced, over the rehearsals.
    pub(crate) nodes_replaced: Spread,
    /// Batch pods that were ended before they were done, in all rehearsals.
    pub(crate) batch_killed: usize,
    /// Evictions that left a budget with too few healthy pods, in all rehearsals.
    pub(crate) budget_violations: usize,
    /// Workloads that had pods to be moved, with the fewest ready pods of each in any rehearsal.
    pub(crate) workloads: Vec<WorkloadSpread>,
}

/// How long rehearsals took: so many percent of them at most so long, by the nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Percentiles {
    /// The shortest.
    pub(crate) min: i64,
    /// The one in the middle; of an even number, the lower of the two.
    pub(crate) median: i64,
    /// 90 % of them.
    pub(crate) p90: i64,
    /// 95 %.
    pub(crate) p95: i64,
    /// 99 %.
    pub(crate) p99: i64,
    /// The longest.
    pub(crate) max: i64,
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

    /// Of at least one number.
    fn percentiles(&self) -> Percentiles {
        let number = self.0.values().sum::<usize>();
        let at = |percent: usize| self.at((number * percent).div_ceil(100).max(1) - 1);
        Percentiles { min: self.at(0), median: at(50), p90: at(90), p95: at(95), p99: at(99), max: at(100) }
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

impl Lowest {
    /// What it is in as many rehearsals that are all like the first of these.
    pub(crate) fn times(&self, rehearsals: usize) -> Self {
        let first = self.ready.0.keys().next();
        Self {
            ready: Numbers(first.map(|number| (*number, rehearsals)).into_iter().collect()),
            ..self.clone()
        }
    }

    /// Whether none of the rehearsals had pods of it to move.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready.0.values().all(|times| *times == 0)
    }

    /// Whether it is about the same workload.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (&self.kind, &self.namespace, &self.name) == (&other.kind, &other.namespace, &other.name)
    }
}

impl Tally {
    /// Takes in one rehearsal.
    pub(crate) fn add(&mut self, result: &RehearsalResult) {
        self.add_run(&Run::of(result));
        self.budget_violations += result.budgets.iter().map(|budget| budget.violations).sum::<usize>();
        for workload in &result.workloads {
            let key = (workload.kind.clone(), workload.namespace.clone(), workload.name.clone());
            let (_, ready) = self.workloads.entry(key).or_insert((workload.desired, Numbers::default()));
            ready.add(workload.min_ready.into());
        }
    }

    fn add_run(&mut self, run: &Run) {
        *self.verdicts.entry(run.verdict()).or_default() += 1;
        self.durations.add(run.duration().as_millis());
        self.replaced.add(i64::try_from(run.replaced()).unwrap_or(i64::MAX));
        self.batch_killed += run.killed();
        // None is less than any.
        self.worst = self.worst.max(Some(Badness::of(run)));
    }

    /// Takes in rehearsals that were made elsewhere: each run, the budgets that they left with too few pods, and the workloads.
    pub(crate) fn merge(&mut self, runs: &[Run], budget_violations: usize, lowest: Vec<Lowest>) {
        runs.iter().for_each(|run| self.add_run(run));
        self.budget_violations += budget_violations;
        for Lowest { kind, namespace, name, desired, ready } in lowest {
            let (_, known) =
                self.workloads.entry((kind, namespace, name)).or_insert((desired, Numbers::default()));
            ready.0.into_iter().for_each(|(number, times)| *known.0.entry(number).or_default() += times);
        }
    }

    /// The seed of the worst so far.
    pub(crate) fn worst_seed(&self) -> Option<u64> {
        self.worst.map(Badness::seed)
    }

    /// Evictions that left a budget with too few healthy pods.
    pub(crate) fn budget_violations(&self) -> usize {
        self.budget_violations
    }

    /// The workloads.
    pub(crate) fn lowest(&self) -> Vec<Lowest> {
        let all = self.workloads.iter();
        all.map(|((kind, namespace, name), (desired, ready))| Lowest {
            kind: kind.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
            desired: *desired,
            ready: ready.clone(),
        })
        .collect()
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
            worst_seed: self.worst_seed(),
            virtual_duration_ms: self.durations.percentiles(),
            nodes_replaced: self.replaced.spread(),
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
            .map(|(number, word)| format!("{word} {} of {}", grouped(*number), grouped(self.seeds)))
            .collect();
        verdicts.join(", ")
    }
}
