//! Disruption budgets: what may be evicted (pkg/controller/disruption).
//!
//! A change of a pod moves the counters of the budgets that cover it, and has them looked at. Budgets are not looked at
//! when the scale of an owner changes: as upstream, only pods and the budget itself count.

mod scale;
mod status;
mod tally;

use std::collections::VecDeque;

use replank_model::object::Object;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::ResourceVersion;
use replank_model::object::pod::Pod;
use replank_model::object::policy::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use replank_model::selector::LabelSelector;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix, View};
use rustc_hash::FxHashMap;

use super::slots::Slots;
use super::{Ctx, PodChange, REACTION};
use crate::agenda::Turn;
use crate::event::{ControlDue, DisruptionDue as Due, Event};
use replank_apiserver::condition as conditions;
use replank_apiserver::{DISRUPTION_TARGET, EventType};
use status::Wanted;
use tally::{Tallies, Tally};

/// How long a pod keeps a DisruptionTarget condition without being deleted (`stalePodDisruptionTimeout`).
const STALE_AFTER: Span = Span::from_minutes(2);

/// The status that the controller would write for a budget, were everything to stay as it is: no other controller acts in between.
pub fn budget_status(
    view: &View,
    ix: Ix<PodDisruptionBudget>,
    now: Time,
) -> Option<PodDisruptionBudgetStatus> {
    let budget = view.pod_disruption_budgets.get(ix)?;
    let mut tallies = Tallies::default();
    tallies.put_budget(view, ix);
    let counted = status::compute(view, ix, budget, (tallies.get(ix)?, 0, &mut None), now);
    Some(counted.map_or_else(|failure| status::fail_safe(budget, &failure, now), |found| found.status))
}

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct Disruption {
    tallies: Tallies,
    /// Budgets with a look on the agenda.
    looks: Slots,
    /// What is known of each budget, by slot.
    known: Vec<Known>,
    /// Budgets for which a turn was kept, in the order of the turns. Some have been taken up since.
    kept: VecDeque<u32>,
    /// Counts what may have changed how many pods an owner wants.
    scales: u64,
    /// Budgets that are to be looked at again when an allowed eviction is taken back.
    rechecks: FxHashMap<u32, Time>,
    /// Pods whose condition is to be looked at.
    stale: Slots,
}

/// What is known of a budget from looks at it.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// What the last look went by, where another look would find nothing to do.
    settled: Option<Settled>,
    /// What its pods' owners want.
    wanted: Option<Wanted>,
    /// The turn of a look that would find nothing to do: it is taken up if something changes before.
    turn: Option<Turn>,
}

/// All that a look at a budget goes by, where no eviction is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settled {
    /// The budget's version.
    version: ResourceVersion,
    /// How often its counters had moved.
    moves: u64,
    /// How often a scale had changed.
    scales: u64,
}

impl Disruption {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::PodDisruptionBudget(budget))) => {
                if !is_same_selection(old.as_ref(), budget) {
                    self.tallies.put_budget(ctx.view(), Ix::new(*slot));
                }
                self.tallies.note_version(Ix::new(*slot), budget.meta.resource_version);
                self.look_soon(ctx, *slot);
            }
            (Some(Object::PodDisruptionBudget(_)), None) => self.tallies.remove_budget(Ix::new(*slot)),
            (old, new) => {
                if !scale::is_same(old.as_ref(), new.as_ref()) {
                    self.scales += 1;
                    self.take_up_turns(ctx);
                }
            }
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Look(slot) => self.look(ctx, slot),
            Due::Stale(slot) => self.clear_stale(ctx, slot),
        }
    }

    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &PodChange<'_>) {
        let (slot, ix) = (change.slot, Ix::new(change.slot));
        // Upstream looks at one budget only where several cover a pod, any of them.
        let mut budgets = if change.is_same_member {
            let is_healthy = change.is_ready && change.new.is_some_and(|new| !new.is_terminating());
            self.tallies.move_health(ix, is_healthy)
        } else {
            self.tallies.put_pod(ctx.view(), ix, change.new.map(|new| &**new))
        };
        if budgets.len() > 1 {
            // By name: slots depend on the order in which a snapshot was read.
            budgets.sort_by_key(|budget| {
                let known = ctx.view().pod_disruption_budgets.get(Ix::new(*budget));
                known.map(|budget| budget.meta.key())
            });
        }
        for budget in budgets {
            self.look_soon(ctx, budget);
        }
        let has_same_conditions =
            |new: &Pod| change.old.is_some_and(|old| old.status.conditions.is_same(&new.status.conditions));
        let new = change.new.filter(|new| !has_same_conditions(new));
        // Whoever evicts a pod deletes it right after it has said so.
        let is_going = || ctx.view().pods.get(ix).is_some_and(|present| present.is_terminating());
        if let Some(due) = new.and_then(|new| stale_at(new)).filter(|_| !is_going()) {
            self.clear_at(ctx, slot, due);
        }
    }

    /// Puts a look on the agenda, or keeps its turn where it would find nothing to do.
    fn look_soon(&mut self, ctx: &mut Ctx<'_>, budget: u32) {
        if self.looks.contains(budget) {
            return;
        }
        let finds_nothing = self.finds_nothing(budget);
        let known = self.known(budget);
        match known.turn.filter(|turn| ctx.agenda.is_to_come(*turn)) {
            Some(_) if finds_nothing => {}
            Some(turn) => self.take_up(ctx, budget, turn),
            None if finds_nothing => {
                known.turn = Some(ctx.agenda.keep(ctx.api.now() + REACTION));
                self.keep(ctx, budget);
            }
            None => {
                self.looks.insert(budget);
                ctx.agenda.after(REACTION, look_at(budget));
            }
        }
    }

    /// Notes that a turn was kept, and forgets those that are over.
    fn keep(&mut self, ctx: &Ctx<'_>, budget: u32) {
        let is_over = |first: &u32| {
            let turn = self.known.get(*first as usize).and_then(|known| known.turn);
            turn.is_none_or(|turn| !ctx.agenda.is_to_come(turn))
        };
        while self.kept.front().is_some_and(is_over) {
            self.kept.pop_front();
        }
        self.kept.push_back(budget);
    }

    /// Any look may find something to do now.
    fn take_up_turns(&mut self, ctx: &mut Ctx<'_>) {
        for budget in std::mem::take(&mut self.kept) {
            let turn = self.known(budget).turn.filter(|turn| ctx.agenda.is_to_come(*turn));
            if let Some(turn) = turn {
                self.take_up(ctx, budget, turn);
            }
        }
    }

    fn take_up(&mut self, ctx: &mut Ctx<'_>, budget: u32, turn: Turn) {
        self.known(budget).turn = None;
        self.looks.insert(budget);
        ctx.agenda.take_up(turn, look_at(budget));
    }

    fn known(&mut self, budget: u32) -> &mut Known {
        let at = budget as usize;
        if self.known.len() <= at {
            self.known.resize(at + 1, Known::default());
        }
        &mut self.known[at]
    }

    /// Whether a look at a budget would find nothing to do.
    fn finds_nothing(&self, budget: u32) -> bool {
        let settled = self.known.get(budget as usize).and_then(|known| known.settled);
        let present = || self.tallies.get(Ix::new(budget)).map(|tally| self.state(tally));
        settled.is_some() && settled == present()
    }

    fn state(&self, tally: &Tally) -> Settled {
        Settled { version: tally.version, moves: tally.moves, scales: self.scales }
    }

    fn look(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        self.looks.remove(slot);
        if self.finds_nothing(slot) {
            return;
        }
        let ix = Ix::<PodDisruptionBudget>::new(slot);
        let Some(budget) = ctx.view().pod_disruption_budgets.get(ix) else { return };
        let Some(tally) = self.tallies.get(ix) else { return };
        let mut settled = self.state(tally);
        let mut wanted = self.known.get(slot as usize).and_then(|known| known.wanted);
        let budget = budget.clone();
        // A look that tells of something tells of it each time; one at evictions that were allowed goes by the time.
        let mut is_settled = tally.pods > 0 && tally.unmanaged == 0;
        let now = ctx.api.now();
        let object = Object::PodDisruptionBudget(budget.clone());
        if tally.pods == 0 {
            ctx.api.record(&object, EventType::Normal, "NoPods", "No matching pods found");
        }
        let basis = (tally, self.scales, &mut wanted);
        let status = match status::compute(ctx.view(), ix, &budget, basis, now) {
            Ok(found) => {
                if tally.unmanaged > 0 && counts_owners(&budget) {
                    ctx.api.record(&object, EventType::Warning, "UnmanagedPods", &unmanaged(&budget));
                }
                self.report_not_deleted(ctx, &budget, &found.not_deleted);
                if let Some(recheck) = found.recheck {
                    self.look_again_at(ctx, slot, recheck);
                }
                is_settled &= found.status.disrupted_pods.is_empty();
                found.status
            }
            Err(failure) => {
                is_settled = false;
                let message = format!("Failed to calculate the number of expected pods: {failure}");
                ctx.api.record(&object, EventType::Warning, "CalculateExpectedPodCountFailed", &message);
                status::fail_safe(&budget, &failure, now)
            }
        };
        if status != budget.status {
            ctx.api.modify_status_at::<PodDisruptionBudget>(ix, |budget| budget.status = status);
            match ctx.view().pod_disruption_budgets.get(ix) {
                Some(written) => settled.version = written.meta.resource_version,
                None => is_settled = false,
            }
        }
        let known = self.known(slot);
        (known.settled, known.wanted) = (is_settled.then_some(settled), wanted);
    }

    fn look_again_at(&mut self, ctx: &mut Ctx<'_>, slot: u32, recheck: Time) {
        // A moment later: the entry is taken back only after its time.
        let at = recheck + Span::from_millis(1);
        let known = self.rechecks.get(&slot).copied().filter(|known| *known > ctx.api.now());
        if known.is_none_or(|known| at < known) {
            self.rechecks.insert(slot, at);
            ctx.agenda.at(at, look_at(slot));
        }
    }

    fn report_not_deleted(
        &self,
        ctx: &mut Ctx<'_>,
        budget: &PodDisruptionBudget,
        names: &[replank_model::text::Name],
    ) {
        for name in names {
            let key = replank_model::object::meta::Key {
                namespace: budget.meta.namespace.clone(),
                name: name.clone(),
            };
            let Some(pod) = ctx.view().pods.by_key(&key).cloned() else { continue };
            let namespace = &budget.meta.namespace;
            let message =
                format!("Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't");
            ctx.api.record(&Object::Pod(pod), EventType::Warning, "NotDeleted", &message);
        }
    }

    fn clear_at(&mut self, ctx: &mut Ctx<'_>, slot: u32, at: Time) {
        if self.stale.insert(slot) {
            ctx.agenda.at(at, Event::Control(ControlDue::Disruption(Due::Stale(slot))));
        }
    }

    fn clear_stale(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        self.stale.remove(slot);
        let Some(pod) = ctx.view().pods.get(Ix::<Pod>::new(slot)).cloned() else { return };
        let Some(due) = stale_at(&pod) else { return };
        if due > ctx.api.now() {
            return self.clear_at(ctx, slot, due);
        }
        let stamp = ctx.api.timestamp();
        let written = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
            let cleared = conditions::condition(DISRUPTION_TARGET, ConditionStatus::False, "", "");
            conditions::set(&mut pod.status.conditions, cleared, stamp);
        });
        debug_assert!(written.is_ok(), "the pod was just read");
    }
}

fn look_at(budget: u32) -> Event {
    Event::Control(ControlDue::Disruption(Due::Look(budget)))
}

/// When a pod's DisruptionTarget condition is stale; never for a pod that is ending, or where its kubelet set it
/// (`nonTerminatingPodHasStaleDisruptionCondition`).
fn stale_at(pod: &Pod) -> Option<Time> {
    if pod.is_terminating() || pod.is_terminal() {
        return None;
    }
    let target = condition::find(&pod.status.conditions, DISRUPTION_TARGET)?;
    if target.status != ConditionStatus::True || &*target.reason == "TerminationByKubelet" {
        return None;
    }
    Some(target.last_transition_time? + STALE_AFTER)
}

fn is_same_selection(old: Option<&Object>, new: &PodDisruptionBudget) -> bool {
    match old {
        Some(Object::PodDisruptionBudget(old)) => {
            old.spec.selector == new.spec.selector && old.meta.uid == new.meta.uid
        }
        Some(_) | None => false,
    }
}

/// Whether the owners of the covered pods count for a budget.
fn counts_owners(budget: &PodDisruptionBudget) -> bool {
    use replank_model::int_or_string::IntOrString;
    budget.spec.max_unavailable.is_some() || matches!(budget.spec.min_available, Some(IntOrString::String(_)))
}

fn unmanaged(budget: &PodDisruptionBudget) -> String {
    format!(
        "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of \
         the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please \
         set \".spec.minAvailable\" field of the PDB to an integer value.",
        go_selector(budget.spec.selector.as_ref())
    )
}

/// A selector as Go prints the struct.
fn go_selector(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else { return "nil".to_owned() };
    let labels: String =
        selector.match_labels.iter().map(|(key, value)| format!("{key}: {value},")).collect();
    let expressions: String = selector
        .match_expressions
        .iter()
        .map(|expression| {
            format!(
                "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                expression.key,
                expression.operator,
                expression.values.join(" ")
            )
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
