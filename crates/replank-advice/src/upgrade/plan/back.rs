//! Whether there is a way back from a step.

use replank_model::text::Text;
use replank_model::time::{Span, Time};

use super::super::addon_version::AddonVersion;
use super::super::minor::{Hop, Minor};
use super::super::rollback::{self, Rollback};
use super::super::survey::Platform;

/// The way back from a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Back {
    /// The control plane goes back, within so long, while no node is newer.
    ControlPlane {
        /// To this version.
        to: Minor,
        /// Counted from the step.
        within: Span,
    },
    /// The nodes go back to their former launch template; the control plane can go back after that only.
    Nodes {
        /// The group.
        group: Text,
    },
    /// The version before is installed again.
    Addon {
        /// That.
        to: AddonVersion,
    },
    /// Nothing was changed.
    Nothing,
    /// There is none.
    None {
        /// Why.
        why: &'static str,
    },
}

/// From a step of the control plane.
pub(super) fn of_control_plane(platform: Platform, hop: Hop, now: Time) -> Back {
    let rollback = match platform {
        Platform::Eks => rollback::after(hop, now),
        Platform::Other => Rollback::None,
    };
    match rollback {
        Rollback::Until { to, within } => Back::ControlPlane { to, within },
        Rollback::NotYet => Back::None { why: "EKS could not roll a control plane back before mid-2026" },
        Rollback::None => Back::None { why: "Kubernetes cannot roll a control plane back" },
    }
}
