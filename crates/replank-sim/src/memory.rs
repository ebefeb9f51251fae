//! What a world remembers that its objects do not tell: the cloud, with what is due there, and which machines misbehave.
//!
//! Controllers, the scheduler and kubelets find out from objects what is to be done, as the real ones do when they start. A cloud does not start anew.

use std::collections::BTreeSet;

use replank_model::object::cloud::{Instance, Message, NodeGroup};
use replank_model::text::NodeName;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use crate::agenda::Agenda;
use crate::cloud::SimulatedCloud;
use crate::event::{CloudDue, Event};
use crate::kubelet::ImageFaults;

/// What a world remembers that its objects do not tell; plain data, to be written down.
#[derive(Debug, Deserialize)]
pub struct Memory {
    pub(crate) groups: Vec<NodeGroup>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) messages: Vec<Message>,
    pub(crate) cloud: SimulatedCloud,
    /// What is due in the cloud, in milliseconds since 1970.
    pub(crate) due: Vec<(i64, CloudDue)>,
    pub(crate) silent: BTreeSet<NodeName>,
    pub(crate) faults: ImageFaults,
}

/// The same, as it is written.
#[derive(Debug, Serialize)]
pub(crate) struct Remembered<'w> {
    pub(crate) groups: Vec<&'w NodeGroup>,
    pub(crate) instances: Vec<&'w Instance>,
    pub(crate) messages: Vec<&'w Message>,
    pub(crate) cloud: &'w SimulatedCloud,
    pub(crate) due: Vec<(i64, CloudDue)>,
    pub(crate) silent: BTreeSet<NodeName>,
    pub(crate) faults: &'w ImageFaults,
}

/// What is due in the cloud.
pub(crate) fn due(agenda: &Agenda<Event>) -> Vec<(i64, CloudDue)> {
    let of_cloud = |event: &Event| match event {
        Event::Cloud(due) => Some(*due),
        Event::Sync(..)
        | Event::Control(_)
        | Event::SyncLater(..)
        | Event::Resume(..)
        | Event::Kubelet(_)
        | Event::NodePressure(_)
        | Event::Schedule(_)
        | Event::Driver(_) => None,
    };
    agenda.pending(of_cloud).into_iter().map(|(at, due)| (at.as_millis(), due)).collect()
}

/// Puts down what is due in the cloud; what was due meanwhile is due at once.
pub(crate) fn put_down(agenda: &mut Agenda<Event>, due: Vec<(i64, CloudDue)>) {
    for (at, due) in due {
        agenda.at(Time::from_millis(at), Event::Cloud(due));
    }
}
