//! Words of AWS's answers that several rooms read.

use replank_model::object::cloud::{LaunchTemplateRef, VersionWord};
use replank_model::text::Text;
use serde_json::Value;

use super::error::AwsError;
use super::service::Service;

/// Tags by which EKS marks the Auto Scaling group of a managed node group.
pub(super) const TAG_NODEGROUP: &str = "eks:nodegroup-name";
pub(super) const TAG_CLUSTER: &str = "eks:cluster-name";

/// Lists that answers in XML always have, though they be empty: those that AWS's API models require. Any other may be left out where it is empty; so the SDKs read it.
const ALWAYS: [&str; 2] = ["AutoScalingGroups", "Activities"];

/// Takes the elements of the list that a call is made for out of its answer.
///
/// # Errors
/// Where the answer cannot be one to that call: nothing may be taken to be gone since another thing was answered. EKS writes an empty list as `[]`.
pub(super) fn taken(
    answer: &mut Value,
    (service, action): (Service, &str),
    items: &str,
) -> Result<Vec<Value>, AwsError> {
    let unreadable =
        |why: String| Err(AwsError::Unreadable { action: format!("{}:{action}", service.name()), why });
    match (answer.get_mut(items).map(Value::take), service.is_xml()) {
        (Some(Value::Array(all)), true) if !all.iter().all(Value::is_object) => {
            unreadable(format!("{items} is no list of structures"))
        }
        (Some(Value::Array(all)), true | false) => Ok(all),
        (Some(Value::Null), true) => Ok(Vec::new()),
        (None, true) if !ALWAYS.contains(&items) => Ok(Vec::new()),
        (None, true | false) => unreadable(format!("it has no {items}")),
        (Some(_), true | false) => unreadable(format!("{items} is no list")),
    }
}

/// Takes the structure that a call of EKS is made for out of its answer.
///
/// # Errors
/// Where it has none.
pub(super) fn structure(mut answer: Value, action: &str, member: &str) -> Result<Value, AwsError> {
    match answer.get_mut(member).map(Value::take) {
        Some(found @ Value::Object(_)) => Ok(found),
        Some(_) | None => {
            let action = format!("{}:{action}", Service::Eks.name());
            Err(AwsError::Unreadable { action, why: format!("it has no {member}") })
        }
    }
}

/// Elements of a list in an answer; none where it is empty or absent.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text in an answer that is not empty.
pub(super) fn text<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value[member].as_str().filter(|text| !text.is_empty())
}

/// Cluster and node group of an Auto Scaling group that EKS owns.
pub(super) fn managed(group: &Value) -> Option<(&str, &str)> {
    let tag = |key: &str| {
        let tags = list(&group["Tags"]).iter();
        tags.clone().find(|tag| tag["Key"] == *key).and_then(|tag| text(tag, "Value"))
    };
    tag(TAG_CLUSTER).zip(tag(TAG_NODEGROUP))
}

/// The launch template of an Auto Scaling group: its own, or that of its mixed instances policy.
pub(super) fn template_of(group: &Value) -> &Value {
    let mixed = &group["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"];
    if mixed.is_object() { mixed } else { &group["LaunchTemplate"] }
}

/// The version that a specification names by its number.
pub(super) fn version(of: &Value) -> Option<LaunchTemplateRef> {
    let version = text(of, "Version")?.parse().ok()?;
    Some(LaunchTemplateRef { id: Text::from(text(of, "LaunchTemplateId")?), version })
}

/// The word by which a specification names its version: `$Default` where it names none.
pub(super) fn word(of: &Value) -> Option<VersionWord> {
    match text(of, "Version") {
        Some(word) => VersionWord::of(word),
        None => text(of, "LaunchTemplateId").map(|_| VersionWord::Default),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_list_is_told_apart_from_an_answer_to_something_else() {
        let of = |service, items, mut answer: Value| {
            taken(&mut answer, (service, "List"), items)
                .map(|all| all.len())
                .map_err(|error| error.to_string())
        };
        let groups = |answer| of(Service::AutoScaling, "AutoScalingGroups", answer);
        assert_eq!(groups(json!({"AutoScalingGroups": [{"a": "b"}]})), Ok(1));
        assert_eq!(groups(json!({"AutoScalingGroups": null})), Ok(0), "an empty element");
        for (broken, why) in [
            (json!({}), "it has no AutoScalingGroups"),
            (json!("text"), "it has no AutoScalingGroups"),
            (json!({"AutoScalingGroups": "text"}), "AutoScalingGroups is no list"),
            (json!({"AutoScalingGroups": {"Error": "x"}}), "AutoScalingGroups is no list"),
            (json!({"AutoScalingGroups": ["text"]}), "AutoScalingGroups is no list of structures"),
        ] {
            let expected = format!("autoscaling:List: the answer cannot be read: {why}");
            assert_eq!(groups(broken), Err(expected));
        }
        // Its model does not require it, so that it may be absent where it is empty.
        assert_eq!(of(Service::Ec2, "reservationSet", json!({})), Ok(0));
        assert_eq!(of(Service::Ec2, "reservationSet", json!({"reservationSet": null})), Ok(0));
        assert!(of(Service::Ec2, "reservationSet", json!({"reservationSet": "text"})).is_err());
        let clusters = |answer| of(Service::Eks, "clusters", answer);
        assert_eq!(clusters(json!({"clusters": ["a"], "nextToken": null})), Ok(1));
        assert_eq!(clusters(json!({"clusters": []})), Ok(0));
        for broken in [json!({}), json!(null), json!([]), json!({"clusters": null}), json!({"clusters": "a"})]
        {
            assert!(clusters(broken.clone()).is_err(), "{broken}");
        }
    }
}
