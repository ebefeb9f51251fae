//! What was rehearsed beside what came of it.

use std::fmt;
use std::time::Duration;

use super::carry::Course;
use super::placed;
use super::recorded::Rehearsal;
use super::scene::Scene;
use super::steps::steps;

/// How many of how many are as rehearsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// As rehearsed.
    pub same: usize,
    /// Of these.
    pub all: usize,
}

impl Share {
    fn note(&mut self, same: bool) {
        self.same += usize::from(same);
        self.all += 1;
    }

    /// All of them.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.same == self.all
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.same, self.all))
    }
}

/// The outcome of one replay.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The scene.
    pub scene: String,
    /// The rehearsal's verdict, and nodes replaced of all.
    pub verdict: String,
    /// How long the roll took in the rehearsal.
    pub rehearsed: Duration,
    /// Evictions that were answered at the first try as in the rehearsal.
    pub answers: Share,
    /// Workloads whose fewest Ready pods are the same.
    pub lowest: Share,
    /// Pods kept by a budget that the real server keeps, too.
    pub kept: Share,
    /// Workloads whose successors are spread over zones as with one of the seeds.
    pub zones: Share,
    /// From eviction to Ready: the real total over the rehearsed one; nothing without a successor.
    pub to_ready: Option<f64>,
    /// By how much the real cluster came later than the rehearsal at most.
    pub behind: Duration,
    /// How long it took to carry out.
    pub took: Duration,
    /// Every difference, in words.
    pub differences: Vec<String>,
}

impl Outcome {
    /// Whether everything is as rehearsed, with `tolerance` for the time to Ready.
    #[must_use]
    pub fn agrees(&self, tolerance: f64) -> bool {
        let wholes = [self.answers, self.lowest, self.kept, self.zones];
        wholes.iter().all(|share| share.is_whole())
            && self.to_ready.is_none_or(|ratio| (ratio - 1.0).abs() <= tolerance)
    }

    /// The heading of a table.
    #[must_use]
    pub fn heading() -> String {
        format!(
            "{:<18} {:<16} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8}",
            "cluster", "verdict", "answers", "lowest", "kept", "zones", "to Ready", "rehearsed", "replayed"
        )
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio =
            self.to_ready.map_or_else(|| "-".to_owned(), |ratio| format!("{:+.1}%", (ratio - 1.0) * 100.0));
        let seconds = |span: Duration| format!("{} s", span.as_secs());
        write!(
            f,
            "{:<18} {:<16} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8}",
            self.scene,
            self.verdict,
            self.answers,
            self.lowest,
            self.kept,
            self.zones,
            ratio,
            seconds(self.rehearsed),
            seconds(self.took)
        )
    }
}

pub(super) fn outcome(
    scene: &Scene,
    rehearsal: &Rehearsal,
    others: &[Rehearsal],
    course: &Course,
) -> Outcome {
    let mut differences = Vec::new();
    Outcome {
        scene: scene.name.clone(),
        verdict: format!("{} {}/{}", rehearsal.verdict, rehearsal.nodes.replaced, rehearsal.nodes.total),
        rehearsed: rehearsed(rehearsal),
        answers: answers(rehearsal, course, &mut differences),
        lowest: lowest(rehearsal, course, &mut differences),
        kept: kept(course, &mut differences),
        zones: zones(rehearsal, others, course, &mut differences),
        to_ready: to_ready(rehearsal, course),
        behind: course.behind,
        took: course.took,
        differences,
    }
}

/// How long the roll took; where nothing is rolled, the time until the last of what a script made happen.
fn rehearsed(rehearsal: &Rehearsal) -> Duration {
    let last = steps(rehearsal).last().map(|step| step.at.since(rehearsal.start));
    match rehearsal.virtual_duration_ms {
        0 => last.unwrap_or_default(),
        took => Duration::from_millis(took),
    }
}

fn answers(rehearsal: &Rehearsal, course: &Course, differences: &mut Vec<String>) -> Share {
    let mut share = Share::default();
    for (eviction, carried) in rehearsal.evictions.iter().zip(&course.evictions) {
        let same = carried.found && eviction.refused.is_some() == carried.refused.is_some();
        share.note(same);
        if !same {
            let said = |refused: &Option<String>| refused.clone().unwrap_or_else(|| "granted".to_owned());
            let real = if carried.found { said(&carried.refused) } else { "there is no such pod".to_owned() };
            differences.push(format!(
                "eviction of {}/{} at {}: rehearsed: {}; real: {real}",
                eviction.namespace,
                eviction.pod,
                eviction.at,
                said(&eviction.refused)
            ));
        }
    }
    share
}

fn lowest(rehearsal: &Rehearsal, course: &Course, differences: &mut Vec<String>) -> Share {
    let mut share = Share::default();
    for workload in &rehearsal.workloads {
        let key = (workload.namespace.clone(), format!("{} {}", workload.kind, workload.name));
        let real = course.counts.get(&key).map_or(0, |count| count.min);
        share.note(real == workload.min_ready);
        if real != workload.min_ready {
            differences.push(format!(
                "fewest Ready pods of {}/{}: rehearsed {}, real {real}",
                key.0, key.1, workload.min_ready
            ));
        }
    }
    share
}

fn kept(course: &Course, differences: &mut Vec<String>) -> Share {
    let mut share = Share::default();
    for pod in &course.kept {
        share.note(pod.refused.is_some());
        if pod.refused.is_none() {
            differences.push(format!(
                "pod {} is kept by a budget in the rehearsal; the server would let it go",
                pod.pod
            ));
        }
    }
    share
}

/// A workload's successors are placed as rehearsed if they are so with one seed: among equally good nodes kube-scheduler draws, too.
fn zones(
    rehearsal: &Rehearsal,
    others: &[Rehearsal],
    course: &Course,
    differences: &mut Vec<String>,
) -> Share {
    let real = placed::real(rehearsal, course);
    let all = std::iter::once(rehearsal).chain(others);
    let seeds: Vec<_> = all.map(|one| placed::rehearsed(one, &course.zones)).collect();
    let mut share = Share::default();
    for (workload, by_zone) in &real {
        let same = seeds.iter().any(|seed| seed.get(workload) == Some(by_zone));
        share.note(same);
        if !same {
            let rehearsed = seeds.first().and_then(|seed| seed.get(workload));
            differences
                .push(format!("successors of {workload} by zone: rehearsed {rehearsed:?}, real {by_zone:?}"));
        }
    }
    share
}

fn to_ready(rehearsal: &Rehearsal, course: &Course) -> Option<f64> {
    let mut totals = (0.0, 0.0);
    for (eviction, carried) in rehearsal.evictions.iter().zip(&course.evictions) {
        let ready = eviction.successor.as_ref().and_then(|successor| successor.ready);
        if let (Some(ready), Some(real)) = (ready, carried.to_ready) {
            totals.0 += ready.since(eviction.at).as_secs_f64();
            totals.1 += real.as_secs_f64();
        }
    }
    (totals.0 > 0.0).then(|| totals.1 / totals.0)
}
