//! Snapshots that somebody broke: examples and random clusters with a few random changes, read, checked and rehearsed.
//!
//! Nothing is asked of the outcome but that there is one: no panic, and no rehearsal beyond its bounds of objects, events and time.

mod change;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use replank_advice::{audit, check, preflight};
use replank_core::{Core, nodes_to_replace};
use replank_facts::groups::{self, GroupBy};
use replank_facts::plan::{Plan, RunOptions, Target};
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::snapshot::{Options, Snapshot};
use replank_intake::source::Source;
use replank_model::delta::Delta;
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::object::render;
use replank_model::text::RunId;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_oracle::sched_random::Random;
use replank_rehearse::{Rehearsal, Setup, Stop, count_budgets};
use replank_sim::{Durations, KubeletModel, Settings};
use serde_json::{Value, json};

use crate::clusters::Cluster;
use crate::trial;

/// Virtual time of a rehearsal.
const LIMIT: Span = Span::from_minutes(24 * 60);
/// The machine's time of a rehearsal: whoever takes longer does not come to an end for a person.
const PATIENCE: Duration = Duration::from_secs(120);
/// Snapshots that come with the program, by their paths in the workspace.
const EXAMPLES: [&str; 4] = [
    "examples/job-site/snapshot.yaml",
    "examples/elastic/snapshot.yaml",
    "examples/bad-ami/snapshot.yaml",
    "examples/roles/snapshot.yaml",
];
/// What tells the seed of a rehearsal from that of its cluster.
const REHEARSAL: u64 = 1 << 40;
/// Changes at the most.
const CHANGES_MAX: u64 = 20;

/// What came of one broken snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing could be read, or there is no node in it.
    Unreadable,
    /// It was checked; no node has a group.
    NoGroup,
    /// The rehearsal came to its end.
    Ended,
    /// It was stopped by its limit of virtual time, or nothing more happened.
    Stopped,
    /// It was stopped by its bounds.
    RanAway,
}

/// A snapshot, the changes that were made to it, and what came of it.
#[derive(Debug)]
pub struct Fuzzed {
    /// What was changed.
    pub changes: Vec<String>,
    /// The outcome, or what is wrong.
    pub came: Result<Outcome, String>,
    /// What ran away, if anything did.
    pub runaway: Option<String>,
}

/// The snapshots that are broken.
#[derive(Debug)]
pub struct Corpus(Vec<(String, Vec<Value>)>);

impl Corpus {
    /// The examples, as they lie in the workspace.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn of_examples(root: &Path) -> anyhow::Result<Self> {
        let documents = |path: &str| {
            let mut all = Vec::new();
            read(vec![Source::Path(root.join(path))], &Limits::default(), &mut |found| match found {
                Found::Document(document) => all.push(document.value),
                Found::List { .. } | Found::Problem(_) => {}
            })
            .with_context(|| path.to_owned())?;
            Ok((path.to_owned(), all))
        };
        Ok(Self(EXAMPLES.into_iter().map(documents).collect::<anyhow::Result<_>>()?))
    }

    /// The objects of a seed before they are changed: an example or a random cluster.
    fn objects(&self, seed: u64) -> Vec<Value> {
        let at = usize::try_from(seed % (2 * self.0.len() as u64)).expect("small");
        self.0.get(at).map_or_else(|| of_cluster(seed), |(_, objects)| objects.clone())
    }

    /// Breaks the snapshot of a seed and tries it.
    #[must_use]
    pub fn run(&self, seed: u64) -> Fuzzed {
        let mut random = Random::new(seed);
        let mut objects = self.objects(seed);
        let number = 1 + random.below(CHANGES_MAX);
        let changes = (0..number).map(|_| change::change(&mut random, &mut objects)).collect();
        // What ran away is told even where the rest panics.
        let mut runaway = None;
        let came = catch_unwind(AssertUnwindSafe(|| attempt(&objects, seed, &mut runaway)));
        let came = came.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Err(format!("panic: {}", text.unwrap_or_default()))
        });
        Fuzzed { changes, came, runaway }
    }

    /// The objects of a seed with its changes, as a List: to be tried by hand.
    #[must_use]
    pub fn broken(&self, seed: u64) -> Value {
        let mut random = Random::new(seed);
        let mut objects = self.objects(seed);
        (0..1 + random.below(CHANGES_MAX)).for_each(|_| drop(change::change(&mut random, &mut objects)));
        json!({"apiVersion": "v1", "kind": "List", "items": objects})
    }
}

/// A random cluster, as `kubectl get -o json` would print it.
fn of_cluster(seed: u64) -> Vec<Value> {
    let world = trial::settled(&Cluster::of(seed));
    world.view().objects().iter().map(render).collect()
}

/// Reads, checks and rehearses.
fn attempt(objects: &[Value], seed: u64, runaway: &mut Option<String>) -> Result<Outcome, String> {
    let text = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let Ok(snapshot) = Snapshot::load(vec![Source::bytes("broken.json", text)], &Options::default()) else {
        return Ok(Outcome::Unreadable);
    };
    let Some(now) = snapshot.now.map(|now| now.time) else { return Ok(Outcome::Unreadable) };
    let mut view: View = snapshot.objects.into_iter().map(Delta::Put).collect();
    if view.nodes.is_empty() {
        return Ok(Outcome::Unreadable);
    }
    count_budgets(&mut view, now);
    rehearse(&view, now, seed, runaway)
}

fn rehearse(view: &View, now: Time, seed: u64, runaway: &mut Option<String>) -> Result<Outcome, String> {
    let options = RunOptions { started: now, group_by: GroupBy::Label(LABEL_EKS_NODEGROUP.into()) };
    let learnt = groups::from_nodes(view, &options.group_by);
    let mut grouped = view.clone();
    for group in &learnt {
        grouped.apply(Delta::Group(group.group.clone().into()));
    }
    drop(check::run(&grouped, None, &options));
    drop(audit::run(view, &audit::Options::default()));
    if learnt.is_empty() {
        return Ok(Outcome::NoGroup);
    }
    let names: Vec<_> = learnt.iter().map(|group| group.group.name.clone()).collect();
    let plan = Plan::of_groups("fuzz", names.clone(), Target::default());
    drop(check::run(&grouped, Some(&plan), &options));
    let durations = std::sync::Arc::new(Durations::learn(view, now));
    let setup = Setup {
        view: view.clone(),
        groups: learnt,
        rolled: names.into_iter().collect(),
        settings: Settings {
            start: now,
            // Uids are drawn from seed, name and moment: those of a cluster that the same seed has made would come again.
            seed: seed ^ REHEARSAL,
            cloud: durations.cloud(),
            kubelet: KubeletModel::Learnt(durations),
        },
        assumptions: Vec::new(),
    };
    let core = Core::new(plan.clone(), RunId::from("fuzz"), options.clone(), preflight::blocking);
    let mut rehearsal = Rehearsal::new(setup, Box::new(core));
    rehearsal.narrow_to(nodes_to_replace(view, &plan, &options));
    let begun = Instant::now();
    let stop = rehearsal.run(LIMIT, &mut |_| {
        if begun.elapsed() > PATIENCE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let result = rehearsal.result(Vec::new(), stop, 0);
    match stop {
        Stop::Ended => Ok(Outcome::Ended),
        Stop::TimeUp | Stop::Silence => Ok(Outcome::Stopped),
        Stop::RanAway => {
            let first = result.blockers.first().ok_or("it ran away, and nothing says what did")?;
            *runaway = Some(format!("{}: {}", first.what, first.reason));
            Ok(Outcome::RanAway)
        }
        Stop::Interrupted => Err(format!(
            "after {PATIENCE:?} the rehearsal is at {} with {} events and {} objects",
            rehearsal.world().now(),
            result.events,
            rehearsal.world().view().number_of_objects()
        )),
    }
}
