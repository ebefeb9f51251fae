//! How many pods of each workload are Ready, over time.

use std::collections::BTreeSet;

use replank_model::object::pod::Pod;
use replank_model::text::{Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::{Workload, series_of};
use rustc_hash::FxHashMap;

use super::course::{Course, Worst};
use super::numbered::Numbered;

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
pub(super) struct One {
    pub(super) count: ReadyCount,
    pub(super) course: Course,
    /// The numbers of the budgets that were seen to cover pods of it.
    pub(super) covered: BTreeSet<usize>,
    /// Its kind and name.
    label: Text,
}

/// All workloads. They are numbered, so that a pod that becomes Ready or ceases to be costs no comparison of names.
#[derive(Debug, Default)]
pub(super) struct Served {
    all: Numbered<Workload, One>,
    /// The workloads of ReplicaSets, of which most pods are: whose they are, changes seldom.
    of_set: FxHashMap<Uid, u32>,
    /// How often that was forgotten.
    forgotten: u32,
}

/// The number of a pod's workload, as long as nobody says that it may be another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KnownWorkload(Option<(u32, u32)>);

impl Served {
    /// The number of the workload that a pod has just now: it may be released, or its owner go before it does.
    pub(super) fn number_of(&mut self, view: &View, pod: &Pod) -> Option<u32> {
        let set = pod.meta.controller().filter(|owner| &*owner.kind == "ReplicaSet");
        if let Some(known) = set.and_then(|set| self.of_set.get(&set.uid)) {
            return Some(*known);
        }
        let workload = series_of(view, pod)?;
        let label = || Text::from(format!("{} {}", workload.kind, workload.name));
        let number = self.all.number_or_insert(&workload, || One { label: label(), ..One::default() });
        let number = u32::try_from(number).expect("fewer workloads than 2^32");
        if let Some(set) = set {
            self.of_set.insert(set.uid.clone(), number);
        }
        Some(number)
    }

    /// As [`Served::number_of`], for a pod of which something is known; that is void where it has got other owners.
    pub(super) fn number_of_known(
        &mut self,
        known: &mut KnownWorkload,
        view: &View,
        pod: &Pod,
    ) -> Option<u32> {
        if let KnownWorkload(Some((number, forgotten))) = *known
            && forgotten == self.forgotten
        {
            return Some(number);
        }
        let number = self.number_of(view, pod)?;
        let is_of_set = pod.meta.controller().is_some_and(|owner| &*owner.kind == "ReplicaSet");
        *known = KnownWorkload(is_of_set.then_some((number, self.forgotten)));
        Some(number)
    }

    /// A ReplicaSet came, went, or is another's now.
    pub(super) fn forget_sets(&mut self) {
        self.of_set.clear();
        self.forgotten += 1;
    }

    /// The workload of a number.
    pub(super) fn name(&self, number: u32) -> &Workload {
        self.all.name(number as usize)
    }

    /// The kind and name of the workload of a number.
    pub(super) fn label(&self, number: u32) -> &Text {
        &self.all.at(number as usize).label
    }

    /// What is known of the workload of a number.
    pub(super) fn at_mut(&mut self, number: u32) -> &mut One {
        self.all.at_mut(number as usize)
    }

    /// So many more pods of a workload are Ready.
    pub(super) fn note(&mut self, at: Time, number: u32, difference: i32) {
        let One { count, course, .. } = self.at_mut(number);
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

    /// Pods come one by one before anything happens: what is of interest begins with all of them.
    pub(super) fn begin(&mut self, at: Time) {
        for One { count, course, .. } in self.all.values_mut() {
            *count =
                ReadyCount { before: count.now, now: count.now, min: count.now, ..ReadyCount::default() };
            *course = Course::default();
            course.note(at, count.now, Worst::Least);
        }
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Workload, &One)> {
        self.all.sorted()
    }
}
