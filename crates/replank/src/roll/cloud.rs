//! The cloud behind the nodes of a plan: connected where Replank replaces nodes itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_core::scale;
use replank_facts::group_facts;
use replank_facts::groups::LearntGroup;
use replank_facts::plan::{ChosenBy, Plan};
use replank_facts::target::former;
use replank_live::aws::{Aws, AwsAsked, AwsError, EksUpdate};
use replank_live::cloud::OfNode;
use replank_model::object::cloud::{GroupKind, NodeGroup, instance_of};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::record::MadeOf;
use serde_json::Value;

use super::args::AwsArgs;
use super::balanced::balanced;
use super::landing::{IfMissing, Missing, missing};
use crate::commit::Commit;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::made_like::{self, deletion};
use crate::printer::Printer;
use crate::rehearse::Scene;

/// How the provider ids of AWS's nodes begin.
const AWS: &str = "aws://";

/// What is asked of AWS's configuration.
pub(crate) fn asked(args: &AwsArgs) -> AwsAsked {
    AwsAsked {
        region: args.region.clone(),
        profile: args.profile.clone(),
        endpoint: args.endpoint_url.clone(),
    }
}

impl From<AwsError> for Failure {
    fn from(error: AwsError) -> Self {
        let exit = match error {
            AwsError::Refused { .. } | AwsError::Unreachable { .. } | AwsError::Unreadable { .. } => {
                Exit::Internal
            }
            AwsError::NoRegion
            | AwsError::NoProfile { .. }
            | AwsError::NoCredentials { .. }
            | AwsError::Credentials { .. }
            | AwsError::NotAccepted { .. }
            | AwsError::Denied { .. }
            | AwsError::Queue { .. }
            | AwsError::WrongAccount { .. } => Exit::Usage,
        };
        let next = error.next();
        let failure = Self { exit, error: error.into(), next: None };
        match next {
            Some(next) => failure.next(next),
            None => failure,
        }
    }
}

/// A cloud behind nodes.
pub(super) struct Cloud {
    pub(super) aws: Arc<Aws>,
    /// The groups that are followed.
    pub(super) followed: Vec<NodeGroup>,
    /// Those that the plan is about.
    pub(super) meant: Vec<NodeGroup>,
    /// The group that nodes move into, where it is to be made first: what is known of it is assumed.
    pub(super) missing: Option<Missing>,
    /// What is said of the managed group that nodes move into where the run does not come to its end.
    pub(super) stays: Option<String>,
    /// Updates of the plan's managed node groups that are in progress.
    begun: Vec<(String, EksUpdate)>,
    /// What the nodes of groups are made of that go, where it is known.
    before: BTreeMap<String, MadeOf>,
}

impl Cloud {
    /// Names the updates that the run cannot have asked for, as they are older than it, and what to commit: whoever has started one with the CLI has not told the
    /// code.
    pub(super) fn tell_adopted(&self, since: Option<Time>, printer: &mut Printer) {
        let is_older = |update: &EksUpdate| {
            since.is_none_or(|since| update.created.is_some_and(|created| created < since.floor_seconds()))
        };
        for (group, update) in self.begun.iter().filter(|(_, update)| is_older(update)) {
            printer.story(&format!(
                "node group {group}: EKS update {}, which somebody else has begun, is in progress: if it leads to the target, it is followed",
                update.id
            ));
            if let Some(commit) = Commit::nodegroup(group, &update.params) {
                let before = self.before.get(group).map(|made_of| format!("; before: {made_of}"));
                printer.story(&format!("to commit: {}{}", commit.line(), before.unwrap_or_default()));
            }
        }
    }
}

/// Connects the cloud where the plan's nodes need one, and gives the scene's groups what it says of them; `None` where Karpenter or somebody else replaces the nodes.
///
/// # Errors
/// Where there is no region or no credentials, or the account does not have the plan's groups as the plan means them.
pub(super) fn connect(
    scene: &mut Scene,
    (args, if_missing): (&AwsArgs, IfMissing),
    printer: &mut Printer,
) -> Result<Option<Cloud>, Failure> {
    if scene.plan.external().is_some() {
        return Ok(None);
    }
    let nodes = of_aws(&scene.view);
    let meant = meant(scene);
    let is_needed = meant.iter().any(|node| nodes.values().any(|known| known.name == *node));
    if !is_needed {
        return Ok(None);
    }
    let runtime = crate::live::runtime()?;
    let answered = runtime.block_on(async {
        let aws = Aws::open(&asked(args)).await?;
        let target: Vec<GroupName> = scene.plan.target.group.iter().cloned().collect();
        let answers = [aws.answers(&nodes, &target).await?];
        let missing = missing(&aws, &answers, &scene.plan).await?;
        Ok::<_, AwsError>((aws, answers, missing))
    });
    let (aws, mut answers, missing) = answered.map_err(|error| {
        let failure = Failure::from(error);
        // Whoever replaces nodes by other means may have no account at hand: then AWS is not asked.
        let other = "where somebody else replaces the nodes, pass --provider external";
        match failure.next.clone() {
            Some(next) => failure.next(format!("{next}; {other}")),
            None => failure.next(other),
        }
    })?;
    printer.story(&format!("AWS account {} in {}", aws.account(), aws.region()));
    let missing = assumed(missing, (&aws, if_missing), (&mut answers[0], &scene.plan), printer)?;
    let told = group_facts::read(&answers[0]).map_err(Failure::internal)?;
    let facts = scale::completed(group_facts::merged(told), &scene.plan.node_groups);
    let applied = scale::apply_facts(
        &mut scene.groups,
        &scene.view,
        &scene.group_by,
        &facts,
        &scale::Options::default(),
        false,
    );
    made_like::released(&mut scene.groups, &answers, &scene.plan);
    applied.bad_tags.iter().for_each(|bad| printer.warning(&bad.to_string()));
    scene.facts = facts;
    runtime.block_on(balanced(scene, &aws, &answers[0], printer))?;
    let by_instance: BTreeMap<&InstanceId, &GroupName> = scene
        .facts
        .iter()
        .flat_map(|facts| facts.instances.keys().map(move |id| (id, &facts.name)))
        .collect();
    let (mut followed, mut own_groups) = (Vec::new(), Vec::new());
    for learnt in &scene.groups {
        let own: BTreeSet<&GroupName> =
            learnt.instances.iter().filter_map(|one| by_instance.get(&one.id).copied()).collect();
        let group = &learnt.group;
        let is_meant = is_of_plan(&scene.plan, &group.name)
            || learnt.instances.iter().any(|one| one.node.as_ref().is_some_and(|node| meant.contains(node)));
        let told = scene.facts.iter().find(|facts| {
            facts.auto_scaling.as_ref().unwrap_or(facts.name.text()) == &group.auto_scaling_group
        });
        match (own.len(), told) {
            (0 | 1, Some(told)) => {
                is_as_meant(told, &group.name, is_meant)?;
                followed.push(group.clone());
                own_groups.extend(is_meant.then(|| group.clone()));
            }
            (0 | 1, None) if is_meant => {
                return Err(unknown(group.name.as_str(), &aws));
            }
            (0 | 1, None) => {}
            _ if is_meant => return Err(several(group.name.as_str(), &own)),
            _ => {}
        }
    }
    if missing.is_none() {
        made_like::tell(&answers, &scene.plan, true, printer);
    }
    let is_assumed = |group: &NodeGroup| {
        missing.as_ref().is_some_and(|missing| missing.made.name() == group.name.as_str())
    };
    let there: Vec<NodeGroup> = own_groups.iter().filter(|group| !is_assumed(group)).cloned().collect();
    let begun = runtime.block_on(aws.begun_updates(&there))?;
    aws.follow(followed.clone());
    let stays = made_like::landing(&answers, &scene.plan).map(|landing| {
        let of = |member: &str| landing[member].as_str().unwrap_or_default();
        let (cluster, name) = (of("clusterName"), of("nodegroupName"));
        format!(
            "node group {name} stays: if it was made for this run, and nothing needs it, delete it: {}",
            deletion(cluster, name)
        )
    });
    let before = scene.groups.iter().filter_map(|LearntGroup { group, instances }| {
        Some((group.name.to_string(), former(&scene.plan.target, group, instances.iter())?))
    });
    let before = before.collect();
    Ok(Some(Cloud { aws: Arc::new(aws), followed, meant: own_groups, missing, stays, begun, before }))
}

/// Where the group that nodes move into is not there, it is assumed to be as it will be made; or that ends the command.
fn assumed(
    missing: Option<Missing>,
    (aws, if_missing): (&Aws, IfMissing),
    (answers, plan): (&mut Value, &Plan),
    printer: &mut Printer,
) -> Result<Option<Missing>, Failure> {
    let Some(missing) = missing else { return Ok(None) };
    let is_described = made_like::landing(std::slice::from_ref(answers), plan).is_some();
    match if_missing {
        // Whoever has not asked for it to be made looks at what there is of it.
        IfMissing::Ends if is_described => return Ok(None),
        IfMissing::Ends => return Err(missing.ends(aws)),
        IfMissing::Assumes => printer.story(&missing.told()?),
    }
    if !is_described {
        let made = missing.made.assumed(std::slice::from_ref(answers));
        if let (Value::Array(all), Value::Array(more)) = (answers, made) {
            all.extend(more);
        }
    }
    Ok(Some(missing))
}

/// EKS knows a node group by its own name only, and nothing goes through its Auto Scaling group.
fn is_as_meant(told: &group_facts::Facts, name: &GroupName, is_meant: bool) -> Result<(), Failure> {
    if !is_meant || told.kind != GroupKind::EksManaged || told.name == *name {
        return Ok(());
    }
    Err(Failure::usage_message(format!(
        "the nodes of group {name} are those of EKS's managed node group {}: EKS owns its Auto Scaling group",
        told.name
    ))
    .next(format!(
        "name the managed node group: spec.groups: [{}], with the label eks.amazonaws.com/nodegroup (--group-label)",
        told.name
    )))
}

fn unknown(name: &str, aws: &Aws) -> Failure {
    Failure::usage_message(format!(
        "no Auto Scaling group of account {} in {} has the nodes of group {name}",
        aws.account(),
        aws.region()
    ))
    .next("check the account and the region: aws autoscaling describe-auto-scaling-instances; where somebody else replaces drained nodes: --provider external")
}

fn several(name: &str, own: &BTreeSet<&GroupName>) -> Failure {
    let own: Vec<&str> = own.iter().map(|one| one.as_str()).collect();
    Failure::usage_message(format!(
        "the nodes of group {name} are of several Auto Scaling groups: {}",
        own.join(", ")
    ))
    .next("give the nodes of each a label of their own, and pass it with --group-label; then name the groups in the plan")
}

fn is_of_plan(plan: &Plan, group: &GroupName) -> bool {
    let is_chosen = match &plan.nodes.by {
        ChosenBy::Groups(groups) => groups.contains(group),
        ChosenBy::Selector(_) => false,
    };
    is_chosen || plan.target.group.as_ref() == Some(group)
}

/// Nodes that a plan is about, whether they are replaced already or not.
fn meant(scene: &Scene) -> BTreeSet<NodeName> {
    let is_meant = |node: &Node| match &scene.plan.nodes.by {
        ChosenBy::Groups(groups) => replank_facts::groups::group_of(node, &scene.group_by)
            .is_some_and(|group| groups.contains(&group)),
        ChosenBy::Selector(selector) => selector.matches(|key| node.meta.labels.value(key)),
    };
    let nodes = scene.view.nodes.unordered().filter(|(_, node)| is_meant(node));
    nodes.map(|(_, node)| node.name()).collect()
}

/// Nodes that run on instances of AWS, and that no NodeClaim is about.
pub(crate) fn of_aws(view: &View) -> BTreeMap<InstanceId, OfNode> {
    let claimed: BTreeSet<NodeName> =
        view.node_claims.unordered().filter_map(|(_, claim)| claim.status.node_name.clone()).collect();
    let nodes = view.nodes.unordered().map(|(_, node)| node);
    let own = nodes.filter(|node| node.spec.provider_id.starts_with(AWS) && !claimed.contains(&node.name()));
    let of = own.filter_map(|node| {
        let kubelet = node.status.node_info.kubelet_version.clone();
        Some((instance_of(&node.spec.provider_id)?, OfNode { name: node.name(), kubelet }))
    });
    of.collect()
}
