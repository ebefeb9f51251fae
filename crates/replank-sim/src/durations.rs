//! How long pods take to start, to run and to stop: learnt from the snapshot, with stated defaults.
//!
//! A snapshot shows how long this workload's pods really took from being scheduled to being Ready, how long finished runs
//! of this job really ran, and how long nodes took to become Ready. Draws come from these samples, interpolated between
//! neighbours. Where there are none, a default is used, and [`Durations::assumptions`] says so.

mod assumptions;
mod learnt;
mod limits;
mod observed;
mod samples;
mod trouble;
mod workflows;
mod workload;

use replank_facts::workload::series_of_workflow;
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::time::Span;
use replank_model::view::View;

pub use assumptions::{Assumption, Source};
use replank_apiserver::draw::{Draws, Purpose};
pub(crate) use trouble::Trouble;
pub use workload::{Workload, series_of};

use limits::{RUN_DEFAULT, START_MAX};

pub use learnt::Durations;

impl Durations {
    /// How much longer a pod runs that has run for a while; `None` for pods that do not end by themselves.
    #[must_use]
    pub fn run(&self, view: &View, pod: &Pod, elapsed: Span, draws: &Draws) -> Option<Span> {
        if !ends_by_itself(pod) {
            return None;
        }
        let draw = draws.draw(pod.meta.uid.as_str(), Purpose::Run, 0);
        let workload = series_of(view, pod);
        // Steps of one Workflow may differ by hours.
        let step = workload.clone().zip(workflows::step_of(pod)).and_then(|key| self.steps.get(&key));
        let own = step.or_else(|| workload.and_then(|workload| self.run.get(&workload)));
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

    /// Workflows whose pods are gone still tell how long each step took.
    fn learn_from_workflows(&mut self, view: &View) {
        for workflow in workflows::all(view) {
            let workload = Workload::from(series_of_workflow(workflow));
            for ran in workflows::ran(view, workflow).into_iter().filter(|ran| !ran.has_pod) {
                self.run.entry(workload.clone()).or_default().add(ran.took);
                self.steps.entry((workload.clone(), ran.step)).or_default().add(ran.took);
            }
        }
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

/// Whether the pod's containers end by themselves rather than being kept running: batch pods (Jobs, Workflows,
/// TaskRuns, SparkApplications…) says so by a restart policy other than `Always`.
#[must_use]
pub fn ends_by_itself(pod: &Pod) -> bool {
    pod.spec.restart_policy.is_some_and(|policy| policy != RestartPolicy::Always)
}
