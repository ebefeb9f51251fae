//! The services that are served: by which name requests are signed for them, and which protocols they speak.

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Elastic Kubernetes Service.
    Eks,
    /// EC2 Auto Scaling.
    AutoScaling,
    /// Elastic Compute Cloud.
    Ec2,
    /// Simple Queue Service.
    Sqs,
    /// EventBridge.
    Events,
    /// Systems Manager.
    Ssm,
    /// Security Token Service.
    Sts,
    /// Elastic Load Balancing, version 2.
    Elb,
}

/// How requests and answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Paths, and JSON.
    Rest,
    /// A form, and XML.
    Query,
    /// EC2's own kind of query.
    Ec2,
    /// JSON; the operation is in a header.
    Json,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Eks, Self::AutoScaling, Self::Ec2, Self::Sqs, Self::Events, Self::Ssm, Self::Sts, Self::Elb];

    /// The name that requests are signed for (the service of a credential's scope).
    #[must_use]
    pub fn signing_name(self) -> &'static str {
        match self {
            Self::Eks => "eks",
            Self::AutoScaling => "autoscaling",
            Self::Ec2 => "ec2",
            Self::Sqs => "sqs",
            Self::Events => "events",
            Self::Ssm => "ssm",
            Self::Sts => "sts",
            Self::Elb => "elasticloadbalancing",
        }
    }

    /// The service that is signed for by a name.
    #[must_use]
    pub fn of_signing_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.signing_name() == name)
    }

    /// What stands before the operation in `X-Amz-Target`.
    pub(crate) fn target_prefix(self) -> Option<&'static str> {
        match self {
            Self::Sqs => Some("AmazonSQS"),
            Self::Events => Some("AWSEvents"),
            Self::Ssm => Some("AmazonSSM"),
            Self::Eks | Self::AutoScaling | Self::Ec2 | Self::Sts | Self::Elb => None,
        }
    }

    /// The XML namespace of its answers.
    pub(crate) fn namespace(self) -> &'static str {
        match self {
            Self::AutoScaling => "http://autoscaling.amazonaws.com/doc/2011-01-01/",
            Self::Ec2 => "http://ec2.amazonaws.com/doc/2016-11-15/",
            Self::Sqs => "http://queue.amazonaws.com/doc/2012-11-05/",
            Self::Sts => "https://sts.amazonaws.com/doc/2011-06-15/",
            Self::Elb => "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
            Self::Eks | Self::Events | Self::Ssm => "",
        }
    }

    /// The protocol of a request; SQS speaks two.
    pub(crate) fn protocol(self, has_target: bool) -> Protocol {
        match self {
            Self::Eks => Protocol::Rest,
            Self::Ec2 => Protocol::Ec2,
            Self::AutoScaling | Self::Sts | Self::Elb => Protocol::Query,
            Self::Sqs if has_target => Protocol::Json,
            Self::Sqs => Protocol::Query,
            Self::Events | Self::Ssm => Protocol::Json,
        }
    }

    /// The version of JSON's protocol, as media types have it.
    pub(crate) fn json_version(self) -> &'static str {
        match self {
            Self::Sqs => "1.0",
            Self::Eks | Self::AutoScaling | Self::Ec2 | Self::Events | Self::Ssm | Self::Sts | Self::Elb => {
                "1.1"
            }
        }
    }
}
