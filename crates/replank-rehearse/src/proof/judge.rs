//! Who judges trials: alone or together, and what is to blame where something is amiss.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_facts::finding::{Finding, ObjectName, Severity};
use replank_facts::remedy::Way;
use replank_model::object::meta::Key;
use replank_model::time::Span;

use super::batch::{Candidate, Touched, go_together, touched};
use super::form::{Stops, Verdict};
use super::ground::Ground;
use super::trial::{Failed, Find, Found, Outcome, changed, found, make, untouched};

/// How many copies may be made: a copy of a large cluster takes time.
#[derive(Clone, Copy, Debug)]
pub struct Trials(pub usize);

impl Trials {
    /// Pods of all copies together that take a few seconds.
    const PODS: usize = 60_000;

    /// As many as take a few seconds; three at least: all changes, none, and one more look.
    #[must_use]
    pub fn of(ground: &Ground) -> Self {
        Self((Self::PODS / ground.view.pods.len().max(1)).clamp(3, 200))
    }
}

/// What a candidate is judged by.
pub(super) struct Judge<'a, R> {
    ground: &'a Ground,
    findings: &'a [Finding<R>],
    find: Find<'a, R>,
    before: Found<R>,
    untouched: BTreeMap<Span, Rc<Outcome<R>>>,
    trials: usize,
    runs_away: bool,
    /// What is proved so far: more is tried on top of it, so that everything that is proposed can be had together.
    accepted: Vec<Candidate<'a>>,
    /// What is found with that, once it was asked for: what they bring is theirs alone.
    with_accepted: Option<Found<R>>,
}

const TOO_LARGE: &str = "the cluster is too large to try every change alone";
const RUNS_AWAY: &str = "something there makes or changes objects without end";

type Verdicts<'a> = Vec<(Candidate<'a>, Verdict)>;

impl<'a, R: Ord + Clone> Judge<'a, R> {
    pub(super) fn new(
        ground: &'a Ground,
        findings: &'a [Finding<R>],
        find: Find<'a, R>,
        trials: Trials,
    ) -> Self {
        let before = found(findings);
        Self {
            ground,
            findings,
            find,
            before,
            untouched: BTreeMap::new(),
            trials: trials.0,
            runs_away: false,
            accepted: Vec::new(),
            with_accepted: None,
        }
    }

    /// Tries ways together, on top of what is proved, and where something is amiss in halves.
    pub(super) fn try_all(&mut self, batch: Vec<Candidate<'a>>) -> Verdicts<'a> {
        let verdicts = self.judge(batch);
        for (one, verdict) in &verdicts {
            let is_first = !self.accepted.iter().any(|known| known.finding == one.finding);
            if *verdict == Verdict::Proved && is_first {
                self.accepted.push(*one);
                self.with_accepted = None;
            }
        }
        verdicts
    }

    fn judge(&mut self, batch: Vec<Candidate<'a>>) -> Verdicts<'a> {
        if batch.is_empty() {
            return Vec::new();
        }
        if self.trials == 0 {
            let why = if self.runs_away { RUNS_AWAY } else { TOO_LARGE };
            return batch.into_iter().map(|one| (one, Verdict::Withheld(why.to_owned()))).collect();
        }
        self.trials -= 1;
        // Of a finding whose first way is proved, another way is an alternative to that.
        let others: Vec<Candidate<'a>> = self
            .accepted
            .iter()
            .filter(|known| !batch.iter().any(|one| one.finding == known.finding))
            .copied()
            .collect();
        let ways: Vec<&Way> = others.iter().chain(&batch).map(|one| one.way).collect();
        let outcome = match make(self.ground, &ways, self.find) {
            Ok(outcome) => outcome,
            Err(Failed::RunsAway) => return self.give_up(batch),
            Err(Failed::Refused(at, why)) => {
                let mut rest = batch;
                // What is proved was taken before: it is the newer one that does not go with it.
                let refused = rest.remove(at.saturating_sub(others.len()));
                let mut verdicts = self.try_all(rest);
                verdicts.push((refused, Verdict::Withheld(format!("it is refused: {why}"))));
                return verdicts;
            }
        };
        self.look_at_accepted();
        let Ok(amiss) = self.amiss(&batch, &others, &outcome) else { return self.give_up(batch) };
        if let [only] = batch.as_slice() {
            return vec![(
                *only,
                amiss.of(only.finding, self.findings).map_or(Verdict::Proved, Verdict::Withheld),
            )];
        }
        let (suspects, clear): (Vec<_>, Vec<_>) =
            batch.iter().copied().partition(|one| amiss.of(one.finding, self.findings).is_some());
        let mut verdicts: Verdicts<'a> = clear.into_iter().map(|one| (one, Verdict::Proved)).collect();
        if suspects.len() < batch.len() {
            verdicts.extend(self.try_all(suspects));
        } else {
            let mut suspects = suspects;
            let other = suspects.split_off(suspects.len() / 2);
            verdicts.extend(self.try_all(suspects));
            verdicts.extend(self.try_all(other));
        }
        verdicts
    }

    fn amiss(
        &mut self,
        batch: &[Candidate<'a>],
        others: &[Candidate<'a>],
        outcome: &Outcome<R>,
    ) -> Result<Amiss<R>, Failed> {
        let worst = |all: &Found<R>, key: &(R, ObjectName)| {
            all.get(key).and_then(|severities| severities.iter().min().copied())
        };
        let known = |key: &(R, ObjectName)| {
            let with = self.with_accepted.as_ref().and_then(|all| worst(all, key));
            worst(&self.before, key).into_iter().chain(with).min()
        };
        let come = outcome.found.iter().filter_map(|(key, severities)| {
            let now = *severities.iter().min()?;
            known(key).is_none_or(|known| now < known).then(|| (key.clone(), now))
        });
        let mut come: Vec<_> = come.collect();
        let mut pending = None;
        // What has come by itself is not the changes' work: only where something has come is that looked at, as it takes another copy.
        if !come.is_empty() || !outcome.pending.is_empty() {
            let by_itself = self.by_itself(outcome)?;
            let by_itself = by_itself.as_deref();
            come.retain(|(key, now)| {
                by_itself.and_then(|one| worst(&one.found, key)).is_none_or(|then| *now < then)
            });
            pending = by_itself.and_then(|one| outcome.pending.difference(&one.pending).next().cloned());
        }
        let left = batch.iter().filter(|one| !self.is_gone(batch, others, **one, outcome));
        Ok(Amiss { left: left.map(|one| one.finding).collect(), come, pending })
    }

    /// What is found with the changes that are proved, and no other.
    fn look_at_accepted(&mut self) {
        if self.accepted.is_empty() || self.with_accepted.is_some() {
            return;
        }
        let ways: Vec<&Way> = self.accepted.iter().map(|one| one.way).collect();
        self.with_accepted = make(self.ground, &ways, self.find).ok().map(|outcome| outcome.found);
    }

    /// Nothing more can be told of a cluster that does not come to rest.
    fn give_up(&mut self, batch: Vec<Candidate<'a>>) -> Verdicts<'a> {
        (self.trials, self.runs_away) = (0, true);
        self.try_all(batch)
    }

    /// What is found after as much time with nothing changed; none where no time has passed.
    fn by_itself(&mut self, outcome: &Outcome<R>) -> Result<Option<Rc<Outcome<R>>>, Failed> {
        let span = outcome.now - self.ground.now;
        if span == Span::ZERO {
            return Ok(None);
        }
        if let Some(known) = self.untouched.get(&span) {
            return Ok(Some(known.clone()));
        }
        let fresh = Rc::new(untouched(self.ground, outcome.now, self.find)?);
        self.untouched.insert(span, fresh.clone());
        Ok(Some(fresh))
    }

    /// Whether a finding is gone, or weaker; where several are of one rule and object, as many fewer as are to go.
    fn is_gone(
        &self,
        batch: &[Candidate<'a>],
        others: &[Candidate<'a>],
        one: Candidate<'a>,
        outcome: &Outcome<R>,
    ) -> bool {
        let finding = &self.findings[one.finding];
        let key = (finding.rule.clone(), finding.object.clone());
        let as_bad = |all: &Found<R>| {
            all.get(&key)
                .map_or(0, |all| all.iter().filter(|severity| **severity <= finding.severity).count())
        };
        let is_alike = |other: &&Candidate<'a>| {
            let other = &self.findings[other.finding];
            (&other.rule, &other.object) == (&finding.rule, &finding.object)
        };
        let to_go = batch.iter().chain(others).filter(is_alike).count();
        as_bad(&outcome.found) + to_go <= as_bad(&self.before)
    }

    /// Rehearses with proved ways of what blocks; which of them let the roll go on, and why others do not.
    pub(super) fn rehearse(&self, blocking: &[Candidate<'_>], stops: Stops<'_>) -> Vec<(usize, Verdict)> {
        let mut verdicts = Vec::new();
        let mut left: Vec<Candidate<'_>> = blocking.to_vec();
        // Those that change one object in different ways take a rehearsal each.
        for _ in 0..REHEARSALS {
            let mut taken = Touched::new();
            let (together, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|one| {
                let touched = touched(one.way);
                let goes = go_together(&taken, &touched);
                if goes {
                    taken.extend(touched);
                }
                goes
            });
            if !together.is_empty() {
                verdicts.extend(self.rehearse_together(&together, stops));
            }
            left = others;
        }
        verdicts.extend(left.iter().map(|one| (one.finding, Verdict::Withheld(UNREHEARSED.to_owned()))));
        verdicts
    }

    fn rehearse_together(&self, together: &[Candidate<'_>], stops: Stops<'_>) -> Vec<(usize, Verdict)> {
        let ways: Vec<&Way> = together.iter().map(|one| one.way).collect();
        let left = changed(self.ground, &ways).map(|after| stops(&after));
        let verdict = |one: &Candidate<'_>| {
            let Ok(left) = &left else { return Verdict::Withheld(UNREHEARSED.to_owned()) };
            let object = self.findings[one.finding].object.to_string();
            let is_left =
                left.contains(&object) || touched(one.way).keys().any(|target| left.contains(target));
            match is_left {
                true => Verdict::Withheld("with it, the rehearsed roll still stops there".to_owned()),
                false => Verdict::Proved,
            }
        };
        together.iter().map(|one| (one.finding, verdict(one))).collect()
    }
}

/// Rehearsals of one sort of ways.
const REHEARSALS: usize = 3;
const UNREHEARSED: &str = "the roll could not be rehearsed with it beside the others";

/// What is not as it should be after a trial.
struct Amiss<R> {
    /// Findings that are still there.
    left: BTreeSet<usize>,
    /// Findings that have come.
    come: Vec<((R, ObjectName), Severity)>,
    /// A pod that has no place any more.
    pending: Option<Key>,
}

impl<R: Ord + Clone> Amiss<R> {
    /// Why a way is not proposed, if it may be to blame.
    fn of(&self, finding: usize, findings: &[Finding<R>]) -> Option<String> {
        if self.left.contains(&finding) {
            return Some("with it, the same is found".to_owned());
        }
        if let Some(pod) = &self.pending {
            return Some(format!("with it, pod {pod} would be Pending: no node can take it"));
        }
        let severity = findings[finding].severity;
        let heavy = self.come.iter().find(|(_, come)| *come <= severity);
        heavy.map(|((_, object), come)| {
            format!("with it, there would be another finding ({come}) about {object}")
        })
    }
}
