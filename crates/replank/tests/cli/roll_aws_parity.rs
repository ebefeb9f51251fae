//! What is rehearsed is what is then done: the same commands, in the same order per node and per workload, on a served AWS account.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{plan, replank, scratch};
use super::roll_aws_live::{begun, element};

const TARGET: &str = "groups: [web], target: {kubernetesVersion: '1.36'}";

/// Plans, by names: more than the first only where `REPLANK_AWS_PARITY` is set, since each takes half a minute.
const PLANS: [(&str, &str); 8] = [
    ("zones", ""),
    ("one", ", budget: {surge: 1}, order: oldest"),
    ("two", ", budget: {surge: 2}, pace: {parallel: 2}"),
    ("fewer", ", budget: {surge: 1, maxUnavailable: 1}"),
    ("canary", ", budget: {surge: 1}, canary: {nodes: 1, soak: 5s}"),
    ("waves", ", waves: [1, '100%'], bake: 5s"),
    ("pace", ", pace: {betweenNodes: 5s}"),
    ("order", ", order: zoneByZone"),
];

/// What `aws autoscaling describe-auto-scaling-groups` prints of the group, as far as it matters.
pub(crate) fn groups(account: &Account) -> Value {
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
    let number = |name: &str| element(&answer, name).parse::<u32>().expect("a number");
    let template = element(&answer, "LaunchTemplateId");
    let own = json!({"LaunchTemplateId": template, "Version": element(&answer, "Version")});
    let zones = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
    let instances: Vec<Value> = (1..=3)
        .map(|number| {
            json!({"InstanceId": format!("i-{number:017x}"), "AvailabilityZone": zones[number - 1],
                "LifecycleState": "InService", "HealthStatus": "Healthy", "ProtectedFromScaleIn": false, "LaunchTemplate": own})
        })
        .collect();
    json!({"AutoScalingGroups": [{"AutoScalingGroupName": "web", "MinSize": number("MinSize"), "MaxSize": number("MaxSize"),
        "DesiredCapacity": number("DesiredCapacity"), "AvailabilityZones": zones, "LaunchTemplate": own, "Instances": instances,
        "Tags": [], "SuspendedProcesses": [{"ProcessName": "AZRebalance"}]}]})
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
        match (&**place, &**kind) {
            ("group", "terminate") => {
                told("group".to_owned(), format!("terminate {}", text(&body["instance"])));
            }
            ("group", kind) => {
                told("group".to_owned(), format!("{kind} {} {}", text(&body["key"]), body["to"]));
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
fn is_carried_out_as_rehearsed((name, more): (&str, &str)) {
    let folder = format!("roll-parity-{name}");
    let account = begun(&folder, "group");
    let file = plan(&format!("{folder}/plan.yaml"), &format!("{TARGET}{more}"));
    let at = |name: &str| {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(&folder).join(name).to_str().expect("text").to_owned()
    };
    let facts = scratch(&format!("{folder}/groups.json"), groups(&account).to_string());
    let (rehearsed, rolled) = (at("rehearsed.jsonl"), at("rolled.jsonl"));
    for journal in [&rehearsed, &rolled] {
        drop(std::fs::remove_file(journal));
    }
    let snapshot = at("before.json");
    drop(std::fs::remove_file(&snapshot));
    let taken = account.run(&["snapshot"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    std::fs::write(&snapshot, &taken.stdout).expect("it can be written");
    let rehearsal = replank(&[
        "rehearse",
        &snapshot,
        "-f",
        &file,
        "--groups",
        &facts,
        "--group-label",
        "group",
        "--journal",
        &rehearsed,
    ]);
    assert!([Some(0), Some(3)].contains(&rehearsal.code), "{rehearsal:?}");
    let ran = account.run(&["roll", "-f", &file, "--yes", "--group-label", "group", "--journal", &rolled]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (planned, done) = (commands(&rehearsed), commands(&rolled));
    assert!(planned["group"].len() >= 10 && planned.len() >= 5, "{planned:?}");
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
    let count = if std::env::var_os("REPLANK_AWS_PARITY").is_some() { PLANS.len() } else { 1 };
    println!("{count} of {} plans; all of them with REPLANK_AWS_PARITY", PLANS.len());
    let (even, odd): (Vec<_>, Vec<_>) =
        PLANS[..count].iter().copied().enumerate().partition(|(at, _)| at % 2 == 0);
    std::thread::scope(|scope| {
        for half in [even, odd] {
            scope.spawn(move || half.into_iter().for_each(|(_, one)| is_carried_out_as_rehearsed(one)));
        }
    });
}
