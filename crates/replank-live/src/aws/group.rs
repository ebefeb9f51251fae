//! From AWS's answers to groups and instances.

use std::collections::BTreeMap;

use replank_model::object::cloud::{
    GroupKind, GroupSize, HealthStatus, HookResult, Instance, InstanceState, LaunchTemplateRef, Lifecycle,
    LifecycleHook, NodeGroup, ScalingProcess, TerminationPolicy, Transition, Ways,
};
use replank_model::text::{InstanceId, Text, Zone};
use replank_model::time::Span;
use serde_json::Value;

use super::account::Aws;
use super::answer::{list, managed as owned_by, text, version};
use super::error::AwsError;
use super::machine::Machine;
use super::managed::Managed;
use super::targets::target_groups;
use super::template::Templates;
use crate::cloud::{Observed, OfNode};

impl Aws {
    /// What EC2 says of these instances. It is asked once for each; and for those that have left their group, until they are terminated.
    pub(super) async fn known_machines(
        &self,
        ids: &std::collections::BTreeSet<InstanceId>,
    ) -> Result<BTreeMap<InstanceId, Machine>, AwsError> {
        let mut known = self.state().machines.clone();
        let is_open = |id: &InstanceId, machine: &Machine| {
            !ids.contains(id) && machine.state != Some(InstanceState::Terminated)
        };
        let gone = known.iter().filter(|(id, machine)| is_open(id, machine)).map(|(id, _)| id.clone());
        let asked: Vec<InstanceId> =
            ids.iter().filter(|id| !known.contains_key(*id)).cloned().chain(gone).collect();
        if asked.is_empty() {
            return Ok(known);
        }
        let asked: Vec<&InstanceId> = asked.iter().collect();
        let found = self.machines(&asked).await?;
        // One that has left its group and is not listed any more is not there. That proves nothing of its containers.
        known.retain(|id, _| ids.contains(id) || found.contains_key(id) || !asked.contains(&id));
        for (id, machine) in found {
            let left = known.get_mut(&id).and_then(|known| known.left.take());
            known.insert(id, Machine { left, ..machine });
        }
        self.state().machines.clone_from(&known);
        Ok(known)
    }

    /// Instances that have left their groups, as EC2 has them: which of them are terminated is the only proof that they are.
    pub(super) fn left(
        &self,
        ids: &std::collections::BTreeSet<InstanceId>,
        machines: &BTreeMap<InstanceId, Machine>,
        observed: &Observed,
    ) -> BTreeMap<InstanceId, Instance> {
        let mut state = self.state();
        for (id, instance) in &observed.instances {
            if let Some(machine) = state.machines.get_mut(id) {
                machine.left = Some(instance.clone());
            }
        }
        let gone = machines.iter().filter(|(id, _)| !ids.contains(*id));
        let gone = gone.filter_map(|(id, machine)| {
            let was = machine.left.clone()?;
            let ended = machine.state? == InstanceState::Terminated;
            let lifecycle = if ended { Lifecycle::Terminated } else { Lifecycle::TerminatingProceed };
            Some((id.clone(), Instance { state: machine.state?, lifecycle, ..was }))
        });
        gone.collect()
    }
}

/// All answers about a group.
pub(super) struct Seen<'s> {
    pub(super) base: &'s NodeGroup,
    pub(super) group: &'s Value,
    pub(super) hooks: &'s Value,
    pub(super) managed: Option<&'s Managed>,
    pub(super) templates: Templates,
}

impl Seen<'_> {
    pub(super) fn read(
        self,
        machines: &BTreeMap<InstanceId, Machine>,
        nodes: &BTreeMap<InstanceId, OfNode>,
    ) -> (NodeGroup, Vec<Instance>) {
        let Self { base, group, hooks, managed, templates } = self;
        let of_auto_scaling = list(&group["Tags"]);
        let tags = of_auto_scaling
            .iter()
            .filter_map(|tag| Some((text(tag, "Key")?, tag["Value"].as_str().unwrap_or_default())));
        let mut zones: Vec<Zone> =
            list(&group["AvailabilityZones"]).iter().filter_map(Value::as_str).map(Zone::from).collect();
        zones.sort();
        let mut new = NodeGroup {
            kind: if owned_by(group).is_some() { GroupKind::EksManaged } else { GroupKind::SelfManaged },
            size: size(group),
            zones,
            current: templates.current.clone(),
            follows: templates.follows,
            default_version: templates.default.clone(),
            templates: templates.all.clone(),
            tags: tags.map(|(key, value)| (Text::from(key), Text::from(value))).collect(),
            hooks: list(hooks).iter().filter_map(hook).collect(),
            ways: ways(group),
            target_groups: target_groups(base, group),
            failures: Vec::new(),
            update: None,
            ..base.clone()
        };
        new.hooks.sort();
        if let Some(managed) = managed {
            managed.apply(&mut new);
        }
        let instances = list(&group["Instances"]).iter();
        let instances = instances.filter_map(|one| {
            let id = InstanceId::from(text(one, "InstanceId")?);
            let lifecycle = lifecycle(text(one, "LifecycleState").unwrap_or_default());
            let machine = machines.get(&id);
            Some(Instance {
                group: base.name.clone(),
                zone: Zone::from(text(one, "AvailabilityZone").unwrap_or_default()),
                state: state(lifecycle),
                template: version(&one["LaunchTemplate"])
                    .unwrap_or_else(|| LaunchTemplateRef::invented(&base.name)),
                launched: machine.and_then(|machine| machine.launched),
                node: nodes.get(&id).map(|node| node.name.clone()),
                lifecycle,
                market: machine.map(|machine| machine.market).unwrap_or_default(),
                is_protected: one["ProtectedFromScaleIn"] == true,
                health: match text(one, "HealthStatus") {
                    Some("Unhealthy") => HealthStatus::Unhealthy,
                    Some(_) | None => HealthStatus::Healthy,
                },
                // What load balancers say of all groups' instances is joined with them at once.
                targets: Vec::new(),
                id,
            })
        });
        (new, instances.collect())
    }
}

/// The sizes of an Auto Scaling group.
pub(super) fn size(group: &Value) -> GroupSize {
    let number =
        |member: &str| group[member].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
    GroupSize { min: number("MinSize"), max: number("MaxSize"), desired: number("DesiredCapacity") }
}

fn ways(group: &Value) -> Ways {
    let texts = |member: &str| list(&group[member]).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let policies: Vec<_> =
        texts("TerminationPolicies").into_iter().filter_map(TerminationPolicy::of).collect();
    let suspended = list(&group["SuspendedProcesses"]).iter();
    Ways {
        policies: if policies == [TerminationPolicy::Default] { Vec::new() } else { policies },
        suspended: suspended
            .filter_map(|one| text(one, "ProcessName"))
            .filter_map(ScalingProcess::of)
            .collect(),
        protects_new: group["NewInstancesProtectedFromScaleIn"] == true,
    }
}

fn hook(one: &Value) -> Option<LifecycleHook> {
    let at = match text(one, "LifecycleTransition")? {
        "autoscaling:EC2_INSTANCE_LAUNCHING" => Transition::Launching,
        "autoscaling:EC2_INSTANCE_TERMINATING" => Transition::Terminating,
        _ => return None,
    };
    let seconds = one["HeartbeatTimeout"].as_u64().and_then(|seconds| i64::try_from(seconds).ok());
    let timeout = Span::from_secs(seconds.unwrap_or(3_600));
    let result = match at {
        Transition::Launching => text(one, "DefaultResult").and_then(HookResult::of).unwrap_or_default(),
        Transition::Terminating => HookResult::default(),
    };
    Some(LifecycleHook { name: Text::from(text(one, "LifecycleHookName")?), at, timeout, result })
}

/// A state in its group, as Auto Scaling writes it.
pub(super) fn lifecycle(word: &str) -> Lifecycle {
    match word {
        "Pending" => Lifecycle::Pending,
        "Pending:Wait" => Lifecycle::PendingWait,
        "Pending:Proceed" => Lifecycle::PendingProceed,
        "InService" => Lifecycle::InService,
        "Terminating" | "Terminating:Retained" => Lifecycle::Terminating,
        "Terminating:Wait" => Lifecycle::TerminatingWait,
        "Terminating:Proceed" => Lifecycle::TerminatingProceed,
        "Terminated" => Lifecycle::Terminated,
        "EnteringStandby" | "Standby" => Lifecycle::Standby,
        "Detaching" | "Detached" => Lifecycle::Detached,
        word if word.starts_with("Warmed") => Lifecycle::Warmed,
        // A state that is newer than this is one in which nothing is concluded: the group counts it.
        _ => Lifecycle::InService,
    }
}

fn state(lifecycle: Lifecycle) -> InstanceState {
    match lifecycle {
        Lifecycle::Pending | Lifecycle::PendingWait | Lifecycle::PendingProceed => InstanceState::Pending,
        Lifecycle::InService
        | Lifecycle::TerminatingWait
        | Lifecycle::Standby
        | Lifecycle::Detached
        | Lifecycle::Warmed => InstanceState::Running,
        Lifecycle::Terminating | Lifecycle::TerminatingProceed => InstanceState::ShuttingDown,
        Lifecycle::Terminated => InstanceState::Terminated,
    }
}
