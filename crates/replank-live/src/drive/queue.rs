//! Commands that wait to be sent: urgent ones first, then in the order in which they were decided.

use std::collections::BTreeMap;

use replank_protocol::command::{Command, CommandKey, Effect, GroupEffect, KubernetesEffect};
use replank_protocol::role::NodeRole;

/// How soon a command is sent, as against others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// What gives a node back, or is about one that goes whatever happens.
    First,
    /// What prepares and writes down.
    Usual,
    /// What ends something.
    Last,
}

/// Where a command is carried out. Each has a room of its own: what waits there for its turn, as calls of a cloud do, keeps nothing else waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// The API server.
    Cluster,
    /// The cloud.
    Cloud,
    /// The queue of messages.
    Messages,
}

impl Lane {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Cluster, Self::Cloud, Self::Messages];

    /// Where an effect is carried out.
    pub(super) fn of(effect: &Effect) -> Self {
        match effect {
            Effect::Kubernetes(_) => Self::Cluster,
            Effect::Group(_) => Self::Cloud,
            Effect::Queue(_) => Self::Messages,
        }
    }
}

/// For what there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Room {
    /// Nothing.
    None,
    /// What is urgent.
    Urgent,
    /// Any command.
    Any,
}

/// Where a command stands.
pub(super) type Place = (Urgency, u64);

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<Place, Command>,
    places: BTreeMap<CommandKey, Place>,
    next: u64,
}

impl Queue {
    /// Takes a command in. One that is decided anew while it still waits takes its own place: it is sent once.
    pub(super) fn push(&mut self, command: Command) {
        let place = (urgency(&command.effect), self.next);
        self.next += 1;
        let place = self.places.get(&command.key).copied().filter(|own| own.0 <= place.0).unwrap_or(place);
        self.put_back(place, command);
    }

    /// The next command to be sent, and its place: of those that destroy something none where these are held, and only one for which there is room.
    pub(super) fn pop(&mut self, is_held: bool, room: impl Fn(Lane) -> Room) -> Option<(Place, Command)> {
        let has_room = |place: &Place, command: &Command| match room(Lane::of(&command.effect)) {
            Room::None => false,
            Room::Urgent => place.0 == Urgency::First,
            Room::Any => true,
        };
        let may_go = |(place, command): &(&Place, &Command)| {
            !(is_held && destroys(&command.effect)) && has_room(place, command)
        };
        let (place, _) = self.waiting.iter().find(may_go)?;
        let place = *place;
        self.take(place).map(|command| (place, command))
    }

    /// Takes a command back that could not be sent.
    pub(super) fn put_back(&mut self, place: Place, command: Command) {
        if let Some(before) = self.places.insert(command.key.clone(), place) {
            self.waiting.remove(&before);
        }
        self.waiting.insert(place, command);
    }

    /// A command that may be sent no more.
    pub(super) fn pop_late(&mut self, is_late: impl Fn(&Command) -> bool) -> Option<Command> {
        let (at, _) = self.waiting.iter().find(|(_, command)| is_late(command))?;
        let at = *at;
        self.take(at)
    }

    /// A command was carried out: what waits to do the same once more is dropped.
    pub(super) fn drop_done(&mut self, done: &Command) {
        if let Some(place) = self.places.get(&done.key).copied()
            && self.waiting.get(&place).is_some_and(|waiting| waiting.effect == done.effect)
        {
            self.take(place);
        }
    }

    fn take(&mut self, place: Place) -> Option<Command> {
        let command = self.waiting.remove(&place)?;
        self.places.remove(&command.key);
        Some(command)
    }

    /// How many commands would destroy something.
    pub(super) fn destructive(&self) -> usize {
        self.waiting.values().filter(|command| destroys(&command.effect)).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn urgency(effect: &Effect) -> Urgency {
    match effect {
        Effect::Kubernetes(effect) => match effect {
            KubernetesEffect::Uncordon { .. }
            | KubernetesEffect::CordonByHand { .. }
            | KubernetesEffect::UncordonByHand { .. } => Urgency::First,
            KubernetesEffect::Cordon { mark, .. } => match mark.role {
                NodeRole::Interrupted { .. } => Urgency::First,
                NodeRole::Queued
                | NodeRole::Draining { .. }
                | NodeRole::Postponed { .. }
                | NodeRole::Skipped
                | NodeRole::Surplus
                | NodeRole::Retained
                | NodeRole::Drained
                | NodeRole::Listed => Urgency::Usual,
            },
            KubernetesEffect::Exclude { .. }
            | KubernetesEffect::RestartWorkload { .. }
            | KubernetesEffect::Create { .. }
            | KubernetesEffect::Replace { .. } => Urgency::Usual,
            KubernetesEffect::Evict { .. }
            | KubernetesEffect::DeletePod { .. }
            | KubernetesEffect::ForceDelete { .. }
            | KubernetesEffect::Delete { .. }
            | KubernetesEffect::DeleteNodeClaim { .. } => Urgency::Last,
        },
        Effect::Group(effect) => match effect {
            GroupEffect::Relieve { .. }
            | GroupEffect::CompleteAction { .. }
            | GroupEffect::Heartbeat { .. } => Urgency::First,
            GroupEffect::Tag { .. }
            | GroupEffect::Untag { .. }
            | GroupEffect::SetTemplate { .. }
            | GroupEffect::Resize { .. }
            | GroupEffect::SetProcess { .. }
            | GroupEffect::ProtectInstance { .. }
            | GroupEffect::UpdateNodegroupVersion { .. }
            | GroupEffect::UpdateNodegroupConfig { .. } => Urgency::Usual,
            GroupEffect::Terminate { .. } | GroupEffect::ScaleNodegroupToZero { .. } => Urgency::Last,
        },
        Effect::Queue(_) => Urgency::First,
    }
}

/// Whether an effect takes something away that does not come back by itself.
fn destroys(effect: &Effect) -> bool {
    match effect {
        Effect::Kubernetes(effect) => match effect {
            KubernetesEffect::Evict { .. }
            | KubernetesEffect::DeletePod { .. }
            | KubernetesEffect::ForceDelete { .. }
            | KubernetesEffect::Delete { .. }
            | KubernetesEffect::DeleteNodeClaim { .. } => true,
            KubernetesEffect::Cordon { .. }
            | KubernetesEffect::Uncordon { .. }
            | KubernetesEffect::CordonByHand { .. }
            | KubernetesEffect::UncordonByHand { .. }
            | KubernetesEffect::Exclude { .. }
            | KubernetesEffect::RestartWorkload { .. }
            | KubernetesEffect::Create { .. }
            | KubernetesEffect::Replace { .. } => false,
        },
        Effect::Group(effect) => match effect {
            GroupEffect::Terminate { .. }
            | GroupEffect::ScaleNodegroupToZero { .. }
            | GroupEffect::UpdateNodegroupVersion { .. }
            // Its instance goes, and is to be empty or without a node. Without that the time of the instance is over, or it was just launched.
            | GroupEffect::CompleteAction { expected: Some(_), .. } => true,
            GroupEffect::Tag { .. }
            | GroupEffect::Untag { .. }
            | GroupEffect::SetTemplate { .. }
            | GroupEffect::Resize { .. }
            | GroupEffect::SetProcess { .. }
            | GroupEffect::ProtectInstance { .. }
            | GroupEffect::Relieve { .. }
            | GroupEffect::CompleteAction { expected: None, .. }
            | GroupEffect::Heartbeat { .. }
            | GroupEffect::UpdateNodegroupConfig { .. } => false,
        },
        Effect::Queue(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::{Key, ResourceVersion};
    use replank_model::time::Time;
    use replank_protocol::command::{CommandKey, Expected, NodeTarget, PodTarget};
    use replank_protocol::lifecycle::{Action, Place};

    use super::*;

    fn command(name: &str, effect: KubernetesEffect) -> Command {
        Command {
            key: CommandKey(name.into()),
            run: "run".into(),
            effect: effect.into(),
            deadline: Time::from_millis(0),
        }
    }

    fn evict(name: &str) -> Command {
        let pod = PodTarget { key: Key::new("shop", name), uid: name.into() };
        command(name, KubernetesEffect::Evict { pod, grace_seconds: None })
    }

    fn uncordon(name: &str) -> Command {
        let node = NodeTarget { name: name.into(), uid: name.into() };
        command(name, KubernetesEffect::Uncordon { node, version: ResourceVersion(1) })
    }

    #[test]
    fn what_gives_back_overtakes_what_ends_and_is_sent_while_that_is_held() {
        let mut queue = Queue::default();
        for one in [evict("a"), evict("b"), uncordon("n")] {
            queue.push(one);
        }
        assert_eq!(queue.destructive(), 2);
        let mut pop = |is_held, room| {
            let (place, command) = queue.pop(is_held, |_| room)?;
            queue.put_back(place, command);
            queue.pop(is_held, |_| room).map(|(_, command)| command)
        };
        assert_eq!(pop(false, Room::None), None);
        assert_eq!(pop(true, Room::Urgent), Some(uncordon("n")));
        assert_eq!(pop(true, Room::Any), None);
        assert_eq!(pop(false, Room::Urgent), None, "there is room for urgent ones only");
        assert_eq!(queue.pop_late(|command| &*command.key.0 == "b"), Some(evict("b")));
        assert_eq!(queue.pop(false, |_| Room::Any).map(|(_, command)| command), Some(evict("a")));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_command_that_is_decided_anew_while_it_waits_is_sent_once() {
        let mut queue = Queue::default();
        let anew = Command { deadline: Time::from_millis(60_000), ..evict("a") };
        for one in [evict("a"), evict("b"), anew.clone()] {
            queue.push(one);
        }
        let mut pop = || queue.pop(false, |_| Room::Any).map(|(_, command)| command);
        assert_eq!((pop(), pop(), pop()), (Some(anew), Some(evict("b")), None));
        queue.push(evict("a"));
        assert!(!queue.is_empty(), "what was sent may be sent again");
        queue.drop_done(&evict("a"));
        assert!(queue.is_empty());
    }

    #[test]
    fn what_waits_for_the_cloud_keeps_nothing_of_the_cluster_waiting() {
        let mut queue = Queue::default();
        let action = Action {
            group: "web".into(),
            hook: "drain".into(),
            instance: "i".into(),
            token: None,
            to: Place::Ec2,
        };
        queue.push(Command {
            key: CommandKey("beat".into()),
            run: "run".into(),
            effect: Effect::Group(GroupEffect::Heartbeat { action }),
            deadline: Time::from_millis(0),
        });
        queue.push(evict("a"));
        let is_full = |lane| if lane == Lane::Cloud { Room::None } else { Room::Any };
        assert_eq!(queue.pop(false, is_full).map(|(_, command)| command), Some(evict("a")));
        assert_eq!(queue.pop(false, is_full), None);
        assert_eq!(queue.pop(false, |_| Room::Any).map(|(_, command)| command.key.0), Some("beat".into()));
    }

    #[test]
    fn a_completion_that_has_something_to_prove_is_held_and_another_is_not() {
        let of = |name: &str, expected| {
            let action = Action {
                group: "web".into(),
                hook: "drain".into(),
                instance: name.into(),
                token: None,
                to: Place::Ec2,
            };
            Command {
                key: CommandKey(name.into()),
                run: "run".into(),
                effect: Effect::Group(GroupEffect::CompleteAction { action, expected }),
                deadline: Time::from_millis(0),
            }
        };
        let mut queue = Queue::default();
        queue.push(of("i-1", Some(Expected::Unregistered)));
        queue.push(of("i-2", None));
        let mut next = |is_held| {
            let urgent = queue.pop(is_held, |_| Room::Urgent);
            urgent.map(|(_, command)| command.key.0.to_string())
        };
        assert_eq!(next(true).as_deref(), Some("i-2"));
        assert_eq!(next(true), None);
        assert_eq!(next(false).as_deref(), Some("i-1"), "it goes before others when nothing is hidden");
    }
}
