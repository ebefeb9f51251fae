//! EKS's own update of managed node groups: it is asked for (UpdateNodegroupVersion), and followed until it is over. What EKS does in between is the simulated
//! cloud's business, which a live roll meets, too: docs/managed-groups.md has its phases.

use std::collections::BTreeMap;

use replank_facts::drain::is_daemon;
use replank_facts::plan::Target;
use replank_facts::target;
use replank_model::object::cloud::{GroupKind, NodegroupUpdate, UpdateStatus};
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::{NodegroupRequest, StandingDrain, World};

use super::way::{Come, Figures, Way, WayResult};
use crate::rehearsal::{Actor, Blocker, Stop, what_keeps};

/// How often `aws eks wait nodegroup-active` asks (botocore, `waiters-2.json` of EKS: delay 30).
const ASKS: Span = Span::from_secs(30);

/// Whoever asks EKS for the updates of groups, and waits for them.
#[derive(Debug)]
pub struct Eks {
    groups: Vec<GroupName>,
    target: Target,
    force: bool,
    begun: Option<BTreeMap<GroupName, Begun>>,
    /// What kept pods on the nodes that an update gave up on, as it was then.
    blockers: Vec<Blocker>,
    codes: Vec<Text>,
}

/// What became of a request.
#[derive(Debug)]
enum Begun {
    /// EKS works on it.
    Accepted,
    /// EKS does not take it, or there is nothing to update.
    Refused(String),
}

impl Eks {
    /// Updates of these managed groups to what a plan's target says.
    #[must_use]
    pub fn new(groups: Vec<GroupName>, target: Target, force: bool) -> Self {
        Self { groups, target, force, begun: None, blockers: Vec::new(), codes: Vec::new() }
    }

    /// Which of the two ways it is.
    #[must_use]
    pub fn way(&self) -> Way {
        if self.force { Way::EksForce } else { Way::Eks }
    }

    fn ask(&self, world: &mut World, name: &GroupName) -> Begun {
        let Some(group) = world.view().groups().get(name).cloned() else {
            return Begun::Refused(format!("No node group found for name: {name}."));
        };
        let template = target::template(&self.target, &group);
        if *template == *group.template() {
            return Begun::Refused(SAME.to_owned());
        }
        let token = Text::from(format!("compare-{name}"));
        let asked = NodegroupRequest { group: name, token: &token };
        match world.cloud(|cloud| cloud.update_nodegroup_version(&asked, &template, self.force)) {
            Ok(()) => Begun::Accepted,
            Err(refused) => Begun::Refused(refused.to_string()),
        }
    }

    /// What the updates that have failed say, and what keeps pods on the nodes that they name.
    fn note(&mut self, view: &View) {
        for name in &self.groups {
            let update = view.groups().get(name).and_then(|group| group.update.as_ref());
            for error in update.iter().flat_map(|update| &update.errors) {
                self.codes.push(error.code.clone());
                let nodes = error.resources.iter().map(|name| NodeName::from(&**name));
                let kept = nodes.filter(|node| view.node(node).is_some()).map(|node| {
                    let pods = left_on(view, &node);
                    let keeps = what_keeps(
                        view,
                        &StandingDrain { node: node.clone(), pods, queued: 0, is_given_up: true },
                    );
                    Blocker { what: format!("node {node}"), reason: keeps }
                });
                let mut blockers: Vec<Blocker> = kept.collect();
                let (code, message) = (&error.code, &error.message);
                let what = format!("node group {name}");
                blockers.insert(0, Blocker { what, reason: format!("{code}: {message}") });
                self.blockers.extend(blockers);
            }
        }
    }

    /// What it came to.
    #[must_use]
    pub fn result(mut self, stop: Stop, figures: Figures) -> WayResult {
        let mut by_why: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, begun) in self.begun.iter().flatten() {
            match begun {
                Begun::Accepted => {}
                Begun::Refused(why) => by_why.entry(why).or_default().push(name.as_str()),
            }
        }
        let refused: Vec<String> = by_why
            .into_iter()
            .map(|(why, names)| {
                let groups = if names.len() == 1 { "node group" } else { "node groups" };
                format!("{groups} {}: {why}", names.join(", "))
            })
            .collect();
        let (way, code) = (self.way(), self.codes.first().cloned());
        let all = figures.nodes.replaced == figures.nodes.total;
        let (outcome, said) = match (stop, &code) {
            (Stop::Ended, Some(code)) => (Come::Failed, failed(code, &figures)),
            (Stop::Ended, None) if figures.nodes.total == 0 => {
                (Come::Done, "no node is to be replaced".to_owned())
            }
            (Stop::Ended, None) if !refused.is_empty() && figures.nodes.replaced == 0 => {
                return WayResult::not_applicable(way, refused.join("; "));
            }
            (Stop::Ended, None) if all => (Come::Done, "every node was replaced".to_owned()),
            (Stop::Ended, None) if refused.is_empty() => {
                let (done, all) = (figures.nodes.replaced, figures.nodes.total);
                (Come::Partial, format!("{done} of {all} nodes were replaced"))
            }
            (Stop::Ended, None) => (Come::Partial, refused.join("; ")),
            (Stop::TimeUp | Stop::Silence | Stop::RanAway | Stop::Interrupted, _) => {
                (Come::Blocked, "the update was not over when the rehearsal stopped".to_owned())
            }
        };
        let blockers = std::mem::take(&mut self.blockers);
        WayResult {
            way,
            outcome,
            code,
            said,
            blockers,
            notes: Vec::new(),
            drains: Vec::new(),
            figures: Some(figures),
        }
    }
}

/// Why EKS has nothing to do for nodes that are to be replaced by equal ones.
const SAME: &str = "nothing to update: the target has the group's own version, release and launch template; pass --to-version, or name another target in the plan";

fn failed(code: &Text, figures: &Figures) -> String {
    let mut left = vec![format!("the update failed with {code}; nodes that were replaced stay replaced")];
    match figures.remains.cordoned.len() {
        0 => {}
        1 => left.push("1 old node stays cordoned".to_owned()),
        nodes => left.push(format!("{nodes} old nodes stay cordoned")),
    }
    left.extend(figures.remains.sizes.iter().map(|size| {
        format!(
            "group {} wants {} nodes (before: {}), at most {} (before: {})",
            size.group, size.desired, size.desired_before, size.max, size.max_before
        )
    }));
    left.join("; ")
}

fn is_open(update: &NodegroupUpdate) -> bool {
    match update.status {
        UpdateStatus::InProgress => true,
        UpdateStatus::Failed | UpdateStatus::Cancelled | UpdateStatus::Successful => false,
    }
}

fn left_on(view: &View, node: &NodeName) -> Vec<Key> {
    let pods = view.sorted_pods_on(node);
    let left = pods.into_iter().filter(|pod| !is_daemon(pod) && !pod.is_mirror() && !pod.is_terminal());
    left.map(|pod| pod.meta.key()).collect()
}

impl Actor for Eks {
    fn look(&mut self, world: &mut World) -> Option<Time> {
        if self.begun.is_none() {
            let begun = self.groups.iter().map(|name| (name.clone(), self.ask(world, name))).collect();
            self.begun = Some(begun);
        }
        let view = world.view();
        let mut managed = self.groups.iter().filter_map(|name| view.groups().get(name));
        let is_going = managed
            .any(|group| group.kind == GroupKind::EksManaged && group.update.as_ref().is_some_and(is_open));
        if is_going {
            return Some(world.now() + ASKS);
        }
        let view = world.view().clone();
        self.note(&view);
        None
    }
}
