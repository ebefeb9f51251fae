//! How many pods of each workload are Ready, over time.

use std::collections::BTreeMap;

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

/// One workload.
#[derive(Debug, Default)]
struct One {
    count: ReadyCount,
    course: Course,
}

/// All workloads. They are numbered, so that a pod that becomes Ready or ceases to be costs no comparison of names.
#[derive(Debug, Default)]
pub(super) struct Served {
    numbers: BTreeMap<Workload, usize>,
    all: Vec<One>,
    /// The workload of each pod, so that it is found once.
    of_pod: FxHashMap<Uid, usize>,
}

impl Served {
    /// A workload's number.
    pub(super) fn number(&mut self, workload: &Workload) -> usize {
        if let Some(number) = self.numbers.get(workload) {
            return *number;
        }
        self.numbers.insert(workload.clone(), self.all.len());
        self.all.push(One::default());
        self.all.len() - 1
    }

    /// So many more pods of a pod's workload are Ready.
    pub(super) fn note(&mut self, at: Time, view: &View, pod: &Pod, difference: i32) {
        if difference == 0 {
            return;
        }
        let number = match self.of_pod.get(&pod.meta.uid) {
            Some(number) => *number,
            None => {
                let Some(workload) = workload_of(view, pod) else { return };
                let number = self.number(&workload);
                self.of_pod.insert(pod.meta.uid.clone(), number);
                number
            }
        };
        let One { count, course } = &mut self.all[number];
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
    pub(super) fn forget(&mut self, pod: &Pod) {
        self.of_pod.remove(&pod.meta.uid);
    }

    /// Pods come one by one before anything happens: what is of interest begins with all of them.
    pub(super) fn begin(&mut self, at: Time) {
        for One { count, course } in &mut self.all {
            *count =
                ReadyCount { before: count.now, now: count.now, min: count.now, ..ReadyCount::default() };
            *course = Course::default();
            course.note(at, count.now, Worst::Least);
        }
    }

    pub(super) fn count_mut(&mut self, workload: &Workload) -> &mut ReadyCount {
        let number = self.number(workload);
        &mut self.all[number].count
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Workload, &ReadyCount, &Course)> {
        self.numbers.iter().map(|(workload, number)| {
            let One { count, course } = &self.all[*number];
            (workload, count, course)
        })
    }
}
