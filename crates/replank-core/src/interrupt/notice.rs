//! What a cloud says about its instances.

use std::fmt;

use replank_model::text::{InstanceId, Text};
use replank_model::time::Time;
use replank_protocol::lifecycle::Action;

/// One event, as it was told. It may be told again, late, or after what it speaks of is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// When it happened, as far as its sender says.
    pub at: Option<Time>,
    /// What happened.
    pub news: News,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A group ends an instance, and holds it until its lifecycle action is completed.
    Terminating(Action),
    /// A group puts an instance back into its warm pool, and holds it until then. It is stopped, not ended.
    Retreating(Action),
    /// A group launches an instance, and holds it until then.
    Launching(Action),
    /// A spot instance is taken back, two minutes after the warning ("Spot Instance interruption notices" in the EC2 guide).
    Spot {
        /// The instance.
        instance: InstanceId,
        /// What becomes of it.
        then: Taken,
    },
    /// An instance of an interruptible capacity reservation is taken back.
    Reclaimed {
        /// The instance.
        instance: InstanceId,
        /// What becomes of it.
        then: Taken,
        /// When, where it is said.
        until: Option<Time>,
    },
    /// A spot instance is likelier than before to be taken back.
    Rebalance {
        /// The instance.
        instance: InstanceId,
    },
    /// An instance has come to another state.
    State {
        /// The instance.
        instance: InstanceId,
        /// Which.
        state: Reached,
    },
    /// AWS Health speaks of instances.
    Health(Health),
}

impl News {
    /// The instances that it is about, in order.
    #[must_use]
    pub fn instances(&self) -> Vec<&InstanceId> {
        match self {
            Self::Terminating(action) | Self::Retreating(action) | Self::Launching(action) => {
                vec![&action.instance]
            }
            Self::Spot { instance, .. }
            | Self::Reclaimed { instance, .. }
            | Self::Rebalance { instance }
            | Self::State { instance, .. } => vec![instance],
            Self::Health(health) => health.instances.iter().collect(),
        }
    }
}

/// What becomes of an instance that is taken back (`instance-action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Taken {
    /// It is ended.
    Terminate,
    /// It is stopped.
    Stop,
    /// It is hibernated: at once, the warning gives no time.
    Hibernate,
}

/// The state that an instance has come to (EC2 InstanceStateName).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// Booting.
    Pending,
    /// Up.
    Running,
    /// Going down, to be started again perhaps.
    Stopping,
    /// Down.
    Stopped,
    /// Going down for good.
    ShuttingDown,
    /// Gone.
    Terminated,
}

impl Reached {
    /// The state of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "stopping" => Self::Stopping,
            "stopped" => Self::Stopped,
            "shutting-down" => Self::ShuttingDown,
            "terminated" => Self::Terminated,
            _ => return None,
        })
    }

    /// Whether nothing runs there any more, or soon will not.
    #[must_use]
    pub fn is_down(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Stopping | Self::Stopped | Self::ShuttingDown | Self::Terminated => true,
        }
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
        })
    }
}

/// A change that AWS has scheduled for instances.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// Its kind, such as `AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED`.
    pub code: Text,
    /// All instances that it is about, in order.
    pub instances: Vec<InstanceId>,
    /// When it begins.
    pub start: Option<Time>,
    /// Whether it is still to come or under way.
    pub status: HealthStatus,
}

/// How far a scheduled change is (`statusCode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthStatus {
    /// It is to come.
    Upcoming,
    /// It is under way.
    Open,
    /// It is over, or was called off.
    Closed,
}
