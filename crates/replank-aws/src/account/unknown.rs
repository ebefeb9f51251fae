//! Operations that are not served.

use crate::fault::Fault;
use crate::service::Service;

/// The refusal of an operation that is not served.
pub(crate) fn unknown(service: Service, action: &str) -> Fault {
    let what = format!(
        "The action {action} is not valid for this web service: Replank's simulated cloud does not serve it (docs/cluster-aws.md names what it serves)."
    );
    match service {
        Service::Ec2 | Service::AutoScaling | Service::Sts | Service::Sqs | Service::Elb => {
            Fault::bad("InvalidAction", what)
        }
        Service::Eks | Service::Events | Service::Ssm => Fault::bad("UnknownOperationException", what),
    }
}
