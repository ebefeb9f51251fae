//! `replank migrate --apply` of every kind and way, killed after any step, taken back, and meddled with, on a cluster that is served and on a real control plane: no test knows which.
//! Each case has a namespace of its own, and all go at once: a process that takes over waits for a minute before it deletes anything.
//!
//! `REPLANK_MIGRATIONS=all` tries every step of every way, and every meddler at each; otherwise a few of them.

mod argo;
mod case;
mod meddler;
mod roles;
mod seen;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use crate::drive::ground::Ground;
use argo::Argo;
use case::{Case, Way};
use seen::Endpoints;

/// One that is tried: its name, and what is done.
type Trial<'g> = (String, Box<dyn FnOnce() + Send + 'g>);

/// How many go at once.
const AT_ONCE: usize = 20;

fn is_all() -> bool {
    std::env::var_os("REPLANK_MIGRATIONS").is_some_and(|value| value == "all")
}

/// A process is killed after a step; the next one goes on, or takes it back.
fn killed(case: &Case<'_>, seen: &Endpoints, after: usize, then: &str) {
    let before = case.pods();
    let mut first = case.start(&["--apply"]);
    first.until(after);
    // In the middle of what comes next, or before it.
    thread::sleep(Duration::from_millis((after as u64 * 37 + case.namespace.len() as u64 * 91) % 900));
    first.kill();
    let ran = case.run(&[then]);
    let why = format!("killed after step {after}, then {then}: {ran:?}");
    assert_eq!(ran.code, Some(0), "{why}");
    let is_new = case.object()["spec"]["selector"]["matchLabels"]["tier"].is_null()
        || case.way == Way::Rollout && case.object()["spec"]["replicas"] == 0;
    match (then, is_new) {
        ("--apply", _) | (_, true) => case.assert_done(&why),
        (_, false) => case.assert_as_before(&why),
    }
    case.ground.wait("three pods serve in the end", |_| seen.ready(&case.namespace) == 3);
    let fewest = seen.fewest(&case.namespace);
    if case.way.keeps() {
        assert_eq!((case.pods(), fewest), (before, 3), "no pod is touched: {why}");
    }
    assert!(fewest >= 1, "the Service is never without an endpoint: {why}");
    let again = case.run(&["--apply"]);
    assert_eq!(again.code, Some(0), "{why}: once more: {again:?}");
    case.assert_done(&why);
}

fn trials<'g>(ground: &'g Ground, seen: &'g Endpoints) -> Vec<Trial<'g>> {
    let mut all: Vec<Trial<'g>> = Vec::new();
    for (number, way) in Way::ALL.into_iter().enumerate() {
        for (offset, then) in [(2, "--apply"), (0, "--cancel")] {
            let steps = 1..=way.steps();
            let chosen = |step: &usize| is_all() || *step == 1 + (number + offset) % way.steps();
            for step in steps.filter(chosen) {
                let name = format!("{}{step}", if then == "--apply" { "on" } else { "back" });
                all.push((
                    format!("{way:?} {name}"),
                    Box::new(move || killed(&Case::begin(ground, way, seen, &name), seen, step, then)),
                ));
            }
        }
        all.extend(meddler::trials(ground, seen, way, is_all()));
    }
    all
}

/// Tries all of them, some at once; what fails is told together.
fn tried(mut all: Vec<Trial<'_>>) {
    let only = std::env::var("REPLANK_MIGRATION").unwrap_or_default();
    all.retain(|(name, _)| name.contains(&only));
    let (count, mut failed) = (all.len(), Vec::new());
    while !all.is_empty() {
        let some: Vec<Trial<'_>> = all.drain(..AT_ONCE.min(all.len())).collect();
        thread::scope(|scope| {
            let running: Vec<_> = some
                .into_iter()
                .map(|(name, act)| {
                    scope.spawn(move || catch_unwind(AssertUnwindSafe(act)).err().map(|_| name))
                })
                .collect();
            failed.extend(running.into_iter().filter_map(|one| one.join().expect("it is caught")));
        });
    }
    eprintln!("{count} migrations, {} failed", failed.len());
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn every_way_is_gone_on_with_and_taken_back_on_a_served_cluster() {
    let ground = Ground::served("migrating");
    argo::define(&ground);
    let seen = Endpoints::of(&ground);
    tried(trials(&ground, &seen));
}

#[test]
fn every_way_is_gone_on_with_and_taken_back_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("migrating") {
        argo::define(&ground);
        let _argo = Argo::begins(&ground);
        let seen = Endpoints::of(&ground);
        tried(trials(&ground, &seen));
    }
}
