//! Nodes that misbehave because of what they were made from: faults of a machine image, or of one machine.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::groups::instance_id_of;
use replank_model::object::cloud::{LaunchTemplateRef, NodeGroup};
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde::{Deserialize, Serialize};

use super::dns;
use super::trouble::{NodeTrouble, Pressed};

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
    /// The node itself is in a bad way, which its conditions say.
    Troubles {
        /// In which.
        with: NodeTrouble,
        /// From this age of the node on.
        after: Span,
    },
    /// No name is resolved on the node: what starts there does not come up; pods of DaemonSets aside.
    BreaksDns,
}

impl ImageFault {
    /// How long the containers of a pod run until they end because of it.
    pub(super) fn crashes_after(self, pod: &Pod) -> Option<Span> {
        match self {
            Self::Crashes => Some(super::crash::CRASH),
            Self::RestartsPods { every } => Some(every),
            Self::BreaksDns => (!dns::is_waited_for(pod)).then_some(dns::GIVES_UP),
            Self::CannotStop { .. }
            | Self::KeepsUnready
            | Self::SlowsStarts { .. }
            | Self::Troubles { .. } => None,
        }
    }

    /// Whether a pod whose containers have been started does not become Ready for it.
    pub(super) fn is_never_ready(self, pod: &Pod) -> bool {
        match self {
            Self::Crashes | Self::KeepsUnready => true,
            Self::BreaksDns => dns::is_waited_for(pod),
            Self::CannotStop { .. }
            | Self::SlowsStarts { .. }
            | Self::RestartsPods { .. }
            | Self::Troubles { .. } => false,
        }
    }

    /// How much later than on other nodes pods get Ready, if they do.
    pub(super) fn lateness(self) -> Span {
        match self {
            Self::SlowsStarts { by } => by,
            Self::CannotStop { .. }
            | Self::Crashes
            | Self::KeepsUnready
            | Self::RestartsPods { .. }
            | Self::Troubles { .. }
            | Self::BreaksDns => Span::ZERO,
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
    /// Nodes with a condition that a fault has given them.
    #[serde(default)]
    pub(super) pressed: BTreeMap<NodeName, Pressed>,
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
            | ImageFault::RestartsPods { .. }
            | ImageFault::BreaksDns => !is_daemon,
            // Its node has it, and pods feel it through that.
            ImageFault::Troubles { .. } => false,
        };
        if holds {
            self.met.insert(image);
        }
        holds.then_some(fault)
    }

    /// Whether a node may get a condition from one of these, or lose one.
    pub(super) fn trouble_nodes(&self) -> bool {
        let mut faults = self.faults.values();
        faults.any(|fault| matches!(fault, ImageFault::Troubles { .. })) || !self.pressed.is_empty()
    }

    /// In what way a node is, by its image, and from which age on.
    pub(super) fn trouble_of(&self, view: &View, node: &NodeName) -> Option<(ImageName, NodeTrouble, Span)> {
        match self.on(view, node)? {
            (image, ImageFault::Troubles { with, after }) => Some((image, with, after)),
            (
                _,
                ImageFault::CannotStop { .. }
                | ImageFault::Crashes
                | ImageFault::KeepsUnready
                | ImageFault::SlowsStarts { .. }
                | ImageFault::RestartsPods { .. }
                | ImageFault::BreaksDns,
            ) => None,
        }
    }

    /// A node has felt the fault of its image.
    pub(super) fn meet(&mut self, image: ImageName) {
        self.met.insert(image);
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
