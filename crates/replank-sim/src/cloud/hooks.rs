//! Lifecycle hooks: a group holds an instance at launch or termination until every hook's action is completed, or its time is
//! over ("How lifecycle hooks work" in the EC2 Auto Scaling guide).

use std::collections::BTreeMap;

use replank_model::object::cloud::{HookResult, LifecycleHook, Transition};
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
    /// Nobody completed its launch, and a hook's default result is ABANDON: it is ended.
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
        let is_given_up = |open: &Open| open.until <= now && open.hook.result == HookResult::Abandon;
        hold.is_abandoned |= hold.open.values().any(is_given_up);
        hold.open.retain(|_, open| open.until > now);
        if hold.is_abandoned && hold.at == Transition::Launching {
            // Other hooks have nothing to wait for.
            hold.open.clear();
        }
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

#[cfg(test)]
mod tests {
    use replank_model::time::Span;

    use super::*;

    fn hook(name: &str, at: Transition, seconds: i64, result: HookResult) -> LifecycleHook {
        LifecycleHook { name: name.into(), at, timeout: Span::from_secs(seconds), result }
    }

    #[test]
    fn a_launch_whose_time_is_over_comes_to_what_its_hook_says() {
        let (begun, id) = (Time::from_millis(0), InstanceId::from("i-1"));
        let over = |hooks: &[LifecycleHook], seconds: i64| {
            let mut holds = Holds::default();
            holds.hold(&id, hooks.to_vec(), begun);
            holds.expire(&id, begun + Span::from_secs(seconds))
        };
        let launching = |name: &str, seconds, result| hook(name, Transition::Launching, seconds, result);
        let goes_on = launching("a", 60, HookResult::Continue);
        let ends = launching("b", 60, HookResult::Abandon);
        let later = launching("c", 600, HookResult::Continue);
        assert_eq!(over(std::slice::from_ref(&goes_on), 59), None);
        assert_eq!(over(std::slice::from_ref(&goes_on), 60), Some(Released::Launching));
        assert_eq!(over(std::slice::from_ref(&ends), 60), Some(Released::Abandoned));
        assert_eq!(over(&[goes_on.clone(), ends.clone()], 60), Some(Released::Abandoned));
        assert_eq!(over(&[goes_on, later.clone()], 60), None);
        assert_eq!(over(&[ends, later], 60), Some(Released::Abandoned));
        for result in [HookResult::Abandon, HookResult::Continue] {
            let own = hook("t", Transition::Terminating, 60, result);
            assert_eq!(over(&[own], 60), Some(Released::Terminating));
        }
    }
}
