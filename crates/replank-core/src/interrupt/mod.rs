//! Interruptions: instances that are taken away, by whomever, are drained in the time that is left.
//!
//! # What is decided
//!
//! Of everything that is said about instances (messages of a queue, [`body`]), of the instances that a group holds on their way
//! out, and of the marks on nodes, one [`case::Case`] per instance is made: what takes it away, since when, until when, which
//! lifecycle actions wait for it, and which messages speak of it. Two messages about one instance are one case; a message that
//! was lost is made up for by what the group shows; after a restart the same cases are found again.
//!
//! Nodes are found by the instance's id at the end of their provider id, never by name: a name is used again, an id is not.
//!
//! # What is done, in order of the time that is left
//!
//! 1. Every node is cordoned and marked, with a taint that says why.
//! 2. Where the group has a termination hook of ours, and does not end the instance already, it is asked for another instance at
//!    once, and holds this one meanwhile ([`replank_protocol::command::Effect::Relieve`]): what it wants is never lowered, nor raised. Without a hook
//!    the group launches another when this one ends.
//! 3. Where there is time, that other one is waited for. Pods are evicted as budgets and room allow, together with what everybody else has under way ([`crate::account`]). A pod that is
//!    still there when just its grace is left is evicted without room and, if its budget refuses, deleted: the instance goes whether it
//!    is or not. That holds for what is certain only: a hook is kept waiting by heartbeats for as long as batch pods ask to be
//!    waited for, and other pods for [`Options::patience`], both up to the hook's ceiling.
//! 4. An empty node's volumes are waited for, within the time that its hook leaves; no heartbeat is sent for them.
//! 5. The lifecycle action is completed, until the group is seen to have taken it; where none waits, the instance is ended and its
//!    group launches another.
//! 6. Only when the instance is seen to go are the messages deleted.
//!
//! A case does not wait forever for an event that may not happen: if its instance keeps running it is released ([`Release`]), with its reason.
//!
//! # Messages
//!
//! What is about no instance of the cluster is kept for [`KEEP`], since instances and nodes are seen later than messages, and then
//! deleted; what is about another account or region ([`Home`]), at once. What cannot be read is named and left to the queue's dead letters. A message is held for as long as it is needed,
//! so that it is not received by somebody else, or counted as one that nobody can handle; that is twelve hours at most, then it comes back
//! and is looked at anew. What was begun meanwhile stands on the node.

pub mod body;
mod cache;
mod case;
mod context;
mod drain;
mod finish;
mod inbox;
mod launch;
mod messages;
pub mod notice;
mod options;
mod release;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use replank_model::object::Object;
use replank_model::object::cloud::{Instance, Lifecycle};
use replank_model::object::node::Node;
use replank_model::text::{InstanceId, NodeName};
use replank_model::time::Time;
use replank_model::view::{Change, View};

use crate::account::Account;
use case::{Case, cases};
use context::Context;
use replank_facts::groups;
use replank_protocol::command::Answer;
use replank_protocol::command::{CommandKey, NodeRole, Outcome};
use replank_protocol::decision::Decision;
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::release::Release;

use options::hooks_at;
pub use options::{Home, Hooks, KEEP, Options};

use cache::Cache;

/// What handles interruptions: options, and caches.
#[derive(Debug)]
pub(crate) struct Interrupt {
    options: Options,
    cache: Cache,
}

impl Interrupt {
    pub(crate) fn new(options: Options) -> Self {
        let cache = Cache::of(&options);
        Self { options, cache }
    }

    pub(crate) fn drop_caches(&mut self) {
        self.cache = Cache::of(&self.options);
    }

    pub(crate) fn anew(&self) -> Self {
        Self::new(self.options.clone())
    }

    /// Takes in a change that `view` has taken in.
    pub(crate) fn observe(&mut self, view: &View, change: &Change) {
        if self.cache.is_stale {
            return;
        }
        self.cache.observe(view, change);
    }

    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        if outcome.answer == Answer::Done
            && outcome.key.0.starts_with(&*format!("{}/heartbeat/", self.options.run))
        {
            self.cache.beats.insert(outcome.key.clone());
        }
    }

    /// Whether an interruption has not been under way for long: the end of a run waits for that, and no longer. A hook may be kept waiting for two days,
    /// and a change be scheduled for next month.
    pub(crate) fn is_pressing(&self) -> bool {
        self.cache.is_pressing
    }

    /// What is done about interruptions now. Tells the account which nodes they take away.
    pub(crate) fn decide(&mut self, view: &View, now: Time, account: &mut Account) -> Decision {
        self.cache.refresh(view);
        if self.cache.is_quiet() {
            account.interrupted.clear();
            account.released.clear();
            account.marked.clear();
            self.cache.forget(&[]);
            self.cache.is_pressing = false;
            return Decision::default();
        }
        let all = cases(&mut self.cache, &self.options, view, now);
        let mut ctx = Context::new(now, view, &self.options, &mut account.sent);
        let (cases, over) = apart(&mut ctx, all);
        let (newer, cases): (Vec<Case>, Vec<Case>) =
            cases.into_iter().partition(|case| case.newer().is_some());
        newer.iter().for_each(|case| case.leave_alone(&mut ctx));
        for case in &cases {
            case.mark(&mut ctx);
        }
        for case in &cases {
            case.relieve(&mut ctx);
        }
        account.interrupted = cases.iter().chain(&newer).filter_map(Case::node_name).collect();
        account.released = self.cache.released(view, &account.interrupted, &over);
        account.marked.clear();
        account.interrupted.extend(account.released.iter().cloned());
        drain::drain(&mut ctx, &cases, &mut self.cache.healths, &mut self.cache.room, &account.interrupted);
        for case in &cases {
            let emptied = self.cache.emptied(case, now);
            finish::finish(&mut ctx, case, &self.cache.beats, emptied);
        }
        over.iter().for_each(|(case, why)| release::say(&mut ctx, case, *why));
        self.cache.is_pressing = cases.iter().any(|case| case.is_pressing(&mut ctx));
        let mut open = launch::launches(&mut ctx, &self.cache);
        open.extend(cases.iter().chain(&newer).flat_map(|case| case.messages.iter().cloned()));
        // Until the mark is seen to be off, the message says whose it is.
        let marked = over.iter().filter(|(case, _)| case.marked_node().is_some());
        open.extend(marked.flat_map(|(case, _)| case.messages.iter().cloned()));
        open.extend(self.cache.calls_off());
        self.cache.inbox.settle(&mut ctx, &open);
        self.cache.forget(&cases);
        ctx.finish()
    }

    /// Removes the marks of released nodes that the run does not take over with its own: between two cordons, pods would be scheduled.
    pub(crate) fn lift(&mut self, view: &View, now: Time, account: &mut Account) -> Decision {
        let mut ctx = Context::new(now, view, &self.options, &mut account.sent);
        for name in account.released.difference(&account.marked) {
            if let Some(node) = view.node(name) {
                ctx.lift(node);
            }
        }
        ctx.finish()
    }
}

impl Cache {
    fn observe(&mut self, view: &View, change: &Change) {
        self.healths.observe(view, change);
        if let Some(room) = &mut self.room {
            room.observe(view, change);
        }
        match change {
            Change::Object { old: Some(Object::Node(old)), new: Some(Object::Node(new)), .. }
                if old.meta.annotations == new.meta.annotations
                    && old.spec.provider_id == new.spec.provider_id => {}
            Change::Object { old, new, .. } => {
                if let Some(Object::Node(old)) = old {
                    self.marked.remove(&old.name());
                    self.node_went(&groups::instance_id_of(old), &old.name());
                }
                if let Some(Object::Node(new)) = new {
                    self.see_node(new);
                }
            }
            Change::Instance { old, new } => {
                if let Some(old) = old {
                    self.held.remove(&old.id);
                    if new.is_none() {
                        self.ended.insert(old.id.clone());
                    }
                }
                if let Some(new) = new {
                    self.see_instance(new);
                }
            }
            Change::Message { old, new } => self.inbox.observe(old.as_deref(), new.as_ref()),
            Change::Group { .. } | Change::Unread(_) | Change::Stale => {}
        }
    }

    fn see_node(&mut self, node: &Node) {
        self.node_came(groups::instance_id_of(node), node.name());
        let is_ours = mark::of(node).is_some_and(|found| {
            found.mark.owner == Owner::Interruptions
                && matches!(found.mark.role, NodeRole::Interrupted { .. })
        });
        if is_ours {
            self.marked.insert(node.name());
        }
    }

    fn see_instance(&mut self, instance: &Instance) {
        if is_held(instance) {
            self.held.insert(instance.id.clone());
        }
    }

    /// Looks at what is there where nothing is known yet. No pod is counted by then, and none has been put in place, so pods are not looked at.
    fn refresh(&mut self, view: &View) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        view.nodes.sorted().into_iter().for_each(|(_, node)| self.see_node(node));
        view.instances().values().for_each(|instance| self.see_instance(instance));
        view.messages().values().for_each(|message| self.inbox.observe(None, Some(message)));
    }

    /// Nodes that carry our mark and are no longer interrupted, or are released.
    fn released(
        &self,
        view: &View,
        kept: &BTreeSet<NodeName>,
        over: &[(Case, Release)],
    ) -> BTreeSet<NodeName> {
        let mut released: BTreeSet<NodeName> =
            over.iter().filter_map(|(case, _)| case.marked_node()).map(Node::name).collect();
        for name in self.marked.iter().filter(|name| !kept.contains(*name)) {
            let Some(node) = view.node(name) else { continue };
            let instance = view.instances().get(&groups::instance_id_of(node));
            // One that is on its way out keeps its mark.
            if instance.is_some_and(|instance| instance.is_counted()) {
                released.insert(name.clone());
            }
        }
        released
    }

    fn emptied(&mut self, case: &Case, now: Time) -> Option<Time> {
        if case.pods_left() > 0 {
            self.emptied.remove(&case.instance);
            return None;
        }
        Some(*self.emptied.entry(case.instance.clone()).or_insert(now))
    }

    fn forget(&mut self, cases: &[Case]) {
        let known: BTreeSet<&InstanceId> = cases.iter().map(|case| &case.instance).collect();
        self.first_seen.retain(|instance, _| known.contains(instance));
        self.emptied.retain(|instance, _| known.contains(instance));
        let is_of_case = |key: &CommandKey| {
            let rest = key.0.split_once("/heartbeat/").and_then(|(_, rest)| rest.split('/').next());
            let instance = rest.map(InstanceId::from);
            instance.is_some_and(|instance| known.contains(&instance))
        };
        self.beats.retain(is_of_case);
        if cases.is_empty() {
            self.room = None;
        }
    }
}

/// The open cases, and the released ones with their reasons; wakes up when the next one is due.
fn apart(ctx: &mut Context<'_>, all: Vec<Case>) -> (Vec<Case>, Vec<(Case, Release)>) {
    let (mut cases, mut over) = (Vec::new(), Vec::new());
    for case in all {
        match release::standing(&case, ctx.options, ctx.now) {
            Ok(why) => over.push((case, why)),
            Err(at) => {
                at.into_iter().for_each(|at| ctx.wake_at(at));
                cases.push(case);
            }
        }
    }
    (cases, over)
}

fn is_held(instance: &Instance) -> bool {
    match instance.lifecycle {
        Lifecycle::PendingWait | Lifecycle::TerminatingWait => instance.state.is_alive(),
        Lifecycle::Pending
        | Lifecycle::PendingProceed
        | Lifecycle::InService
        | Lifecycle::Terminating
        | Lifecycle::TerminatingProceed
        | Lifecycle::Terminated
        | Lifecycle::Standby
        | Lifecycle::Detached
        | Lifecycle::Warmed => false,
    }
}
