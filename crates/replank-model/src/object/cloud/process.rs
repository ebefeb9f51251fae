//! What an Auto Scaling group does by itself, and what can be suspended of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A process of an Auto Scaling group (SuspendProcesses; "Types of processes" in the EC2 Auto Scaling guide).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScalingProcess {
    /// Adds instances. While it is suspended nothing is launched, whatever the group wants.
    Launch,
    /// Removes instances when the group wants fewer, or one is unhealthy. It is about instances that are InService.
    Terminate,
    /// Moves instances to zones that have fewer.
    #[serde(rename = "AZRebalance")]
    AzRebalance,
    /// Terminates unhealthy instances and launches others.
    ReplaceUnhealthy,
    /// Looks whether instances are healthy.
    HealthCheck,
    /// Adds new instances to load balancers.
    AddToLoadBalancer,
    /// Scales by alarms.
    AlarmNotification,
    /// Scales by schedule.
    ScheduledActions,
    /// Replaces instances by an instance refresh.
    InstanceRefresh,
}

impl ScalingProcess {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Launch,
        Self::Terminate,
        Self::AzRebalance,
        Self::ReplaceUnhealthy,
        Self::HealthCheck,
        Self::AddToLoadBalancer,
        Self::AlarmNotification,
        Self::ScheduledActions,
        Self::InstanceRefresh,
    ];

    /// As Auto Scaling writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Launch => "Launch",
            Self::Terminate => "Terminate",
            Self::AzRebalance => "AZRebalance",
            Self::ReplaceUnhealthy => "ReplaceUnhealthy",
            Self::HealthCheck => "HealthCheck",
            Self::AddToLoadBalancer => "AddToLoadBalancer",
            Self::AlarmNotification => "AlarmNotification",
            Self::ScheduledActions => "ScheduledActions",
            Self::InstanceRefresh => "InstanceRefresh",
        }
    }

    /// The process of such a word; `None` for one that there is no more, such as RemoveFromLoadBalancerLowPriority, and for one that is newer than this.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|process| process.as_str() == word)
    }
}

impl fmt::Display for ScalingProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_word() {
        for process in ScalingProcess::ALL {
            assert_eq!(ScalingProcess::of(process.as_str()), Some(process));
            assert_eq!(serde_json::to_value(process).expect("a word"), process.as_str());
        }
        assert_eq!(ScalingProcess::of("RemoveFromLoadBalancerLowPriority"), None);
    }
}
