//! How long the replacement of each group takes, and whether it comes to its end: each is rehearsed on the snapshot.

use std::collections::BTreeMap;

use replank_advice::preflight;
use replank_advice::upgrade::kubelet;
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{Rehearsed, UpgradePlan};
use replank_facts::coverage::Coverage;
use replank_facts::plan::{Plan, Target};
use replank_model::text::{GroupName, Text};
use replank_rehearse::{RehearsalResult, Verdict};

use super::Taken;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::rehearse::{self, Scene};
use crate::snapshot::Cluster;

/// Blockers of a rehearsal that are named.
const NAMED_MAX: usize = 3;

/// Rehearses every group once, whichever way it takes: what moves is the same each time.
pub(super) fn rehearse(
    taken: &Taken,
    draft: &UpgradePlan,
    seed: u64,
    interrupt: &Interrupt,
) -> Result<BTreeMap<Text, Rehearsed>, Failure> {
    let mut rehearsed = BTreeMap::new();
    for route in &draft.routes {
        for roll in &route.rolls {
            if interrupt.is_pressed() || rehearsed.contains_key(&roll.group) {
                continue;
            }
            let name = GroupName::from(roll.group.clone());
            // A machine on its own is in no group: there is nothing to rehearse.
            let groups = rehearse::groups::of_label(&taken.view, &taken.label);
            if !groups.iter().any(|learnt| learnt.group.name == name) {
                continue;
            }
            let target =
                Target { kubernetes_version: draft.to.to_string().parse().ok(), ..Target::default() };
            let plan = Plan::of_groups(format!("upgrade-{}", roll.group), vec![name], target);
            let cluster = Cluster {
                view: taken.view.clone(),
                now: taken.now,
                older: None,
                coverage: Coverage::default(),
            };
            let mut scene = Scene::new(taken.name.clone(), cluster, plan, &taken.label)?;
            scene.preflight = preflight::blocking_step;
            drop(take_off_lost_labels(&mut scene, taken, &roll.group, roll.from, roll.to));
            let result = rehearse::once(&scene, seed, interrupt);
            rehearsed.insert(roll.group.clone(), of(&result));
        }
    }
    Ok(rehearsed)
}

/// Takes the labels off a group's launch template that its new kubelets do not set, where its user data is known: what selects them finds no new node.
/// What was taken off.
pub(crate) fn take_off_lost_labels(
    scene: &mut Scene,
    taken: &Taken,
    group: &Text,
    from: Minor,
    to: Minor,
) -> Vec<Text> {
    if !taken.kubelets.contains_key(group) {
        return Vec::new();
    }
    let mut lost = Vec::new();
    for learnt in scene.groups.iter_mut().filter(|learnt| learnt.group.name.text() == group) {
        for template in learnt.group.templates.values_mut() {
            for key in kubelet::lost_labels(&template.profile, from, to) {
                template.profile.labels = template.profile.labels.without(&key);
                lost.push(key);
            }
        }
    }
    lost
}

/// The outcome.
fn of(result: &RehearsalResult) -> Rehearsed {
    let blockers = match result.verdict {
        Verdict::Passes | Verdict::Findings | Verdict::Incomplete => Vec::new(),
        Verdict::Partial | Verdict::Blocked | Verdict::Refused => blockers(result),
    };
    Rehearsed { takes: result.virtual_duration, blockers }
}

/// In a few words, the first ones.
pub(crate) fn blockers(result: &RehearsalResult) -> Vec<String> {
    let mut named: Vec<String> = result
        .blockers
        .iter()
        .take(NAMED_MAX)
        .map(|blocker| format!("{}: {}", blocker.what, blocker.reason))
        .collect();
    if result.blockers.len() > NAMED_MAX {
        named.push(format!("{} more", result.blockers.len() - NAMED_MAX));
    }
    if named.is_empty() {
        named.push("it did not finish within its time limit".to_owned());
    }
    named
}
