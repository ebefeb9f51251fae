//! Lifecycle hooks, and the actions by which they hold instances.

use std::sync::Arc;

use replank_model::object::cloud::{HookResult, Instance, Lifecycle, LifecycleHook, NodeGroup, Transition};
use replank_model::text::{InstanceId, Text};
use replank_model::time::Span;
use replank_protocol::lifecycle::{Action, Place};
use serde_json::{Value, json};

use super::extra::HookExtra;
use super::members::{known_group, members, refused};
use super::own::Account;
use super::rules::token_of;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;

/// Hooks of a group at the most.
const HOOKS_MAX: usize = 50;

impl Account {
    pub(crate) fn describe_hooks(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let name = input.required("AutoScalingGroupName")?;
        let group = known_group(region, name)?;
        let names = input.texts("LifecycleHookNames");
        let hooks = group
            .hooks
            .iter()
            .filter(|hook| names.is_empty() || names.iter().any(|name| **name == *hook.name));
        let shown = hooks.map(|hook| {
            let extra = self.groups.get(name).and_then(|extra| extra.hooks.get(&*hook.name)).cloned().unwrap_or_default();
            let default = if LifecycleHook::is_of_eks(&hook.name) { "CONTINUE" } else { "ABANDON" };
            json!({
                "LifecycleHookName": &*hook.name, "AutoScalingGroupName": name,
                "LifecycleTransition": transition(hook.at), "HeartbeatTimeout": hook.timeout.as_millis() / 1000,
                "GlobalTimeout": hook.ceiling().as_millis() / 1000, "DefaultResult": extra.result.as_deref().unwrap_or(default),
                "NotificationMetadata": extra.metadata, "NotificationTargetARN": extra.target, "RoleARN": extra.role,
            })
        });
        let shown: Vec<Value> = shown.collect();
        Ok(json!({"LifecycleHooks": shown}))
    }

    pub(crate) fn put_hook(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input.required("AutoScalingGroupName")?;
        let mut changed = NodeGroup::clone(&*known_group(region, name)?);
        self.hook_into(&mut changed, input)?;
        let hook = input.required("LifecycleHookName")?;
        let target = self
            .groups
            .get(name)
            .and_then(|extra| extra.hooks.get(hook))
            .and_then(|hook| hook.target.clone());
        region.put_group(changed);
        if let Some(target) = target.filter(|target| target.contains(":sqs:")) {
            // A queue is told once that it will hear of the group.
            let now = region.now();
            let body = json!({"AccountId": self.names.account(), "RequestId": crate::text::uuid(&format!("test {name} {hook}")),
                "AutoScalingGroupARN": self.names.group_arn(name), "AutoScalingGroupName": name, "Service": "AWS Auto Scaling",
                "Event": "autoscaling:TEST_NOTIFICATION", "Time": crate::text::moment(now)});
            self.queues.send(
                target.rsplit(':').next().unwrap_or_default(),
                body.to_string(),
                Value::Null,
                None,
                (now, &mut self.troubles.deliveries),
            );
        }
        Ok(json!({}))
    }

    /// Puts a hook on a group, or changes what is named of it.
    pub(crate) fn hook_into(&mut self, group: &mut NodeGroup, input: Input<'_>) -> Result<(), Fault> {
        let name = input.required("LifecycleHookName")?;
        let known = group.hooks.iter().find(|hook| &*hook.name == name).cloned();
        let at = match input.text("LifecycleTransition") {
            Some("autoscaling:EC2_INSTANCE_LAUNCHING") => Transition::Launching,
            Some("autoscaling:EC2_INSTANCE_TERMINATING") => Transition::Terminating,
            Some(other) => return Err(Fault::validation(format!("Invalid Lifecycle Transition: {other}"))),
            None => known.as_ref().map(|hook| hook.at).ok_or_else(|| {
                Fault::validation("Lifecycle transition is required for a new lifecycle hook.")
            })?,
        };
        let timeout = input.number("HeartbeatTimeout")?.map(Span::from_secs);
        let timeout = timeout.or(known.as_ref().map(|hook| hook.timeout)).unwrap_or(Span::from_secs(3_600));
        if !(30..=7_200).contains(&(timeout.as_millis() / 1000)) {
            return Err(Fault::validation("Heartbeat timeout must be between 30 and 7200 seconds."));
        }
        let result = input.text("DefaultResult");
        if result.is_some_and(|result| result != "ABANDON" && result != "CONTINUE") {
            return Err(Fault::validation("Invalid default result: it is ABANDON or CONTINUE."));
        }
        group.hooks.retain(|hook| &*hook.name != name);
        let kept = self.groups.get(&*group.auto_scaling_group).and_then(|extra| extra.hooks.get(name));
        let word = result.or(kept.and_then(|hook| hook.result.as_deref()));
        let result = match at {
            Transition::Launching => word.and_then(HookResult::of).unwrap_or_default(),
            Transition::Terminating => HookResult::default(),
        };
        group.hooks.push(LifecycleHook { name: Text::from(name), at, timeout, result });
        group.hooks.sort();
        if group.hooks.len() > HOOKS_MAX {
            return Err(Fault::bad(
                "LimitExceeded",
                format!("A group has at most {HOOKS_MAX} lifecycle hooks."),
            ));
        }
        let extra = self.groups.entry(group.auto_scaling_group.to_string()).or_default();
        let own: &mut HookExtra = extra.hooks.entry(name.to_owned()).or_default();
        let write = |slot: &mut Option<String>, member: &str| {
            if let Some(text) = input.text(member) {
                *slot = Some(text.to_owned()).filter(|text| !text.is_empty());
            }
        };
        write(&mut own.result, "DefaultResult");
        write(&mut own.metadata, "NotificationMetadata");
        write(&mut own.target, "NotificationTargetARN");
        write(&mut own.role, "RoleARN");
        Ok(())
    }

    pub(crate) fn delete_hook(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input.required("AutoScalingGroupName")?;
        let hook = input.required("LifecycleHookName")?;
        let mut changed = NodeGroup::clone(&*known_group(region, name)?);
        if !changed.hooks.iter().any(|known| &*known.name == hook) {
            return Err(Fault::validation(format!("No Lifecycle Hook found with name {hook}")));
        }
        // Instances that it holds go on as if the action was completed.
        for instance in members(region, &changed).iter().filter(|one| is_held(one)) {
            let action = action(&changed, hook, &instance.id);
            // Another hook may be what holds it.
            drop(region.complete(&action));
        }
        changed.hooks.retain(|known| &*known.name != hook);
        region.put_group(changed);
        if let Some(extra) = self.groups.get_mut(name) {
            extra.hooks.remove(hook);
        }
        Ok(json!({}))
    }

    pub(crate) fn complete_action(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let (action, instance) = self.action_asked(region, input)?;
        let result = input.required("LifecycleActionResult")?;
        if result != "ABANDON" && result != "CONTINUE" {
            return Err(Fault::validation(format!(
                "Invalid lifecycle action result: {result}. It is ABANDON or CONTINUE."
            )));
        }
        region.complete(&action).map_err(refused)?;
        let is_launching = matches!(
            instance.lifecycle,
            Lifecycle::Pending | Lifecycle::PendingWait | Lifecycle::PendingProceed
        );
        if result == "ABANDON" && is_launching {
            // A launch that is given up: the instance is terminated, and another is launched.
            region
                .terminate(&instance.id, replank_protocol::command::Replacement::Launch)
                .map_err(refused)?;
        }
        Ok(json!({}))
    }

    pub(crate) fn heartbeat(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let (action, _) = self.action_asked(region, input)?;
        region.heartbeat(&action).map_err(refused)?;
        Ok(json!({}))
    }

    /// The action that is meant, by its instance or by its token.
    fn action_asked(&self, region: &dyn Region, input: Input<'_>) -> Result<(Action, Arc<Instance>), Fault> {
        let group = known_group(region, input.required("AutoScalingGroupName")?)?;
        let hook = input.required("LifecycleHookName")?;
        let (id, token) = (input.text("InstanceId"), input.text("LifecycleActionToken"));
        let held = members(region, &group);
        let found = held.iter().find(|one| {
            is_held(one)
                && id.is_none_or(|id| one.id == *id)
                && token.is_none_or(|token| id.is_some() || token == token_of(hook, one.id.as_str()))
        });
        let missing = || match (id, token) {
            (Some(id), _) => {
                Fault::validation(format!("No active Lifecycle Action found with instance ID {id}"))
            }
            (None, Some(token)) => {
                Fault::validation(format!("No active Lifecycle Action found with token {token}"))
            }
            (None, None) => {
                Fault::validation("Either the instance ID or the lifecycle action token has to be named.")
            }
        };
        let instance = found.filter(|_| id.is_some() || token.is_some()).cloned().ok_or_else(missing)?;
        Ok((action(&group, hook, &instance.id), instance))
    }
}

fn action(group: &NodeGroup, hook: &str, instance: &InstanceId) -> Action {
    Action {
        group: group.name.clone(),
        hook: Text::from(hook),
        instance: instance.clone(),
        token: None,
        to: Place::Ec2,
    }
}

fn is_held(instance: &Instance) -> bool {
    matches!(instance.lifecycle, Lifecycle::TerminatingWait | Lifecycle::PendingWait)
}

fn transition(at: Transition) -> &'static str {
    match at {
        Transition::Launching => "autoscaling:EC2_INSTANCE_LAUNCHING",
        Transition::Terminating => "autoscaling:EC2_INSTANCE_TERMINATING",
    }
}
