//! Why something cannot be had from AWS, and what to do next.

use thiserror::Error;

use super::statement::{lacking, statement};

/// Why something cannot be had from AWS.
#[derive(Clone, Debug, Error)]
pub enum AwsError {
    /// Nobody says which region is meant.
    #[error("no AWS region is given")]
    NoRegion,
    /// There is no such profile.
    #[error("the AWS configuration has no profile {profile:?}")]
    NoProfile {
        /// The name that was asked for.
        profile: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// There are no credentials.
    #[error("no AWS credentials are found: {looked_at}")]
    NoCredentials {
        /// Where they were looked for.
        looked_at: String,
    },
    /// There is a source of credentials, and it yields none.
    #[error("cannot get AWS credentials from {source_of}: {why}")]
    Credentials {
        /// Which source.
        source_of: String,
        /// Why.
        why: String,
    },
    /// AWS does not accept the credentials.
    #[error("AWS does not accept the credentials from {source_of} ({action}: {code}: {message})")]
    NotAccepted {
        /// Where they are from.
        source_of: String,
        /// What was called: `autoscaling:DescribeAutoScalingGroups`.
        action: String,
        /// AWS's error code.
        code: String,
        /// Its words.
        message: String,
    },
    /// Who asks may not.
    #[error("{action}: {code}: {message}")]
    Denied {
        /// What was called.
        action: String,
        /// AWS's error code.
        code: String,
        /// Its words.
        message: String,
    },
    /// AWS says no.
    #[error("{action}: {code}: {message}")]
    Refused {
        /// What was called.
        action: String,
        /// HTTP status.
        status: u16,
        /// AWS's error code.
        code: String,
        /// Its words.
        message: String,
    },
    /// Nobody answers; `is_unsent` where no connection came about.
    #[error("{action}: cannot reach {endpoint}: {why}")]
    Unreachable {
        /// What was called.
        action: String,
        /// Where.
        endpoint: String,
        /// What the system says.
        why: String,
        /// Whether the request cannot have arrived.
        is_unsent: bool,
    },
    /// The answer cannot be read.
    #[error("{action}: the answer cannot be read: {why}")]
    Unreadable {
        /// What was called.
        action: String,
        /// Why.
        why: String,
    },
    /// A queue is not one that messages can be received from.
    #[error("queue {url}: {why}")]
    Queue {
        /// Its URL.
        url: String,
        /// Why not.
        why: String,
        /// The next step to take.
        next: String,
    },
    /// The account knows none of the cluster's instances.
    #[error(
        "no Auto Scaling group of account {account} in {region} has the instances of these nodes: {nodes}"
    )]
    WrongAccount {
        /// The account.
        account: String,
        /// The region.
        region: String,
        /// Some of the nodes.
        nodes: String,
    },
}

impl AwsError {
    /// The next step to take, where the error does not say it.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        match self {
            Self::NoRegion => Some("pass --region REGION, or set AWS_REGION, or `region` of the profile".to_owned()),
            Self::NoProfile { known, .. } if known.is_empty() => Some("make one: aws configure --profile NAME".to_owned()),
            Self::NoProfile { known, .. } => Some(format!("it has: {}; pass one: --profile NAME", known.join(", "))),
            Self::NoCredentials { .. } => Some(
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass --profile NAME; in a pod use IRSA or EKS Pod Identity".to_owned(),
            ),
            Self::Credentials { .. } | Self::NotAccepted { .. } => {
                Some("log in again, then try: aws sts get-caller-identity".to_owned())
            }
            Self::Denied { action, message, .. } => {
                // What is refused may be something else that the call needs: a role that is handed on.
                let statement = lacking(action, message).unwrap_or_else(|| statement(action));
                Some(format!("attach this statement to the role or user:\n{statement}"))
            }
            Self::Unreachable { .. } => Some("check the region, the network, and --endpoint-url (AWS_ENDPOINT_URL)".to_owned()),
            Self::WrongAccount { .. } => {
                Some("check the account and the region: aws sts get-caller-identity; pass --profile and --region".to_owned())
            }
            Self::Queue { next, .. } => Some(next.clone()),
            Self::Refused { .. } | Self::Unreadable { .. } => None,
        }
    }

    /// Whether a call may be sent again: it was not carried out, or changes nothing.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused { status, .. } => *status >= 500 || self.is_throttled(),
            Self::Unreachable { .. } => true,
            Self::NoRegion
            | Self::NoProfile { .. }
            | Self::NoCredentials { .. }
            | Self::Credentials { .. }
            | Self::NotAccepted { .. }
            | Self::Denied { .. }
            | Self::Unreadable { .. }
            | Self::Queue { .. }
            | Self::WrongAccount { .. } => false,
        }
    }
}

impl AwsError {
    /// Whether AWS asks for fewer requests: nothing was done. EKS also says so with a code that otherwise means another thing (aws-sdk#652).
    pub(super) fn is_throttled(&self) -> bool {
        let Self::Refused { code, message, .. } = self else { return false };
        is_throttling(code)
            || code == "InvalidRequestException" && message.starts_with("Request limit exceeded")
    }
}

/// Codes with which AWS asks for fewer requests ("Error retries" in the SDKs' guide).
fn is_throttling(code: &str) -> bool {
    matches!(
        code,
        "Throttling"
            | "ThrottlingException"
            | "ThrottledException"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "RequestLimitExceeded"
            | "TooManyRequestsException"
            | "BandwidthLimitExceeded"
            | "SlowDown"
    )
}

/// Codes that say that the credentials are not accepted.
pub(super) fn is_not_accepted(code: &str) -> bool {
    matches!(
        code,
        "InvalidClientTokenId"
            | "UnrecognizedClientException"
            | "SignatureDoesNotMatch"
            | "InvalidSignatureException"
            | "AuthFailure"
            | "ExpiredToken"
            | "ExpiredTokenException"
            // EC2's for both: credentials that are over, and a clock that is wrong.
            | "RequestExpired"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "IncompleteSignature"
    )
}

/// Codes that say that a permission is missing.
pub(super) fn is_denied(code: &str) -> bool {
    matches!(code, "AccessDenied" | "AccessDeniedException" | "UnauthorizedOperation" | "UnauthorizedAccess")
}

/// What went wrong, and what to do next.
pub(super) fn said(error: &AwsError) -> String {
    match error.next() {
        Some(next) => format!("{error}; {next}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_service_says_of_the_rate_and_of_credentials_is_known() {
        let refused = |code: &str, message: &str| AwsError::Refused {
            action: "eks:DescribeNodegroup".to_owned(),
            status: 400,
            code: code.to_owned(),
            message: message.to_owned(),
        };
        for code in ["Throttling", "RequestLimitExceeded", "TooManyRequestsException", "RequestThrottled"] {
            assert!(refused(code, "").is_throttled(), "{code}");
        }
        // EKS, as users have met it.
        assert!(refused("InvalidRequestException", "Request limit exceeded.").is_throttled());
        assert!(!refused("InvalidRequestException", "The node group is deleted").is_throttled());
        for code in ["ExpiredToken", "ExpiredTokenException", "RequestExpired", "AuthFailure"] {
            assert!(is_not_accepted(code), "{code}");
        }
    }
}
