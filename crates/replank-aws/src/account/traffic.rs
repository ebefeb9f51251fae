//! Target groups that are attached to Auto Scaling groups, by either of the two names that the calls have.

use replank_model::object::cloud::{Instance, NodeGroup, Registrar, TargetGroup};
use serde_json::{Value, json};

use super::groups::{bad_token, size_of};
use super::members::{known_group, members};
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::region::Region;

/// The kind of traffic source that there is: the target group of a load balancer.
const KIND: &str = "elbv2";

impl Account {
    pub(crate) fn attach_traffic(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let mut changed = NodeGroup::clone(&*known_group(region, input.required("AutoScalingGroupName")?)?);
        for arn in asked(input)? {
            if !arn.starts_with(&self.names.arn("elasticloadbalancing", "targetgroup/")) {
                return Err(Fault::validation(
                    "Provided Target Groups may not be valid. Please ensure they exist and try again.",
                ));
            }
            if !attached(&changed).any(|known| *known == arn) {
                changed.target_groups.push(TargetGroup::attached(&*arn));
            }
        }
        changed.target_groups.sort_by(|a, b| a.arn.cmp(&b.arn));
        region.put_group(changed);
        Ok(json!({}))
    }

    pub(crate) fn detach_traffic(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let mut changed = NodeGroup::clone(&*known_group(region, input.required("AutoScalingGroupName")?)?);
        let asked = asked(input)?;
        if asked.iter().any(|arn| !attached(&changed).any(|known| known == arn)) {
            return Err(Fault::validation("Trying to remove Target Groups that are not part of the group"));
        }
        let is_asked = |arn: &str| asked.iter().any(|known| known == arn);
        changed.target_groups.retain(|one| one.registrar != Registrar::AutoScaling || !is_asked(&one.arn));
        for one in members(region, &changed) {
            let targets: Vec<_> =
                one.targets.iter().filter(|target| !is_asked(&target.group)).cloned().collect();
            if targets.len() < one.targets.len() {
                region.put_instance(Instance { targets, ..Instance::clone(&one) });
            }
        }
        region.put_group(changed);
        Ok(json!({}))
    }

    /// The sources of a group, as it shows them itself.
    pub(crate) fn traffic_sources(&self, group: &NodeGroup) -> Vec<Value> {
        attached(group).map(|arn| json!({"Identifier": arn, "Type": KIND})).collect()
    }

    pub(crate) fn describe_traffic(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let group = known_group(region, input.required("AutoScalingGroupName")?)?;
        let kind = input.text("TrafficSourceType").unwrap_or(KIND);
        if !["elb", KIND, "vpc-lattice"].contains(&kind) {
            return Err(Fault::validation(format!("Invalid traffic source type: {kind}")));
        }
        let shown = attached(&group).filter(|_| kind == KIND).map(|arn| {
            let shown = json!({"TrafficSource": arn, "Identifier": arn, "Type": KIND, "State": "InService"});
            (arn.to_owned(), shown)
        });
        let size = size_of(input, 50, 50)?;
        let (found, next) = page(shown.collect(), size, input.text("NextToken"), &bad_token())?;
        Ok(json!({"TrafficSources": found, "NextToken": next}))
    }
}

fn attached(group: &NodeGroup) -> impl Iterator<Item = &str> {
    group.target_groups.iter().filter(|one| one.registrar == Registrar::AutoScaling).map(|one| &*one.arn)
}

/// The target groups that a call names.
fn asked(input: Input<'_>) -> Result<Vec<String>, Fault> {
    let mut found = input.texts("TargetGroupARNs");
    for source in input.inputs("TrafficSources") {
        let arn = source.required("Identifier")?;
        // Where nothing is said, the identifier says what it is.
        let kind = source.text("Type").unwrap_or(if arn.contains(":targetgroup/") { KIND } else { "elb" });
        match kind {
            KIND => found.push(arn.to_owned()),
            "elb" => return Err(no_load_balancers()),
            "vpc-lattice" => {
                return Err(Fault::validation(
                    "Provided VPC Lattice target groups may not be valid: the simulated cloud has none.",
                ));
            }
            other => return Err(Fault::validation(format!("Invalid traffic source type: {other}"))),
        }
    }
    if found.is_empty() {
        return Err(Fault::validation("At least one target group has to be named."));
    }
    Ok(found)
}

/// There are no Classic Load Balancers.
pub(crate) fn no_load_balancers() -> Fault {
    Fault::validation("Provided Load Balancers may not be valid. Please ensure they exist and try again.")
}
