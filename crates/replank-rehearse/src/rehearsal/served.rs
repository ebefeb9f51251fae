//! Ready pods of each workload, now and over time.
//!
//! Every change of a pod's readiness is counted here. So a workload gets a number when its first pod is seen, and what a change costs is one look-up
//! of the pod's uid; names are compared and put in order when the figures are asked for.

use replank_model::object::pod::Pod;
use replank_model::text::Uid;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::{Workload, workload_of};
use rustc_hash::FxHashMap;

use super::course::{Course, Worst};

/// Ready pods of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadyCount {
    pub(super) before: i32,
    pub(super) now: i32,
    pub(super) min: i32,
    /// Whether a pod of it was evicted.
    pub(super) moved: bool,
    /// Since when none is Ready, if none is.
    pub(super) dark_since: Option<Time>,
    /// How long none was Ready before.
    pub(super) dark: Span,
}

/// What is noted of one workload.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) workload: Workload,
    pub(super) count: ReadyCount,
    /// Its Ready pods over time.
    pub(super) course: Course,
}

/// All workloads that had a pod.
#[derive(Debug, Default)]
pub(super) struct Served {
    rows: Vec<Row>,
    numbers: FxHashMap<Workload, usize>,
    /// The number of each pod's workload, for as long as the pod is there.
    of_pod: FxHashMap<Uid, usize>,
}

impl Served {
    /// So many more pods of a pod's workload are Ready, or fewer.
    pub(super) fn change(&mut self, at: Time, view: &View, pod: &Pod, difference: i32) {
        let number = match self.of_pod.get(&pod.meta.uid) {
            Some(number) => *number,
            None => {
                let Some(workload) = workload_of(view, pod) else { return };
                let number = self.number(workload);
                self.of_pod.insert(pod.meta.uid.clone(), number);
                number
            }
        };
        let Row { count, course, .. } = &mut self.rows[number];
        count.now += difference;
        count.min = count.min.min(count.now);
        course.note(at, count.now, Worst::Least);
        match (count.now > 0, count.dark_since) {
            (true, Some(since)) => {
                count.dark += at - since;
                count.dark_since = None;
            }
            (false, None) => count.dark_since = Some(at),
            (true, None) | (false, Some(_)) => {}
        }
    }

    /// A pod is gone.
    pub(super) fn forget(&mut self, pod: &Uid) {
        self.of_pod.remove(pod);
    }

    /// What was counted so far is how things are before anything happens: pods come one by one before that.
    pub(super) fn begin(&mut self, at: Time) {
        for row in &mut self.rows {
            let now = row.count.now;
            row.count = ReadyCount { before: now, now, min: now, ..ReadyCount::default() };
            row.course = Course::default();
            row.course.note(at, now, Worst::Least);
        }
    }

    /// The counts of a workload.
    pub(super) fn count_of(&mut self, workload: Workload) -> &mut ReadyCount {
        let number = self.number(workload);
        &mut self.rows[number].count
    }

    /// All of them, sorted by namespace, kind and name.
    pub(super) fn sorted(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by(|a, b| a.workload.cmp(&b.workload));
        rows
    }

    fn number(&mut self, workload: Workload) -> usize {
        if let Some(number) = self.numbers.get(&workload) {
            return *number;
        }
        let number = self.rows.len();
        self.numbers.insert(workload.clone(), number);
        self.rows.push(Row { workload, count: ReadyCount::default(), course: Course::default() });
        number
    }
}
