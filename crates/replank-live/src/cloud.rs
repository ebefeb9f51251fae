//! A cloud behind node groups, as the driver sees it: one small trait.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::Pin;

use replank_model::object::cloud::{Instance, InstanceState, NodeGroup};
use replank_model::text::{InstanceId, NodeName, Text};
use replank_model::time::Time;
use replank_protocol::command::{CommandKey, GroupEffect};
use replank_protocol::outcome::Answer;

/// What a call comes to, some time.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Groups and instances, all of them: what is not in it is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Groups.
    pub groups: Vec<NodeGroup>,
    /// Instances, by their ids.
    pub instances: BTreeMap<InstanceId, Instance>,
}

/// What an instance's node shows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfNode {
    /// The node.
    pub name: NodeName,
    /// Its kubelet's version.
    pub kubelet: Text,
}

/// On whose behalf something is done, and how long it may be.
#[derive(Clone, Copy)]
pub struct Order<'o> {
    /// After this moment it must not be carried out any more: the same change at another time has another one.
    pub deadline: Time,
    /// Names the effect: tokens follow from it.
    pub key: &'o CommandKey,
    /// Whether anything may be sent any more; asked before each call that changes something.
    pub may_send: &'o (dyn Fn() -> bool + Sync),
}

/// A cloud behind node groups.
pub trait Cloud: Debug + Send + Sync {
    /// Looks at everything. What nodes show of their instances is handed in.
    fn observe<'a>(
        &'a self,
        nodes: &'a BTreeMap<InstanceId, OfNode>,
    ) -> Pending<'a, Result<Observed, String>>;

    /// Checks what an effect is conditional on, carries it out, and reads back what became of it where no answer came. What must be proved on the Kubernetes API has been.
    fn act<'a>(&'a self, effect: &'a GroupEffect, order: Order<'a>) -> Pending<'a, Answer>;

    /// The state of an instance, by its own API; `None` where that knows no such instance, which proves nothing.
    fn state<'a>(&'a self, instance: &'a InstanceId) -> Pending<'a, Result<Option<InstanceState>, String>>;
}
