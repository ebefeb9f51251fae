//! What an autoscaler does to a cluster, as the cluster shows it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_model::object::Object;
use replank_model::object::cloud::{InstanceState, NodeGroup};
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::Uid;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{Effect, GroupEffect};
use replank_sim::{Observer, Sent};

use super::stage::NODE_CPU_MILLI;

/// A pod that waited so lately may be what a group was raised for: it is seen late, and looked at every ten seconds.
const LATELY: Span = Span::from_secs(30);

/// What should not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A group was made to want less.
    WantsLess,
    /// A batch pod was ended half way.
    BatchEnded,
    /// A group was raised while no pod waited that a node of it could hold.
    ForNobody,
}

/// One case of it.
pub type Finding = crate::finding::Finding<Fault>;

/// See the module's page.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Everything that should not be.
    pub findings: Vec<Finding>,
    /// How often a group was raised.
    pub raised: usize,
    /// Instances that went down.
    pub ended: usize,
    /// Batch pods that came to their end.
    pub completed: usize,
    /// Pods that wait and that a node could hold, since when; and until when they did, where they do no more.
    waits: BTreeMap<Uid, Option<Time>>,
}

/// The account as the world sees it.
pub struct Watching(pub Rc<RefCell<Account>>);

impl Observer for Watching {
    fn changed(&mut self, at: Time, change: &Change, _view: &View) {
        self.0.borrow_mut().changed(at, change);
    }

    fn executed(&mut self, at: Time, sent: &Sent, _view: &View) {
        self.0.borrow_mut().executed(at, sent);
    }
}

impl Account {
    /// An account of a cluster as it is.
    #[must_use]
    pub fn begin(view: &View) -> Self {
        let mut account = Self::default();
        for change in view.as_changes() {
            if matches!(change, Change::Object { .. }) {
                account.changed(Time::from_millis(0), &change);
            }
        }
        account
    }

    fn find(&mut self, at: Time, fault: Fault, what: String) {
        self.findings.push(Finding { at, fault, what });
    }

    fn changed(&mut self, at: Time, change: &Change) {
        match change {
            Change::Object { old, new, .. } => {
                let pod = |object: &Option<Object>| match object {
                    Some(Object::Pod(pod)) => Some(pod.clone()),
                    _ => None,
                };
                self.pod(at, pod(old).as_deref(), pod(new).as_deref());
            }
            Change::Group { old: Some(old), new: Some(new) } => self.group(at, old, new),
            Change::Instance { old: Some(old), new: Some(new) } => {
                let is_down =
                    |state| matches!(state, InstanceState::ShuttingDown | InstanceState::Terminated);
                self.ended += usize::from(is_down(new.state) && !is_down(old.state));
            }
            Change::Group { .. }
            | Change::Instance { .. }
            | Change::Message { .. }
            | Change::Unread(_)
            | Change::Stale => {}
        }
    }

    fn pod(&mut self, at: Time, old: Option<&Pod>, new: Option<&Pod>) {
        let Some(pod) = new.or(old) else { return };
        let waits = |pod: &Pod| pod.node.is_none() && !pod.is_terminal() && cpu_milli(pod) <= NODE_CPU_MILLI;
        match new {
            Some(pod) if waits(pod) => drop(self.waits.insert(pod.meta.uid.clone(), None)),
            Some(_) | None => {
                if let Some(until @ None) = self.waits.get_mut(&pod.meta.uid) {
                    *until = Some(at);
                }
            }
        }
        if !is_batch(pod) {
            return;
        }
        let phase = |pod: Option<&Pod>| pod.map(|pod| pod.status.phase);
        if phase(new) == Some(PodPhase::Succeeded) && phase(old) != Some(PodPhase::Succeeded) {
            self.completed += 1;
        }
        let goes = |pod: Option<&Pod>| pod.is_none_or(|pod| pod.meta.deletion_timestamp.is_some());
        let was_at_work = old.is_some_and(|old| !goes(Some(old)) && !old.is_terminal() && old.node.is_some());
        if was_at_work && goes(new) {
            let key = Key::new(pod.meta.namespace.clone(), pod.meta.name.clone());
            self.find(at, Fault::BatchEnded, format!("pod {key} had not finished"));
        }
    }

    fn group(&mut self, at: Time, old: &NodeGroup, new: &NodeGroup) {
        if new.size.desired <= old.size.desired {
            return;
        }
        self.raised += 1;
        let is_needed = self.waits.values().any(|until| until.is_none_or(|until| until + LATELY >= at));
        if !is_needed {
            let what = format!("{} grew to {}", new.name, new.size.desired);
            self.find(at, Fault::ForNobody, what);
        }
    }

    /// That a group wants less when one of its instances is ended is not told apart on the group: what was asked for says which it was.
    fn executed(&mut self, at: Time, sent: &Sent) {
        let Effect::Group(GroupEffect::Resize { group, from, to }) = &sent.command.effect else { return };
        if to.desired < from.desired && matches!(sent.result, Some((_, Ok(())))) {
            self.find(at, Fault::WantsLess, format!("{group}: from {} to {}", from.desired, to.desired));
        }
    }
}

/// What the containers of a pod ask for.
fn cpu_milli(pod: &Pod) -> i64 {
    let rendered = replank_model::object::render(&Object::Pod(pod.clone().into()));
    let containers = rendered.pointer("/spec/containers").and_then(|value| value.as_array()).cloned();
    let asks = containers.unwrap_or_default().into_iter().map(|container| {
        let text =
            container.pointer("/resources/requests/cpu").and_then(|value| value.as_str()).map(str::to_owned);
        text.map_or(0, |text| match text.strip_suffix('m') {
            Some(milli) => milli.parse().unwrap_or(0),
            None => text.parse::<i64>().unwrap_or(0) * 1_000,
        })
    });
    asks.sum()
}

fn is_batch(pod: &Pod) -> bool {
    pod.meta.owner_references.iter().any(|owner| &*owner.kind == "Job")
}
