//! A person with kubectl: for each old node in order of its name (`kubectl get nodes`), `kubectl cordon`, `kubectl drain --ignore-daemonsets
//! --delete-emptydir-data`, then its instance is terminated, and the next node comes when the group has another that is Ready.
//!
//! How kubectl drains is the simulated cluster's business, as in a script (`somebody drains NODE`). No node is added beforehand: who wants a surge scales the
//! group in a script. Before the first node the groups get the launch template that the plan's target means.

use std::collections::VecDeque;

use replank_facts::groups::instance_id_of;
use replank_facts::plan::Target;
use replank_facts::target;
use replank_model::object::cloud::{GroupKind, Instance};
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::Replacement;
use replank_sim::script::{AsGiven, Hand, What, happen};
use replank_sim::{GroupUpdate, Place, VersionNamed, World};

use super::way::{Come, Figures, Way, WayResult};
use crate::rehearsal::{Actor, Blocker, Stop, what_keeps};

/// How often the person looks whether the drain has ended and the new node is Ready (`kubectl get nodes --watch` shows it at once).
const LOOKS: Span = Span::from_secs(1);

/// When kubectl notices that its time is over: before it asks again for a pod that a budget keeps (seen on kubectl 1.36.2: `--timeout=12s` ends after 15 s).
const RETRY: Span = Span::from_secs(5);

/// The person.
#[derive(Debug)]
pub struct Kubectl {
    target: Target,
    groups: Vec<GroupName>,
    nodes: VecDeque<NodeName>,
    /// `--timeout` of each drain; kubectl's own is none.
    timeout: Option<Span>,
    /// After so long without any change the drain, or the new node, is taken to be stuck for good.
    patience: Span,
    at: At,
    left: Vec<Blocker>,
    is_stuck: bool,
    has_template: bool,
}

/// Where the person is.
#[derive(Debug)]
enum At {
    /// Between two nodes.
    Next,
    /// `kubectl drain` runs.
    Draining { node: NodeName, since: Time, seen: (usize, Time) },
    /// The node is empty: its machine is taken away then.
    Emptied { node: NodeName, until: Time },
    /// The group is to have so many Ready nodes again.
    Replacing { group: GroupName, ready: usize, since: Time },
}

impl Kubectl {
    /// These nodes of these groups are replaced, each drained for at most `timeout`.
    #[must_use]
    pub fn new(
        (groups, nodes): (Vec<GroupName>, impl IntoIterator<Item = NodeName>),
        target: Target,
        timeout: Option<Span>,
        patience: Span,
    ) -> Self {
        Self {
            target,
            groups,
            nodes: nodes.into_iter().collect(),
            timeout,
            patience,
            at: At::Next,
            left: Vec::new(),
            is_stuck: false,
            has_template: false,
        }
    }

    /// What it came to.
    #[must_use]
    pub fn result(self, stop: Stop, figures: Figures) -> WayResult {
        let all = figures.nodes.replaced == figures.nodes.total;
        let stopped = self.is_stuck || stop != Stop::Ended;
        let first =
            self.left.first().map_or_else(String::new, |one| format!(": {}, {}", one.what, one.reason));
        let (outcome, said) = match (stopped, all) {
            (true, _) if self.nodes.is_empty() => (Come::Blocked, format!("it goes no further{first}")),
            (true, _) => {
                let nodes = self.nodes.len();
                let them = if nodes == 1 { "1 node was".to_owned() } else { format!("{nodes} nodes were") };
                (Come::Blocked, format!("it goes no further, and {them} not begun{first}"))
            }
            (false, true) => (Come::Done, "every node was replaced".to_owned()),
            (false, false) => {
                let nodes = self.left.len();
                let them = if nodes == 1 {
                    "1 node was left, cordoned".to_owned()
                } else {
                    format!("{nodes} nodes were left, cordoned")
                };
                (Come::Partial, format!("{them}{first}"))
            }
        };
        WayResult {
            way: Way::Kubectl,
            outcome,
            code: None,
            said,
            blockers: self.left,
            notes: Vec::new(),
            drains: Vec::new(),
            figures: Some(figures),
        }
    }

    /// New nodes are as the plan's target says from now on.
    fn give_template(&self, world: &mut World) {
        for name in &self.groups {
            let Some(group) = world.view().groups().get(name).cloned() else { continue };
            let template = target::template(&self.target, &group);
            if *template == *group.template() {
                continue;
            }
            world.cloud(|cloud| {
                // The group is there: neither call is refused.
                let made = cloud.create_launch_template_version(name, &template, Place::Any);
                if let Ok(version) = made {
                    let template = Some(VersionNamed::Number(version));
                    let update = GroupUpdate { template, ..GroupUpdate::default() };
                    let _answer = cloud.update_auto_scaling_group(name, &update);
                }
            });
        }
    }

    fn begin(&mut self, world: &mut World) -> Option<Time> {
        let now = world.now();
        loop {
            let node = self.nodes.pop_front()?;
            if world.view().node(&node).is_none() {
                continue;
            }
            match happen(world, &AsGiven, &What::Hand(Hand::Drain(vec![node.to_string()]))) {
                Ok(()) => {
                    self.at = At::Draining { node, since: now, seen: (usize::MAX, now) };
                    return Some(now + LOOKS);
                }
                // It stays cordoned, and the loop goes on.
                Err(why) => self.leave(&node, why.to_string()),
            }
        }
    }

    fn leave(&mut self, node: &NodeName, reason: String) {
        self.left.push(Blocker { what: format!("node {node}"), reason });
    }

    fn drains(
        &mut self,
        world: &mut World,
        node: NodeName,
        since: Time,
        seen: (usize, Time),
    ) -> Option<Time> {
        let now = world.now();
        let standing = world.standing_drains().into_iter().find(|drain| drain.node == node);
        let Some(standing) = standing else {
            // A script may say that the person needs a moment for it.
            return match world.replaces_after() {
                None => self.replace(world, &node),
                Some(span) => {
                    self.at = At::Emptied { node, until: now + span };
                    Some(now + span)
                }
            };
        };
        let left = standing.pods.len();
        let seen = if left == seen.0 { seen } else { (left, now) };
        let keeps = || what_keeps(world.view(), &standing);
        if standing.is_given_up {
            let reason = format!("kubectl drain has failed: {}", keeps());
            self.leave(&node, reason);
            self.at = At::Next;
            return self.begin(world);
        }
        let is_going = |pod: &Key| world.view().pods.by_key(pod).is_some_and(|pod| pod.is_terminating());
        let over = self.timeout.map(|timeout| {
            let notices = if standing.pods.iter().any(is_going) { LOOKS } else { RETRY };
            let rounds = (timeout.as_millis() + notices.as_millis() - 1) / notices.as_millis();
            since + notices * rounds
        });
        if over.is_some_and(|over| now >= over) {
            let reason = format!("kubectl drain gave up after {}: {}", (now - since).rounded(), keeps());
            world.give_up_drain(&node);
            self.leave(&node, reason);
            self.at = At::Next;
            return self.begin(world);
        }
        if now >= seen.1 + self.patience {
            let reason = keeps();
            self.leave(&node, reason);
            self.is_stuck = true;
            return None;
        }
        self.at = At::Draining { node, since, seen };
        Some(now + LOOKS)
    }

    /// The node is empty: its instance goes, and its group launches another.
    fn replace(&mut self, world: &mut World, node: &NodeName) -> Option<Time> {
        let now = world.now();
        let instance = world.view().node(node).map(|node| instance_id_of(node));
        let known = instance.and_then(|id| Some((world.view().instances().get(&id)?.group.clone(), id)));
        let Some((group, id)) = known else {
            self.leave(node, "it has no instance of a node group".to_owned());
            self.at = At::Next;
            return self.begin(world);
        };
        let ready = ready(world.view(), &group);
        end(world, &id);
        self.at = At::Replacing { group, ready, since: now };
        Some(now + LOOKS)
    }

    fn waits(&mut self, world: &mut World, group: GroupName, wanted: usize, since: Time) -> Option<Time> {
        let now = world.now();
        if ready(world.view(), &group) >= wanted {
            self.at = At::Next;
            return self.begin(world);
        }
        if now >= since + self.patience {
            let reason = format!("no new node has been Ready for {}", (now - since).rounded());
            self.left.push(Blocker { what: format!("node group {group}"), reason });
            self.is_stuck = true;
            return None;
        }
        self.at = At::Replacing { group, ready: wanted, since };
        Some(now + LOOKS)
    }
}

/// `aws autoscaling terminate-instance-in-auto-scaling-group --no-should-decrement-desired-capacity`.
fn end(world: &mut World, id: &InstanceId) {
    // It was just looked up.
    let _answer = world.cloud(|cloud| cloud.terminate_instance(id, Replacement::Launch));
}

/// Ready nodes of a group whose instances count.
fn ready(view: &View, group: &GroupName) -> usize {
    let is_ready = |one: &&std::sync::Arc<Instance>| {
        one.group == *group
            && one.is_counted()
            && one.node.as_ref().and_then(|name| view.node(name)).is_some_and(|node| node.is_ready())
    };
    view.instances().values().filter(is_ready).count()
}

impl Actor for Kubectl {
    fn look(&mut self, world: &mut World) -> Option<Time> {
        if !std::mem::replace(&mut self.has_template, true) {
            self.give_template(world);
        }
        match std::mem::replace(&mut self.at, At::Next) {
            At::Next => self.begin(world),
            At::Draining { node, since, seen } => self.drains(world, node, since, seen),
            At::Emptied { node, until } if world.now() < until => {
                self.at = At::Emptied { node, until };
                Some(until)
            }
            At::Emptied { node, .. } => self.replace(world, &node),
            At::Replacing { group, ready, since } => self.waits(world, group, ready, since),
        }
    }
}

/// What a person does to groups whose Auto Scaling group is EKS's.
#[must_use]
pub fn of_managed(view: &View, groups: &[GroupName]) -> Vec<String> {
    let managed = groups.iter().filter_map(|name| view.groups().get(name));
    let managed = managed.filter(|group| group.kind == GroupKind::EksManaged);
    managed
        .map(|group| {
            format!(
                "node group {} is managed: another launch template version of its Auto Scaling group makes EKS call it DEGRADED (Ec2LaunchTemplateVersionMismatch)",
                group.name
            )
        })
        .collect()
}
