//! What lists, watches and requests tell the driver.

use replank_model::object::{Object, ObjectRef};
use replank_model::text::NodeName;

use super::event::Event;
use crate::error::LiveError;

/// What is told. A resource is named by its place among those that are followed.
#[derive(Debug)]
pub(super) enum Told {
    /// Something of a resource was seen, in this order.
    Seen(usize, Vec<Seen>),
    /// Something happened.
    Event(Event),
    /// It cannot go on.
    End(LiveError),
}

/// What is seen of a resource.
#[derive(Debug)]
pub(super) enum Seen {
    /// A list begins: what follows is there, and what does not follow until its end is not.
    ListBegins,
    /// The list is whole.
    ListEnds,
    /// An object is there.
    Object(Object),
    /// An object is there and cannot be read.
    Unread { object: ObjectRef, node: Option<NodeName>, why: String },
    /// An object is gone.
    Gone(ObjectRef),
    /// The watch is there.
    Up,
    /// The list or the watch is not there.
    Down,
    /// It is not read: it is not served, or we may not.
    Never,
}
