//! Nodes that misbehave because of what they were made from: faults of a machine image, or of one machine.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::groups::instance_id_of;
use replank_model::object::cloud::{LaunchTemplateRef, NodeGroup};
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde::{Deserialize, Serialize};

/// Which machines a fault is about, by their image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ImageName {
    /// The one that launch templates name so.
    Named(Text),
    /// Whatever launch templates say that were not their group's at the beginning.
    New,
    /// Whatever one node was made from, which is told from its likes by this fault alone.
    OfNode(NodeName),
}

/// How nodes of an image misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageFault {
    /// The kubelet never ends a pod that is told to stop (kubernetes#51835 has a hundred stories); only the end of the instance
    /// helps.
    CannotStop {
        /// From this age of the node on.
        after: Span,
    },
    /// Containers end with code 1 a second after every start; those of DaemonSets aside, without which a node would not be
    /// counted as ready by anybody.
    Crashes,
    /// Pods are never Ready; those of DaemonSets aside.
    KeepsUnready,
    /// Pods are Ready so much later after each start of their containers; those of DaemonSets aside.
    SlowsStarts {
        /// How much later.
        by: Span,
    },
    /// Containers end with code 1 whenever they have run for so long; those of DaemonSets aside.
    RestartsPods {
        /// How long they run.
        every: Span,
    },
}

impl ImageFault {
    /// How long containers run until they end because of it.
    pub(super) fn crashes_after(self) -> Option<Span> {
        match self {
            Self::Crashes => Some(super::crash::CRASH),
            Self::RestartsPods { every } => Some(every),
            Self::CannotStop { .. } | Self::KeepsUnready | Self::SlowsStarts { .. } => None,
        }
    }

    /// How much later than on other nodes pods get Ready, if they do.
    pub(super) fn lateness(self) -> Span {
        match self {
            Self::SlowsStarts { by } => by,
            Self::CannotStop { .. } | Self::Crashes | Self::KeepsUnready | Self::RestartsPods { .. } => {
                Span::ZERO
            }
        }
    }
}

/// The faults that hold at present.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ImageFaults {
    #[serde(with = "replank_model::pairs")]
    faults: BTreeMap<ImageName, ImageFault>,
    /// Launch template that each group had at the beginning.
    first: BTreeMap<GroupName, LaunchTemplateRef>,
    /// Images of which a pod has felt the fault.
    met: BTreeSet<ImageName>,
}

impl ImageFaults {
    /// Notes what a group's nodes were made from when it was first seen.
    pub(super) fn see(&mut self, group: &NodeGroup) {
        self.first.entry(group.name.clone()).or_insert_with(|| group.current.clone());
    }

    pub(super) fn set(&mut self, image: &ImageName, fault: Option<ImageFault>) {
        match fault {
            Some(fault) => self.faults.insert(image.clone(), fault),
            None => self.faults.remove(image),
        };
    }

    /// Whether a pod has felt a fault of this image.
    pub(super) fn was_met(&self, image: &ImageName) -> bool {
        self.met.contains(image)
    }

    /// What a pod has to bear on its node.
    pub(super) fn of(&mut self, view: &View, pod: &Pod, now: Time) -> Option<ImageFault> {
        if self.faults.is_empty() {
            return None;
        }
        let (image, fault) = self.on(view, pod.node.as_ref()?)?;
        let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
        let holds = match fault {
            ImageFault::CannotStop { after } => {
                let since = view.node(pod.node.as_ref()?)?.meta.creation_timestamp;
                since.is_none_or(|since| since + after <= now)
            }
            ImageFault::Crashes
            | ImageFault::KeepsUnready
            | ImageFault::SlowsStarts { .. }
            | ImageFault::RestartsPods { .. } => !is_daemon,
        };
        if holds {
            self.met.insert(image);
        }
        holds.then_some(fault)
    }

    /// The fault of a node's image.
    fn on(&self, view: &View, name: &NodeName) -> Option<(ImageName, ImageFault)> {
        let alone = ImageName::OfNode(name.clone());
        if let Some(fault) = self.faults.get(&alone) {
            return Some((alone, *fault));
        }
        let instance = view.instances().get(&instance_id_of(view.node(name)?))?;
        let group = view.groups().get(&instance.group)?;
        let template = group.made_from(instance)?;
        let named = ImageName::Named(template.image.clone());
        if let Some(fault) = self.faults.get(&named) {
            return Some((named, *fault));
        }
        let is_first = self.first.get(&group.name) == Some(&instance.template);
        let fault = self.faults.get(&ImageName::New).filter(|_| !is_first)?;
        Some((ImageName::New, *fault))
    }
}
