//! When a roll had better begin: for every start within a span, how long runs of batch work would hold its nodes.
//!
//! What is known are the schedules, how long earlier runs took, and what runs at the moment. So this is a reckoning and no rehearsal:
//! old nodes are cordoned some minutes after the start, when the first new ones are of use; a run that has begun by then and is not over
//! holds its node until it is, for as long as the longest of its earlier runs took. A run that begins later lands on a new node.

use std::collections::BTreeSet;

use replank_model::object::batch::ConcurrencyPolicy;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::View;

use replank_facts::batch::past;
use replank_facts::batch::starts::{self, Series};
use replank_facts::drain::{Fate, fate};
use replank_facts::plan::RunOptions;
use replank_facts::plan::{Plan, Standing};
use replank_facts::workload::{CRON_WORKFLOW, Workload, workload_of};
use replank_protocol::policy::BatchKind;

/// Starts that are compared, that far apart.
pub const STEP: Span = Span::from_minutes(15);
/// A run of which nothing is known is taken to be so long.
pub const UNKNOWN: Span = Span::from_minutes(60);

/// A run that is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Of what.
    pub workload: Workload,
    /// When it begins, or began.
    pub from: Time,
    /// When it is over, at the latest.
    pub until: Time,
}

/// What begins runs that may land on the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The CronJob or CronWorkflow.
    pub workload: Workload,
    /// Its schedules as they are written.
    pub written: String,
    /// How long a run is taken to be.
    pub length: Span,
    /// Earlier runs from which that is known; none: it is assumed.
    pub seen: usize,
}

/// One start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// When the roll begins.
    pub at: Time,
    /// Whether the plan's windows let it.
    pub is_open: bool,
    /// How long, from the cordon on, until the last run is over that holds a node.
    pub held: Span,
    /// Runs that hold one.
    pub runs: usize,
    /// Runs among them that outlive the plan's `batch.wait`.
    pub over: usize,
}

/// Starts one after the other that are as good as each other, or nearly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first start.
    pub from: Time,
    /// The last.
    pub until: Time,
    /// The longest that nodes are held among them.
    pub held: Span,
    /// The most runs that hold one.
    pub runs: usize,
    /// The most runs that outlive the plan's wait.
    pub over: usize,
}

/// All starts of a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Every one, [`STEP`] apart.
    pub starts: Vec<Start>,
    /// From a start until old nodes are cordoned.
    pub until_cordon: Span,
    /// What begins runs that may land on the nodes.
    pub series: Vec<Scheduled>,
    /// Runs of no schedule that go on now, on nodes that are replaced, and of which nobody knows when they end.
    pub endless: Vec<Workload>,
}

/// Reckons every start from a moment on.
#[must_use]
pub fn sweep(view: &View, plan: &Plan, options: &RunOptions, span: Span, until_cordon: Span) -> Sweep {
    let from = options.started;
    let until = from + span;
    let nodes = replank_core::nodes_to_replace(view, plan, options);
    let here = |series: &Series| {
        nodes.iter().filter_map(|name| view.node(name)).any(|node| series.may_land_on(node))
    };
    let series: Vec<Series> =
        starts::all(view).0.into_iter().filter(|series| !series.is_held && here(series)).collect();
    let mut runs: Vec<Run> =
        series.iter().flat_map(|series| runs_of(view, series, from, until + until_cordon)).collect();
    let (single, endless) = going(view, plan, &nodes);
    runs.extend(single);
    let count = span.as_millis() / STEP.as_millis();
    let starts = (0..=count).map(|number| {
        let at = from + Span::from_millis(number * STEP.as_millis());
        start(plan, &runs, at, until_cordon)
    });
    Sweep {
        starts: starts.collect(),
        until_cordon,
        endless,
        series: series
            .iter()
            .map(|series| Scheduled {
                workload: series.workload.clone(),
                written: series.written.clone(),
                length: length(series),
                seen: series.past.map_or(0, |past| past.runs),
            })
            .collect(),
    }
}

fn length(series: &Series) -> Span {
    let known = series.past.map(|past| past.longest);
    let length = known.or(series.limit).unwrap_or(UNKNOWN);
    series.limit.map_or(length, |limit| length.min(limit))
}

/// The runs of a series, by what it does where they overlap. One that goes on now counts from its true beginning.
fn runs_of(view: &View, series: &Series, from: Time, until: Time) -> Vec<Run> {
    let length = length(series);
    let mut runs: Vec<Run> = Vec::new();
    let began = past::started(view, &series.workload);
    // What began before is read off the cluster where it shows it, else reckoned.
    let first = if &*series.workload.kind == "CronJob" { from } else { from - length };
    let before = began.into_iter().filter(|began| *began <= from);
    for at in before.chain(series.between(first, until)) {
        let last = runs.last_mut().filter(|last| last.until > at);
        match (series.overlap, last) {
            (ConcurrencyPolicy::Forbid, Some(_)) => continue,
            (ConcurrencyPolicy::Replace, Some(last)) => last.until = at,
            (ConcurrencyPolicy::Allow, Some(_)) | (_, None) => {}
        }
        // One that has taken longer than any before may end at any moment.
        let end = if at < from { (at + length).max(from) } else { at + length };
        runs.push(Run { workload: series.workload.clone(), from: at, until: end });
    }
    runs
}

/// Runs of no schedule that go on now: those whose end is known, and those whose is not.
fn going(view: &View, plan: &Plan, nodes: &BTreeSet<NodeName>) -> (Vec<Run>, Vec<Workload>) {
    let mut workloads: BTreeSet<Workload> = BTreeSet::new();
    for pod in nodes.iter().flat_map(|node| view.sorted_pods_on(node)) {
        let runs_once = matches!(
            fate(view, plan, pod),
            Fate::Batch { kind: BatchKind::Job | BatchKind::Workflow | BatchKind::RunsOnce, .. }
        );
        if let Some(workload) = workload_of(view, pod).filter(|_| runs_once) {
            workloads.insert(workload);
        }
    }
    let (mut known, mut endless) = (Vec::new(), Vec::new());
    for workload in workloads {
        let is_scheduled = &*workload.kind == "CronJob"
            || (&*workload.kind == "Workflow" && is_made_by_cron(view, &workload));
        if is_scheduled {
            continue;
        }
        match (past::started(view, &workload), past::bound(view, &workload)) {
            (Some(from), Some(until)) => known.push(Run { workload, from, until }),
            (None, _) | (_, None) => endless.push(workload),
        }
    }
    (known, endless)
}

fn is_made_by_cron(view: &View, workload: &Workload) -> bool {
    let workflow = view.other("argoproj.io", "Workflow", &workload.key);
    workflow.is_some_and(|workflow| workflow.meta.labels.get(CRON_WORKFLOW).is_some())
}

fn start(plan: &Plan, runs: &[Run], at: Time, until_cordon: Span) -> Start {
    let cordon = at + until_cordon;
    let holding = runs.iter().filter(|run| run.from <= cordon && run.until > cordon);
    let left: Vec<Span> = holding.map(|run| run.until - cordon).collect();
    Start {
        at,
        is_open: matches!(plan.care.windows.at(at), Standing::Open(_)),
        held: left.iter().copied().max().unwrap_or(Span::ZERO),
        runs: left.len(),
        over: left.iter().filter(|left| **left > plan.batch.wait).count(),
    }
}

impl Sweep {
    /// The best starts: where nodes are held the shortest, in stretches, the longest first.
    #[must_use]
    pub fn best(&self, count: usize) -> Vec<Stretch> {
        let least = self.open().map(|start| (start.over, start.held)).min();
        let Some((over, held)) = least else { return Vec::new() };
        let mut stretches = self.stretches(|start| start.over == over && start.held <= held + STEP);
        stretches.sort_by_key(|stretch| (stretch.held, stretch.from - stretch.until, stretch.from));
        stretches.truncate(count);
        stretches
    }

    /// The worst: where they are held the longest. None where all starts are alike.
    #[must_use]
    pub fn worst(&self, count: usize) -> Vec<Stretch> {
        let least = self.open().map(|start| start.held).min();
        let most = self.open().map(|start| start.held).max();
        let Some((least, most)) = least.zip(most).filter(|(least, most)| *most > *least + STEP) else {
            return Vec::new();
        };
        let floor = most - (most - least).min(STEP + STEP);
        let mut stretches = self.stretches(|start| start.held >= floor);
        stretches.sort_by_key(|stretch| (std::cmp::Reverse((stretch.over, stretch.held)), stretch.from));
        stretches.truncate(count);
        stretches
    }

    fn open(&self) -> impl Iterator<Item = &Start> {
        self.starts.iter().filter(|start| start.is_open)
    }

    /// Starts in a row of which something holds.
    fn stretches(&self, holds: impl Fn(&Start) -> bool) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut is_going_on = false;
        for start in &self.starts {
            let fits = start.is_open && holds(start);
            match stretches.last_mut().filter(|_| fits && is_going_on) {
                Some(last) => {
                    last.until = start.at;
                    last.held = last.held.max(start.held);
                    last.runs = last.runs.max(start.runs);
                    last.over = last.over.max(start.over);
                }
                None if fits => stretches.push(Stretch {
                    from: start.at,
                    until: start.at,
                    held: start.held,
                    runs: start.runs,
                    over: start.over,
                }),
                None => {}
            }
            is_going_on = fits;
        }
        stretches
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;
    use replank_facts::groups::GroupBy;
    use replank_facts::plan::Target;

    fn cron(spec: &Value) -> Value {
        let mut cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "shop", "uid": "c"},
            "spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}}}});
        for (key, value) in spec.as_object().expect("an object") {
            cron["spec"][key] = value.clone();
        }
        cron
    }

    /// A finished run of so many minutes.
    fn past(minutes: i64) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "c-1", "namespace": "shop", "uid": "j",
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "c", "controller": true}]},
            "status": {"startTime": "2025-12-31T00:00:00Z", "completionTime": format!("2025-12-31T{:02}:{:02}:00Z", minutes / 60, minutes % 60),
                "conditions": [{"type": "Complete", "status": "True"}]}})
    }

    fn swept(plan: impl FnOnce(&mut Plan), objects: Vec<Value>) -> Sweep {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n", "creationTimestamp": "2025-06-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": "web"}}});
        let all = objects.into_iter().chain([node]);
        let view: View =
            all.map(|value| Delta::Put(Object::from_json(value).expect("a valid object"))).collect();
        let mut web = Plan::of_groups("p", vec!["web".into()], Target::default());
        plan(&mut web);
        let options = RunOptions {
            started: "2026-01-01T00:00:00Z".parse().expect("a time"),
            group_by: GroupBy::default(),
        };
        sweep(&view, &web, &options, Span::from_minutes(24 * 60), Span::from_minutes(3))
    }

    fn text(stretches: &[Stretch]) -> Vec<String> {
        let line = |stretch: &Stretch| {
            format!(
                "{} {} held {} runs {} over {}",
                stretch.from, stretch.until, stretch.held, stretch.runs, stretch.over
            )
        };
        stretches.iter().map(line).collect()
    }

    #[test]
    fn a_nightly_run_is_avoided_and_its_begin_is_the_worst() {
        let sweep = swept(|_| {}, vec![cron(&json!({"schedule": "0 16 * * *"})), past(120)]);
        assert_eq!(
            text(&sweep.best(3)),
            [
                "2026-01-01T00:00:00Z 2026-01-01T15:45:00Z held 0s runs 0 over 0",
                "2026-01-01T17:45:00Z 2026-01-02T00:00:00Z held 12m runs 1 over 0",
            ]
        );
        assert_eq!(
            text(&sweep.worst(1)),
            ["2026-01-01T16:00:00Z 2026-01-01T16:30:00Z held 1h57m runs 1 over 0"]
        );
    }

    #[test]
    fn runs_that_outlive_the_wait_are_worse_than_long_ones() {
        let short = |plan: &mut Plan| plan.batch.wait = Span::from_minutes(60);
        let sweep = swept(short, vec![cron(&json!({"schedule": "0 16 * * *"})), past(120)]);
        assert_eq!(sweep.starts.iter().filter(|start| start.over > 0).count(), 4, "16:00 to 16:45");
        assert!(sweep.best(1)[0].over == 0 && sweep.worst(1)[0].over == 1);
    }

    #[test]
    fn what_is_suspended_or_lands_elsewhere_does_not_count_and_all_alike_has_no_worst() {
        for spec in [
            json!({"schedule": "0 16 * * *", "suspend": true}),
            json!({"schedule": "0 16 * * *", "jobTemplate": {"spec": {"template": {"spec": {"nodeSelector": {"tier": "x"}}}}}}),
        ] {
            let sweep = swept(|_| {}, vec![cron(&spec), past(120)]);
            assert!(sweep.series.is_empty() && sweep.worst(3).is_empty());
            assert_eq!(
                text(&sweep.best(3)),
                ["2026-01-01T00:00:00Z 2026-01-02T00:00:00Z held 0s runs 0 over 0"]
            );
        }
    }

    #[test]
    fn overlapping_runs_follow_the_policy() {
        let held_at = |policy: &str| {
            let sweep = swept(
                |_| {},
                vec![cron(&json!({"schedule": "0 * * * *", "concurrencyPolicy": policy})), past(90)],
            );
            // At 03:30 and three minutes.
            let start = sweep.starts[14];
            (start.held.to_string(), start.runs)
        };
        assert_eq!(held_at("Allow"), ("57m".to_owned(), 1), "that of 02:00 has just ended");
        assert_eq!(held_at("Replace"), ("27m".to_owned(), 1), "until the next takes its place");
        assert_eq!(held_at("Forbid"), ("57m".to_owned(), 1), "those of 01:00, 03:00, 05:00");
    }

    #[test]
    fn a_run_of_no_schedule_counts_if_its_end_is_known() {
        let job = |deadline: Value| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "shop", "uid": "j"},
                "spec": {"activeDeadlineSeconds": deadline, "template": {"spec": {}}}, "status": {"startTime": "2025-12-31T23:00:00Z"}})
        };
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j-1", "namespace": "shop", "uid": "p",
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true}]},
            "spec": {"nodeName": "n", "containers": []}, "status": {"phase": "Running"}});
        let known = swept(|_| {}, vec![job(json!(7200)), pod.clone()]);
        assert_eq!(known.starts[0].held.to_string(), "57m");
        let unknown = swept(|_| {}, vec![job(Value::Null), pod]);
        assert_eq!((unknown.starts[0].runs, unknown.endless.len()), (0, 1));
    }
}
