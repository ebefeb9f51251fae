//! What AWS's models say of the members of a call: which have to be there, their types, bounds and values. Every service refuses what does not fit in its own words, before it
//! looks at anything else.

mod path;
mod rule;

use serde_json::Value;

use crate::fault::Fault;
use crate::service::Service;
use path::visit;
use rule::{Broken, Rule};

/// One call after the other, and below each its members; written by `peers/aws-clients/members.py`, and held against botocore's models by `cargo xtask aws`.
const TABLE: &str = include_str!("members.txt");

/// Holds the members of a call against the table. In forms every value is a text.
///
/// # Errors
/// As the service refuses what is not right.
pub(crate) fn check(service: Service, action: &str, input: &Value, is_form: bool) -> Result<(), Fault> {
    let mut broken = Vec::new();
    for line in of_call(service, action) {
        let Some((path, rule)) = Rule::read(line) else { continue };
        let mut unread = None;
        visit(input, path, &mut |place, value| {
            match rule.check(value, is_form) {
                Ok(all) => broken.extend(all.into_iter().map(|one| (place.to_owned(), one))),
                Err(told) => unread = unread.take().or(Some((place.to_owned(), told))),
            };
        });
        if let Some((place, told)) = unread {
            return Err(unreadable(service, &place, &told, is_form));
        }
    }
    match broken.first() {
        None => Ok(()),
        Some((place, first)) => Err(refusal(service, place, first, &broken)),
    }
}

/// The lines of a call.
fn of_call(service: Service, action: &str) -> impl Iterator<Item = &'static str> {
    let head = format!("\n{} {action}\n", service.signing_name());
    let rest = TABLE.find(&head).and_then(|at| TABLE.get(at + head.len()..)).unwrap_or_default();
    rest.lines().take_while(|line| line.starts_with(' '))
}

fn refusal(service: Service, place: &str, first: &Broken, all: &[(String, Broken)]) -> Fault {
    let last = place.rsplit('.').next().unwrap_or(place);
    // These two have words of their own for what is not there.
    let missing_ends = match service {
        Service::Ec2 => Some(""),
        Service::Sqs => Some("."),
        Service::AutoScaling
        | Service::Sts
        | Service::Elb
        | Service::Events
        | Service::Ssm
        | Service::Eks => None,
    };
    if let (Some(end), Broken::Absent) = (missing_ends, first) {
        return Fault::bad("MissingParameter", format!("The request must contain the parameter {last}{end}"));
    }
    let errors = if all.len() == 1 { "error" } else { "errors" };
    let told: Vec<String> = all.iter().map(|(place, one)| one.told(&small(place))).collect();
    let message = format!("{} validation {errors} detected: {}", all.len(), told.join("; "));
    Fault::bad(code(service), message)
}

fn code(service: Service) -> &'static str {
    match service {
        Service::AutoScaling | Service::Sts | Service::Elb => "ValidationError",
        Service::Events | Service::Ssm => "ValidationException",
        Service::Eks => "InvalidParameterException",
        Service::Ec2 | Service::Sqs => "InvalidParameterValue",
    }
}

/// A value of another type than the member has.
fn unreadable(service: Service, place: &str, told: &str, is_form: bool) -> Fault {
    match (service, is_form) {
        (_, false) => Fault::bad("SerializationException", told),
        (Service::Ec2 | Service::Sqs, true) => {
            Fault::bad("InvalidParameterValue", format!("Invalid value for {place}: {told}"))
        }
        (_, true) => Fault::bad("MalformedInput", format!("{place} cannot be read: {told}")),
    }
}

/// The names of a path as refusals write them: they begin small.
fn small(place: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect::<String>()
    };
    place.split('.').map(part).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(service: Service, action: &str, input: &Value) -> Option<(String, String)> {
        let is_form = matches!(service, Service::AutoScaling | Service::Ec2 | Service::Sts | Service::Elb);
        check(service, action, input, is_form).err().map(|fault| (fault.code, fault.message))
    }

    fn is(code: &str, message: &str) -> Option<(String, String)> {
        Some((code.to_owned(), message.to_owned()))
    }

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines: Vec<&str> = TABLE.lines().filter(|line| line.starts_with(' ')).collect();
        assert!(lines.len() > 900, "{}", lines.len());
        for line in lines {
            assert!(Rule::read(line).is_some(), "{line}");
        }
    }

    #[test]
    fn services_refuse_in_their_own_words() {
        assert_eq!(
            told(
                Service::AutoScaling,
                "SetInstanceProtection",
                &json!({"AutoScalingGroupName": "g", "InstanceIds": ["i-1"]})
            ),
            is(
                "ValidationError",
                "1 validation error detected: Value null at 'protectedFromScaleIn' failed to satisfy constraint: Member must not be null"
            )
        );
        let tag = json!({"Key": "", "Value": "v"});
        assert_eq!(
            told(Service::AutoScaling, "CreateOrUpdateTags", &json!({"Tags": [tag]})),
            is(
                "ValidationError",
                "1 validation error detected: Value '' at 'tags.1.member.key' failed to satisfy constraint: Member must have length greater than or equal to 1"
            )
        );
        assert_eq!(
            told(Service::Events, "PutRule", &json!({"Name": "a b", "State": "ON"})),
            is(
                "ValidationException",
                "2 validation errors detected: Value 'a b' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+; \
                 Value 'ON' at 'state' failed to satisfy constraint: Member must satisfy enum value set: [ENABLED, DISABLED, ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS]"
            )
        );
        assert_eq!(
            told(Service::Ssm, "GetParametersByPath", &json!({"Path": "/a", "MaxResults": 11})),
            is(
                "ValidationException",
                "1 validation error detected: Value '11' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 10"
            )
        );
        assert_eq!(
            told(Service::Ec2, "TerminateInstances", &json!({})),
            is("MissingParameter", "The request must contain the parameter InstanceId")
        );
        assert_eq!(
            told(Service::Sqs, "SendMessage", &json!({"QueueUrl": "q"})),
            is("MissingParameter", "The request must contain the parameter MessageBody.")
        );
        assert_eq!(
            told(Service::Eks, "ListNodegroups", &json!({"clusterName": "c", "maxResults": "0"}))
                .map(|(code, _)| code),
            Some("InvalidParameterException".to_owned())
        );
    }

    #[test]
    fn types_are_those_of_the_protocol() {
        let sized = |desired: Value| json!({"AutoScalingGroupName": "g", "DesiredCapacity": desired});
        assert_eq!(told(Service::AutoScaling, "SetDesiredCapacity", &sized(json!("3"))), None);
        assert_eq!(
            told(Service::AutoScaling, "SetDesiredCapacity", &sized(json!("x"))),
            is("MalformedInput", "DesiredCapacity cannot be read: x")
        );
        let received = |most: Value| json!({"QueueUrl": "q", "MaxNumberOfMessages": most});
        assert_eq!(told(Service::Sqs, "ReceiveMessage", &received(json!(3))), None);
        assert_eq!(
            told(Service::Sqs, "ReceiveMessage", &received(json!("3"))),
            is("SerializationException", "STRING_VALUE can not be converted to an Integer")
        );
        // An empty list of a form is none.
        assert_eq!(
            told(Service::AutoScaling, "DescribeAutoScalingGroups", &json!({"AutoScalingGroupNames": ""})),
            None
        );
    }
}
