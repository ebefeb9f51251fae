//! What is rehearsed of a managed node group is what is then done, on a served AWS account: EKS's update is requested once, or one that somebody else has begun is adopted.

use std::path::Path;

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{plan, replank, scratch};
use super::roll_aws_live::{element, stepped, wait};
use super::roll_aws_parity::commands;

const LABEL: &str = "eks.amazonaws.com/nodegroup";
const SPEC: &str = "groups: [web], target: {kubernetesVersion: '1.36'}";
const BASE: &str = "/clusters/rehearsal/node-groups/web";

/// What the CLI prints of the node group and of the Auto Scaling group behind it, as far as it matters.
fn facts(account: &Account) -> Value {
    let nodegroup = account.eks("GET", BASE, &Value::Null)["nodegroup"].clone();
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "");
    let number = |name: &str| element(&answer, name).parse::<u32>().expect("a number");
    let own = json!({"LaunchTemplateId": element(&answer, "LaunchTemplateId"), "Version": element(&answer, "Version")});
    let zones = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
    let instances: Vec<Value> = zones
        .iter()
        .zip(1..)
        .map(|(zone, number)| {
            json!({"InstanceId": format!("i-{number:017x}"), "AvailabilityZone": zone,
                "LifecycleState": "InService", "HealthStatus": "Healthy", "ProtectedFromScaleIn": false, "LaunchTemplate": own})
        })
        .collect();
    let tags = json!([{"Key": "eks:cluster-name", "Value": "rehearsal"}, {"Key": "eks:nodegroup-name", "Value": "web"}]);
    let name = nodegroup["resources"]["autoScalingGroups"][0]["name"].clone();
    let group = json!({"AutoScalingGroupName": name, "MinSize": number("MinSize"), "MaxSize": number("MaxSize"),
        "DesiredCapacity": number("DesiredCapacity"), "AvailabilityZones": zones, "LaunchTemplate": own, "Instances": instances,
        "Tags": tags, "SuspendedProcesses": []});
    json!([{ "nodegroup": nodegroup }, {"AutoScalingGroups": [group]}])
}

/// An account, a plan, the journal of its rehearsal with what the CLI prints of the group, and where that of its run is to be.
fn rehearsed(folder: &str, spec: &str, before: impl FnOnce(&Account)) -> (Account, String, [String; 2]) {
    let account = stepped(folder, LABEL);
    before(&account);
    let file = plan(&format!("{folder}/plan.yaml"), spec);
    let at = |name: &str| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder).join(name);
        drop(std::fs::remove_file(&file));
        file.to_str().expect("text").to_owned()
    };
    let (rehearsed, rolled, snapshot) = (at("rehearsed.jsonl"), at("rolled.jsonl"), at("before.json"));
    let facts = scratch(&format!("{folder}/groups.json"), facts(&account).to_string());
    let taken = account.run(&["snapshot"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    std::fs::write(&snapshot, &taken.stdout).expect("it can be written");
    let rehearsal =
        replank(&["rehearse", &snapshot, "-f", &file, "--groups", &facts, "--journal", &rehearsed]);
    assert!([Some(0), Some(3)].contains(&rehearsal.code), "{rehearsal:?}");
    (account, file, [rehearsed, rolled])
}

/// How an update begins, and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// The run requests it.
    Own,
    /// Somebody else has begun it.
    Adopted,
    /// The run requests it, of a group whose old nodes go first.
    Minimal,
}

/// From now on old nodes of the group go first.
fn goes_first(account: &Account) {
    let config = json!({"updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}});
    account.eks("POST", &format!("{BASE}/update-config"), &config);
    wait(account, "the group's configuration is updated", |account| {
        account.eks("GET", BASE, &Value::Null)["nodegroup"]["status"] == "ACTIVE"
    });
}

fn is_updated_as_rehearsed(begins: Begins) {
    let name = format!("{begins:?}").to_lowercase();
    let (account, file, [rehearsed, rolled]) =
        rehearsed(&format!("managed-parity-{name}"), SPEC, |account| {
            if begins == Begins::Minimal {
                goes_first(account);
            }
        });
    let is_adopted = begins == Begins::Adopted;
    if is_adopted {
        let began = account.eks("POST", &format!("{BASE}/update-version"), &json!({"version": "1.36"}));
        assert_eq!(began["update"]["status"], "InProgress", "{began}");
    }
    let ran = account.run(&["roll", "-f", &file, "--yes", "--journal", &rolled]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let is_request = |told: &String| told.starts_with("updateNodegroupVersion ");
    let (mut planned, done) = (commands(&rehearsed), commands(&rolled));
    let group = planned.get_mut("group").expect("the update is requested");
    assert_eq!(group.iter().filter(|told| is_request(told)).count(), 1, "{group:?}");
    if is_adopted {
        // All but what somebody else has requested.
        group.retain(|told| !is_request(told));
        planned.retain(|_, all| !all.is_empty());
    }
    assert_eq!(planned, done, "{name}: {ran:?}");
    // Three replace three, and EKS adds twice the number of zones first, unless old ones go first.
    let (launched, ended) = account.heard();
    let added = if begins == Begins::Minimal { 0 } else { 6 };
    assert_eq!((launched.len(), ended.len()), (3 + added, 3 + added), "{name}");
}

#[test]
fn an_update_of_eks_is_requested_or_adopted_as_rehearsed() {
    std::thread::scope(|scope| {
        for begins in [Begins::Own, Begins::Adopted, Begins::Minimal] {
            scope.spawn(move || is_updated_as_rehearsed(begins));
        }
    });
}

/// The group is assumed in the rehearsal, and made before the run.
#[test]
fn nodes_move_into_a_group_that_is_made_as_was_rehearsed_with_one_that_is_assumed() {
    let spec = "groups: [web], target: {group: green, kubernetesVersion: '1.36'}, budget: {surge: 1}";
    let (account, file, [rehearsed, rolled]) = rehearsed("managed-parity-made", spec, |_| {});
    let ran = account.run(&["roll", "-f", &file, "--yes", "--make-group", "--journal", &rolled]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (planned, done) = (commands(&rehearsed), commands(&rolled));
    let group = planned.get("group").expect("groups are changed");
    let of = |kind: &str| group.iter().filter(|told| told.starts_with(kind)).count();
    assert!(of("updateNodegroupConfig green ") >= 1 && of("scaleNodegroupToZero web ") == 1, "{group:?}");
    assert_eq!(planned, done, "{ran:?}");
}
