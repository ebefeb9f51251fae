//! How each service refuses what comes too often, what it failed at, and whose credentials are over.
//!
//! From models of the services and from what users have reported: `Throttling` (400) of Auto Scaling, `RequestLimitExceeded` (503) of EC2, `TooManyRequestsException` and
//! `ThrottlingException` (429) of EKS, and (400) of Elastic Load Balancing; `RequestExpired` (400) of EC2, `ExpiredToken` (403) of the query services and SQS.

use crate::call::Call;
use crate::fault::Fault;
use crate::service::Service;

/// It came too often.
pub(super) fn throttled(call: &Call) -> Fault {
    let (status, code, message) = match call.service {
        Service::AutoScaling | Service::Sts => (400, "Throttling", "Rate exceeded"),
        Service::Ec2 => (503, "RequestLimitExceeded", "Request limit exceeded."),
        Service::Eks if call.is_read() => (429, "TooManyRequestsException", "Too Many Requests"),
        Service::Eks => (429, "ThrottlingException", "Rate exceeded"),
        Service::Sqs => (400, "RequestThrottled", "Request is throttled."),
        Service::Events | Service::Ssm | Service::Elb => (400, "ThrottlingException", "Rate exceeded"),
    };
    Fault::new(status, code, message)
}

/// The service failed, or is not there at the moment.
pub(super) fn failed(call: &Call, is_away: bool) -> Fault {
    let away = "The service is temporarily unavailable.";
    let failed = "The request processing has failed because of an unknown error, exception or failure.";
    let (status, code) = match (call.service, is_away) {
        (Service::AutoScaling | Service::Sts | Service::Sqs | Service::Elb, true) => {
            (503, "ServiceUnavailable")
        }
        (Service::AutoScaling | Service::Sts | Service::Sqs | Service::Elb, false) => {
            (500, "InternalFailure")
        }
        (Service::Ec2, true) => (503, "Unavailable"),
        (Service::Ec2, false) => (500, "InternalError"),
        (Service::Eks, true) => (503, "ServiceUnavailableException"),
        (Service::Eks, false) => (500, "ServerException"),
        (Service::Events, _) => (500, "InternalException"),
        (Service::Ssm, _) => (500, "InternalServerError"),
    };
    Fault::new(status, code, if is_away { away } else { failed })
}

/// Who asks is not believed any more.
pub(crate) fn expired(service: Service) -> Fault {
    let words = "The security token included in the request is expired";
    match service {
        Service::Ec2 => Fault::bad("RequestExpired", "Request has expired."),
        Service::AutoScaling | Service::Sts | Service::Sqs | Service::Elb => {
            Fault::new(403, "ExpiredToken", words)
        }
        Service::Eks => Fault::new(403, "ExpiredTokenException", words),
        Service::Events | Service::Ssm => Fault::bad("ExpiredTokenException", words),
    }
}
