//! What is seen of the cloud: looked at every few seconds, and soon after something was changed there.
//!
//! A look is complete or counts for nothing. What the engine observes is what differs from the look before.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use replank_model::delta::Delta;
use replank_model::object::cloud::instance_of;
use replank_model::text::InstanceId;
use replank_model::view::View;

use super::repeated::Repeated;
use super::seen::Learned;
use crate::cloud::{Cloud, Observed, OfNode};

/// How long after a look the next one begins.
const EVERY: Duration = Duration::from_secs(5);
/// The same where something was changed.
const SOON: Duration = Duration::from_millis(500);
/// How old the last look may be until what destroys something waits.
const OLD: Duration = Duration::from_secs(60);
/// What is seen, in words.
const WHAT: &str = "node groups of the cloud";

/// See the module's page.
#[derive(Debug)]
pub(super) struct Outlook {
    cloud: Arc<dyn Cloud>,
    looks: Repeated<(Instant, Result<Observed, String>)>,
    /// When the last complete look began.
    seen: Option<Instant>,
    /// When something was changed, where no look has begun since then that was complete.
    changed: Option<Instant>,
}

impl Outlook {
    pub(super) fn new(cloud: Arc<dyn Cloud>, run: &str) -> Self {
        Self { cloud, looks: Repeated::new(WHAT, format!("{run}/cloud")), seen: None, changed: None }
    }

    pub(super) fn cloud(&self) -> &Arc<dyn Cloud> {
        &self.cloud
    }

    /// Whether everything has been seen once.
    pub(super) fn is_complete(&self) -> bool {
        self.seen.is_some()
    }

    /// Whether something was changed that no look can have shown yet.
    pub(super) fn lags(&self) -> bool {
        self.changed.is_some()
    }

    /// What it is whose state has not been seen for a while.
    pub(super) fn unseen(&self) -> Option<String> {
        let is_old = self.seen.is_none_or(|seen| seen.elapsed() > OLD);
        is_old.then(|| WHAT.to_owned())
    }

    /// Something was changed, or may have been.
    pub(super) fn has_changed(&mut self) {
        self.changed = Some(Instant::now());
        self.looks.hasten(SOON);
    }

    /// What was changed is not waited for any longer.
    pub(super) fn give_up(&mut self, after: Duration) -> bool {
        let is_over = self.changed.is_some_and(|changed| changed.elapsed() > after);
        if is_over {
            self.changed = None;
        }
        is_over
    }

    /// Begins a look where one is due.
    pub(super) fn look(&mut self, view: &View) {
        if self.looks.is_due() {
            let (cloud, nodes, begun) = (self.cloud.clone(), of_nodes(view), Instant::now());
            self.looks.ask(async move { (begun, cloud.observe(&nodes).await) });
        }
    }

    /// How long nothing is due.
    pub(super) fn pause(&self) -> Duration {
        self.looks.pause(EVERY)
    }

    /// The next look that ends; never, while none is under way.
    pub(super) async fn ends(&mut self) -> (Instant, Result<Observed, String>) {
        self.looks.answer().await
    }

    /// Takes in what a look has shown.
    pub(super) fn see(
        &mut self,
        (begun, looked): (Instant, Result<Observed, String>),
        view: &mut View,
    ) -> Learned {
        let mut learned = Learned::default();
        match looked {
            Ok(observed) => {
                self.seen = Some(begun);
                if self.changed.is_some_and(|changed| changed < begun) {
                    self.changed = None;
                }
                learned.events.extend(self.looks.succeeded(EVERY));
                learned.deltas = differences(view, observed);
                learned.deltas.iter().for_each(|delta| drop(view.apply(delta.clone())));
            }
            Err(why) => learned.events.extend(self.looks.failed(why)),
        }
        learned
    }
}

/// Which node is of which instance.
pub(super) fn of_nodes(view: &View) -> BTreeMap<InstanceId, OfNode> {
    let nodes = view.nodes.sorted();
    let of = nodes.iter().filter_map(|(_, node)| {
        let kubelet = node.status.node_info.kubelet_version.clone();
        Some((instance_of(&node.spec.provider_id)?, OfNode { name: node.name(), kubelet }))
    });
    of.collect()
}

/// What is there now and was not, or was otherwise; and what is gone.
fn differences(view: &View, observed: Observed) -> Vec<Delta> {
    let mut deltas = Vec::new();
    let gone = view.groups().keys().filter(|name| observed.groups.iter().all(|one| one.name != **name));
    deltas.extend(gone.map(|name| Delta::GroupGone(name.clone())));
    let gone = view.instances().keys().filter(|id| !observed.instances.contains_key(*id));
    deltas.extend(gone.map(|id| Delta::InstanceGone(id.clone())));
    for group in observed.groups {
        if view.groups().get(&group.name).is_none_or(|known| **known != group) {
            deltas.push(Delta::Group(Arc::new(group)));
        }
    }
    for (id, instance) in observed.instances {
        if view.instances().get(&id).is_none_or(|known| **known != instance) {
            deltas.push(Delta::Instance(Arc::new(instance)));
        }
    }
    deltas
}

#[cfg(test)]
mod tests {
    use replank_model::object::cloud::{GroupSize, LaunchTemplate, NodeGroup};

    use super::*;

    #[test]
    fn only_what_differs_is_observed_and_a_failed_look_takes_nothing_away() {
        #[derive(Debug)]
        struct Nothing;
        impl Cloud for Nothing {
            fn observe<'a>(
                &'a self,
                _: &'a BTreeMap<InstanceId, OfNode>,
            ) -> crate::cloud::Pending<'a, Result<Observed, String>> {
                Box::pin(async { Err("none".to_owned()) })
            }
            fn act<'a>(
                &'a self,
                _: &'a replank_protocol::command::GroupEffect,
                _: crate::cloud::Order<'a>,
            ) -> crate::cloud::Pending<'a, replank_protocol::outcome::Answer> {
                Box::pin(async { replank_protocol::outcome::Answer::Done })
            }
            fn state<'a>(
                &'a self,
                _: &'a InstanceId,
            ) -> crate::cloud::Pending<'a, Result<Option<replank_model::object::cloud::InstanceState>, String>>
            {
                Box::pin(async { Ok(None) })
            }
        }
        let mut outlook = Outlook::new(Arc::new(Nothing), "run");
        let group = |desired| {
            let size = GroupSize { min: 0, max: 9, desired };
            NodeGroup::new("web".into(), size, Vec::new(), LaunchTemplate::default())
        };
        let of = |groups: Vec<NodeGroup>| Ok(Observed { groups, ..Observed::default() });
        let mut view = View::default();
        let now = Instant::now;
        assert_eq!(outlook.see((now(), of(vec![group(1)])), &mut view).deltas.len(), 1);
        assert!(outlook.see((now(), of(vec![group(1)])), &mut view).deltas.is_empty());
        let before = now();
        outlook.has_changed();
        outlook.see((before, of(vec![group(1)])), &mut view);
        assert!(outlook.lags(), "that look began before the change");
        let lost = outlook.see((now(), Err("throttled".to_owned())), &mut view);
        assert!(lost.deltas.is_empty() && lost.events.len() == 1 && outlook.lags());
        let back = outlook.see((now(), of(vec![group(2)])), &mut view);
        assert_eq!((back.deltas.len(), back.events.len(), outlook.lags()), (1, 1, false));
        assert_eq!(outlook.see((now(), of(Vec::new())), &mut view).deltas, [Delta::GroupGone("web".into())]);
    }
}
