//! Lifecycle hooks: a group holds an instance at launch or termination until every hook's action is completed, or its time is
//! over ("How lifecycle hooks work" in the EC2 Auto Scaling guide).

use std::collections::BTreeMap;

use replank_model::object::cloud::{LifecycleHook, Transition};
use replank_model::text::{InstanceId, Text};
use replank_model::time::Time;
use replank_protocol::command::Refusal;
use replank_protocol::lifecycle::Action;
use serde::{Deserialize, Serialize};

/// Instances that are held.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Holds {
    by_instance: BTreeMap<InstanceId, Hold>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Hold {
    at: Transition,
    since: Time,
    open: BTreeMap<Text, Open>,
    is_abandoned: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    hook: LifecycleHook,
    until: Time,
}

/// How an instance is let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Released {
    /// It is ended, as it was to be.
    Terminating,
    /// It goes into service.
    Launching,
    /// Nobody completed its launch: it is ended (the default result ABANDON).
    Abandoned,
}

impl Holds {
    /// Holds an instance at a transition; when the first hook times out.
    pub(super) fn hold(&mut self, id: &InstanceId, hooks: Vec<LifecycleHook>, now: Time) -> Option<Time> {
        let at = hooks.first()?.at;
        let open = hooks.into_iter().map(|hook| {
            let until = now + hook.timeout;
            (hook.name.clone(), Open { hook, until })
        });
        let hold = Hold { at, since: now, open: open.collect(), is_abandoned: false };
        let first = hold.open.values().map(|open| open.until).min();
        self.by_instance.insert(id.clone(), hold);
        first
    }

    pub(super) fn holds(&self, id: &InstanceId) -> bool {
        self.by_instance.contains_key(id)
    }

    /// Forgets an instance that was taken away meanwhile.
    pub(super) fn drop(&mut self, id: &InstanceId) {
        self.by_instance.remove(id);
    }

    /// Removes actions that are over; how the instance continues if no hook holds it.
    pub(super) fn expire(&mut self, id: &InstanceId, now: Time) -> Option<Released> {
        let hold = self.by_instance.get_mut(id)?;
        let before = hold.open.len();
        hold.open.retain(|_, open| open.until > now);
        hold.is_abandoned |= hold.open.len() < before;
        self.release(id)
    }

    /// CompleteLifecycleAction.
    pub(super) fn complete(&mut self, action: &Action) -> Result<Option<Released>, Refusal> {
        let hold = self.by_instance.get_mut(&action.instance).ok_or_else(|| none(action))?;
        hold.open.remove(&action.hook).ok_or_else(|| none(action))?;
        Ok(self.release(&action.instance))
    }

    /// RecordLifecycleActionHeartbeat; until when the hook holds then.
    pub(super) fn heartbeat(&mut self, action: &Action, now: Time) -> Result<Time, Refusal> {
        let hold = self.by_instance.get_mut(&action.instance).ok_or_else(|| none(action))?;
        let open = hold.open.get_mut(&action.hook).ok_or_else(|| none(action))?;
        open.until = (now + open.hook.timeout).min(hold.since + open.hook.ceiling());
        Ok(open.until)
    }

    fn release(&mut self, id: &InstanceId) -> Option<Released> {
        let hold = self.by_instance.get(id).filter(|hold| hold.open.is_empty())?;
        let released = match (hold.at, hold.is_abandoned) {
            (Transition::Terminating, _) => Released::Terminating,
            (Transition::Launching, false) => Released::Launching,
            (Transition::Launching, true) => Released::Abandoned,
        };
        self.by_instance.remove(id);
        Some(released)
    }
}

/// Auto Scaling's answer (ValidationError) about an action that does not wait.
fn none(action: &Action) -> Refusal {
    let message = format!("No active Lifecycle Action found with instance ID {}", action.instance);
    Refusal::Failed { code: 400, message: Text::from(message) }
}
