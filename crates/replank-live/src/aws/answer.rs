//! Words of AWS's answers that several rooms read.

use replank_model::object::cloud::{LaunchTemplateRef, VersionWord};
use replank_model::text::Text;
use serde_json::Value;

/// Tags by which EKS marks the Auto Scaling group of a managed node group.
pub(super) const TAG_NODEGROUP: &str = "eks:nodegroup-name";
pub(super) const TAG_CLUSTER: &str = "eks:cluster-name";

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
