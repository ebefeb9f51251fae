//! Requests and answers by protocol.

mod form;
mod json;
mod message;
mod rest;
mod sqs;
mod xml;

use crate::call::{Call, Reply};
use crate::caller::Caller;
use crate::fault::Fault;
use crate::members;
use crate::service::{Protocol, Service};
pub(crate) use message::{Answer, Request};

/// Reads a call.
///
/// # Errors
/// Where there is no such operation, or it cannot be read.
pub(crate) fn read(service: Service, request: &Request<'_>) -> Result<Call, Fault> {
    let (action, input) = match service.protocol(request.target.is_some()) {
        Protocol::Rest => rest::read(request)?,
        Protocol::Json => json::read(service, request)?,
        Protocol::Query | Protocol::Ec2 => form::read(request)?,
    };
    let input = if service == Service::Sqs && request.target.is_none() {
        sqs::input(input, request.path)
    } else {
        input
    };
    let is_form = matches!(service.protocol(request.target.is_some()), Protocol::Query | Protocol::Ec2);
    members::check(service, &action, &input, is_form)?;
    Ok(Call { service, action, input, caller: Caller::default(), is_again: false })
}

/// Writes an answer.
pub(crate) fn write(service: Service, has_target: bool, action: &str, reply: &Reply, id: &str) -> Answer {
    match (service.protocol(has_target), reply) {
        (Protocol::Rest, Ok(value)) => json::rest(value, id),
        (Protocol::Rest, Err(fault)) => json::rest_fault(fault, id),
        (Protocol::Json, Ok(value)) => json::answer(service, value, id),
        (Protocol::Json, Err(fault)) => json::fault(service, fault, id),
        (Protocol::Query, Ok(value)) if service == Service::Sqs => {
            xml::answer(service, action, &sqs::output(action, value), id)
        }
        (Protocol::Query, Ok(value)) => xml::answer(service, action, value, id),
        (Protocol::Query, Err(fault)) if service == Service::Sqs => {
            xml::fault(service, &Fault { code: sqs::query_code(&fault.code), ..fault.clone() }, id)
        }
        (Protocol::Query, Err(fault)) => xml::fault(service, fault, id),
        (Protocol::Ec2, Ok(value)) => xml::ec2_answer(service, action, value, id),
        (Protocol::Ec2, Err(fault)) => xml::ec2_fault(fault, id),
    }
}
