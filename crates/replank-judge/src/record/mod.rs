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
mod status;
mod symbols;
mod tape;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::assets::Assets;
use crate::plane::ControlPlane;
use form::Cluster;
use kubelet::Kubelets;
use play::{Played, play};
use tape::Tape;

/// How often a scenario is played.
const RUNS: usize = 3;

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
    let cluster = Cluster { client: plane.client().clone(), kubelets: kubelets.clone(), tape: tape.clone() };
    let next = AtomicUsize::new(0);
    let played: Vec<Mutex<Vec<Result<Played>>>> = scenarios.iter().map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scenario) = scenarios.get(run / RUNS) else { return };
                    let one = play(&cluster, scenario, run);
                    let mut of = played[run / RUNS].lock().expect("no run panicked");
                    of.push(one);
                    if of.len() == RUNS {
                        let runs: Result<Vec<Played>> = std::mem::take(&mut *of).into_iter().collect();
                        show(scenario, runs.map(|runs| merge::merge(scenario, &runs)));
                    }
                }
            });
        }
    });
    tape.stop();
    kubelets.end();
    Ok(())
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
