//! Auto Scaling groups, as somebody makes and changes them.

use std::collections::BTreeSet;

use replank_model::object::cloud::{
    GroupKind, GroupSize, NodeGroup, ScalingProcess, TargetGroup, TerminationPolicy, Ways,
};
use replank_model::text::{GroupName, Zone};
use replank_model::time::Time;
use serde_json::{Value, json};

use super::extra::Extra;
use super::launch::Wish;
use super::members::{group, known_group, members, zones};
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;

/// Tags of a group at the most.
const TAGS_MAX: usize = 50;

impl Account {
    /// When a group was made, as far as the region's nodes tell.
    pub(crate) fn created_of(&self, group: &NodeGroup) -> Option<Time> {
        self.templates.by_id.get(&*group.current.id).map(|template| template.created)
    }

    pub(crate) fn create_group(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input.required("AutoScalingGroupName")?.to_owned();
        if group(region, &name).is_some() {
            return Err(Fault::bad(
                "AlreadyExists",
                format!(
                    "AutoScalingGroup by this name already exists - A group with the name {name} already exists"
                ),
            ));
        }
        let min = input.count("MinSize")?.ok_or_else(|| Fault::validation("1 validation error detected: Value null at 'minSize' failed to satisfy constraint: Member must not be null"))?;
        let max = input.count("MaxSize")?.ok_or_else(|| Fault::validation("1 validation error detected: Value null at 'maxSize' failed to satisfy constraint: Member must not be null"))?;
        let size = GroupSize { min, max, desired: input.count("DesiredCapacity")?.unwrap_or(min) };
        within(size)?;
        let zones = self
            .zones_asked(region, input)?
            .ok_or_else(|| Fault::validation("At least one Availability Zone or VPC Subnet is required."))?;
        one_template(input)?;
        let mixed = input.get("MixedInstancesPolicy");
        let spec = input.inner("LaunchTemplate");
        let spec = if mixed.is_some() {
            input.inner("MixedInstancesPolicy").inner("LaunchTemplate").inner("LaunchTemplateSpecification")
        } else {
            spec
        };
        if spec.0.is_null() {
            return Err(Fault::validation(
                "Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.",
            ));
        }
        let wish = wish_of(input, zones.clone());
        let named = self.templates.named(spec).map_err(|fault| {
            Fault::validation(format!("You must use a valid fully-formed launch template. {}", fault.message))
        })?;
        let data = self.templates.data(&named.version).cloned().unwrap_or_default();
        let template = super::launch::made(&self.names, region, &data, None, &wish)?;
        let mut group = NodeGroup::new(GroupName::from(&*name), size, zones, template.clone());
        group.templates = [(named.version.clone(), template)].into();
        group.default_version =
            self.templates.by_id.get(&*named.version.id).map(|own| named.version.at(own.default));
        group.current = named.version;
        group.follows = named.word;
        // Nobody has suspended anything in a group that is made.
        group.ways = Ways { suspended: BTreeSet::new(), ..Ways::default() };
        let arns = input.texts("TargetGroupARNs");
        group.target_groups = arns.into_iter().map(TargetGroup::attached).collect();
        ways(&mut group, input)?;
        let mut extra = Extra { created: Some(region.now()), mixed: mixed.cloned(), ..Extra::default() };
        extra_of(&mut extra, input)?;
        for tag in input.inputs("Tags") {
            put_tag(&mut group, &mut extra, tag)?;
        }
        self.groups.insert(name.clone(), extra);
        for hook in input.inputs("LifecycleHookSpecificationList") {
            self.hook_into(&mut group, hook)?;
        }
        region.put_group(group);
        Ok(Value::Null)
    }

    /// Zones that a call names, by subnets or by themselves.
    fn zones_asked(&self, region: &dyn Region, input: Input<'_>) -> Result<Option<Vec<Zone>>, Fault> {
        let known = zones(self, region);
        let mut found = Vec::new();
        if let Some(subnets) = input.text("VPCZoneIdentifier").filter(|text| !text.is_empty()) {
            for subnet in subnets.split(',').map(str::trim) {
                let zone = known.iter().find(|zone| self.names.subnet(zone) == subnet);
                found.push(
                    zone.cloned().ok_or_else(|| {
                        Fault::validation(format!("The subnet ID '{subnet}' does not exist"))
                    })?,
                );
            }
        }
        for name in input.texts("AvailabilityZones") {
            if !known.iter().any(|zone| *zone == *name) {
                return Err(Fault::validation(format!("Invalid availability zones: [{name}]")));
            }
            found.push(Zone::from(name));
        }
        found.sort();
        found.dedup();
        Ok(Some(found).filter(|found| !found.is_empty()))
    }

    pub(crate) fn update_group(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input.required("AutoScalingGroupName")?;
        let mut changed = NodeGroup::clone(&*known_group(region, name)?);
        if self.groups.get(name).is_some_and(|extra| extra.is_going) {
            return Err(Fault::bad("ScalingActivityInProgress", "AutoScalingGroup is pending deletion"));
        }
        let old = changed.size;
        let (min, max) =
            (input.count("MinSize")?.unwrap_or(old.min), input.count("MaxSize")?.unwrap_or(old.max));
        if min > max {
            return Err(Fault::validation(format!(
                "Max bound, {max}, must be greater than or equal to min bound, {min}"
            )));
        }
        // A bound that the group is beyond moves it.
        let desired = input.count("DesiredCapacity")?.unwrap_or_else(|| old.desired.clamp(min, max));
        changed.size = GroupSize { min, max, desired };
        within(changed.size)?;
        if let Some(zones) = self.zones_asked(region, input)? {
            changed.zones = zones;
        }
        let mut extra = self.groups.get(name).cloned().unwrap_or_default();
        one_template(input)?;
        if let Some(asked) = input.get("MixedInstancesPolicy") {
            self.with_policy(region, &mut changed, &mut extra, asked)?;
        } else if input.has("LaunchTemplate") {
            let spec = input.inner("LaunchTemplate");
            let wish = wish_of(input, changed.zones.clone());
            self.with_template(region, &mut changed, spec, &wish)?;
            // A group that had a policy has the type of its template alone.
            let data = self.templates.data(&changed.current);
            if let Some(own) = data.and_then(|data| data["InstanceType"].as_str())
                && let Some(template) = changed.templates.get_mut(&changed.current)
                && template.profile.shapes.iter().any(|shape| &*shape.instance_type == own)
            {
                template.profile.shapes.retain(|shape| &*shape.instance_type == own);
            }
            extra.mixed = None;
        }
        ways(&mut changed, input)?;
        extra_of(&mut extra, input)?;
        self.groups.insert(name.to_owned(), extra);
        region.put_group(changed);
        Ok(Value::Null)
    }

    /// A group with another mixed instances policy: what is not named stays as it is.
    fn with_policy(
        &self,
        region: &dyn Region,
        group: &mut NodeGroup,
        extra: &mut Extra,
        asked: &Value,
    ) -> Result<(), Fault> {
        let spec = Input(asked).inner("LaunchTemplate").inner("LaunchTemplateSpecification");
        let call = json!({"MixedInstancesPolicy": asked});
        let wish = wish_of(Input(&call), group.zones.clone());
        let known = super::groups::mixed_of(group, &Value::Null);
        let mut policy = extra.mixed.clone().or(known).unwrap_or_else(|| json!({}));
        if !spec.0.is_null() {
            self.with_template(region, group, spec, &wish)?;
        }
        if !wish.instance_types.is_empty() {
            let shapes = wish.instance_types.iter().map(|name| {
                let unknown = || {
                    Fault::validation(format!(
                        "You must use a valid fully-formed launch template. Invalid value '{name}' for InstanceType: the simulated cloud does not know it."
                    ))
                };
                region.shape(name).ok_or_else(unknown)
            });
            let shapes = shapes.collect::<Result<Vec<_>, _>>()?;
            if let Some(template) = group.templates.get_mut(&group.current) {
                template.profile.shapes = shapes;
            }
        }
        for (of, member) in
            [("LaunchTemplate", "LaunchTemplateSpecification"), ("LaunchTemplate", "Overrides")]
        {
            if let Some(given) = Input(asked).inner(of).get(member) {
                policy[of][member] = given.clone();
            }
        }
        for (member, given) in asked["InstancesDistribution"].as_object().into_iter().flatten() {
            policy["InstancesDistribution"][member] = given.clone();
        }
        extra.mixed = Some(policy);
        Ok(())
    }

    pub(crate) fn delete_group(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input.required("AutoScalingGroupName")?;
        let known = known_group(region, name)?;
        let left = members(region, &known);
        if !input.flag("ForceDelete")?.unwrap_or(false) && (!left.is_empty() || known.size.desired > 0) {
            return Err(Fault::bad(
                "ResourceInUse",
                "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) still in the group.",
            ));
        }
        self.empty(region, &known);
        Ok(Value::Null)
    }

    /// Has a group end all of its instances; it goes when they are gone.
    pub(crate) fn empty(&mut self, region: &mut dyn Region, known: &NodeGroup) {
        let mut going = known.clone();
        going.size = GroupSize::default();
        going.ways.suspended.remove(&ScalingProcess::Terminate);
        region.put_group(going);
        self.groups.entry(known.auto_scaling_group.to_string()).or_default().is_going = true;
        if known.kind == GroupKind::SelfManaged {
            // Without drains, and without hooks.
            for instance in members(region, known) {
                region.end(&instance.id);
            }
        }
    }

    /// Groups that were to go, and have no instances any more, are gone.
    pub(crate) fn follow_deletions(&mut self, region: &mut dyn Region) {
        let going: Vec<String> =
            self.groups.iter().filter(|(_, extra)| extra.is_going).map(|(name, _)| name.clone()).collect();
        for name in going {
            let Some(known) = group(region, &name) else {
                self.groups.remove(&name);
                continue;
            };
            if members(region, &known).is_empty() {
                region.remove_group(&known.name);
                self.groups.remove(&name);
                if known.kind == GroupKind::EksManaged {
                    self.eks.nodegroups.remove(known.name.as_str());
                }
                self.touched += 1;
            }
        }
    }

    pub(crate) fn set_desired(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let known = known_group(region, input.required("AutoScalingGroupName")?)?;
        let desired = input.count("DesiredCapacity")?.ok_or_else(|| Fault::validation("1 validation error detected: Value null at 'desiredCapacity' failed to satisfy constraint: Member must not be null"))?;
        let GroupSize { min, max, .. } = known.size;
        if desired > max {
            return Err(Fault::validation(format!(
                "New SetDesiredCapacity value {desired} is above max value {max} for the AutoScalingGroup."
            )));
        }
        if desired < min {
            return Err(Fault::validation(format!(
                "New SetDesiredCapacity value {desired} is below min value {min} for the AutoScalingGroup."
            )));
        }
        let mut changed = NodeGroup::clone(&known);
        changed.size.desired = desired;
        region.put_group(changed);
        Ok(Value::Null)
    }

    pub(crate) fn processes(&mut self, region: &mut dyn Region, input: Input<'_>, suspends: bool) -> Reply {
        let mut changed = NodeGroup::clone(&*known_group(region, input.required("AutoScalingGroupName")?)?);
        let mut named = Vec::new();
        for word in input.texts("ScalingProcesses") {
            let all = ScalingProcess::ALL.map(ScalingProcess::as_str).join(", ");
            named.push(ScalingProcess::of(&word).ok_or_else(|| {
                Fault::validation(format!("Invalid process name {word}. Valid process names are: {all}"))
            })?);
        }
        if named.is_empty() {
            named = ScalingProcess::ALL.to_vec();
        }
        for process in named {
            if suspends {
                changed.ways.suspended.insert(process);
            } else {
                changed.ways.suspended.remove(&process);
            }
        }
        region.put_group(changed);
        Ok(Value::Null)
    }

    pub(crate) fn write_tags(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        for tag in input.inputs("Tags") {
            let name = tag.text("ResourceId").unwrap_or_default();
            let mut changed = NodeGroup::clone(&*known_group(region, name)?);
            let extra = self.groups.entry(name.to_owned()).or_default();
            put_tag(&mut changed, extra, tag)?;
            region.put_group(changed);
        }
        Ok(Value::Null)
    }

    pub(crate) fn delete_tags(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        for tag in input.inputs("Tags") {
            let mut changed =
                NodeGroup::clone(&*known_group(region, tag.text("ResourceId").unwrap_or_default())?);
            changed.tags = changed.tags.without(tag.text("Key").unwrap_or_default());
            region.put_group(changed);
        }
        Ok(Value::Null)
    }
}

fn put_tag(group: &mut NodeGroup, extra: &mut Extra, tag: Input<'_>) -> Result<(), Fault> {
    let (key, value) = (tag.text("Key").unwrap_or_default(), tag.text("Value").unwrap_or_default());
    if key.is_empty() || key.chars().count() > 128 || value.chars().count() > 256 {
        return Err(Fault::validation("The key of a tag has 1 to 128 characters, its value up to 256."));
    }
    if key.starts_with("aws:") {
        return Err(Fault::validation(format!("Tag keys that begin with aws: are reserved: {key}")));
    }
    group.tags = group.tags.with(key, value);
    if group.tags.len() > TAGS_MAX {
        return Err(Fault::bad("LimitExceeded", format!("A group has at most {TAGS_MAX} tags.")));
    }
    extra.propagated.retain(|known| known != key);
    if tag.flag("PropagateAtLaunch")?.unwrap_or(false) {
        extra.propagated.push(key.to_owned());
    }
    Ok(())
}

fn within(size: GroupSize) -> Result<(), Fault> {
    let GroupSize { min, max, desired } = size;
    if min > max {
        return Err(Fault::validation(format!(
            "Max bound, {max}, must be greater than or equal to min bound, {min}"
        )));
    }
    if !(min..=max).contains(&desired) {
        return Err(Fault::validation(format!(
            "Desired capacity:{desired} must be between the specified min size:{min} and max size:{max}"
        )));
    }
    Ok(())
}

fn ways(group: &mut NodeGroup, input: Input<'_>) -> Result<(), Fault> {
    let policies = input.texts("TerminationPolicies");
    if !policies.is_empty() {
        let read = policies.iter().map(|word| {
            TerminationPolicy::of(word)
                .ok_or_else(|| Fault::validation(format!("{word} is not a valid termination policy")))
        });
        group.ways.policies = read.collect::<Result<_, _>>()?;
    }
    if let Some(protects) = input.flag("NewInstancesProtectedFromScaleIn")? {
        group.ways.protects_new = protects;
    }
    Ok(())
}

fn extra_of(extra: &mut Extra, input: Input<'_>) -> Result<(), Fault> {
    let (kind, grace) = extra.health.clone().unwrap_or(("EC2".to_owned(), 300));
    let kind = input.text("HealthCheckType").map_or(kind, str::to_owned);
    extra.health = Some((kind, input.number("HealthCheckGracePeriod")?.unwrap_or(grace)));
    extra.cooldown = input.number("DefaultCooldown")?.or(extra.cooldown);
    extra.lifetime = input.number("MaxInstanceLifetime")?.or(extra.lifetime).filter(|seconds| *seconds > 0);
    extra.rebalances = input.flag("CapacityRebalance")?.unwrap_or(extra.rebalances);
    super::settings::keep(extra, input)
}

/// A group is made from one launch template, which is named once.
fn one_template(input: Input<'_>) -> Result<(), Fault> {
    let (plain, mixed) = (input.inner("LaunchTemplate"), input.inner("MixedInstancesPolicy"));
    if !plain.0.is_null() && !mixed.0.is_null() {
        return Err(Fault::validation(
            "Valid requests must contain either LaunchTemplate, LaunchConfigurationName, InstanceId or MixedInstancesPolicy parameter.",
        ));
    }
    let of_mixed = mixed.inner("LaunchTemplate").inner("LaunchTemplateSpecification");
    let is_twice = |spec: Input<'_>| spec.has("LaunchTemplateId") && spec.has("LaunchTemplateName");
    match is_twice(plain) || is_twice(of_mixed) {
        true => Err(Fault::validation(
            "Valid requests must contain either launchTemplateId or LaunchTemplateName",
        )),
        false => Ok(()),
    }
}

/// What a mixed instances policy says of the nodes.
fn wish_of(input: Input<'_>, zones: Vec<Zone>) -> Wish<'_> {
    let mixed = input.inner("MixedInstancesPolicy");
    let overrides = mixed.inner("LaunchTemplate").inputs("Overrides").collect::<Vec<_>>();
    let instance_types =
        overrides.iter().filter_map(|one| one.text("InstanceType")).map(str::to_owned).collect();
    let distribution = mixed.inner("InstancesDistribution");
    let above = distribution.number("OnDemandPercentageAboveBaseCapacity").ok().flatten();
    let base = distribution.number("OnDemandBaseCapacity").ok().flatten().unwrap_or(0);
    Wish { instance_types, zones, is_spot: above == Some(0) && base == 0, ..Wish::default() }
}
