//! One trial: changes made on a copy, and what is found then.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::finding::{Finding, ObjectName, Severity};
use replank_facts::remedy::{Edit, Way};
use replank_model::object::meta::Key;
use replank_model::time::Time;
use replank_model::view::View;

use super::copy::{Copy, RunsAway};
use super::ground::Ground;

/// How findings are found.
pub type Find<'f, R> = &'f dyn Fn(&Ground) -> Vec<Finding<R>>;

/// What a trial shows.
pub(super) struct Outcome<R> {
    /// When it was.
    pub(super) now: Time,
    /// What is found then.
    pub(super) found: Found<R>,
    /// Pods that no node has taken.
    pub(super) pending: BTreeSet<Key>,
}

/// Why a trial has no outcome.
#[derive(Clone, Debug)]
pub(super) enum Failed {
    /// One way is refused: which, and with what words.
    Refused(usize, String),
    /// Something makes or changes objects without end.
    RunsAway,
}

/// Findings by what they are of, with how bad they are.
pub(super) type Found<R> = BTreeMap<(R, ObjectName), Vec<Severity>>;

impl<R: Ord + Clone> Outcome<R> {
    fn of(after: &Ground, find: Find<'_, R>) -> Self {
        Self { now: after.now, found: found(&find(after)), pending: pending(&after.view) }
    }
}

/// Makes changes on a copy: the cluster after them.
///
/// # Errors
/// Which way is refused, and with what words; or that something runs away.
pub(super) fn changed(ground: &Ground, ways: &[&Way]) -> Result<Ground, Failed> {
    let mut edits: Vec<(usize, &Edit)> = Vec::new();
    for (at, edit) in
        ways.iter().enumerate().flat_map(|(at, way)| way.edits.iter().map(move |edit| (at, edit)))
    {
        // Two findings may be mended by one change.
        if !edits.iter().any(|(_, known)| *known == edit) {
            edits.push((at, edit));
        }
    }
    let edits = || edits.iter().copied();
    if edits().all(|(_, edit)| edit.writes().is_empty()) {
        // Nothing moves where only the plan, or what the cloud does, is changed.
        let mut after = ground.clone();
        for (at, edit) in edits() {
            after.apply(edit).map_err(|why| Failed::Refused(at, why))?;
        }
        return Ok(after);
    }
    let mut copy = Copy::of(ground);
    for (at, edit) in edits() {
        copy.make(edit).map_err(|why| Failed::Refused(at, why))?;
    }
    let targets = edits().flat_map(|(_, edit)| edit.targets());
    copy.settle(&targets.map(|target| (target.kind, target.key)).collect())
        .map_err(|RunsAway| Failed::RunsAway)?;
    Ok(copy.ground())
}

/// Makes changes on a copy and looks at what is found then.
///
/// # Errors
/// As [`changed`].
pub(super) fn make<R: Ord + Clone>(
    ground: &Ground,
    ways: &[&Way],
    find: Find<'_, R>,
) -> Result<Outcome<R>, Failed> {
    Ok(Outcome::of(&changed(ground, ways)?, find))
}

/// What is found where nothing is changed but the time: what comes or goes by itself is nobody's work.
///
/// # Errors
/// That something runs away.
pub(super) fn untouched<R: Ord + Clone>(
    ground: &Ground,
    until: Time,
    find: Find<'_, R>,
) -> Result<Outcome<R>, Failed> {
    let mut copy = Copy::of(ground);
    copy.pass(until - ground.now).map_err(|RunsAway| Failed::RunsAway)?;
    Ok(Outcome::of(&copy.ground(), find))
}

pub(super) fn found<R: Ord + Clone>(findings: &[Finding<R>]) -> Found<R> {
    let mut found: Found<R> = BTreeMap::new();
    for finding in findings {
        found.entry((finding.rule.clone(), finding.object.clone())).or_default().push(finding.severity);
    }
    found
}

/// Pods that no node has taken, and that would run if one did.
fn pending(view: &View) -> BTreeSet<Key> {
    let pods = view.pods.unordered().map(|(_, pod)| pod);
    let without =
        pods.filter(|pod| pod.is_active() && pod.node.is_none() && pod.spec.scheduling_gates.is_empty());
    without.map(|pod| pod.meta.key()).collect()
}
