//! What many runs met, as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use replank_protocol::decision::End;

use super::Trial;
use crate::check::Met;
use crate::clusters::Neighbour;

/// Sums over many runs.
#[derive(Clone, Debug, Default)]
pub struct Table {
    runs: usize,
    nodes: usize,
    events: u64,
    commands: usize,
    unknowable: usize,
    /// Runs that saw something.
    saw: BTreeMap<&'static str, usize>,
    /// Runs that waited for a kind of reason.
    waits: BTreeMap<&'static str, usize>,
    /// Runs that were blocked by a kind of reason.
    blockers: BTreeMap<&'static str, usize>,
    neighbours: BTreeMap<Neighbour, usize>,
}

/// How many of a hundred runs must have seen something.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// What.
    pub what: &'static str,
    /// Percent.
    pub percent: usize,
}

impl Table {
    /// Takes in a run.
    pub fn add(&mut self, trial: &Trial) {
        let sights = &trial.sights;
        self.runs += 1;
        self.nodes += trial.nodes;
        self.events += trial.events;
        self.commands += trial.commands.len();
        self.unknowable += sights.unknowable;
        *self.neighbours.entry(trial.neighbour).or_default() += 1;
        let ending = match &trial.end {
            Some(End::Done) => "ended: done",
            Some(End::RolledBack(_)) => "ended: rolled back",
            Some(End::Blocked(_)) => "ended: blocked",
            Some(End::Cancelled(_)) => "ended: cancelled",
            Some(End::Refused(_)) => "ended: refused",
            None => "ended: not at all",
        };
        let seen = [
            (ending, true),
            ("a refused eviction of ours", sights.refused > 0),
            ("a refused eviction of somebody else's", trial.refused_of_others > 0),
            ("a batch wait", sights.batch_waits > 0),
            ("a pending pod", sights.pending > 0),
            ("a pod that was moved", sights.evicted > 0),
            ("an instance that was ended", sights.ended > 0),
            ("a stuck pod", sights.met.contains(&Met::StuckPod)),
            ("an instance that was ended with stuck pods", sights.ended_stuck > 0),
            ("a node that was postponed", sights.postponed > 0),
            ("a forced deletion", sights.forced > 0),
            ("a crash loop", sights.met.contains(&Met::CrashLoop)),
            ("a pod that restarts again and again", sights.met.contains(&Met::Restarts)),
            ("a new node with a bad condition", sights.met.contains(&Met::BadNode)),
            ("a gate that was passed", sights.met.contains(&Met::Gate)),
            ("a way back", sights.met.contains(&Met::WayBack)),
            ("something blocking that is refused", sights.met.contains(&Met::Blocking)),
            ("something unknowable", sights.unknowable > 0),
            ("an instance that was taken away", sights.met.contains(&Met::Struck)),
            ("one that was taken away after the run", sights.met.contains(&Met::StruckAfter)),
            ("a pod that was rescued", sights.met.contains(&Met::Rescued)),
            ("a pod that was ended in the last moment", sights.met.contains(&Met::LastMoment)),
            ("a completed lifecycle action", sights.met.contains(&Met::Completed)),
            ("a heartbeat", sights.met.contains(&Met::Heartbeat)),
            ("another instance asked for beforehand", sights.met.contains(&Met::Relieved)),
            ("a node that was released", sights.met.contains(&Met::Release)),
            ("an autoscaler that scaled", sights.met.contains(&Met::Rescaled)),
            ("nodes that the autoscaler added", sights.met.contains(&Met::NodesAdded)),
            ("nodes that the autoscaler took away", sights.met.contains(&Met::NodesTaken)),
            ("a start from objects alone", trial.starts.from_objects > 0),
            ("a start from the plan again", trial.starts.from_plan > 0),
            ("a lost request", trial.mishaps.lost_requests > 0),
            ("a lost answer", trial.mishaps.lost_answers > 0),
            ("a late answer", trial.mishaps.late_answers > 0),
            ("a throttled command", trial.mishaps.throttled > 0),
            ("a throttled command that was given up", trial.mishaps.given_up > 0),
            ("a late delivery", trial.mishaps.late_deliveries > 0),
            ("a partial poll", trial.mishaps.partial_polls > 0),
            ("a write between check and act", sights.met.contains(&Met::Race)),
        ];
        for (what, seen) in seen {
            *self.saw.entry(what).or_default() += usize::from(seen);
        }
        if let Some(End::Blocked(blockers)) = &trial.end {
            for kind in blockers.iter().map(|blocker| blocker.on.kind()).collect::<BTreeSet<_>>() {
                *self.blockers.entry(kind).or_default() += 1;
            }
        }
        for kind in sights.waits.keys() {
            *self.waits.entry(kind).or_default() += 1;
        }
    }

    /// What was seen too seldom.
    #[must_use]
    pub fn missed(&self, floors: &[Floor]) -> Vec<String> {
        let share = |what: &str| self.saw.get(what).copied().unwrap_or(0) * 100;
        let missed = floors.iter().filter(|floor| share(floor.what) < floor.percent * self.runs);
        missed
            .map(|floor| {
                let seen = self.saw.get(floor.what).copied().unwrap_or(0);
                format!(
                    "{} was seen by {seen} of {} clusters, {}% must",
                    floor.what, self.runs, floor.percent
                )
            })
            .collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, nodes, events, commands, unknowable, .. } = self;
        writeln!(
            f,
            "{runs} clusters, {nodes} nodes, {events} events, {commands} commands, {unknowable} times unknowable"
        )?;
        let share = |count: &usize| *count as f64 * 100.0 / (*runs).max(1) as f64;
        writeln!(f, "share of clusters that saw")?;
        for (what, count) in &self.saw {
            writeln!(f, "  {:5.1}%  {what}", share(count))?;
        }
        writeln!(f, "share of clusters in which something waited on")?;
        for (kind, count) in &self.waits {
            writeln!(f, "  {:5.1}%  {kind}", share(count))?;
        }
        writeln!(f, "share of clusters that were blocked, among others, by")?;
        for (kind, count) in &self.blockers {
            writeln!(f, "  {:5.1}%  {kind}", share(count))?;
        }
        writeln!(f, "share of clusters with a neighbour who")?;
        for (neighbour, count) in &self.neighbours {
            writeln!(f, "  {:5.1}%  {neighbour:?}", share(count))?;
        }
        Ok(())
    }
}
