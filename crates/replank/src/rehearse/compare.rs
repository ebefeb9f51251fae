//! `replank rehearse --as`: what others would have done with the same nodes.

use std::collections::BTreeSet;

use replank_core::nodes_to_replace;
use replank_facts::groups::{LearntGroup, instance_id_of};
use replank_model::object::cloud::GroupKind;
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::Time;
use replank_rehearse::compare::{
    AFTERWARDS, Come, Eks, Figures, Kubectl, Way, WayResult, drains, of_managed,
};
use replank_rehearse::{Rehearsal, RehearsalResult, Stop};
use serde::Serialize;

use super::Scene;
use super::args::{RehearseArgs, WayArg};
use super::run::{as_other, as_replank, options, rolled, with_groups};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::RehearseFormat;
use crate::printer::Printer;
use crate::report::{Comparison, comparison};

/// The version of the form.
const VERSION: &str = "replank.dev/comparison/v1alpha1";

/// A comparison, as `-o json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    version: &'static str,
    seed: u64,
    nodes: Vec<NodeName>,
    ways: &'a [WayResult],
    coverage: &'a replank_facts::coverage::Coverage,
}

/// Rehearses each way, and prints the table.
pub(super) fn answer(
    args: &RehearseArgs,
    scene: &Scene,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let refused = match args.output {
        RehearseFormat::Markdown => Some("a change request is Replank's own"),
        RehearseFormat::Github => Some("a comparison has no findings that could be annotated"),
        RehearseFormat::Text | RehearseFormat::Json => None,
    };
    if let Some(why) = refused {
        return Err(Failure::usage_message(why).next("omit --as, or use -o text or -o json"));
    }
    if args.drain_timeout.is_some() && !args.ways.contains(&WayArg::Kubectl) {
        return Err(Failure::usage_message("--drain-timeout requires --as kubectl")
            .next("pass --as kubectl, alone or among others"));
    }
    interrupt.hold();
    let compared = Compared::of(args, scene, interrupt);
    let mut ways: Vec<WayResult> = Vec::new();
    for way in asked(&args.ways) {
        let result = compared.one(way);
        if interrupt.is_pressed() {
            printer.warning(&format!("interrupted by Ctrl-C: {} and what follows is missing", way.as_str()));
            break;
        }
        ways.push(result);
    }
    match args.output {
        RehearseFormat::Text | RehearseFormat::Markdown | RehearseFormat::Github => {
            let look = printer.look();
            let table = Comparison {
                plan: &scene.plan.name,
                snapshot: &scene.name,
                seed: args.seed(),
                ways: &ways,
                coverage: &scene.coverage,
            };
            printer.data(&comparison(&table, look))?;
        }
        RehearseFormat::Json => {
            let nodes = compared.nodes.iter().cloned().collect();
            let printed = Printed {
                version: VERSION,
                seed: args.seed(),
                nodes,
                ways: &ways,
                coverage: &scene.coverage,
            };
            printer.json(&printed)?;
        }
    }
    if interrupt.is_pressed() {
        return Ok(Exit::Interrupted);
    }
    Ok(exit(&ways, scene))
}

/// Each way once, in the order in which they were asked for.
fn asked(all: &[WayArg]) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for way in all {
        let way = match way {
            WayArg::Eks => Way::Eks,
            WayArg::EksForce => Way::EksForce,
            WayArg::Kubectl => Way::Kubectl,
            WayArg::Replank => Way::Replank,
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// Replank's own way decides where it is among them, else the worst.
fn exit(ways: &[WayResult], scene: &Scene) -> Exit {
    let of = |come: Come| match come {
        Come::Done => Exit::Passes,
        Come::Partial => Exit::Findings,
        Come::Failed | Come::Blocked | Come::NotApplicable => Exit::Blocked,
    };
    let own = ways.iter().find(|one| one.way == Way::Replank).map(|one| one.outcome);
    let worst = ways.iter().map(|one| one.outcome).max();
    let exit = own.or(worst).map_or(Exit::Passes, of);
    let is_good = [Exit::Passes, Exit::Findings].contains(&exit);
    if is_good && !scene.coverage.complete { Exit::Incomplete } else { exit }
}

/// What all ways have in common.
struct Compared<'a> {
    args: &'a RehearseArgs,
    scene: &'a Scene,
    interrupt: &'a Interrupt,
    nodes: BTreeSet<NodeName>,
    /// The groups of these nodes.
    groups: Vec<GroupName>,
}

/// Whose a group is, as far as one can tell.
enum Owner {
    /// It is said to be managed.
    Eks,
    /// Nobody says so, but its nodes have EKS's own label.
    EksByLabel,
    /// It is not.
    Oneself,
}

impl<'a> Compared<'a> {
    fn of(args: &'a RehearseArgs, scene: &'a Scene, interrupt: &'a Interrupt) -> Self {
        let nodes = nodes_to_replace(&with_groups(scene), &scene.plan, &options(scene));
        let known = scene.groups.iter().map(|learnt| &learnt.group.name).collect::<BTreeSet<_>>();
        let landing = scene.plan.target.group.as_ref();
        let groups = rolled(scene).into_iter().filter(|name| known.contains(name) && landing != Some(name));
        Self { args, scene, interrupt, nodes, groups: groups.collect() }
    }

    fn one(&self, way: Way) -> WayResult {
        match way {
            Way::Eks => self.eks(false),
            Way::EksForce => self.eks(true),
            Way::Kubectl => self.kubectl(),
            Way::Replank => self.replank(),
        }
    }

    fn owner(&self, name: &GroupName) -> Owner {
        let learnt = self.scene.groups.iter().find(|learnt| learnt.group.name == *name);
        let is_told = self.scene.facts.iter().any(|facts| facts.name == *name);
        match learnt {
            Some(learnt) if learnt.group.kind == GroupKind::EksManaged => Owner::Eks,
            Some(learnt) if !is_told && self.has_label(learnt) => Owner::EksByLabel,
            Some(_) | None => Owner::Oneself,
        }
    }

    /// Whether all of its nodes have the label that EKS gives those of managed groups (EKS user guide, "Managed node groups").
    fn has_label(&self, learnt: &LearntGroup) -> bool {
        let nodes = self.scene.view.nodes.sorted();
        let mut own = nodes.iter().map(|(_, node)| node).filter(|node| {
            let id = instance_id_of(node);
            learnt.instances.iter().any(|one| one.id == id)
        });
        !learnt.instances.is_empty() && own.all(|node| node.meta.labels.contains_key(LABEL_EKS_NODEGROUP))
    }

    fn eks(&self, force: bool) -> WayResult {
        let way = if force { Way::EksForce } else { Way::Eks };
        let owners: Vec<(&GroupName, Owner)> =
            self.groups.iter().map(|name| (name, self.owner(name))).collect();
        let of = |wanted: fn(&Owner) -> bool| -> Vec<GroupName> {
            owners.iter().filter(|(_, owner)| wanted(owner)).map(|(name, _)| (*name).clone()).collect()
        };
        let managed = of(|owner| !matches!(owner, Owner::Oneself));
        let own = of(|owner| matches!(owner, Owner::Oneself));
        if managed.is_empty() {
            let words = if own.is_empty() {
                "not for nodes of no node group: EKS updates managed node groups only".to_owned()
            } else {
                format!(
                    "not for self-managed groups: EKS has no update for {}. If it manages them, say so: managedBy: eks in the plan's nodeGroups, or --groups with \
                     what aws eks describe-nodegroup prints",
                    names(&own)
                )
            };
            return WayResult::not_applicable(way, words);
        }
        let mut scene = self.scene.clone();
        for learnt in scene.groups.iter_mut().filter(|learnt| managed.contains(&learnt.group.name)) {
            learnt.group = learnt.group.clone().managed_by_eks();
        }
        let mut result = self.update(&scene, &managed, force);
        // A forced one goes through all nodes, and shows at which of them the other would fail.
        let forced = (result.outcome == Come::Failed && !force).then(|| self.update(&scene, &managed, true));
        let through = forced.as_ref().unwrap_or(&result).figures.as_ref();
        let evictions = through.map_or(&[][..], |figures| &figures.evictions);
        let here = (&self.scene.view, self.scene.now);
        let is_managed = |name: &&NodeName| self.group_of(name).is_some_and(|group| managed.contains(group));
        // Where EKS begins no update, no node was drained that could be compared.
        if result.outcome != Come::NotApplicable {
            result.drains = drains(here, self.nodes.iter().filter(is_managed), evictions);
        }
        let by_label = of(|owner| matches!(owner, Owner::EksByLabel));
        if !by_label.is_empty() {
            result.notes.push(format!(
                "{} counted as managed: all of its nodes have the label {LABEL_EKS_NODEGROUP}",
                names(&by_label)
            ));
        }
        if !own.is_empty() {
            result.notes.push(format!("not for self-managed groups: EKS has no update for {}", names(&own)));
        }
        if scene.plan.target.group.is_some() {
            result.notes.push("target.group has no effect: EKS replaces nodes in their own group".to_owned());
        }
        result
    }

    /// One update of managed groups.
    fn update(&self, scene: &Scene, managed: &[GroupName], force: bool) -> WayResult {
        let mut actor = Eks::new(managed.to_vec(), scene.plan.target.clone(), force);
        let (rehearsal, stop, over) =
            as_other(scene, &mut actor, self.args.seed(), self.args.limit, self.interrupt);
        actor.result(stop, self.figures(rehearsal, stop, over, scene))
    }

    fn group_of(&self, node: &NodeName) -> Option<&GroupName> {
        let id = instance_id_of(self.scene.view.node(node)?);
        let learnt = self.scene.groups.iter().find(|learnt| learnt.instances.iter().any(|one| one.id == id));
        learnt.map(|learnt| &learnt.group.name)
    }

    fn kubectl(&self) -> WayResult {
        if self.groups.is_empty() {
            let why = "not for nodes of no node group: nothing would launch another node".to_owned();
            return WayResult::not_applicable(Way::Kubectl, why);
        }
        let patience = self.scene.plan.progress_deadline;
        let what = (self.groups.clone(), self.nodes.iter().cloned());
        let mut actor = Kubectl::new(what, self.scene.plan.target.clone(), self.args.drain_timeout, patience);
        let (rehearsal, stop, over) =
            as_other(self.scene, &mut actor, self.args.seed(), self.args.limit, self.interrupt);
        let notes = of_managed(rehearsal.world().view(), &self.groups);
        let figures = self.figures(rehearsal, stop, over, self.scene);
        let mut result = actor.result(stop, figures);
        result.notes = notes;
        if self.scene.plan.target.group.is_some() {
            result.notes.push("target.group has no effect: nodes are replaced in their own group".to_owned());
        }
        result
    }

    fn replank(&self) -> WayResult {
        let (rehearsed, mut rehearsal) =
            as_replank(self.scene, self.args.seed(), self.args.limit, self.interrupt);
        let result: RehearsalResult = rehearsed.result;
        let over = result.start + result.virtual_duration;
        rehearsal.settle(AFTERWARDS);
        let figures = Figures::of(&rehearsal, result.clone(), over, &with_groups(self.scene));
        let mut way = WayResult::of_replank(&result, figures);
        let managed = self.groups.iter().filter(|name| matches!(self.owner(name), Owner::Eks)).cloned();
        let managed: Vec<GroupName> = managed.collect();
        if !managed.is_empty() && self.scene.plan.target.group.is_none() {
            way.notes.push(format!(
                "Replank has EKS update {}, after its own findings; with target.group it drains the nodes itself",
                names(&managed)
            ));
        }
        way
    }

    fn figures(&self, mut rehearsal: Rehearsal, stop: Stop, over: Time, scene: &Scene) -> Figures {
        rehearsal.settle(AFTERWARDS);
        let result = rehearsal.result(Vec::new(), stop, 0);
        Figures::of(&rehearsal, result, over, &with_groups(scene))
    }
}

fn names(groups: &[GroupName]) -> String {
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
