//! What is observed: one change of one object.

use std::sync::Arc;

use crate::object::cloud::{Instance, Message, NodeGroup};
use crate::object::{Object, ObjectRef};
use crate::text::{GroupName, InstanceId, MessageId, NodeName};

/// One observed change. A Delta carries the whole new state, so that applying one twice, or missing one before it, does
/// no harm.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The object is there and looks like this.
    Put(Object),
    /// This incarnation of the object is gone.
    Gone(ObjectRef),
    /// The object is there and cannot be read.
    Unread(Unread),
    /// The node group is there and looks like this.
    Group(Arc<NodeGroup>),
    /// The node group is gone.
    GroupGone(GroupName),
    /// The instance is there and looks like this.
    Instance(Arc<Instance>),
    /// The instance is no longer listed.
    InstanceGone(InstanceId),
    /// A message was received.
    Message(Arc<Message>),
    /// The message was deleted, or others may receive it again.
    MessageGone(MessageId),
}

/// An object that is there and cannot be read: it counts as being there, and nothing is concluded from what it says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// Which.
    pub object: ObjectRef,
    /// The node that a pod is on, where that much can be read.
    pub node: Option<NodeName>,
}

impl<T: Into<Object>> From<T> for Delta {
    fn from(object: T) -> Self {
        Self::Put(object.into())
    }
}
