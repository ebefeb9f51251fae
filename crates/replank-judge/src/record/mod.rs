//! Recordings of scenarios: what a real control plane does when certain steps are taken at certain times, with kubelets of fixed delays. A scenario is
//! played three times, each time with nodes and a namespace of its own, and the runs are merged into one line that testkit's `dynamics` reads.

mod drain;
mod exchange;
mod form;
mod kubelet;
mod log;
mod merge;
mod names;
mod play;
mod project;
mod pulse;
mod status;
mod symbols;
mod tape;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::assets::Assets;
use crate::plane::ControlPlane;
use form::Cluster;
use kubelet::Kubelets;
use play::{Played, play};
use pulse::Pulse;
use tape::Tape;

/// How many runs are merged.
const RUNS: usize = 3;

/// How often a scenario is played at most, to have as many runs in which the machine was not late.
const TRIES: usize = 7;

/// From which on the machine is late.
const LATE_MS: i64 = 150;

/// Plays scenarios, a number of them at a time on one control plane that lives in `folder`, and shows each recording as soon as it is there.
///
/// # Errors
/// The control plane does not start. What is wrong with one scenario is shown in its place.
pub fn record(
    assets: &Assets,
    folder: &Path,
    scenarios: &[Value],
    jobs: usize,
    show: &(dyn Fn(&Value, Result<Value>) + Sync),
) -> Result<()> {
    let plane = ControlPlane::up(assets, folder)?;
    let kubelets = Kubelets::begin(plane.client());
    let tape = Tape::begin(plane.client(), &kubelets);
    let pulse = Pulse::begin(plane.client());
    let cluster = Cluster { client: plane.client().clone(), kubelets: kubelets.clone(), tape: tape.clone() };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    show(scenario, record_one(&cluster, &pulse, scenario));
                }
            });
        }
    });
    pulse.stop();
    tape.stop();
    kubelets.end();
    Ok(())
}

/// Runs have numbers of their own, all over.
static RUN: AtomicUsize = AtomicUsize::new(0);

/// Plays a scenario until there are enough runs in which the machine was not late; else the least late ones are taken.
fn record_one(cluster: &Cluster, pulse: &Pulse, scenario: &Value) -> Result<Value> {
    let mut runs: Vec<(i64, Played)> = Vec::new();
    while runs.len() < TRIES && runs.iter().filter(|(late, _)| *late < LATE_MS).count() < RUNS {
        let played = play(cluster, scenario, RUN.fetch_add(1, Ordering::Relaxed))?;
        let until_ms = played.origin_ms + scenario["until_ms"].as_i64().unwrap_or_default();
        runs.push((pulse.worst(played.origin_ms, until_ms), played));
    }
    runs.sort_by_key(|(late, _)| *late);
    let late_ms = runs[RUNS - 1].0;
    let runs: Vec<Played> = runs.into_iter().take(RUNS).map(|(_, played)| played).collect();
    let mut recording = merge::merge(scenario, &runs);
    recording["machine_late_ms"] = late_ms.into();
    Ok(recording)
}

/// The scenarios of a file, one JSON object each line; recordings are scenarios, too.
///
/// # Errors
/// The file cannot be read, or a line is no scenario.
pub fn scenarios(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let what = || format!("{}:{}", file.display(), at + 1);
        let mut scenario: Value = serde_json::from_str(line).with_context(what)?;
        for member in ["id", "group", "nodes", "steps", "until_ms"] {
            if scenario[member].is_null() {
                bail!("{}: a scenario has {member}", what());
            }
        }
        if let Some(members) = scenario.as_object_mut() {
            members.remove("expect");
        }
        all.push(scenario);
    }
    Ok(all)
}
