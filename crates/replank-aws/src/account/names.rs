//! Names in an account: its id, its region, its cluster, and the ARNs that follow.

use replank_model::text::Zone;
use replank_model::time::Span;

use crate::text::{ec2_id, uuid};

/// What an account is told when it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The account's number.
    pub account: String,
    /// The region, such as `eu-west-1`.
    pub region: String,
    /// The cluster's name.
    pub cluster: String,
    /// The cluster's version, such as `1.36`.
    pub version: String,
    /// Where the Kubernetes API is.
    pub endpoint: String,
    /// The certificate of its authority, in PEM.
    pub authority: String,
    /// Where this API is: what URLs of queues begin with.
    pub own: String,
    /// How long EKS takes.
    pub takes: Takes,
    /// Actions that nobody may do, as IAM names them: `eks:UpdateClusterVersion`.
    pub denied: Vec<String>,
}

/// How long updates of EKS take that do not depend on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// The update of a control plane. EKS says "several minutes".
    pub control_plane: Span,
    /// The update of an add-on.
    pub addon: Span,
    /// Making a managed node group, until its nodes are waited for: EKS makes the Auto Scaling group behind it.
    pub nodegroup: Span,
}

impl Default for Takes {
    fn default() -> Self {
        Self {
            control_plane: Span::from_minutes(8),
            addon: Span::from_secs(60),
            nodegroup: Span::from_secs(60),
        }
    }
}

impl Takes {
    /// The same, so many times as fast.
    #[must_use]
    pub fn faster(self, speed: f64) -> Self {
        Self {
            control_plane: self.control_plane.divided(speed),
            addon: self.addon.divided(speed),
            nodegroup: self.nodegroup.divided(speed),
        }
    }
}

/// The same, with what follows from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) setting: Setting,
}

impl Names {
    pub(crate) fn new(setting: Setting) -> Self {
        Self { setting }
    }

    pub(crate) fn account(&self) -> &str {
        &self.setting.account
    }

    pub(crate) fn region(&self) -> &str {
        &self.setting.region
    }

    pub(crate) fn cluster(&self) -> &str {
        &self.setting.cluster
    }

    pub(crate) fn arn(&self, service: &str, rest: &str) -> String {
        format!("arn:aws:{service}:{}:{}:{rest}", self.region(), self.account())
    }

    pub(crate) fn group_arn(&self, name: &str) -> String {
        self.arn("autoscaling", &format!("autoScalingGroup:{}:autoScalingGroupName/{name}", uuid(name)))
    }

    pub(crate) fn cluster_arn(&self) -> String {
        self.arn("eks", &format!("cluster/{}", self.cluster()))
    }

    pub(crate) fn nodegroup_arn(&self, name: &str) -> String {
        self.arn("eks", &format!("nodegroup/{}/{name}/{}", self.cluster(), uuid(name)))
    }

    pub(crate) fn queue_arn(&self, name: &str) -> String {
        self.arn("sqs", name)
    }

    pub(crate) fn role_arn(&self, name: &str) -> String {
        format!("arn:aws:iam::{}:role/{name}", self.account())
    }

    /// The one subnet that a zone has.
    pub(crate) fn subnet(&self, zone: &Zone) -> String {
        ec2_id("subnet", &format!("{}/{zone}", self.cluster()))
    }

    pub(crate) fn vpc(&self) -> String {
        ec2_id("vpc", self.cluster())
    }

    pub(crate) fn security_group(&self) -> String {
        ec2_id("sg", self.cluster())
    }
}
