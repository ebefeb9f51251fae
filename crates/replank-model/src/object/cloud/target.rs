//! Target groups of load balancers, and the instances that are registered in them by their ids.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::Text;
use crate::time::Span;

/// A target group whose targets are instances (Elastic Load Balancing `TargetGroup`, target type `instance`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetGroup {
    /// Its ARN.
    pub arn: Text,
    /// Who registers instances there.
    pub registrar: Registrar,
    /// How long a target is `draining` (`deregistration_delay.timeout_seconds`: 0 to 3600).
    pub deregistration_delay: Span,
}

/// Who registers the instances of a group in a target group, and takes them out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Registrar {
    /// The Auto Scaling group to which the target group is attached: it registers an instance before it is in service, and deregisters it before it is
    /// terminated. Labels of nodes mean nothing to it.
    AutoScaling,
    /// A controller in the cluster, such as the AWS Load Balancer Controller: it registers nodes that are Ready, but none with the label
    /// `node.kubernetes.io/exclude-from-external-load-balancers`.
    Controller,
}

impl TargetGroup {
    /// The deregistration delay of a target group of which nobody has changed it.
    pub const DELAY: Span = Span::from_secs(300);

    /// A target group that is attached to an Auto Scaling group, with AWS's default delay.
    #[must_use]
    pub fn attached(arn: impl Into<Text>) -> Self {
        Self { arn: arn.into(), registrar: Registrar::AutoScaling, deregistration_delay: Self::DELAY }
    }

    /// Its name: the part of an ARN `arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID` that people choose.
    #[must_use]
    pub fn name_of(arn: &Text) -> &str {
        let own = arn.split_once(":targetgroup/").map(|(_, rest)| rest);
        own.and_then(|rest| rest.split('/').next()).filter(|name| !name.is_empty()).unwrap_or(arn)
    }
}

/// An instance in a target group (DescribeTargetHealth). One that is `unused` because it is not registered is not listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The target group's ARN.
    pub group: Text,
    /// Its state.
    pub health: TargetHealth,
}

/// The state of a target (Elastic Load Balancing `TargetHealthStateEnum`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TargetHealth {
    /// It is being registered, or has not passed its first health checks.
    Initial,
    /// It gets requests.
    Healthy,
    /// It fails its health checks.
    Unhealthy,
    /// It is being deregistered: it gets no new requests, and finishes those that it has.
    Draining,
    /// It gets no requests: it is not registered, or no load balancer uses the target group or its zone.
    Unused,
    /// Health checks are disabled.
    Unavailable,
}

impl TargetHealth {
    /// As Elastic Load Balancing writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
            Self::Draining => "draining",
            Self::Unused => "unused",
            Self::Unavailable => "unavailable",
        }
    }
}

impl fmt::Display for TargetHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_group_is_called_by_the_name_in_its_arn() {
        let of = |arn: &str| TargetGroup::name_of(&Text::from(arn)).to_owned();
        assert_eq!(
            of("arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/web/73e2d6bc24d8a067"),
            "web"
        );
        assert_eq!(of("web"), "web");
        assert_eq!(
            of("arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/"),
            "arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/"
        );
    }
}
