//! The groups that an autoscaler scales: named, or found by their tags; with what their new nodes are to be.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::NodeGroup;
use replank_model::text::Text;
use serde_json::{Value, json};

use super::account::Aws;
use super::answer::{list, managed, text};
use super::error::AwsError;
use super::service::Service;

/// A tag that a group is to have, whatever its value is where none is named.
pub type Tag = (Text, Option<Text>);

impl Aws {
    /// Auto Scaling groups that have all tags of one of these sets.
    ///
    /// # Errors
    /// Where not everything can be read.
    pub async fn tagged(&self, sets: &[Vec<Tag>]) -> Result<BTreeSet<Text>, AwsError> {
        let mut names = BTreeSet::new();
        for set in sets.iter().filter(|set| !set.is_empty()) {
            let filters: Vec<Value> = set
                .iter()
                .map(|(key, value)| match value {
                    Some(value) => json!({"Name": format!("tag:{key}"), "Values": [&**value]}),
                    None => json!({"Name": "tag-key", "Values": [&**key]}),
                })
                .collect();
            let params = json!({"Filters": filters, "MaxRecords": 100});
            let call = (Service::AutoScaling, "DescribeAutoScalingGroups");
            let found = self.pages(call, &params, ("AutoScalingGroups", "NextToken")).await?;
            let own = found.iter().filter(|group| has_all(group, set));
            names.extend(own.filter_map(|group| text(group, "AutoScalingGroupName")).map(Text::from));
        }
        Ok(names)
    }

    /// Auto Scaling groups behind the managed node groups of these names, where there are some.
    ///
    /// # Errors
    /// Where not everything can be read.
    pub async fn behind_nodegroups(&self, names: &[&str]) -> Result<BTreeSet<Text>, AwsError> {
        if names.is_empty() {
            return Ok(BTreeSet::new());
        }
        let set =
            json!({"Filters": [{"Name": "tag:eks:nodegroup-name", "Values": names}], "MaxRecords": 100});
        let call = (Service::AutoScaling, "DescribeAutoScalingGroups");
        let found = self.pages(call, &set, ("AutoScalingGroups", "NextToken")).await?;
        Ok(found.iter().filter_map(|group| text(group, "AutoScalingGroupName")).map(Text::from).collect())
    }

    /// What AWS says of Auto Scaling groups: answers as the CLI prints them, of describe-auto-scaling-groups and describe-nodegroup; and the instance types of those that
    /// tell none otherwise, by what they require or by their launch templates. Groups that are not there are absent.
    ///
    /// # Errors
    /// Where not everything can be read.
    pub async fn answers_of(
        &self,
        names: &BTreeSet<Text>,
    ) -> Result<(Value, BTreeMap<Text, Vec<Text>>), AwsError> {
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let groups = if names.is_empty() { Vec::new() } else { self.groups(&names).await? };
        let (mut answers, mut types) = (Vec::new(), BTreeMap::new());
        for group in &groups {
            let mut is_told = list(&group["Instances"]).iter().any(|one| text(one, "InstanceType").is_some())
                || list(&group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"])
                    .iter()
                    .any(|one| text(one, "InstanceType").is_some());
            if let Some((cluster, name)) = managed(group) {
                let nodegroup = self.nodegroup(cluster, name).await?;
                is_told |= !list(&nodegroup["instanceTypes"]).is_empty();
                answers.push(json!({ "nodegroup": nodegroup }));
            }
            if is_told {
                continue;
            }
            let own = Text::from(text(group, "AutoScalingGroupName").unwrap_or_default());
            types.insert(own, self.types_of(group).await?);
        }
        answers.push(json!({ "AutoScalingGroups": groups }));
        Ok((Value::Array(answers), types))
    }

    /// From now on these groups are looked at, for the sake of their sizes and instances: of their launch templates no more is asked than is known, and of those that EKS owns
    /// no updates.
    pub fn follow_sizes(&self, groups: Vec<NodeGroup>) {
        let names: Vec<Text> = groups.iter().map(|group| group.auto_scaling_group.clone()).collect();
        self.follow(groups);
        self.state().found.get_or_insert_default().groups.extend(names);
        self.follow_failures();
    }
}

impl Aws {
    /// The same, beside the groups behind the cluster's nodes ([`Aws::follow_nodes`]).
    pub fn follow_sizes_besides(&self, groups: Vec<NodeGroup>) {
        let mut state = self.state();
        let is_other =
            |base: &NodeGroup| groups.iter().all(|group| group.auto_scaling_group != base.auto_scaling_group);
        state.bases.retain(is_other);
        let names: Vec<Text> = groups.iter().map(|group| group.auto_scaling_group.clone()).collect();
        state.found.get_or_insert_default().groups.extend(names);
        state.bases.extend(groups);
        state.failures.get_or_insert_default();
    }
}

fn has_all(group: &Value, set: &[Tag]) -> bool {
    let tags = list(&group["Tags"]);
    set.iter().all(|(key, value)| {
        tags.iter().any(|tag| {
            tag["Key"] == **key
                && value.as_ref().is_none_or(|value| tag["Value"].as_str().unwrap_or_default() == &**value)
        })
    })
}
