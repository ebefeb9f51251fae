//! A run: the roll as planned and, should it halt and the plan say so, the way back.
//!
//! The way back is a roll too. It goes over the groups whose launch template the run had changed; what it takes for new is
//! what the former template makes, so it keeps the nodes that were never touched, and replaces those that the run had
//! made, with the same care and the same budgets. It has a run id of its own, by which a restart finds it under way.

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::cloud::NodeGroup;
use replank_model::text::{GroupName, RunId, Text};
use replank_model::time::Time;
use replank_model::view::{Change, View};

use crate::account::Account;
use crate::builder::{DecisionBuilder, Wish};
use crate::roll::record::{self, Reader, Standing};
use crate::roll::{RELEASE_WITHIN, Roll, goes_back};
use crate::sent::COMMAND_LIFE;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{Base, BlockingFindings, Care, Chosen, ChosenBy, OnFailure, Plan, Target, Windows};
use replank_protocol::command::{CommandKey, Dependents, Effect, KubernetesEffect};
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use replank_protocol::mark::{self, Begun, Halt, Halted};
use replank_protocol::record::{RunRecord, key as record_key};
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{RollEnd, RunEnd, RunWait, Subject, Waiting, WaitingOn};

/// What keeps a run from beginning, found in what was observed: one reason per object, in order. Which findings do so is
/// for it to say, by the plan's `blockingFindings` (promise S9); the rules themselves are in `replank-advice`.
pub type Preflight = fn(&View, &Plan, &RunOptions) -> Vec<Waiting>;

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Run {
    plan: Arc<Plan>,
    id: RunId,
    /// That of the way back.
    id_back: RunId,
    options: RunOptions,
    preflight: Preflight,
    intent: Intent,
    /// What was asked for and is not in the record yet. From then on the record counts: another process may write there what is wanted.
    asked: Option<Intent>,
    /// Where it keeps a record.
    reader: Option<Reader>,
    forward: Roll,
    back: Option<Back>,
    admission: Admission,
    /// Since when its record is to be deleted.
    over_since: Option<Time>,
    /// Whether an end that it came to was taken: it does nothing after that, unless somebody wants it taken back.
    is_over: bool,
}

/// Whether the run may begin: that is asked once. Who was told that it is refused is not to see it begin after all, hours later, because what
/// was found has gone meanwhile.
#[derive(Clone, Debug, PartialEq)]
enum Admission {
    /// Not asked yet.
    Open,
    /// Nothing that was found keeps it from beginning, or it had begun before.
    Admitted,
    /// For these findings.
    Refused(Vec<Waiting>),
}

#[derive(Debug)]
struct Back {
    roll: Roll,
    /// What had blocked.
    why: Vec<Waiting>,
}

impl Run {
    pub(crate) fn new(plan: Arc<Plan>, id: RunId, options: RunOptions, preflight: Preflight) -> Self {
        let forward = Roll::new(plan.clone(), id.clone(), options.clone());
        let run = Self {
            plan,
            id_back: RunId::new(format!("{id}-back")),
            id,
            options,
            preflight,
            intent: Intent::Run,
            asked: None,
            reader: None,
            forward,
            back: None,
            admission: Admission::Open,
            over_since: None,
            is_over: false,
        };
        // Nodes that somebody else replaces have no groups that anything could be written on.
        if run.plan.external().is_some() { run.with_record() } else { run }
    }

    /// The same run, of which nothing is known yet.
    pub(crate) fn anew(&self) -> Self {
        let anew = Self::new(self.plan.clone(), self.id.clone(), self.options.clone(), self.preflight);
        if self.reader.is_some() { anew.with_record() } else { anew }
    }

    /// The same run, which writes down what another process needs to go on with it.
    pub(crate) fn with_record(mut self) -> Self {
        self.reader = Some(Reader::new(&self.plan, &self.id));
        self
    }

    pub(crate) fn intend(&mut self, intent: Intent) {
        self.asked = Some(intent);
        self.take_up(intent);
    }

    fn take_up(&mut self, intent: Intent) {
        if self.intent != intent && intent == Intent::Undo {
            self.forward.reopen();
            self.is_over = false;
        }
        self.intent = intent;
    }

    /// Whether the end that the run has come to was taken, or was not the end of all that goes on: then it is looked into again, for what the run
    /// has to give back may be something else by then.
    pub(crate) fn came_to_end(&mut self, is_taken: bool) {
        self.is_over |= is_taken;
        if self.is_over {
            self.current().rest();
        } else {
            self.current().reopen();
        }
    }

    pub(crate) fn intent(&self) -> Intent {
        self.intent
    }

    pub(crate) fn observe(&mut self, view: &View, change: &Change) {
        self.current().observe(view, change);
    }

    pub(crate) fn drop_caches(&mut self) {
        self.reader.iter_mut().for_each(Reader::drop_caches);
        self.current().drop_caches();
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    pub(crate) fn decide(&mut self, view: &View, now: Time, account: &mut Account) -> Decision {
        account.rolled.clear();
        account.marked.clear();
        let standing = self.reader.as_mut().map(|reader| reader.look(view));
        if let Some(Standing::Written(known, _)) = &standing {
            match self.asked {
                Some(asked) if asked != known.intent => {}
                Some(_) | None => {
                    self.asked = None;
                    self.take_up(known.intent);
                }
            }
        }
        let decision = self.go_on(view, now, account, standing.as_ref());
        match &standing {
            Some(standing) => self.and_record(view, now, account, decision, standing),
            None => decision,
        }
    }

    fn go_on(
        &mut self,
        view: &View,
        now: Time,
        account: &mut Account,
        standing: Option<&Standing>,
    ) -> Decision {
        if self.admission == Admission::Open {
            let blocking = self.refused_for(view, standing);
            self.admission =
                if blocking.is_empty() { Admission::Admitted } else { Admission::Refused(blocking) };
        }
        if let Admission::Refused(blocking) = &self.admission {
            let mut waiting = blocking.clone();
            waiting.sort_by(|a, b| a.what.cmp(&b.what));
            waiting.dedup_by(|later, first| later.what == first.what);
            let (waiting, end) = (waiting.into(), Some(End::Refused(blocking.clone())));
            return Decision { waiting, end, ..Decision::default() };
        }
        if let Some(Standing::Taken(..)) = standing {
            return self.forward.decide(view, (now, self.intent), standing, account);
        }
        if self.back.is_none() && self.is_going_back(view) {
            self.back = self.way_back(view, now, self.wanted_back(view));
        }
        if let Some(back) = &mut self.back {
            // That the run was to be taken back is what this roll does.
            let intent = if self.intent == Intent::Undo { Intent::Run } else { self.intent };
            let mut decision = back.roll.decide(view, (now, intent), None, account);
            if decision.end == Some(End::Done) {
                decision.end = Some(End::RolledBack(back.why.clone()));
            }
            return decision;
        }
        let decision = self.forward.decide(view, (now, self.intent), standing, account);
        let (Some(End::Blocked(why)) | Some(End::Cancelled(why))) = &decision.end else { return decision };
        self.back = self.way_back(view, now, why.clone());
        match self.back {
            Some(_) => Decision { end: None, wake_at: Some(now), ..decision },
            // There was nothing to be taken back but what has been released by now. A process that finds no record any more is not told that it was wanted.
            None if self.intent == Intent::Undo || self.is_undone(view) => {
                Decision { end: Some(End::RolledBack(why.clone())), ..decision }
            }
            None => decision,
        }
    }

    /// The decision, with what it makes of the run's record besides what the roll makes of it: on the way back, what is wanted is written; at the end, the
    /// record goes, unless the run has halted and there may be something to be taken back. The end is told when it is gone.
    fn and_record(
        &mut self,
        view: &View,
        now: Time,
        account: &mut Account,
        mut decision: Decision,
        standing: &Standing,
    ) -> Decision {
        let Standing::Written(known, holder) = standing else {
            // One that was sent a moment ago is yet to be deleted.
            let key = CommandKey(Text::from(format!(
                "{}/record/{}",
                self.id,
                record_key(&self.plan.namespace, &self.id)
            )));
            if decision.end.is_some() && account.sent.is_under_way(now, &key) {
                account.sent.keep(&key.0);
                let on = WaitingOn::Run(RunWait::Effect { what: Text::from("run record") });
                let besides = WaitList::from(vec![Waiting { what: Subject::Run, on }]);
                decision.waiting = decision.waiting.joined(besides);
                decision.wake_at = Some(now + COMMAND_LIFE);
                decision.end = None;
            }
            return decision;
        };
        let mut builder = DecisionBuilder::new(now, self.id.clone());
        let (meta, subject) = (&holder.meta, record::subject(&holder.meta.key()));
        let is_over = decision.end.as_ref().is_some_and(|end| !self.may_be_taken_back(view, known, end));
        self.over_since = is_over.then(|| self.over_since.unwrap_or(now));
        if is_over {
            let effect = KubernetesEffect::Delete {
                object: Object::Other(holder.clone()).reference(),
                version: meta.resource_version,
                dependents: Dependents::Collected,
            };
            let key = builder.key("record-end", format!("{}/{}", meta.uid, meta.resource_version.0));
            let what = Text::from("record of the run to be deleted");
            match builder.send(&mut account.sent, (subject, what), key, Effect::Kubernetes(effect)) {
                Wish::UnderWay(_) => decision.end = None,
                // What is refused for longer than some minutes is refused for a reason that only a person can take away: the run is over.
                Wish::Refused if now < self.over_since.unwrap_or(now) + RELEASE_WITHIN => decision.end = None,
                Wish::Refused => {}
            }
        } else if self.back.is_some() && known.intent != self.intent {
            let record = RunRecord { intent: self.intent, ..RunRecord::clone(known) };
            let effect = KubernetesEffect::Replace { object: record.rewritten(holder) };
            let key = builder.key("record", format!("{}/{}", meta.uid, meta.resource_version.0));
            let what = Text::from("record of the run");
            let _written_in_time =
                builder.send(&mut account.sent, (subject, what), key, Effect::Kubernetes(effect));
        }
        let end = decision.end.take();
        Decision { end, ..decision.then(builder.finish()) }
    }

    /// Whether a run that has come to an end may be wanted to be undone, for which its plan is needed.
    fn may_be_taken_back(&self, view: &View, known: &RunRecord, end: &End) -> bool {
        if self.plan.external().is_some() {
            // Nowhere else is it written that the run has halted, which keeps it from beginning again.
            let mut notes = known.groups.values().map(|group| &group.notes);
            let is_called_off = match end {
                End::Done | End::Refused(_) => false,
                End::Blocked(_) | End::Cancelled(_) | End::RolledBack(_) => true,
            };
            return is_called_off && notes.any(|notes| notes.contains_key(mark::HALTED));
        }
        match end {
            End::Done | End::RolledBack(_) | End::Refused(_) => false,
            End::Blocked(_) | End::Cancelled(_) => {
                view.groups().values().any(|group| self.has_halted_on(group))
            }
        }
    }

    /// That somebody wants the run taken back, as far as it is written: a process that goes on with the way back tells that as the one before would have.
    fn wanted_back(&self, view: &View) -> Vec<Waiting> {
        let halted = view.groups().values().filter_map(|group| halted(group));
        let undone = halted.filter(|halted| halted.run == self.id && halted.why == Halt::Undone);
        let at = undone.map(|halted| halted.at).min();
        let on = at.map(|at| WaitingOn::RunEnd(RunEnd::Undone { at }));
        on.map(|on| Waiting { what: Subject::Run, on }).into_iter().collect()
    }

    fn is_undone(&self, view: &View) -> bool {
        let mut halted = view.groups().values().filter_map(|group| halted(group));
        halted.any(|halted| halted.run == self.id && halted.why == Halt::Undone)
    }

    fn has_halted_on(&self, group: &NodeGroup) -> bool {
        halted(group).is_some_and(|halted| halted.run == self.id || halted.run == self.id_back)
    }

    /// What was found that keeps the run from beginning: what no run can do, and where the plan refuses to begin with it, all that blocks (promise
    /// S9). A run that has begun is not stopped by it: it was looked at then.
    fn refused_for(&self, view: &View, standing: Option<&Standing>) -> Vec<Waiting> {
        let has_begun = view.groups().values().any(|group| {
            let begun = group.tags.value(mark::BEGUN).and_then(Begun::read).map(|begun| begun.run);
            let halted = halted(group).map(|halted| halted.run);
            [begun, halted].into_iter().flatten().any(|run| run == self.id || run == self.id_back)
        });
        // What is written first says that it was admitted.
        let has_begun = has_begun || matches!(standing, Some(Standing::Written(..)));
        if has_begun {
            return Vec::new();
        }
        (self.preflight)(view, &self.plan, &self.options)
    }

    fn current(&mut self) -> &mut Roll {
        self.back.as_mut().map_or(&mut self.forward, |back| &mut back.roll)
    }

    /// The roll that leads back, if the plan asks for one and there is something to go back from.
    ///
    /// Where nodes have moved into another group, what the run has launched there moves back into the groups that it left: these grow again as it
    /// goes. What the other group had before stays.
    fn way_back(&self, view: &View, now: Time, why: Vec<Waiting>) -> Option<Back> {
        let groups: Vec<&Arc<NodeGroup>> = match &self.plan.target.group {
            None => {
                let changed = |group: &&Arc<NodeGroup>| group.tags.contains_key(mark::ORIGINAL_TEMPLATE);
                let changed = view.groups().values().filter(changed);
                changed.filter(|group| self.is_to_go_back(group)).collect()
            }
            Some(landing) => {
                let is_due = self.is_going_back(view)
                    || view.groups().get(landing).is_some_and(|group| self.is_to_go_back(group));
                view.groups().get(landing).filter(|_| is_due).into_iter().collect()
            }
        };
        let halted = groups.iter().filter_map(|group| Some(halted(group)?.at)).min();
        let groups: Vec<GroupName> = groups.iter().map(|group| group.name.clone()).collect();
        if groups.is_empty() {
            return None;
        }
        let (left, launched_after) = match (&self.plan.target.group, &self.plan.nodes.by) {
            (Some(_), ChosenBy::Groups(names)) => (names.as_slice(), Some(self.options.started)),
            (Some(_), ChosenBy::Selector(_)) | (None, ChosenBy::Groups(_) | ChosenBy::Selector(_)) => {
                (&[][..], None)
            }
        };
        let (first, further) = left.split_first().map_or((None, &[][..]), |(one, more)| (Some(one), more));
        let (group, further) = (first.cloned(), further.to_vec());
        let plan = Plan {
            nodes: Chosen { by: ChosenBy::Groups(groups), kubelet_version: None, launched_after },
            target: Target { group, further, base: Base::Original, ..Target::default() },
            canary: None,
            care: way_back_care(&self.plan.care),
            on_failure: OnFailure::Pause,
            ..Plan::clone(&self.plan)
        };
        let options = RunOptions { started: halted.unwrap_or(now), ..self.options.clone() };
        // Bounds are given back on the way: where it ends well, they were in nobody's way.
        let lasts = |waiting: &Waiting| !matches!(waiting.on, WaitingOn::RollEnd(RollEnd::Bounds { .. }));
        let why = why.into_iter().filter(lasts).collect();
        Some(Back { roll: Roll::new(plan.into(), self.id_back.clone(), options), why })
    }

    /// Whether the run has halted on a group and is to go back there, or is on its way.
    fn is_to_go_back(&self, group: &NodeGroup) -> bool {
        let halted = halted(group).filter(|halted| halted.run == self.id);
        let is_due = halted.is_some_and(|halted| goes_back(halted.why, self.plan.on_failure));
        is_due || self.is_going_back_on(group)
    }

    /// Whether a run before a restart was on its way back.
    fn is_going_back(&self, view: &View) -> bool {
        view.groups().values().any(|group| self.is_going_back_on(group))
    }

    fn is_going_back_on(&self, group: &NodeGroup) -> bool {
        let id = &self.id_back;
        // Neither can be read as the way back's where it does not name it.
        let names = |key| group.tags.value(key).filter(|text| text.contains(id.as_str()));
        let begun = names(mark::BEGUN).and_then(Begun::read);
        let halted = names(mark::HALTED).and_then(Halted::read);
        begun.is_some_and(|begun| begun.run == *id) || halted.is_some_and(|halted| halted.run == *id)
    }
}

/// A rollback has no canary: it does not stop for existing failures and waits for no window.
fn way_back_care(care: &Care) -> Care {
    Care {
        health: None,
        waves: None,
        windows: Windows::default(),
        blocking_findings: BlockingFindings::Proceed,
        ..care.clone()
    }
}

fn halted(group: &NodeGroup) -> Option<Halted> {
    group.tags.value(mark::HALTED).and_then(Halted::read)
}

#[cfg(test)]
mod tests;
