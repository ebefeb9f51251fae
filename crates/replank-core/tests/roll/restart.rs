//! Core keeps caches only: whatever is dropped whenever, the effects are the same, and none happens twice.

use std::collections::{BTreeMap, BTreeSet};

use replank_core::Core;
use replank_model::object::Kind;
use replank_model::time::{Span, Time};
use replank_protocol::command::{CommandKey, Effect, GroupEffect, KubernetesEffect};
use replank_protocol::decision::{Decision, End};
use replank_protocol::waiting::{PodWait, RunWait, Subject, WaitingOn};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Lag, Stage, everything, job_pod, nothing_blocks, plan, start};

const DAY: Span = Span::from_minutes(24 * 60);

/// Streams that lag differently: pods ahead of budgets, budgets ahead of pods, the cloud last.
const LAGS: [Lag; 4] = [
    |_| 0,
    |kind| {
        if kind == Kind::Pod {
            0
        } else if kind == Kind::Node {
            1
        } else {
            2
        }
    },
    |kind| {
        if kind == Kind::PodDisruptionBudget {
            0
        } else if matches!(kind, Kind::Pod | Kind::Node) {
            2
        } else {
            1
        }
    },
    |_| 2,
];

fn stage(spec: Value, lag: Lag, with_batch: bool) -> Stage {
    let mut all = json!({"target": {"kubernetesVersion": "1.36"}});
    crate::stage::merge(&mut all, spec);
    let mut objects = shop();
    if with_batch {
        objects.push(job_pod("crunch-1", "n0"));
    }
    Stage::new(plan(&["web"], all), objects).with_lag(lag)
}

fn specs() -> Vec<(Value, bool)> {
    vec![
        (json!({}), false),
        (json!({"pace": {"betweenNodes": "30s", "parallel": 2}, "budget": {"surge": 2}}), false),
        (
            json!({"canary": {"nodes": 1, "soak": "5m"}, "pace": {"parallel": 3}, "budget": {"surge": "100%"}}),
            false,
        ),
        (json!({"batch": {"wait": "1h", "onDeadline": "evict"}}), true),
        (json!({"batch": {"wait": "1h", "onDeadline": "skip"}}), true),
        (json!({"batch": {"wait": "1h", "onDeadline": "pause"}}), true),
        (
            json!({"target": {"group": "web-new"}, "pace": {"betweenNodes": "30s", "parallel": 2}, "budget": {"surge": 2}}),
            false,
        ),
        (json!({"target": {"group": "web-new"}, "batch": {"wait": "1h", "onDeadline": "skip"}}), true),
        (json!({"target": {"group": "web-new"}, "batch": {"wait": "1h", "onDeadline": "pause"}}), true),
    ]
}

/// What was done to the cluster: which pods were moved, which instances ended, how groups were changed.
fn effects(stage: &Stage) -> BTreeMap<CommandKey, Effect> {
    let mut effects = BTreeMap::new();
    for (_, command, result) in &stage.done {
        if result.is_ok() {
            effects.insert(command.key.clone(), command.effect.clone());
        }
    }
    effects
}

/// Pods that replace others have names that depend on when they were made; nodes as well. What does not: pods and nodes
/// of the beginning, and the number of everything.
fn moved(stage: &Stage) -> (BTreeSet<String>, usize) {
    let evictions = stage.done.iter().filter(|(_, c, r)| {
        matches!(c.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })) && r.is_ok()
    });
    let pods: BTreeSet<String> = evictions.map(|(_, c, _)| c.key.0.to_string()).collect();
    let ends =
        stage.keys_done().iter().filter(|key| key.0.contains("/terminate/")).collect::<BTreeSet<_>>().len();
    (pods, ends)
}

#[test]
fn dropped_caches_change_no_effect() {
    for (spec, with_batch) in specs() {
        for lag in LAGS {
            let mut quiet = stage(spec.clone(), lag, with_batch);
            let end = quiet.run(DAY);
            assert!(end == End::Done || with_batch, "{spec} {end:?}\n{}", quiet.story());
            for every in [1, 2, 7] {
                let mut shaken = stage(spec.clone(), lag, with_batch);
                shaken.drops = Box::new(move |now: Time| (now - start()).as_secs() % every == 0);
                let shaken_end = shaken.run(DAY);
                assert_eq!(moved(&shaken), moved(&quiet), "{spec}\n{}\n{}", quiet.story(), shaken.story());
                assert!(same_end(&end, &shaken_end), "{spec}: {end:?} {shaken_end:?}");
                assert_eq!(shaken.truth.groups()["web"].size, quiet.truth.groups()["web"].size);
                assert_eq!(shaken.truth.nodes.len(), quiet.truth.nodes.len());
                let first = effects(&shaken);
                for (_, command, result) in &shaken.done {
                    let Some(effect) = first.get(&command.key).filter(|_| result.is_ok()) else { continue };
                    assert!(is_same_effect(effect, &command.effect), "{effect:?} {:?}", command.effect);
                }
            }
        }
    }
}

/// The moments in them aside.
fn same_end(one: &End, other: &End) -> bool {
    let subjects = |end: &End| match end {
        End::Blocked(blockers) => Some(
            blockers
                .iter()
                .map(|w| (w.what.clone(), w.on.kind()))
                .filter(|(what, _)| *what != Subject::Run)
                .collect::<Vec<_>>(),
        ),
        End::Done | End::RolledBack(_) | End::Cancelled(_) | End::Refused(_) => None,
    };
    subjects(one) == subjects(other)
}

/// Of two commands under one key, the moments in marks, the versions of nodes and what a group does after a termination may
/// differ: whichever comes first is the effect.
fn is_same_effect(one: &Effect, other: &Effect) -> bool {
    match (one, other) {
        (
            Effect::Kubernetes(KubernetesEffect::Cordon { node: a, mark: m, .. }),
            Effect::Kubernetes(KubernetesEffect::Cordon { node: b, mark: n, .. }),
        ) => a == b && m.role.as_str() == n.role.as_str(),
        (
            Effect::Kubernetes(KubernetesEffect::Uncordon { node: a, .. }),
            Effect::Kubernetes(KubernetesEffect::Uncordon { node: b, .. }),
        ) => a == b,
        // A tag is written once: what a later command says of the moment is not written.
        (
            Effect::Group(GroupEffect::Tag { group: a, key: k, .. }),
            Effect::Group(GroupEffect::Tag { group: b, key: l, .. }),
        ) => (a, k) == (b, l),
        (
            Effect::Group(GroupEffect::Terminate { instance: a, .. }),
            Effect::Group(GroupEffect::Terminate { instance: b, .. }),
        ) => a == b,
        (a, b) => a == b,
    }
}

#[test]
fn a_core_made_from_what_is_known_decides_the_same() {
    for (spec, with_batch) in specs() {
        for lag in LAGS {
            let mut stage = stage(spec.clone(), lag, with_batch);
            loop {
                let mut fresh =
                    Core::new(stage.plan.clone(), "run".into(), stage.options.clone(), nothing_blocks);
                let end = stage.tick();
                for delta in everything(stage.core.view()) {
                    fresh.observe(delta);
                }
                let rebuilt = fresh.decide(stage.now - Span::from_secs(1));
                compare(&stage, &rebuilt);
                if end.is_some() {
                    break;
                }
            }
        }
    }
}

/// What the rebuilt core wants is what the other wants or has sent a short while ago.
fn compare(stage: &Stage, rebuilt: &Decision) {
    let recently = stage.now - Span::from_secs(62);
    let sent: BTreeSet<&CommandKey> =
        stage.done.iter().filter(|(at, _, _)| *at > recently).map(|(_, command, _)| &command.key).collect();
    for command in &stage.last.commands {
        assert!(
            rebuilt
                .commands
                .iter()
                .any(|other| other.key == command.key && is_same_effect(&other.effect, &command.effect)),
            "not wanted after a restart: {command:?}\n{:#?}",
            rebuilt.commands
        );
    }
    for command in &rebuilt.commands {
        assert!(sent.contains(&command.key), "wanted only after a restart: {command:?}\n{}", stage.story());
    }
    // What is under way is remembered as such; without the memory it waits for the same as before it was sent.
    let passing: BTreeSet<&Subject> = [&stage.last, rebuilt]
        .into_iter()
        .flat_map(|decision| &decision.waiting)
        .filter(|waiting| {
            matches!(
                waiting.on,
                WaitingOn::Run(RunWait::Effect { .. }) | WaitingOn::Run(RunWait::Retry { .. })
            )
        })
        .map(|waiting| &waiting.what)
        .collect();
    let lasting = |decision: &Decision| -> BTreeMap<Subject, String> {
        let waits = decision.waiting.iter().filter(|waiting| !passing.contains(&waiting.what));
        // How many pods are healthy is told with what is under way taken off.
        let words = |on: &WaitingOn| {
            if let WaitingOn::Pod(PodWait::Budget { budget, .. }) = on {
                format!("disruption budget {budget}")
            } else {
                on.to_string()
            }
        };
        waits.map(|waiting| (waiting.what.clone(), words(&waiting.on))).collect()
    };
    let (mine, other) = (lasting(&stage.last), lasting(rebuilt));
    let is_quiet = stage.last.commands.is_empty() && rebuilt.commands.is_empty();
    if is_quiet && stage.last.end.is_none() {
        assert_eq!(mine, other, "{}", stage.story());
    }
}
