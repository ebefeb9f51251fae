//! What is observed: one change of one object.

use std::sync::Arc;

use crate::object::cloud::{Instance, Message, NodeGroup};
use crate::object::{Object, ObjectRef};
use crate::text::{GroupName, InstanceId, MessageId};

/// One observed change. A Delta carries the whole new state, so that applying one twice, or missing one before it, does
/// no harm.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The object is there and looks like this.
    Put(Object),
    /// This incarnation of the object is gone.
    Gone(ObjectRef),
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

impl<T: Into<Object>> From<T> for Delta {
    fn from(object: T) -> Self {
        Self::Put(object.into())
    }
}
