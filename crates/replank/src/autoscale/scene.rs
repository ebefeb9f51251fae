//! What is scaled: the groups that flags and tags name, as AWS has them, and what their new nodes are to be.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use replank_core::scale::{self, Autoscaler, Group, Groups, Options};
use replank_facts::group_facts::{self, Facts};
use replank_facts::groups::{GroupBy, LearntGroup, from_instances};
use replank_facts::instance_types::{described, instance_type};
use replank_live::aws::Aws;
use replank_model::delta::Delta;
use replank_model::object::cloud::{GroupKind, NodeGroup, ScalingProcess};
use replank_model::text::{GroupName, InstanceId, Text};
use replank_model::view::View;
use tokio::runtime::Runtime;

use super::own::keep_own;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::scale::input;

/// What is scaled.
pub(crate) struct Scaled {
    /// How.
    pub(crate) autoscaler: Autoscaler,
    /// Where its settings come from, in words.
    pub(crate) origin: String,
    /// The groups, as they are followed.
    pub(crate) bases: Vec<NodeGroup>,
    /// The cluster, with the groups and their instances.
    pub(crate) view: View,
    /// What the autoscaler makes of them.
    pub(crate) groups: Groups,
    /// Names of the Auto Scaling groups, as they were found.
    pub(crate) found: BTreeSet<Text>,
}

/// The groups that are scaled, and how.
///
/// # Errors
/// Where a flag cannot be read, no group is named, or the account does not have it.
pub(crate) fn scaled(
    (runtime, aws): (&Runtime, &Aws),
    view: &View,
    (flags, prices): (&[String], Option<&Path>),
    printer: &mut Printer,
) -> Result<Scaled, Failure> {
    let settings = input::settings(flags, view, printer)?;
    let prices = input::prices(prices, &settings.options)?;
    let priorities = input::priorities(view, &settings.options, printer);
    let mut options = settings.options;
    are_named(&options)?;
    let (found, mut answers, types) = runtime.block_on(async {
        let found = named(aws, &options).await?;
        let (answers, types) = aws.answers_of(&found).await?;
        Ok::<_, Failure>((found, answers, types))
    })?;
    let others = keep_own(&mut answers, view)?;
    others.iter().for_each(|why| printer.warning(why));
    let told = group_facts::read(&answers).map_err(Failure::internal)?;
    let mut facts = group_facts::merged(told);
    for one in facts.iter_mut().filter(|one| one.types.is_empty()) {
        let own = one.auto_scaling.as_ref().unwrap_or(one.name.text());
        one.types.extend(types.get(own).into_iter().flatten().cloned());
    }
    runtime.block_on(describe(aws, &mut facts))?;
    if facts.is_empty() && !others.is_empty() {
        return Err(Failure::usage_message("no group that is named or tagged is one of this cluster's").next(
            "check context, account and region; name the cluster's own tag, too: --node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/CLUSTER",
        ));
    }
    are_there(&facts, &options, aws)?;
    within(&mut options, &facts, printer);
    options.only = Some(facts.iter().map(|one| one.name.clone()).collect());
    let by = GroupBy::default();
    let mut learnt = learnt(view, &facts);
    let known = with_groups(view, &learnt);
    let applied = scale::apply_facts(&mut learnt, &known, &by, &facts, &options, true);
    applied.bad_tags.iter().for_each(|bad| printer.warning(&bad.to_string()));
    let view = with_groups(view, &learnt);
    let groups = Groups::of(&view, &by, &facts, &options);
    for (name, why) in groups.left_out.iter().filter(|(name, _)| facts.iter().any(|one| one.name == *name)) {
        printer.warning(&format!("group {name} is not scaled: {why}"));
    }
    balance_zones(&groups, &facts, &options, printer);
    let autoscaler = Autoscaler { options, facts, prices, priorities, group_by: by };
    let bases = learnt.into_iter().map(|one| one.group).collect();
    Ok(Scaled { autoscaler, origin: settings.origin, bases, view, groups, found })
}

/// Asks for the types of groups without instances of which nothing is known: what others launch, their nodes show.
async fn describe(aws: &Aws, facts: &mut [Facts]) -> Result<(), Failure> {
    let is_unknown = |name: &&Text| instance_type(name).is_none();
    let empty = facts.iter_mut().filter(|one| one.instances.is_empty());
    for one in empty {
        let unknown: BTreeSet<Text> = one.types.iter().filter(is_unknown).cloned().collect();
        if !unknown.is_empty() {
            one.described = described(&aws.instance_types(&unknown).await?);
        }
    }
    Ok(())
}

/// Scaling everything that is there is nobody's wish by the way.
fn are_named(options: &Options) -> Result<(), Failure> {
    if options.nodes.is_empty() && options.discovery.is_empty() {
        return Err(Failure::usage_message("nothing says which groups are to be scaled").next(
            "pass --node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/CLUSTER, or --nodes=MIN:MAX:NAME for each group",
        ));
    }
    Ok(())
}

/// Auto Scaling groups with the tags, and those that are named, by their own names or those of their managed node groups.
pub(super) async fn named(aws: &Aws, options: &Options) -> Result<BTreeSet<Text>, Failure> {
    let mut found = aws.tagged(&options.discovery).await?;
    let names: Vec<&str> = options.nodes.iter().map(|flag| flag.name.as_str()).collect();
    found.extend(names.iter().map(|name| Text::from(*name)));
    found.extend(aws.behind_nodegroups(&names).await?);
    Ok(found)
}

fn are_there(facts: &[Facts], options: &Options, aws: &Aws) -> Result<(), Failure> {
    let place = format!("account {} in {}", aws.account(), aws.region());
    let is_it = |facts: &Facts, name: &GroupName| {
        facts.name == *name || facts.auto_scaling.as_ref() == Some(name.text())
    };
    let missing = options.nodes.iter().find(|flag| !facts.iter().any(|one| is_it(one, &flag.name)));
    if let Some(flag) = missing {
        return Err(Failure::usage_message(format!(
            "--nodes: {place} has neither an Auto Scaling group nor a managed node group named {}",
            flag.name
        ))
        .next("name one that is there: aws autoscaling describe-auto-scaling-groups --query 'AutoScalingGroups[].AutoScalingGroupName'"));
    }
    if facts.is_empty() {
        return Err(Failure::usage_message(format!(
            "--node-group-auto-discovery: no Auto Scaling group of {place} has these tags"
        ))
        .next("tag the groups that are to be scaled; EKS gives its managed node groups k8s.io/cluster-autoscaler/enabled and k8s.io/cluster-autoscaler/CLUSTER"));
    }
    Ok(())
}

/// The bounds of a group are AWS's: nothing goes above or below them, whatever a flag says.
fn within(options: &mut Options, facts: &[Facts], printer: &mut Printer) {
    for flag in &mut options.nodes {
        let is_it =
            |facts: &&Facts| facts.name == flag.name || facts.auto_scaling.as_ref() == Some(flag.name.text());
        let size = facts.iter().find(is_it).and_then(|facts| facts.size);
        if let Some(size) = size.filter(|size| size.max < flag.max) {
            printer.warning(&format!(
                "--nodes={}:{}:{}: the group's own maximum is {}, which is not raised",
                flag.min, flag.max, flag.name, size.max
            ));
            flag.max = size.max;
            flag.min = flag.min.min(size.max);
        }
        if let Some(size) = size.filter(|size| size.min > flag.min) {
            printer.warning(&format!(
                "--nodes={}:{}:{}: the group's own minimum is {}, which is not lowered",
                flag.min, flag.max, flag.name, size.min
            ));
            flag.min = size.min;
            flag.max = flag.max.max(size.min);
        }
    }
}

/// Names groups of which Auto Scaling may end an instance by itself, undrained, after one was ended: to balance zones.
fn balance_zones(groups: &Groups, facts: &[Facts], options: &Options, printer: &mut Printer) {
    let may_shrink =
        |group: &&Group| options.down.is_enabled && group.size.min < group.size.max && group.zones.len() > 1;
    for group in groups.all.iter().filter(may_shrink) {
        let known = facts.iter().find(|one| one.name == group.name);
        let balances =
            known.filter(|one| one.kind == GroupKind::SelfManaged).and_then(|one| one.suspended.as_ref());
        if balances.is_some_and(|suspended| !suspended.contains(&ScalingProcess::AzRebalance)) {
            let name = group.auto_scaling.as_ref().unwrap_or(group.name.text());
            printer.warning(&format!(
                "group {}: AZRebalance is active, so after a scale-down Auto Scaling may terminate another node without draining it; suspend it: aws autoscaling suspend-processes --auto-scaling-group-name {name} --scaling-processes AZRebalance",
                group.name
            ));
        }
    }
}

/// Groups as the nodes of their instances show them, with the sizes that AWS tells.
fn learnt(view: &View, facts: &[Facts]) -> Vec<LearntGroup> {
    let of_group = |one: &Facts| {
        let name = one.name.clone();
        one.instances.keys().map(move |id| (id.clone(), name.clone())).collect::<Vec<_>>()
    };
    let groups: BTreeMap<InstanceId, GroupName> = facts.iter().flat_map(of_group).collect();
    let mut learnt = from_instances(view, &groups);
    for one in &mut learnt {
        let size = facts.iter().find(|facts| facts.name == one.group.name).and_then(|facts| facts.size);
        one.group.size = size.unwrap_or(one.group.size);
    }
    learnt
}

/// The cluster with groups and instances beside its objects.
fn with_groups(view: &View, learnt: &[LearntGroup]) -> View {
    let mut view = view.clone();
    for one in learnt {
        view.apply(Delta::Group(one.group.clone().into()));
        for instance in &one.instances {
            view.apply(Delta::Instance(instance.clone().into()));
        }
    }
    view
}
