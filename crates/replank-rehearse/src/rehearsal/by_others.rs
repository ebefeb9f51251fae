//! Rehearsals in which somebody else replaces the nodes, in place of the run: EKS, or a person with kubectl. And what is left of any way when it is over.

use std::ops::ControlFlow;

use replank_model::text::{GroupName, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::script::{Script, happen};
use replank_sim::{StandingDrain, World};
use serde::Serialize;

use super::outages::desired;
use super::served::One;
use super::standing;
use super::{Progress, Rehearsal, Stop};

/// Somebody who replaces nodes.
pub trait Actor {
    /// Looks at the world and acts on it; when they look again, or `None` when they are done or give up.
    fn look(&mut self, world: &mut World) -> Option<Time>;
}

/// What a way leaves behind when it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remains {
    /// Pods that workloads wanted and had before, and that are not Ready.
    pub pods_not_ready: usize,
    /// Workloads that have such pods, sorted.
    pub workloads_not_ready: Vec<String>,
    /// Nodes that were to be replaced, are still there, and are cordoned, sorted.
    pub cordoned: Vec<NodeName>,
    /// Groups whose sizes are others than before, sorted.
    pub sizes: Vec<SizeLeft>,
}

/// Sizes of a group that are not as before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SizeLeft {
    /// The group.
    pub group: GroupName,
    /// Its desired number before.
    pub desired_before: u32,
    /// Its desired number now.
    pub desired: u32,
    /// Its maximum before.
    pub max_before: u32,
    /// Its maximum now.
    pub max: u32,
}

impl Rehearsal {
    /// Lets somebody act until they are done, or for at most `limit` of virtual time, and lets happen meanwhile what a script says. Whoever is in
    /// charge goes on besides: an autoscaler, for example. When it was over comes with it.
    pub fn play_by(
        &mut self,
        actor: &mut dyn Actor,
        script: &Script,
        limit: Span,
        watch: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> (Stop, Time) {
        let until = self.settings.start + limit;
        self.world.stay_until(until);
        let mut events = script.from(self.settings.start).into_iter().peekable();
        let mut look = Some(self.settings.start);
        while let Some(at) = look.filter(|at| *at <= until) {
            let due = events.next_if(|(due, _)| *due <= at);
            let next = due.map_or(at, |(due, _)| due);
            if let ControlFlow::Break(stop) = self.run_to(next, watch) {
                return (stop, self.world.now());
            }
            self.world.run_until(next);
            match due {
                None => look = actor.look(&mut self.world),
                Some((due, event)) => {
                    let names = self.names.clone();
                    let came = happen(&mut self.world, &names, &event.what);
                    self.note(due, event, came.err().map(|why| why.to_string()));
                }
            }
        }
        for (due, event) in events {
            self.note(due, event, Some("it was over before".to_owned()));
        }
        (if look.is_none() { Stop::Ended } else { Stop::TimeUp }, self.world.now())
    }

    /// Lets so much more time pass: pods that were moved last have time to come up.
    pub fn settle(&mut self, span: Span) {
        let to = self.world.now() + span;
        self.world.run_until(to);
    }

    /// What is left, beside how the groups were before.
    #[must_use]
    pub fn remains(&self, before: &View) -> Remains {
        let (notes, view) = (self.notes.borrow(), self.world.view());
        let mut remains = Remains::default();
        for (workload, One { count, .. }) in notes.served.iter() {
            let wanted = desired(view, workload).unwrap_or(0).min(count.before);
            let missing = usize::try_from(wanted - count.now).unwrap_or(0);
            if missing > 0 {
                remains.pods_not_ready += missing;
                let (kind, namespace, name) = (&workload.kind, &workload.namespace, &workload.name);
                remains.workloads_not_ready.push(format!("{kind} {namespace}/{name}"));
            }
        }
        let chosen = notes.chosen.iter().flatten();
        let is_cordoned = |name: &&NodeName| view.node(name).is_some_and(|node| node.spec.unschedulable);
        remains.cordoned = chosen.filter(is_cordoned).cloned().collect();
        for (name, group) in before.groups() {
            let Some(now) = view.groups().get(name).filter(|now| now.size != group.size) else { continue };
            remains.sizes.push(SizeLeft {
                group: name.clone(),
                desired_before: group.size.desired,
                desired: now.size.desired,
                max_before: group.size.max,
                max: now.size.max,
            });
        }
        remains
    }

    /// Batch pods that were ended before they were done: by the run, or by others.
    #[must_use]
    pub fn batch_ended(&self) -> usize {
        self.notes.borrow().ended.count()
    }
}

/// What keeps pods on a node that somebody drains.
pub(crate) fn what_keeps(view: &View, drain: &StandingDrain) -> String {
    standing::reason(view, drain)
}
