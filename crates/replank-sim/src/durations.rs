//! How long pods take to start, to run and to stop: learnt from the snapshot, with stated defaults.
//!
//! A snapshot shows how long this workload's pods really took from being scheduled to being Ready, how long finished runs
//! of this job really ran, and how long nodes took to become Ready. Draws come from these samples, interpolated between
//! neighbours. Where there are none, a default is used, and [`Durations::assumptions`] says so.

mod assumptions;
mod observed;
mod samples;
mod trouble;
mod workload;

use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use rustc_hash::FxHashMap;

pub use assumptions::{Assumption, Source};
pub(crate) use trouble::Trouble;
pub use workload::{Workload, workload_of};

use crate::timing::{CloudTimings, Range};
use replank_apiserver::draw::{Draws, Purpose};
use samples::Samples;
use trouble::Troubles;

/// A pod that took longer than this from scheduling to readiness was not starting all the while.
const START_MAX: Span = Span::from_minutes(30);
/// Start-up without any sample: pull, start and readiness of an ordinary service.
const START_DEFAULT: Range = Range::secs(4, 20);
/// Run time of a batch pod without any sample.
const RUN_DEFAULT: Range = Range::secs(10 * 60, 60 * 60);
/// Time between the stop signal and the end of an ordinary process.
const STOP_DEFAULT: Range = Range { low: Span::from_millis(300), high: Span::from_secs(8) };

/// What is known of durations.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    start: FxHashMap<Workload, Samples>,
    start_of_all: Samples,
    run: FxHashMap<Workload, Samples>,
    join: Samples,
    troubles: Troubles,
}

impl Durations {
    /// Learns from everything in a view, as it was at a moment.
    #[must_use]
    pub fn learn(view: &View, now: Time) -> Self {
        let mut durations = Self { troubles: Troubles::find(view, now), ..Self::default() };
        for (_, pod) in view.pods.sorted() {
            let Some(workload) = workload_of(view, pod) else { continue };
            if let Some(start) = observed::start_of(pod) {
                durations.start.entry(workload.clone()).or_default().add(start);
                durations.start_of_all.add(start);
            }
            if let Some(run) = observed::run_of(pod) {
                durations.run.entry(workload).or_default().add(run);
            }
        }
        durations.learn_from_jobs(view);
        for (_, node) in view.nodes.sorted() {
            observed::join_of(node).into_iter().for_each(|join| durations.join.add(join));
        }
        durations.start.values_mut().for_each(Samples::sort);
        durations.run.values_mut().for_each(Samples::sort);
        durations.start_of_all.sort();
        durations.join.sort();
        durations
    }

    /// From being scheduled to being Ready.
    #[must_use]
    pub fn start(&self, view: &View, pod: &Pod, draws: &Draws) -> Span {
        let draw = draws.draw(pod.meta.uid.as_str(), Purpose::Ready, 0);
        let own = workload_of(view, pod).and_then(|workload| self.start.get(&workload)?.draw(draw));
        own.or_else(|| self.start_of_all.draw(draw)).unwrap_or_else(|| START_DEFAULT.draw(draw))
    }

    /// How much longer a pod runs that has run for a while; `None` for pods that do not end by themselves.
    #[must_use]
    pub fn run(&self, view: &View, pod: &Pod, elapsed: Span, draws: &Draws) -> Option<Span> {
        if !ends_by_itself(pod) {
            return None;
        }
        let draw = draws.draw(pod.meta.uid.as_str(), Purpose::Run, 0);
        let own = workload_of(view, pod).and_then(|workload| self.run.get(&workload));
        let total = match own {
            Some(samples) => samples.draw_above(elapsed, draw),
            None => (elapsed < RUN_DEFAULT.high)
                .then(|| draw.between(RUN_DEFAULT.low.max(elapsed), RUN_DEFAULT.high)),
        };
        // Longer than anything known: that it will take a tenth to as long again is as good a guess as any.
        let total = total
            .unwrap_or_else(|| elapsed + draw.between(Span::from_millis(elapsed.as_millis() / 10), elapsed));
        Some((total - elapsed).max(Span::from_secs(1)))
    }

    /// From the order to stop until all containers have ended, should the grace allow it.
    #[must_use]
    pub fn stop(pod: &Pod, draws: &Draws) -> Span {
        let pre_stop = pod.spec.containers.iter().filter_map(|container| {
            let sleep = container.lifecycle.as_ref()?.pre_stop.as_ref()?.sleep.as_ref()?;
            Some(Span::from_secs(sleep.seconds))
        });
        let draw = draws.draw(pod.meta.uid.as_str(), Purpose::Stop, 0);
        pre_stop.max().unwrap_or_default() + STOP_DEFAULT.draw(draw)
    }

    /// How long the cloud takes: new nodes join as the nodes of the snapshot did.
    #[must_use]
    pub fn cloud(&self) -> CloudTimings {
        let mut timings = CloudTimings::default();
        if let Some((low, high)) = self.join.bounds() {
            timings.ready = Range { low, high };
        }
        timings
    }

    /// What keeps a pod from running or from being Ready, if something did in the snapshot.
    pub(crate) fn trouble(&self, pod: &Pod) -> Option<Trouble> {
        self.troubles.of(pod)
    }

    /// Jobs whose pods are gone still tell how long they took, if one pod after the other ran.
    fn learn_from_jobs(&mut self, view: &View) {
        for (_, job) in view.jobs.sorted() {
            let one_by_one = job.spec.parallelism.unwrap_or(1) == 1 && job.spec.completions.unwrap_or(1) == 1;
            let (Some(start), Some(end)) = (job.status.start_time, job.status.completion_time) else {
                continue;
            };
            let has_pods = !view.pods_of(&job.meta.uid).is_empty();
            if one_by_one && !has_pods && end > start {
                let owner = job.meta.controller();
                let workload =
                    workload::top_of(&job.meta.namespace, "Job", &job.meta.name.to_string(), owner);
                self.run.entry(workload).or_default().add(end - start);
            }
        }
    }
}

/// Whether the pod's containers end by themselves rather than being kept up: whoever runs batches (Jobs, Workflows,
/// TaskRuns, SparkApplications…) says so by a restart policy other than `Always`.
#[must_use]
pub fn ends_by_itself(pod: &Pod) -> bool {
    pod.spec.restart_policy.is_some_and(|policy| policy != RestartPolicy::Always)
}
