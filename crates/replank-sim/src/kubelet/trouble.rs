//! Bad ways that a node can say it is in (pkg/kubelet/nodestatus `setters.go`; pkg/kubelet/eviction).

use replank_model::time::Time;
use serde::{Deserialize, Serialize};

/// A bad way that a node says it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NodeTrouble {
    /// It has little memory left.
    Memory,
    /// It has little disk space left, or few inodes.
    Disk,
    /// It can start few more processes.
    Pid,
    /// Its network is not set up. The kubelet does nothing about it.
    Network,
}

/// A condition that a fault has given to a node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Pressed {
    /// Which.
    pub(super) with: NodeTrouble,
    /// When its cause was gone, if it is.
    pub(super) over: Option<Time>,
    /// No pod is evicted before.
    pub(super) evicts_from: Time,
}

impl NodeTrouble {
    /// All, in the order of their conditions on a node.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Disk, Self::Pid, Self::Network];

    /// The one whose condition has this name.
    #[must_use]
    pub fn of(condition: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trouble| trouble.condition() == condition)
    }

    /// The node's condition.
    #[must_use]
    pub fn condition(self) -> &'static str {
        match self {
            Self::Memory => "MemoryPressure",
            Self::Disk => "DiskPressure",
            Self::Pid => "PIDPressure",
            Self::Network => "NetworkUnavailable",
        }
    }

    /// Reason and message of the condition while it holds, and when it does not.
    pub(super) fn words(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::Memory => [
                ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
                ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
            ],
            Self::Disk => [
                ("KubeletHasDiskPressure", "kubelet has disk pressure"),
                ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            ],
            Self::Pid => [
                ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
                ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
            ],
            Self::Network => [
                ("NoRouteCreated", "Node created without a route"),
                ("RouteCreated", "RouteController created a route"),
            ],
        }
    }

    /// What the kubelet evicts pods for, by its name.
    pub(super) fn resource(self) -> Option<&'static str> {
        match self {
            Self::Memory => Some("memory"),
            Self::Disk => Some("ephemeral-storage"),
            Self::Pid => Some("pids"),
            Self::Network => None,
        }
    }
}
