//! From notes to the result.

use std::collections::BTreeSet;

use replank_facts::coverage::Coverage;
use replank_model::object::meta::Key;
use replank_model::text::{NodeName, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::NodeRole;
use replank_protocol::decision::End;
use replank_protocol::mark;
use replank_protocol::waiting::{RunEnd, Waiting, WaitingOn};

use super::back::Rollback;
use super::causes;
use super::ended::EndedFor;
use super::holders;
use super::outages;
use super::recorder::Recorder;
use super::result::{
    AssumptionEntry, BatchFigures, Blocker, BudgetFigures, Cause, Ending, NodeFigures, RESULT_VERSION,
    RehearsalResult, Verdict, WorkloadFigures,
};
use super::served::One;
use super::standing;
use super::{Rehearsal, Stop};
use crate::finding_entry::FindingEntry;
use replank_sim::{Assumption, Source, Workload, World};

pub(super) fn result(
    rehearsal: &Rehearsal,
    notes: &Recorder,
    mut findings: Vec<FindingEntry>,
    stop: Stop,
    wall_ms: u64,
) -> RehearsalResult {
    let world = &rehearsal.world;
    let rollback =
        matches!(world.end(), Some(End::RolledBack(_))).then(|| rehearsal.before.compare(world.view()));
    let why = notes.crashes.blocking(world.end());
    let mut causes = causes::causes(world.view(), &why, &findings);
    outages::find(world.view(), notes, world.now(), &mut findings);
    notes.preempted.find(&mut findings);
    let ended = notes.ended.at_end(world.view());
    ended.find(&mut findings);
    let (replaced, total) = notes.replaced();
    // Where no node is to be replaced, what the script's drains come to is the answer.
    let standing = if total == 0 { standing::blockers(world) } else { Vec::new() };
    let refused = standing::not_begun(rehearsal.refused_drains().filter(|_| total == 0));
    let verdict = match stop {
        Stop::RanAway => Verdict::Blocked,
        Stop::Ended | Stop::TimeUp | Stop::Silence if !(standing.is_empty() && refused.is_empty()) => {
            Verdict::Blocked
        }
        Stop::Ended | Stop::TimeUp | Stop::Silence | Stop::Interrupted => {
            verdict((world.end(), rollback.as_ref()), &findings, (replaced, total))
        }
    };
    let left = notes.left();
    if let Some(left) = left.as_ref().filter(|_| !causes.is_empty()) {
        holders::name(world.view(), &mut causes, left, |node| notes.timeline.was_begun(node));
    }
    causes::find(&mut causes, &mut findings, |node| notes.group_of_new(world.view(), node));
    holders::tie(&mut causes);
    causes::agree(world.view(), &mut findings, &causes, left.as_ref());
    if total == 0 {
        standing::find(world, &mut findings);
    }
    let mut blockers = blockers(world, &why, &causes, stop);
    if let Some(runaway) = &rehearsal.runaway {
        blockers.insert(0, Blocker { what: runaway.what.clone(), reason: runaway.reason.clone() });
    }
    let not_back = rollback.iter().flat_map(not_back);
    blockers.extend(not_back.chain(standing).chain(refused));
    RehearsalResult {
        version: RESULT_VERSION,
        verdict,
        coverage: Coverage::default(),
        seed: rehearsal.settings.seed,
        trace_hash: world.trace_hash().to_string(),
        start: rehearsal.settings.start,
        virtual_duration: world.ended().unwrap_or(world.now()) - rehearsal.settings.start,
        wall_ms,
        events: world.events(),
        nodes: NodeFigures {
            total,
            replaced,
            surge_max: notes.surge_max,
            cordoned: world.end().map_or(0, |_| left_cordoned(world.view(), left.as_ref())),
        },
        pods: notes.pods,
        batch: BatchFigures {
            on_nodes: notes.batch_before(),
            waited: notes.waits.batch_pods(),
            killed: notes.batch_killed,
            ended_by_run: ended.of(EndedFor::Run),
            ended_by_others: ended.of(EndedFor::Others),
        },
        budgets: budgets(notes),
        evictions: notes.evictions.entries(),
        workloads: workloads(world.view(), notes, world.now()),
        unschedulable: notes.waiting.entries(),
        findings,
        remedies: Vec::new(),
        ending: Ending::of(rehearsal.end(), rollback.as_ref()),
        rollback,
        blockers,
        causes,
        waits: notes.waits.all(),
        stages: notes.stages.entries(&notes.served),
        starts: notes.starts.entries(rehearsal.settings.start, world.now(), notes.chosen.as_ref()),
        noticed: notes.noticed.clone(),
        script_events: rehearsal.happened(),
        connections: rehearsal.connections.figures(world.now()),
        autoscalers: rehearsal.elasticity.figures(world.view(), world.now()),
        interruptions: rehearsal.interruptions.figures(),
        watched: world.now() - rehearsal.settings.start,
        timeline: notes.timeline.nodes(),
        assumptions: rehearsal
            .assumptions
            .iter()
            .cloned()
            .chain(rehearsal.world.assumptions())
            .map(|assumption| entry(&assumption))
            .collect(),
    }
}

/// Nodes that are left with a cordon of the run. What is retained was replaced.
fn left_cordoned(view: &View, left: Option<&BTreeSet<NodeName>>) -> usize {
    let nodes = left.into_iter().flatten().filter_map(|name| view.node(name));
    let ours = nodes.filter(|node| node.spec.unschedulable).filter_map(|node| mark::of(node));
    ours.filter(|found| matches!(found.mark.role, NodeRole::Queued | NodeRole::Draining { .. })).count()
}

/// A node that was left out is something to be looked at, though the plan asked for it; and so is a run that somebody ended.
fn verdict(
    (end, rollback): (Option<&End>, Option<&Rollback>),
    findings: &[FindingEntry],
    (replaced, total): (usize, usize),
) -> Verdict {
    let all_replaced = replaced == total;
    match end {
        Some(End::Blocked(why)) if replaced > 0 && causes::went_as_far_as_it_goes(why) => Verdict::Partial,
        Some(End::Done) if findings.is_empty() && all_replaced => Verdict::Passes,
        Some(End::Done) => Verdict::Findings,
        Some(End::Cancelled(_)) => Verdict::Findings,
        Some(End::RolledBack(why)) if was_wanted(why) && rollback.is_none_or(Rollback::is_complete) => {
            Verdict::Findings
        }
        Some(End::RolledBack(_) | End::Blocked(_)) | None => Verdict::Blocked,
        Some(End::Refused(_)) => Verdict::Refused,
    }
}

/// Whether somebody wanted the run to be taken back.
fn was_wanted(why: &[Waiting]) -> bool {
    why.iter().any(|waiting| matches!(waiting.on, WaitingOn::RunEnd(RunEnd::Undone { .. })))
}

/// What blocks, in the order of its causes: a page tells those.
fn blockers(world: &World, blocking: &[Waiting], causes: &[Cause], stop: Stop) -> Vec<Blocker> {
    let now = world.now();
    let why = match stop {
        Stop::Ended => None,
        Stop::RanAway => Some(format!("stopped at {now}: it would not end")),
        Stop::TimeUp => Some(format!("the rehearsal reached its time limit at {now}")),
        Stop::Silence => Some(format!("no event was left at {now}")),
        Stop::Interrupted => Some(format!("interrupted at {now}")),
    };
    let mut all: Vec<Blocker> =
        why.into_iter().map(|reason| Blocker { what: "rehearsal".into(), reason }).collect();
    // What keeps something comes before what follows from it.
    let (kept, ends): (Vec<_>, Vec<_>) =
        blocking.iter().partition(|waiting| causes::keeps_something(waiting));
    all.extend(
        causes::in_order(world.view(), causes, &kept)
            .into_iter()
            .chain(ends)
            .map(|entry| Blocker { what: entry.what.to_string(), reason: entry.on.reason().to_string() }),
    );
    all
}

/// What a rollback has left that is not as before.
fn not_back(rollback: &Rollback) -> Vec<Blocker> {
    let other = rollback.other.iter().map(|one| Blocker {
        what: format!("Node {}", one.node),
        reason: format!(
            "came with the roll into group {}, is still there, and has {} pods",
            one.group, one.pods
        ),
    });
    let missing = rollback.missing.iter().map(|(group, nodes)| Blocker {
        what: format!("NodeGroup {group}"),
        reason: format!("has {nodes} fewer nodes than before the roll"),
    });
    other.chain(missing).collect()
}

fn budgets(notes: &Recorder) -> Vec<BudgetFigures> {
    let touched = notes.budgets.sorted().filter(|(_, count)| count.touched);
    touched
        .map(|(key, count)| BudgetFigures {
            namespace: key.namespace.text().clone(),
            name: key.name.text().clone(),
            desired_healthy: count.desired,
            min_healthy: count.min,
            violations: count.violations,
            undercut_by_interruptions: count.undercut_by_interruptions,
            history: count.history.clone(),
        })
        .collect()
}

fn workloads(view: &View, notes: &Recorder, now: Time) -> Vec<WorkloadFigures> {
    let concerned = |(workload, one): &(&Workload, &One)| {
        one.count.moved || outages::is_short(view, workload, &one.count)
    };
    let moved = notes.served.iter().filter(concerned);
    moved
        .map(|(workload, One { count, course, covered, .. })| WorkloadFigures {
            kind: workload.kind.clone(),
            namespace: workload.namespace.text().clone(),
            name: workload.name.clone(),
            desired: outages::desired(view, workload).unwrap_or(count.before),
            min_ready: count.min,
            without_ready: outages::dark(count, now),
            budgets: names(notes, covered),
            history: course.entries(),
        })
        .collect()
}

/// The names of budgets, in order.
fn names(notes: &Recorder, budgets: &BTreeSet<usize>) -> Vec<Text> {
    let keys: BTreeSet<&Key> = budgets.iter().map(|number| notes.budgets.name(*number)).collect();
    keys.into_iter().map(|key| key.name.text().clone()).collect()
}

fn entry(assumption: &Assumption) -> AssumptionEntry {
    let (source, samples) = match assumption.source {
        Source::Learnt(samples) => ("learnt", samples),
        Source::Default => ("default", 0),
    };
    AssumptionEntry { about: assumption.about.clone(), value: assumption.value.clone(), source, samples }
}
