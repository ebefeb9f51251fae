//! How long pods take to start, to run and to stop: learnt from the snapshot, with stated defaults.
//!
//! A snapshot shows how long this workload's pods really took from being scheduled to being Ready, and how long finished
//! runs of this job really ran. Draws come from these samples, interpolated between neighbours. Where there are none, a
//! default is used, and [`Durations::assumptions`] says so.

mod samples;

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::{Key, OwnerReference};
use replank_model::object::pod::{Pod, PodPhase, RestartPolicy};
use replank_model::object::workload::ReplicaSet;
use replank_model::text::{Namespace, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use rustc_hash::FxHashMap;

use crate::draw::{Draws, Purpose};
use samples::Samples;

/// A pod that took longer than this from scheduling to readiness was not starting all the while.
const START_MAX: Span = Span::from_minutes(30);
/// Start-up without any sample: pull, start and readiness of an ordinary service.
const START_DEFAULT: (Span, Span) = (Span::from_secs(4), Span::from_secs(20));
/// Run time of a batch pod without any sample.
const RUN_DEFAULT: (Span, Span) = (Span::from_minutes(10), Span::from_minutes(60));
/// Time between the stop signal and the end of an ordinary process.
const STOP_DEFAULT: (Span, Span) = (Span::from_millis(300), Span::from_secs(8));

/// What pods of one origin have in common: namespace, kind and name of the workload that a person would name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Namespace.
    pub namespace: Namespace,
    /// Kind: Deployment, StatefulSet, CronJob, Workflow…
    pub kind: Text,
    /// Name.
    pub name: Text,
}

/// Something that the rehearsal had to assume, or could learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// What it is about.
    pub about: String,
    /// What is assumed.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

/// Where an assumption comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// So many observations in the snapshot.
    Learnt(usize),
    /// Nothing in the snapshot shows it.
    Default,
}

/// What is known of durations.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    start: FxHashMap<Workload, Samples>,
    start_of_all: Samples,
    run: FxHashMap<Workload, Samples>,
}

impl Durations {
    /// Learns from everything in a view.
    #[must_use]
    pub fn learn(view: &View) -> Self {
        let mut durations = Self::default();
        for (_, pod) in view.pods.sorted() {
            let Some(workload) = workload_of(view, pod) else { continue };
            if let Some(start) = start_of(pod) {
                durations.start.entry(workload.clone()).or_default().add(start);
                durations.start_of_all.add(start);
            }
            if let Some(run) = run_of(pod) {
                durations.run.entry(workload).or_default().add(run);
            }
        }
        durations.learn_from_jobs(view);
        durations.start.values_mut().for_each(Samples::sort);
        durations.run.values_mut().for_each(Samples::sort);
        durations.start_of_all.sort();
        durations
    }

    /// From being scheduled to being Ready.
    #[must_use]
    pub fn start(&self, view: &View, pod: &Pod, draws: &Draws) -> Span {
        let draw = draws.draw(pod.meta.uid.as_str(), Purpose::Ready, 0);
        let own = workload_of(view, pod).and_then(|workload| self.start.get(&workload)?.draw(draw));
        own.or_else(|| self.start_of_all.draw(draw))
            .unwrap_or_else(|| draw.between(START_DEFAULT.0, START_DEFAULT.1))
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
            None => {
                (elapsed < RUN_DEFAULT.1).then(|| draw.between(RUN_DEFAULT.0.max(elapsed), RUN_DEFAULT.1))
            }
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
        pre_stop.max().unwrap_or_default() + draw.between(STOP_DEFAULT.0, STOP_DEFAULT.1)
    }

    /// What was learnt and what is assumed, for the report.
    #[must_use]
    pub fn assumptions(&self) -> Vec<Assumption> {
        let range = |(low, high): (Span, Span)| format!("{low} to {high}");
        let mut all = Vec::new();
        let started = self.start_of_all.len();
        all.push(match self.start_of_all.bounds() {
            Some(bounds) => Assumption {
                about: format!("pods from scheduled to Ready ({} workloads)", self.start.len()),
                value: range(bounds),
                source: Source::Learnt(started),
            },
            None => Assumption {
                about: "pods from scheduled to Ready".into(),
                value: range(START_DEFAULT),
                source: Source::Default,
            },
        });
        let mut runs: Vec<_> = self.run.iter().collect();
        runs.sort_by(|a, b| a.0.cmp(b.0));
        for (workload, samples) in runs {
            let Some(bounds) = samples.bounds() else { continue };
            all.push(Assumption {
                about: format!("runs of {} {}/{}", workload.kind, workload.namespace, workload.name),
                value: range(bounds),
                source: Source::Learnt(samples.len()),
            });
        }
        all.push(Assumption {
            about: "runs of batch pods without a finished run in the snapshot".into(),
            value: range(RUN_DEFAULT),
            source: Source::Default,
        });
        all.push(Assumption {
            about: "containers from the stop signal to their end".into(),
            value: format!("{}, after preStop sleeps, at most the grace period", range(STOP_DEFAULT)),
            source: Source::Default,
        });
        all
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
                let workload =
                    top_of(&job.meta.namespace, "Job", &job.meta.name.to_string(), job.meta.controller());
                self.run.entry(workload).or_default().add(end - start);
            }
        }
    }
}

/// The workload that a person would name for a pod; bare pods have none.
#[must_use]
pub fn workload_of(view: &View, pod: &Pod) -> Option<Workload> {
    let owner = pod.meta.controller()?;
    let namespace = &pod.meta.namespace;
    let key = Key::new(namespace.clone(), owner.name.clone());
    let above = match &*owner.kind {
        "ReplicaSet" => view.find::<ReplicaSet>(&key).and_then(|set| set.meta.controller()),
        "Job" => view.jobs.by_key(&key).and_then(|job| job.meta.controller()),
        _ => None,
    };
    if &*owner.kind == "Workflow" {
        let cron = pod.meta.labels.get("workflows.argoproj.io/cron-workflow").cloned();
        let cron = cron.or_else(|| cron_of_workflow(view, &key));
        if let Some(name) = cron {
            return Some(Workload { namespace: namespace.clone(), kind: Text::from("CronWorkflow"), name });
        }
    }
    Some(top_of(namespace, &owner.kind, owner.name.as_str(), above))
}

fn top_of(namespace: &Namespace, kind: &str, name: &str, above: Option<&OwnerReference>) -> Workload {
    match above {
        Some(above) => Workload {
            namespace: namespace.clone(),
            kind: above.kind.clone(),
            name: above.name.text().clone(),
        },
        None => Workload { namespace: namespace.clone(), kind: Text::from(kind), name: Text::from(name) },
    }
}

fn cron_of_workflow(view: &View, key: &Key) -> Option<Text> {
    let workflow = view.other("argoproj.io", "Workflow", key)?;
    workflow.meta.labels.get("workflows.argoproj.io/cron-workflow").cloned()
}

/// Whether the pod's containers end by themselves rather than being kept up.
pub(crate) fn ends_by_itself(pod: &Pod) -> bool {
    let owner = pod.meta.controller().map(|owner| &*owner.kind);
    let is_batch = matches!(owner, Some("Job" | "Workflow"));
    is_batch
        || (owner.is_none() && pod.spec.restart_policy.is_some_and(|policy| policy != RestartPolicy::Always))
}

/// How long a running pod took from being scheduled to being Ready.
fn start_of(pod: &Pod) -> Option<Span> {
    let restarted = pod.status.container_statuses.iter().any(|container| container.restart_count > 0);
    let at = |r#type| -> Option<Time> {
        let found = condition::find(&pod.status.conditions, r#type)?;
        (found.status == ConditionStatus::True).then_some(found.last_transition_time)?
    };
    let took = at("Ready")? - at("PodScheduled")?;
    (!restarted && pod.status.phase == PodPhase::Running && Span::default() <= took && took <= START_MAX)
        .then_some(took)
}

/// How long the main containers of a pod that succeeded ran.
fn run_of(pod: &Pod) -> Option<Span> {
    if pod.status.phase != PodPhase::Succeeded {
        return None;
    }
    let ends =
        pod.status.container_statuses.iter().filter_map(|container| container.state.terminated.as_ref());
    let spans = ends.filter_map(|end| Some(end.finished_at? - end.started_at?));
    spans.max().filter(|span| *span > Span::default())
}
