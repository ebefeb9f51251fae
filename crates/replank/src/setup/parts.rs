//! What an account needs, whatever it is written in.

use replank_model::time::Span;
use serde_json::{Value, json};

use super::args::{SetupAwsArgs, SetupMode};

/// How long messages are kept that nobody handles: an interruption is over long before.
pub(super) const KEPT_SECONDS: u32 = 24 * 60 * 60;
/// How long dead letters are kept: as long as SQS allows.
pub(super) const DEAD_KEPT_SECONDS: u32 = 14 * 24 * 60 * 60;
/// How long a message is hidden by default. Replank says it at each receipt.
pub(super) const HIDDEN_SECONDS: u32 = 30;
/// How often a message is received until it is a dead letter: what can be handled is received once, and again after a restart.
pub(super) const RECEIVED_MAX: u32 = 10;
/// The name of the hook. Replank completes hooks whose names begin so without being told.
pub(super) const HOOK: &str = "replank-drain";

/// What is to be set up.
pub(super) struct Setup {
    /// Begins all names.
    pub(super) name: String,
    pub(super) cluster: String,
    pub(super) mode: SetupMode,
    pub(super) groups: Vec<String>,
    /// Roles of nodes, of which groups may be made.
    pub(super) node_roles: Vec<String>,
    pub(super) heartbeat: Span,
    pub(super) namespace: String,
    pub(super) service_account: String,
}

/// A rule of EventBridge.
pub(super) struct Rule {
    /// Behind the name of all: `spot`.
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) pattern: Value,
}

/// What the rules cannot tell apart: EventBridge sees ids of instances in such events, and no tags.
pub(super) const OF_ALL: &str = "EventBridge cannot filter events about instances by tag or group: the rules for interruptions, rebalance recommendations, states and maintenance match every instance of the account in the region, those of Karpenter and of other clusters too";

impl Setup {
    pub(super) fn of(args: &SetupAwsArgs) -> Self {
        Self {
            // Names of queues, rules and roles are limited to 64 letters and more.
            name: format!("replank-{}", args.cluster.chars().take(40).collect::<String>()),
            cluster: args.cluster.clone(),
            mode: args.mode,
            groups: args.group.clone(),
            node_roles: args.node_role.clone(),
            heartbeat: args.heartbeat,
            namespace: args.namespace.clone(),
            service_account: args.service_account.clone(),
        }
    }

    /// Whether messages are to be received.
    pub(super) fn needs_queue(&self) -> bool {
        match self.mode {
            SetupMode::Handle | SetupMode::HandleAutoscale | SetupMode::All => true,
            SetupMode::Roll | SetupMode::Autoscale | SetupMode::Upgrade => false,
        }
    }

    pub(super) fn heartbeat_seconds(&self) -> i64 {
        self.heartbeat.as_millis() / 1_000
    }

    /// Which events are sent to the queue.
    pub(super) fn rules(&self) -> Vec<Rule> {
        let mut lifecycle = json!({"source": ["aws.autoscaling"],
            "detail-type": ["EC2 Instance-terminate Lifecycle Action", "EC2 Instance-launch Lifecycle Action"]});
        if !self.groups.is_empty() {
            lifecycle["detail"] = json!({"AutoScalingGroupName": self.groups});
        }
        vec![
            Rule {
                name: "spot",
                about: "Spot instances and interruptible capacity that EC2 takes back",
                pattern: json!({"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning",
                    "EC2 Interruptible Capacity Reservation Instance Interruption Warning"]}),
            },
            Rule {
                name: "rebalance",
                about: "Spot instances that EC2 may take back",
                pattern: json!({"source": ["aws.ec2"], "detail-type": ["EC2 Instance Rebalance Recommendation"]}),
            },
            Rule {
                name: "state",
                about: "Instances that stop or end",
                pattern: json!({"source": ["aws.ec2"], "detail-type": ["EC2 Instance State-change Notification"],
                    "detail": {"state": ["stopping", "stopped", "shutting-down", "terminated"]}}),
            },
            Rule {
                name: "health",
                about: "Maintenance and retirements of instances that AWS schedules",
                pattern: json!({"source": ["aws.health"], "detail-type": ["AWS Health Event"],
                    "detail": {"service": ["EC2"], "eventTypeCategory": ["scheduledChange"]}}),
            },
            Rule { name: "lifecycle", about: "Instances that a lifecycle hook holds", pattern: lifecycle },
        ]
    }
}
