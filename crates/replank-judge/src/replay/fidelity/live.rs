//! A snapshot, its rehearsal, and the roll.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use super::super::means::Means;
use super::super::observed::{Count, Observed, Workload};
use super::super::recorded::Rehearsal;
use super::super::stage::Stage;
use super::audit::{Asked, log_of};
use super::case::Case;
use super::journal::Journal;
use super::karpenter::Karpenter;
use super::person::Person;
use super::program::{Rehearsed, fresh, run, shown, texts};

/// What a live roll came to.
#[derive(Debug)]
pub(super) struct Real {
    pub(super) journal: Journal,
    pub(super) counts: BTreeMap<Workload, Count>,
    pub(super) asked: Asked,
    /// Pods that were there before it began.
    pub(super) first: BTreeSet<String>,
    /// What the program said of deviations from its own rehearsal.
    pub(super) deviations: Vec<String>,
}

/// How many ways are looked at in which a draw of kube-scheduler's may fall.
const SEEDS: usize = 100;

/// What is rehearsed from, in the folder of a case.
const SNAPSHOT: &str = "snapshot.json.gz";

pub(super) fn rolled(means: &Means, case: &Case, stage: &Stage, folder: &Path) -> Result<(Rehearsed, Real)> {
    let write = |name: &str, text: &str| -> Result<String> {
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        Ok(shown(&path))
    };
    let plan = write("plan.yaml", &case.plan())?;
    write("script.txt", &Case::script())?;
    let kubeconfig = shown(&stage.plane.kubeconfig_of("replank")?);
    let karpenter = case.is_pool.then(|| Karpenter::installed(stage, &case.scene)).transpose()?;
    let snapshot = shown(&folder.join(SNAPSHOT));
    run(&means.replank, &texts(&["snapshot", "--kubeconfig", &kubeconfig, "-o", &snapshot]))?;

    let (printed, journal) = rehearse(means, case, folder, 1)?;
    std::fs::write(folder.join("rehearsal.json"), &printed)?;
    let result: Rehearsal = serde_json::from_slice(&printed).context("replank rehearse printed no result")?;
    let rehearsed = Rehearsed { result, journal, others: Vec::new() };

    let observed = Observed::begin(stage.plane.client())?;
    let first =
        observed.lock().by_name.keys().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
    tell_stops(stage, &rehearsed, &first);
    let names = rehearsed.result.new_nodes();
    let karpenter = karpenter.map(|karpenter| karpenter.naming(names.clone()));
    let (person, is_over) = (Person::of(stage, &case.scene, names), AtomicBool::new(false));
    let journal = fresh(folder, "live.jsonl")?;
    let words = std::thread::scope(|scope| -> Result<String> {
        let works = scope.spawn(|| match &karpenter {
            Some(karpenter) => karpenter.works(&is_over),
            None => person.works(&is_over),
        });
        let mut arguments = texts(&["roll", "-f", &plan, "--yes", "--kubeconfig", &kubeconfig]);
        arguments.extend(texts(&["--journal", &shown(&journal)]));
        arguments.extend(texts(case.arguments));
        let ran = run(&means.replank, &arguments);
        is_over.store(true, Ordering::Relaxed);
        works.join().expect("nobody who replaces nodes panicked")?;
        let (printed, words, code) = ran?;
        write("live.txt", &format!("{}\n{words}\nexit code {code}\n", String::from_utf8_lossy(&printed)))?;
        Ok(words)
    })?;
    let counts = observed.lock().counts.clone();
    let asked = log_of(&stage.plane.audit_log(), "replank", 0)?;
    let journal = Journal::read(&journal)
        .with_context(|| format!("the roll of {} did not begin: {words}", case.scene.name))?;
    let deviations = words.lines().filter(|line| line.contains("rehearsed")).map(str::to_owned).collect();
    Ok((rehearsed, Real { journal, counts, asked, first, deviations }))
}

/// Rehearses the plan with a seed; returns what is printed, and the journal.
fn rehearse(means: &Means, case: &Case, folder: &Path, seed: usize) -> Result<(Vec<u8>, Journal)> {
    let journal = fresh(folder, &format!("rehearsed-{seed}.jsonl"))?;
    let file = |name: &str| shown(&folder.join(name));
    let mut arguments = texts(&["rehearse", &file(SNAPSHOT), "-f", &file("plan.yaml"), "-o", "json"]);
    arguments.extend(texts(&["--script", &file("script.txt"), "--seed", &seed.to_string()]));
    arguments.extend(texts(&["--journal", &shown(&journal)]));
    arguments.extend(texts(case.arguments));
    let (printed, _, _) = run(&means.replank, &arguments)?;
    Ok((printed, Journal::read(&journal)?))
}

/// What other seeds come to, up to the one that agrees with the roll in everything.
pub(super) fn other_seeds(
    means: &Means,
    case: &Case,
    folder: &Path,
    agrees: impl Fn(&Journal) -> bool,
) -> Result<Vec<Journal>> {
    let mut others = Vec::new();
    for seed in 2..=SEEDS {
        let (_, journal) = rehearse(means, case, folder, seed)?;
        let ends = agrees(&journal);
        others.push(journal);
        if ends {
            break;
        }
    }
    Ok(others)
}

/// Has pods take as long to stop as in the rehearsal: those that are there by name, their successors in turn.
fn tell_stops(stage: &Stage, rehearsed: &Rehearsed, first: &BTreeSet<String>) {
    let of = rehearsed.journal.moved.iter().filter_map(|one| {
        let (namespace, controller) = one.of.split_once('/')?;
        Some(((namespace, one.pod.as_str()), controller))
    });
    let controllers: BTreeMap<(&str, &str), &str> = of.collect();
    let mut turns: BTreeMap<(&str, &str), VecDeque<Duration>> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for eviction in rehearsed.result.evictions.iter().filter(|one| one.refused.is_none()) {
        let (namespace, pod) = (eviction.namespace.as_str(), eviction.pod.as_str());
        let Some(gone) = eviction.gone else { continue };
        let span = gone.since(eviction.at);
        if first.contains(&format!("{namespace}/{pod}")) {
            // One that keeps its name, as those of StatefulSets do, takes as long each time.
            if named.insert((namespace, pod)) {
                stage.kubelets.stops_after(namespace, pod, span);
            }
        } else if let Some(controller) = controllers.get(&(namespace, pod)) {
            turns.entry((namespace, controller)).or_default().push_back(span);
        }
    }
    for ((namespace, controller), spans) in turns {
        stage.kubelets.stop_in_turn(namespace, controller, spans);
    }
}
