//! What is rehearsed is what is then done: the same commands, in the same order per node and per workload, on a served AWS account.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{plan, replank, scratch};
use super::handle_aws::befalls;
use super::roll_aws_live::{element, stepped};

/// A plan, and what there is of the account before.
struct Parity {
    name: &'static str,
    /// What the plan says.
    spec: &'static str,
    /// Whether the group balances its zones.
    balances: bool,
    /// What happens before the run, in the words of scripts.
    befalls: &'static [&'static str],
    /// Whether there is another group, `green`, without nodes.
    has_green: bool,
    /// How it ends.
    code: i32,
}

const fn one(name: &'static str, spec: &'static str) -> Parity {
    Parity { name, spec, balances: false, befalls: &[], has_green: false, code: 0 }
}

/// Plans: more than the first only where `REPLANK_AWS_PARITY` is set, since each takes half a minute.
const PLANS: [Parity; 21] = [
    one("zones", "groups: [web], target: {kubernetesVersion: '1.36'}"),
    one("one", "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, order: oldest"),
    one("two", "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 2}, pace: {parallel: 2}"),
    one("fewer", "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1, maxUnavailable: 1}"),
    one(
        "canary",
        "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, canary: {nodes: 1, soak: 5s}",
    ),
    one("waves", "groups: [web], target: {kubernetesVersion: '1.36'}, waves: [1, '100%'], bake: 5s"),
    one("pace", "groups: [web], target: {kubernetesVersion: '1.36'}, pace: {betweenNodes: 5s}"),
    one("order", "groups: [web], target: {kubernetesVersion: '1.36'}, order: zoneByZone"),
    one("same", "groups: [web]"),
    one("all", "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 3}, pace: {parallel: 3}"),
    one(
        "least",
        "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 2}, order: leastDisruption",
    ),
    one(
        "apart",
        "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 2}, pace: {parallel: 2, betweenNodes: 3s}",
    ),
    one(
        "three-waves",
        "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, waves: [1, 2, '100%'], bake: 3s",
    ),
    one("kept", "groups: [web], target: {kubernetesVersion: '1.36'}, retain: {capacity: cordoned, for: 5s}"),
    one(
        "template-kept",
        "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, retain: {capacity: template, for: 5s}",
    ),
    one(
        "balancer",
        "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, loadBalancer: {exclude: true, deregistrationDelay: 5s}",
    ),
    Parity {
        balances: true,
        ..one("balanced", "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}")
    },
    Parity {
        has_green: true,
        ..one("blue-green", "groups: [web], target: {group: green}, budget: {surge: 3}, pace: {parallel: 3}")
    },
    Parity {
        has_green: true,
        ..one("green-by-one", "groups: [web], target: {group: green}, budget: {surge: 1}")
    },
    Parity {
        befalls: &["new image crashes pods", "pods of deployment default/shop get stuck"],
        code: 4,
        ..one(
            "stuck-image",
            "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, canary: {nodes: 1, soak: 30s}, \
                stuckTerminating: {after: 5s, action: replaceNode}, onFailure: rollback",
        )
    },
    Parity {
        befalls: &["new image crashes pods"],
        code: 4,
        ..one(
            "bad-image",
            "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, canary: {nodes: 1, soak: 30s}, onFailure: rollback",
        )
    },
];

/// What `aws autoscaling describe-auto-scaling-groups` prints of the group, as far as it matters.
pub(crate) fn groups(account: &Account) -> Value {
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
    let number = |name: &str| element(&answer, name).parse::<u32>().expect("a number");
    let template = element(&answer, "LaunchTemplateId");
    let own = json!({"LaunchTemplateId": template, "Version": element(&answer, "Version")});
    let zones = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
    let is_suspended = element(&answer, "SuspendedProcesses").contains("AZRebalance");
    let suspended = if is_suspended { json!([{"ProcessName": "AZRebalance"}]) } else { json!([]) };
    let instances: Vec<Value> = (1..=3)
        .map(|number| {
            json!({"InstanceId": format!("i-{number:017x}"), "AvailabilityZone": zones[number - 1],
                "LifecycleState": "InService", "HealthStatus": "Healthy", "ProtectedFromScaleIn": false, "LaunchTemplate": own})
        })
        .collect();
    json!({"AutoScalingGroups": [{"AutoScalingGroupName": "web", "MinSize": number("MinSize"), "MaxSize": number("MaxSize"),
        "DesiredCapacity": number("DesiredCapacity"), "AvailabilityZones": zones, "LaunchTemplate": own, "Instances": instances,
        "Tags": [], "SuspendedProcesses": suspended}]})
}

/// A group without nodes, which makes them from a launch template of its own; and what `aws autoscaling describe-auto-scaling-groups` prints of it.
fn green(account: &Account) -> Value {
    account
        .ec2("CreateLaunchTemplate", "&LaunchTemplateName=green&LaunchTemplateData.InstanceType=m6i.large");
    let answer = account.ec2("DescribeSubnets", "");
    let subnets = answer.split("<subnetId>").skip(1).filter_map(|one| one.split('<').next());
    let subnets = subnets.collect::<Vec<_>>().join("%2C");
    account.auto_scaling(
        "CreateAutoScalingGroup",
        &format!("&AutoScalingGroupName=green&MinSize=0&MaxSize=0&DesiredCapacity=0&VPCZoneIdentifier={subnets}&LaunchTemplate.LaunchTemplateName=green&LaunchTemplate.Version=1"),
    );
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=green");
    let zones: Vec<&str> = element(&answer, "AvailabilityZones")
        .split("<member>")
        .skip(1)
        .filter_map(|one| one.split('<').next())
        .collect();
    let own = json!({"LaunchTemplateId": element(&answer, "LaunchTemplateId"), "Version": "1"});
    json!({"AutoScalingGroupName": "green", "MinSize": 0, "MaxSize": 0, "DesiredCapacity": 0, "AvailabilityZones": zones,
        "LaunchTemplate": own, "Instances": [], "Tags": [], "SuspendedProcesses": []})
}

/// The commands of a journal, in their order, for each old node, each workload and each group; those on the run's record aside: a rehearsal has none.
pub(crate) fn commands(journal: &str) -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(journal).expect("it is there");
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("it is JSON");
        let sent = &line["what"]["sent"];
        let Some((place, effect)) = sent["command"]["effect"].as_object().and_then(|all| all.iter().next())
        else {
            continue;
        };
        let (kind, body) =
            effect.as_object().and_then(|all| all.iter().next()).expect("an effect has a kind");
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut told = |of: String, what: String| all.entry(of).or_default().push(what);
        let group = body["group"]["nodeGroup"].as_str().or(body["group"].as_str()).unwrap_or_default();
        match (&**place, &**kind) {
            ("group", "terminate") => {
                told("group".to_owned(), format!("terminate {} of {group}", text(&body["instance"])));
            }
            ("group", kind) => {
                let mut to = body["to"].clone();
                // A rehearsal does not know the id of the image that the group has, nor its day.
                if to["image"].as_str().is_some_and(|image| image.is_empty() || image.starts_with("ami-")) {
                    to["image"] = json!("the group's own");
                    to.as_object_mut().expect("a template").remove("released");
                }
                told("group".to_owned(), format!("{kind} {group} {} {to}", text(&body["key"])));
            }
            (_, "create" | "delete" | "patch") => {}
            (_, "evict") => {
                let (node, owner) = (text(&sent["pod"]["node"]), text(&sent["pod"]["controller"]));
                told(format!("node {node}"), format!("evict a pod of {owner}"));
                told(format!("workload {owner}"), format!("evict from {node}"));
            }
            (_, kind) => {
                let role = match &body["mark"]["role"] {
                    Value::String(role) => role.clone(),
                    Value::Object(role) => role.keys().next().cloned().unwrap_or_default(),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
                };
                told(format!("node {}", text(&body["node"]["name"])), format!("{kind} {role}"));
            }
        }
    }
    all
}

/// Rehearses a plan on a snapshot of the account, rolls it there, and holds one journal against the other.
fn is_carried_out_as_rehearsed(parity: &Parity) {
    let Parity { name, spec, balances, befalls: words, has_green, code } = parity;
    let folder = format!("roll-parity-{name}");
    let account = stepped(&folder, "group");
    if *balances {
        let process = "&AutoScalingGroupName=web&ScalingProcesses.member.1=AZRebalance";
        account.auto_scaling("ResumeProcesses", process);
    }
    let file = plan(&format!("{folder}/plan.yaml"), spec);
    let at = |name: &str| {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(&folder).join(name).to_str().expect("text").to_owned()
    };
    let mut facts = groups(&account);
    if *has_green {
        facts["AutoScalingGroups"].as_array_mut().expect("a list").push(green(&account));
    }
    let facts = scratch(&format!("{folder}/groups.json"), facts.to_string());
    let (rehearsed, rolled) = (at("rehearsed.jsonl"), at("rolled.jsonl"));
    for journal in [&rehearsed, &rolled] {
        drop(std::fs::remove_file(journal));
    }
    let snapshot = at("before.json");
    drop(std::fs::remove_file(&snapshot));
    let taken = account.run(&["snapshot"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    std::fs::write(&snapshot, &taken.stdout).expect("it can be written");
    let lines: String = words.iter().map(|words| format!("before: {words}\n")).collect();
    let script = (!lines.is_empty()).then(|| scratch(&format!("{folder}/script.txt"), lines));
    let script: Vec<&str> = script.iter().flat_map(|file| ["--script", file]).collect();
    let rehearse = ["rehearse", &snapshot, "-f", &file, "--groups", &facts, "--group-label", "group"];
    let rehearsal = replank(&[&rehearse[..], &["--journal", &rehearsed], &script].concat());
    let as_live = if *code == 0 { [Some(0), Some(3)] } else { [Some(*code); 2] };
    assert!(as_live.contains(&rehearsal.code), "{name}: {rehearsal:?}");
    words.iter().for_each(|words| befalls(&account, words));
    let ran = account.run(&["roll", "-f", &file, "--yes", "--group-label", "group", "--journal", &rolled]);
    assert_eq!(ran.code, Some(*code), "{name}: {ran:?}");
    let (planned, done) = (commands(&rehearsed), commands(&rolled));
    assert!(planned["group"].len() >= 8 && planned.len() >= 5, "{planned:?}");
    assert_eq!(planned, done, "{name}");
    // Times aside, the program's own comparison says so, too; and it sees two nodes that were swapped.
    let compared = replank(&["diff", &rehearsed, &rolled, "-o", "json"]).json();
    let others = compared["differences"].as_array().expect("a list").iter();
    let others: Vec<&Value> =
        others.filter(|one| one["took"].is_null() && one["nodeTook"].is_null()).collect();
    assert!(others.is_empty(), "{name}: {others:?}");
    let text = std::fs::read_to_string(&rolled).expect("it is there");
    let swapped = text
        .replace("ip-10-0-0-1.", "ip-swap.")
        .replace("ip-10-0-0-2.", "ip-10-0-0-1.")
        .replace("ip-swap.", "ip-10-0-0-2.");
    let swapped = scratch(&format!("{folder}/swapped.jsonl"), swapped);
    assert_ne!(commands(&swapped), planned, "{name}");
    let compared = replank(&["diff", &rehearsed, &swapped, "-o", "json"]);
    assert_eq!(compared.code, Some(3), "{compared:?}");
    let compared = compared.json();
    let is_order = |one: &Value| one["took"].is_null() && one["nodeTook"].is_null();
    assert!(compared["differences"].as_array().expect("a list").iter().any(is_order), "{name}: {compared}");
}

#[test]
fn a_roll_does_what_was_rehearsed() {
    let asked = std::env::var("REPLANK_AWS_PARITY").unwrap_or_else(|_| PLANS[0].name.to_owned());
    let plans: Vec<&Parity> = PLANS.iter().filter(|one| asked == "1" || asked == one.name).collect();
    let count = plans.len();
    println!("{count} of {} plans; all with REPLANK_AWS_PARITY=1, one with its name", PLANS.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..count.min(4) {
            scope.spawn(|| {
                while let Some(one) = plans.get(next.fetch_add(1, Ordering::SeqCst)) {
                    is_carried_out_as_rehearsed(one);
                }
            });
        }
    });
}
