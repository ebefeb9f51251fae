//! JSON: with the operation in a header, or with paths.

use serde_json::{Value, json};

use super::message::{Answer, Request};
use crate::fault::Fault;
use crate::service::Service;

/// The operation, and its members.
///
/// # Errors
/// Where the service has no such operation, or the body is no JSON.
pub(super) fn read(service: Service, request: &Request<'_>) -> Result<(String, Value), Fault> {
    let target = request.target.unwrap_or_default();
    let action = target.split_once('.').filter(|(prefix, _)| service.target_prefix() == Some(prefix));
    let Some((_, action)) = action else {
        return Err(Fault::bad(
            "UnknownOperationException",
            format!("The operation {target} is none of {}.", service.signing_name()),
        ));
    };
    Ok((action.to_owned(), body(request.body)?))
}

/// A body of JSON; an empty one has no members.
///
/// # Errors
/// Where it is none.
pub(super) fn body(body: &[u8]) -> Result<Value, Fault> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(json!({}));
    }
    serde_json::from_slice(body).map_err(|error| Fault::bad("SerializationException", error.to_string()))
}

pub(super) fn answer(service: Service, value: &Value, id: &str) -> Answer {
    let media = format!("application/x-amz-json-{}", service.json_version());
    let body = if value.is_null() { String::new() } else { value.to_string() };
    Answer { status: 200, headers: vec![("content-type", media), ("x-amzn-requestid", id.to_owned())], body }
}

pub(super) fn fault(service: Service, fault: &Fault, id: &str) -> Answer {
    let mut value = Value::Object(fault.members.clone());
    let shape = match service {
        Service::Sqs => format!("com.amazonaws.sqs#{}", fault.code.rsplit('.').next().unwrap_or_default()),
        Service::Eks
        | Service::AutoScaling
        | Service::Ec2
        | Service::Events
        | Service::Ssm
        | Service::Sts
        | Service::Elb => fault.code.clone(),
    };
    value["__type"] = json!(shape);
    value["message"] = json!(fault.message);
    let mut answer = answer(service, &value, id);
    answer.status = fault.status;
    if service == Service::Sqs {
        // Clients that knew the query go on to see its codes.
        answer
            .headers
            .push(("x-amzn-query-error", format!("{};Sender", super::sqs::query_code(&fault.code))));
    }
    answer
}

pub(super) fn rest(value: &Value, id: &str) -> Answer {
    let headers = vec![("content-type", "application/json".to_owned()), ("x-amzn-requestid", id.to_owned())];
    Answer { status: 200, headers, body: value.to_string() }
}

pub(super) fn rest_fault(fault: &Fault, id: &str) -> Answer {
    let mut value = Value::Object(fault.members.clone());
    value["message"] = json!(fault.message);
    let mut answer = rest(&value, id);
    answer.status = fault.status;
    answer.headers.push(("x-amzn-errortype", fault.code.clone()));
    answer
}
