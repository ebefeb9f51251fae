//! Auto Scaling groups as `aws autoscaling describe-auto-scaling-groups` prints them: size and tags, which no Kubernetes object has.

use std::path::Path;

use anyhow::Context;
use replank_model::labels::TextMap;
use replank_model::object::cloud::{GroupSize, LaunchTemplate, NodeGroup};
use replank_model::text::{GroupName, Text, Zone};
use serde::Deserialize;

use crate::failure::Failure;

/// What the command prints (Auto Scaling API, `DescribeAutoScalingGroups`).
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    auto_scaling_groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Group {
    auto_scaling_group_name: Text,
    min_size: u32,
    max_size: u32,
    desired_capacity: u32,
    #[serde(default)]
    availability_zones: Vec<Text>,
    #[serde(default)]
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tag {
    key: Text,
    #[serde(default)]
    value: Text,
}

/// Reads groups.
///
/// # Errors
/// Where the file cannot be read, or is something else.
pub(super) fn read(path: &Path) -> Result<Vec<NodeGroup>, Failure> {
    let how = "save it and pass it: aws autoscaling describe-auto-scaling-groups --output json > groups.json";
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {shown}"))
        .map_err(|error| Failure::usage(error).next(how))?;
    parse(&text)
        .with_context(|| format!("{shown} is not what `aws autoscaling describe-auto-scaling-groups` prints"))
        .map_err(|error| Failure::usage(error).next(how))
}

fn parse(text: &str) -> anyhow::Result<Vec<NodeGroup>> {
    let answer: Answer = serde_json::from_str(text)?;
    Ok(answer.auto_scaling_groups.into_iter().map(group).collect())
}

fn group(group: Group) -> NodeGroup {
    let name = GroupName::new(group.auto_scaling_group_name);
    let size = GroupSize { min: group.min_size, max: group.max_size, desired: group.desired_capacity };
    let zones = group.availability_zones.into_iter().map(Zone::new).collect();
    NodeGroup {
        tags: group.tags.into_iter().map(|tag| (tag.key, tag.value)).collect::<TextMap>(),
        ..NodeGroup::new(name, size, zones, LaunchTemplate::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_and_tags_are_read_and_all_else_is_passed_over() {
        let text = r#"{"AutoScalingGroups": [{"AutoScalingGroupName": "eks-web-1", "MinSize": 1, "MaxSize": 5, "DesiredCapacity": 3,
            "AvailabilityZones": ["a"], "Instances": [{"InstanceId": "i-1"}],
            "Tags": [{"ResourceId": "eks-web-1", "Key": "replank.dev/original-size", "Value": "1/4/3", "PropagateAtLaunch": false}]}]}"#;
        let groups = parse(text).expect("groups");
        assert_eq!(groups[0].size, GroupSize { min: 1, max: 5, desired: 3 });
        assert_eq!(groups[0].tags.value("replank.dev/original-size"), Some("1/4/3"));
        assert!(parse("[]").is_err());
        assert!(parse(r#"{"AutoScalingGroups": [{"AutoScalingGroupName": "g"}]}"#).is_err());
    }
}
