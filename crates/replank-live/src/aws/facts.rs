//! What AWS says, page by page until it is complete.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use replank_model::text::{GroupName, InstanceId};
use serde_json::{Value, json};

use super::account::Aws;
use super::answer::{TAG_NODEGROUP, list, managed, structure, taken, text};
use super::client::Manner;
use super::discover::discovered;
use super::error::AwsError;
use super::group::Seen;
use super::machine::Machine;
use super::service::Service;
use super::sign::escaped;
use crate::cloud::{Observed, OfNode};

/// Of a page of groups, and of names in a call.
const GROUPS_MAX: usize = 100;
/// Instances in a call of Auto Scaling.
const MEMBERS_MAX: usize = 50;
/// Instances in a call of EC2.
const MACHINES_MAX: usize = 200;
/// Pages at the most: an account that has more is not read.
const PAGES_MAX: usize = 1_000;

impl Aws {
    /// All pages of a call, as the elements of one list.
    pub(super) async fn pages(
        &self,
        (service, action): (Service, &str),
        params: &Value,
        (items, token): (&str, &str),
    ) -> Result<Vec<Value>, AwsError> {
        let (mut all, mut params) = (Vec::new(), params.clone());
        for _ in 0..PAGES_MAX {
            let mut answer = self.caller.query((service, action), &params, Manner::Read).await?;
            all.extend(taken(&mut answer, (service, action), items)?);
            let Some(next) = text(&answer, token) else { return Ok(all) };
            params["NextToken"] = next.into();
        }
        Err(AwsError::Unreadable {
            action: format!("{}:{action}", service.name()),
            why: format!("it does not end after {PAGES_MAX} pages"),
        })
    }

    /// Auto Scaling groups by their names; those that are not there are absent.
    pub(super) async fn groups(&self, names: &[&str]) -> Result<Vec<Value>, AwsError> {
        let mut all = Vec::new();
        for names in names.chunks(GROUPS_MAX) {
            let params = json!({"AutoScalingGroupNames": names, "MaxRecords": GROUPS_MAX});
            let call = (Service::AutoScaling, "DescribeAutoScalingGroups");
            all.extend(self.pages(call, &params, ("AutoScalingGroups", "NextToken")).await?);
        }
        Ok(all)
    }

    /// A group, which has to be there.
    pub(super) async fn group(&self, name: &str) -> Result<Value, AwsError> {
        self.groups(&[name]).await?.into_iter().next().ok_or_else(|| AwsError::Refused {
            action: "autoscaling:DescribeAutoScalingGroups".to_owned(),
            status: 400,
            code: "ValidationError".to_owned(),
            message: format!("AutoScalingGroup name not found - no such group {name}"),
        })
    }

    /// What Auto Scaling says of instances.
    pub(super) async fn members(&self, ids: &[&InstanceId]) -> Result<Vec<Value>, AwsError> {
        let mut all = Vec::new();
        for ids in ids.chunks(MEMBERS_MAX) {
            let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
            let call = (Service::AutoScaling, "DescribeAutoScalingInstances");
            let params = json!({ "InstanceIds": ids });
            all.extend(self.pages(call, &params, ("AutoScalingInstances", "NextToken")).await?);
        }
        Ok(all)
    }

    /// What EC2 says of instances. One that it does not list is absent.
    pub(super) async fn machines(
        &self,
        ids: &[&InstanceId],
    ) -> Result<BTreeMap<InstanceId, Machine>, AwsError> {
        let mut all = BTreeMap::new();
        for ids in ids.chunks(MACHINES_MAX) {
            let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
            // By a filter: an id that EC2 does not know would make it refuse the whole call.
            let params = json!({"Filter": [{"Name": "instance-id", "Value": ids}], "MaxResults": 1000});
            let call = (Service::Ec2, "DescribeInstances");
            for reservation in self.pages(call, &params, ("reservationSet", "nextToken")).await? {
                for one in list(&reservation["instancesSet"]) {
                    if let Some(id) = text(one, "instanceId") {
                        all.insert(InstanceId::from(id), Machine::of(one));
                    }
                }
            }
        }
        Ok(all)
    }

    /// A managed node group.
    pub(super) async fn nodegroup(&self, cluster: &str, name: &str) -> Result<Value, AwsError> {
        let path = format!("/clusters/{}/node-groups/{}", escaped(cluster), escaped(name));
        let answer =
            self.caller.eks("DescribeNodegroup", (Method::GET, &path, ""), None, Manner::Read).await?;
        structure(answer, "DescribeNodegroup", "nodegroup")
    }

    /// What AWS says of the groups behind instances, and of those that are named besides: answers as the CLI prints them, of describe-auto-scaling-groups and
    /// describe-nodegroup.
    ///
    /// # Errors
    /// Where not everything can be read, or none of the instances is in a group of this account and region.
    pub async fn answers(
        &self,
        nodes: &BTreeMap<InstanceId, OfNode>,
        more: &[GroupName],
    ) -> Result<Value, AwsError> {
        let ids: Vec<&InstanceId> = nodes.keys().collect();
        let members = self.members(&ids).await?;
        let mut names: BTreeSet<String> =
            members.iter().filter_map(|one| text(one, "AutoScalingGroupName")).map(str::to_owned).collect();
        if names.is_empty() && !nodes.is_empty() {
            return Err(self.wrong_account(nodes));
        }
        names.extend(more.iter().map(ToString::to_string));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut groups = self.groups(&names).await?;
        if !more.is_empty() {
            let more: Vec<&str> = more.iter().map(GroupName::as_str).collect();
            let params = json!({"Filters": [{"Name": format!("tag:{TAG_NODEGROUP}"), "Values": more}]});
            let call = (Service::AutoScaling, "DescribeAutoScalingGroups");
            let of_eks = self.pages(call, &params, ("AutoScalingGroups", "NextToken")).await?;
            let is_new = |one: &Value, groups: &[Value]| {
                groups.iter().all(|known| known["AutoScalingGroupName"] != one["AutoScalingGroupName"])
            };
            for one in of_eks {
                if is_new(&one, &groups) {
                    groups.push(one);
                }
            }
        }
        let mut answers = Vec::new();
        for group in &groups {
            if let Some((cluster, name)) = managed(group) {
                answers.push(json!({"nodegroup": self.nodegroup(cluster, name).await?}));
            }
        }
        answers.push(json!({ "AutoScalingGroups": groups }));
        Ok(Value::Array(answers))
    }

    /// None of the nodes' instances is known here.
    pub(super) fn wrong_account(&self, nodes: &BTreeMap<InstanceId, OfNode>) -> AwsError {
        let shown: Vec<&str> = nodes.values().take(3).map(|node| node.name.as_str()).collect();
        let (account, region) = (self.account.clone(), self.region().to_owned());
        AwsError::WrongAccount { account, region, nodes: shown.join(", ") }
    }

    /// Everything about the groups that are followed, or an error.
    pub(super) async fn observed(&self, nodes: &BTreeMap<InstanceId, OfNode>) -> Result<Observed, AwsError> {
        self.discover(nodes).await?;
        let bases = self.state().bases.clone();
        let names: Vec<&str> = bases.iter().map(|base| &*base.auto_scaling_group).collect();
        let groups = self.groups(&names).await?;
        let ids: BTreeSet<InstanceId> = groups
            .iter()
            .flat_map(|group| list(&group["Instances"]))
            .filter_map(|one| text(one, "InstanceId"))
            .map(InstanceId::from)
            .collect();
        let machines = self.known_machines(&ids).await?;
        let mut observed = Observed::default();
        for base in bases {
            let own = groups.iter().find(|group| group["AutoScalingGroupName"] == *base.auto_scaling_group);
            let Some(group) = own else { continue };
            if self.is_discovered(&base.auto_scaling_group) {
                let hooks = self.known_hooks(&base.auto_scaling_group).await?;
                let (seen, instances) = discovered(&base, group, &hooks).read(&machines, nodes);
                observed.instances.extend(instances.into_iter().map(|one| (one.id.clone(), one)));
                observed.groups.push(seen);
                continue;
            }
            let managed = self.managed(group).await?;
            let hooks = self.hooks(&base.auto_scaling_group).await?;
            let templates = self.templates_of(&base, group, managed.as_ref(), nodes).await?;
            let seen = Seen { base: &base, group, hooks: &hooks, managed: managed.as_ref(), templates };
            let (group, instances) = seen.read(&machines, nodes);
            observed.instances.extend(instances.into_iter().map(|one| (one.id.clone(), one)));
            observed.groups.push(group);
        }
        self.learn_failures(&mut observed).await?;
        observed.instances.extend(self.left(&ids, &machines, &observed));
        self.learn_targets(&mut observed).await?;
        self.state().seen.clone_from(&observed.groups);
        Ok(observed)
    }

    pub(super) async fn hooks(&self, group: &str) -> Result<Value, AwsError> {
        let params = json!({ "AutoScalingGroupName": group });
        let call = (Service::AutoScaling, "DescribeLifecycleHooks");
        let mut answer = self.caller.query(call, &params, Manner::Read).await?;
        Ok(Value::Array(taken(&mut answer, call, "LifecycleHooks")?))
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::cloud::{GroupSize, LaunchTemplate, NodeGroup};

    use super::super::stand_in::StandIn;
    use super::*;

    const GROUPS: &str = "autoscaling:DescribeAutoScalingGroups: the answer cannot be read:";

    fn groups(inner: &str) -> String {
        format!(
            "<DescribeAutoScalingGroupsResponse><DescribeAutoScalingGroupsResult>{inner}</DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>"
        )
    }

    #[tokio::test]
    async fn no_group_is_taken_to_be_gone_since_something_else_was_answered() {
        let empty = StandIn::new(|_, _| groups("<AutoScalingGroups/>"));
        assert!(empty.account().groups(&["web"]).await.expect("it is an answer").is_empty());
        let no_result =
            "<DescribeAutoScalingGroupsResponse><ResponseMetadata/></DescribeAutoScalingGroupsResponse>";
        for (text, why) in [
            (no_result.to_owned(), "it has no DescribeAutoScalingGroupsResult"),
            (groups(""), "it has no AutoScalingGroups"),
            (groups("<AutoScalingGroups>busy</AutoScalingGroups>"), "AutoScalingGroups is no list"),
            ("<html>busy</html>".to_owned(), "it is html, and no DescribeAutoScalingGroupsResponse"),
            (String::new(), "it ends within an element"),
        ] {
            let other = StandIn::new(move |_, _| text.clone());
            let aws = other.account();
            let group = NodeGroup::new(
                "web".into(),
                GroupSize { min: 1, max: 3, desired: 2 },
                Vec::new(),
                LaunchTemplate::default(),
            );
            aws.follow(vec![group]);
            let look = aws.observed(&BTreeMap::new()).await;
            let error = look.expect_err("the look is incomplete").to_string();
            assert_eq!(error, format!("{GROUPS} {why}"));
            // The same of one that several effects rest on.
            let error = aws.recent_group("web").await.expect_err("it is no answer").to_string();
            assert_eq!(error, format!("{GROUPS} {why}"));
        }
    }

    #[tokio::test]
    async fn an_instance_is_asked_for_with_an_answer_of_ec2_that_is_one() {
        let ids = [&InstanceId::from("i-1")];
        let empty = StandIn::new(|_, _| {
            "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>".to_owned()
        });
        assert!(empty.account().machines(&ids).await.expect("it is an answer").is_empty());
        let other = StandIn::new(|_, _| "<Response><reservationSet/></Response>".to_owned());
        let error = other.account().machines(&ids).await.expect_err("it is no answer").to_string();
        assert!(error.starts_with("ec2:DescribeInstances: the answer cannot be read"), "{error}");
    }

    #[tokio::test]
    async fn pages_that_do_not_end_are_an_error() {
        let endless = StandIn::new(|_, _| groups("<AutoScalingGroups/><NextToken>more</NextToken>"));
        let error = endless.account().groups(&["web"]).await.expect_err("it does not end").to_string();
        assert_eq!(error, format!("{GROUPS} it does not end after 1000 pages"));
        assert_eq!(endless.asked().len(), PAGES_MAX);
    }
}
