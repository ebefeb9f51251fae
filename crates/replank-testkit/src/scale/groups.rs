//! The section `groups`: what the cloud says, in shorthand, as the JSON of its answer.

use anyhow::{Context, bail};
use serde_json::{Value, json};

const TEMPLATE: &str = "k8s.io/cluster-autoscaler/node-template";

/// `group web: min 0, max 5, desired 3, zones a,b, types m5.large, spot, tag k=v`, one on a line.
pub(super) fn answer(lines: &[(usize, &str)]) -> anyhow::Result<Value> {
    let groups: anyhow::Result<Vec<Value>> = lines
        .iter()
        .map(|(number, line)| group(line).with_context(|| format!("line {number}: {line:?}")))
        .collect();
    Ok(json!({"AutoScalingGroups": groups?}))
}

fn group(line: &str) -> anyhow::Result<Value> {
    let (name, rest) = line
        .strip_prefix("group ")
        .and_then(|line| line.split_once(':'))
        .context("expected `group NAME: …`")?;
    let mut group = json!({"AutoScalingGroupName": name, "MinSize": 0, "MaxSize": 10, "DesiredCapacity": 0,
        "AvailabilityZones": [], "Tags": [], "Instances": []});
    let mut tags: Vec<Value> = vec![json!({"Key": "Name", "Value": name})];
    for clause in rest.split(", ").map(str::trim).filter(|clause| !clause.is_empty()) {
        let (word, value) = clause.split_once(' ').unwrap_or((clause, ""));
        let number = || value.parse::<u32>().context("expected a number");
        match word {
            "min" => group["MinSize"] = number()?.into(),
            "max" => group["MaxSize"] = number()?.into(),
            "desired" => group["DesiredCapacity"] = number()?.into(),
            "zones" => group["AvailabilityZones"] = value.split(',').collect(),
            "types" => {
                let overrides: Vec<Value> =
                    value.split(',').map(|name| json!({"InstanceType": name})).collect();
                group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"] = overrides.into();
            }
            "spot" => {
                group["MixedInstancesPolicy"]["InstancesDistribution"] =
                    json!({"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 0});
            }
            "suspended" => group["SuspendedProcesses"] = json!([{"ProcessName": "Launch"}]),
            "booting" => {
                let (count, zone) = value.split_once(" in ").context("expected `booting 2 in a`")?;
                for at in 0..count.parse::<u32>()? {
                    let instance =
                        json!({"InstanceId": format!("i-{name}-{zone}-{at}"), "AvailabilityZone": zone});
                    group["Instances"].as_array_mut().context("a list")?.push(instance);
                }
            }
            "tag" => tags.push(tag(value, "")?),
            "label" => tags.push(tag(value, "label/")?),
            "taint" => tags.push(tag(value, "taint/")?),
            "resource" => tags.push(tag(value, "resources/")?),
            "option" => tags.push(tag(value, "autoscaling-options/")?),
            _ => bail!(
                "expected min, max, desired, zones, types, spot, suspended, booting, tag, label, taint, resource or option, found {clause:?}"
            ),
        }
    }
    group["Tags"] = tags.into();
    Ok(group)
}

fn tag(text: &str, kind: &str) -> anyhow::Result<Value> {
    let (key, value) = text.split_once('=').context("expected key=value")?;
    let key = if kind.is_empty() { key.to_owned() } else { format!("{TEMPLATE}/{kind}{key}") };
    Ok(json!({"Key": key, "Value": value}))
}
