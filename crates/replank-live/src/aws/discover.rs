//! The groups behind a cluster's nodes, found by the nodes: they come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use replank_model::object::cloud::{GroupKind, LaunchTemplate, LaunchTemplates, NodeGroup};
use replank_model::text::{GroupName, InstanceId, Text};
use serde_json::Value;

use super::account::Aws;
use super::answer::{managed, text};
use super::error::AwsError;
use super::group::{Seen, size};
use super::template::Templates;
use crate::cloud::{Observed, OfNode};

/// For how long the hooks of a group are taken to be as they were: a call for each group.
const HOOKS_LAST: Duration = Duration::from_secs(60);

impl Aws {
    /// Whether a group is followed for its nodes' sake alone.
    pub(super) fn is_discovered(&self, group: &Text) -> bool {
        self.state().found.as_ref().is_some_and(|found| found.groups.contains(group))
    }

    /// The groups behind nodes and their instances, as they are now.
    ///
    /// # Errors
    /// Where not everything can be read, or EC2 knows none of the nodes' instances in this account and region.
    pub async fn behind(&self, nodes: &BTreeMap<InstanceId, OfNode>) -> Result<Observed, AwsError> {
        let observed = self.observed(nodes).await?;
        if !observed.instances.is_empty() || nodes.is_empty() {
            return Ok(observed);
        }
        // Machines of no group, as Karpenter makes them.
        let ids: Vec<&InstanceId> = nodes.keys().collect();
        if self.machines(&ids).await?.is_empty() {
            return Err(self.wrong_account(nodes));
        }
        Ok(observed)
    }

    /// Asks for the groups of nodes that were not there before.
    pub(super) async fn discover(&self, nodes: &BTreeMap<InstanceId, OfNode>) -> Result<(), AwsError> {
        let new: Vec<InstanceId> = match &self.state().found {
            Some(found) if found.follows_nodes => {
                nodes.keys().filter(|id| !found.asked.contains(*id)).cloned().collect()
            }
            Some(_) | None => return Ok(()),
        };
        if new.is_empty() {
            return Ok(());
        }
        let ids: Vec<&InstanceId> = new.iter().collect();
        let members = self.members(&ids).await?;
        let known: BTreeSet<Text> =
            self.state().bases.iter().map(|base| base.auto_scaling_group.clone()).collect();
        let names: BTreeSet<&str> = members
            .iter()
            .filter_map(|one| text(one, "AutoScalingGroupName"))
            .filter(|name| !known.contains(*name))
            .collect();
        let names: Vec<&str> = names.into_iter().collect();
        let groups = if names.is_empty() { Vec::new() } else { self.groups(&names).await? };
        let mut state = self.state();
        let mut new_groups = Vec::new();
        for group in &groups {
            let base = base(group, &state.bases);
            new_groups.extend(base.iter().map(|base| base.auto_scaling_group.clone()));
            state.bases.extend(base);
        }
        if let Some(found) = &mut state.found {
            found.groups.extend(new_groups);
            // One whose node is gone is not asked for again, either.
            found.asked.retain(|id| nodes.contains_key(id));
            found.asked.extend(new);
        }
        Ok(())
    }

    /// The hooks of a group, as they were a minute ago at most.
    pub(super) async fn known_hooks(&self, group: &Text) -> Result<Value, AwsError> {
        if self.state().found.as_ref().is_some_and(|found| !found.follows_nodes) {
            // Nobody asks what holds an instance: it is terminated when it is empty.
            return Ok(Value::Null);
        }
        let known = self.state().found.as_ref().and_then(|found| found.hooks.get(group).cloned());
        if let Some((_, hooks)) = known.filter(|(at, _)| at.elapsed() < HOOKS_LAST) {
            return Ok(hooks);
        }
        let (at, hooks) = (Instant::now(), self.hooks(group).await?);
        if let Some(found) = &mut self.state().found {
            found.hooks.insert(group.clone(), (at, hooks.clone()));
        }
        Ok(hooks)
    }
}

/// A group of which no more is known than its name: that of its managed node group where EKS owns it, unless another group has it.
fn base(group: &Value, others: &[NodeGroup]) -> Option<NodeGroup> {
    let own = text(group, "AutoScalingGroupName")?;
    let of_eks = managed(group).map(|(_, name)| name);
    let is_free = |name: &str| others.iter().all(|other| other.name.as_str() != name);
    let named = of_eks.into_iter().chain([own]).find(|name| is_free(name)).map(str::to_owned);
    let name = named.unwrap_or_else(|| format!("{own} (Auto Scaling group)"));
    let kind = if of_eks.is_some() { GroupKind::EksManaged } else { GroupKind::SelfManaged };
    let new = NodeGroup::new(GroupName::from(name), size(group), Vec::new(), LaunchTemplate::default());
    Some(NodeGroup { auto_scaling_group: Text::from(own), kind, ..new })
}

/// What the answers show of a group that was found so: its launch templates are not looked at.
pub(super) fn discovered<'s>(base: &'s NodeGroup, group: &'s Value, hooks: &'s Value) -> Seen<'s> {
    let all: LaunchTemplates = base.templates.clone();
    let templates = Templates { current: base.current.clone(), follows: None, default: None, all };
    Seen { base, group, hooks, managed: None, templates }
}
