//! Hundreds of interruptions, rehearsed and then handled on a served AWS account whose clock only goes on when it is told to: each instance is treated as rehearsed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::autoscale_aws::bounds;
use super::aws_account::{Account, list, nodes_of};
use super::common::{replank, scratch};
use super::handle_aws::{befalls, queue};
use super::roll_aws_live::wait;
use super::roll_aws_parity::commands;

/// How many instances one event of AWS Health names.
const AT_ONCE: usize = 20;
/// So many nodes are left alone, and have room for all pods of the others.
const LEFT: usize = 10;

fn name(number: usize) -> String {
    format!("ip-10-0-{}-{}.eu-west-1.compute.internal", number / 250, number % 250 + 1)
}

fn instance(number: usize) -> String {
    format!("i-{:017x}", number + 1)
}

/// Nodes of a group, and a Deployment with a pod for each that is interrupted.
fn snapshot(count: usize) -> Value {
    let pattern = nodes_of("group");
    let node = |number: usize| {
        let mut node = pattern[number % pattern.len()].clone();
        let zone =
            node["metadata"]["labels"]["topology.kubernetes.io/zone"].as_str().expect("text").to_owned();
        node["metadata"]["name"] = json!(name(number));
        node["metadata"]["labels"]["kubernetes.io/hostname"] = json!(name(number));
        node["spec"]["providerID"] = json!(format!("aws:///{zone}/{}", instance(number)));
        if number >= count {
            // At first each pod gets a node of its own; then those that move prefer these, so that none comes to a node that is about to be interrupted.
            node["spec"]["unschedulable"] = json!(true);
            let large = json!({"cpu": "96", "memory": "384Gi", "pods": "737"});
            node["status"]["capacity"] = large.clone();
            node["status"]["allocatable"] = large;
        }
        node
    };
    let labels = json!({"app": "shop"});
    let container = json!({"name": "app", "image": "shop:1", "resources": {"requests": {"cpu": "100m"}}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"terminationGracePeriodSeconds": 2, "containers": [container]}}}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": labels}}});
    list((0..count + LEFT).map(node).chain([deployment, budget]))
}

/// What befalls them: half are retired, many by one event, and the other half may be taken back.
fn words(count: usize) -> Vec<String> {
    let all: Vec<String> = (0..count).map(name).collect();
    let (retired, recommended) = all.split_at(count / 2);
    let retired =
        retired.chunks(AT_ONCE).map(|some| format!("instances {} are retired in 4h", some.join(",")));
    retired.chain(recommended.iter().map(|one| format!("instance {one} may be taken back"))).collect()
}

/// What `aws autoscaling describe-auto-scaling-groups` prints of the group, as far as it matters.
fn facts(account: &Account, count: usize) -> Value {
    let mut facts = super::roll_aws_parity::groups(account);
    let group = &mut facts["AutoScalingGroups"][0];
    let pattern = group["Instances"].as_array().expect("a list").clone();
    let one = |number: usize| {
        let mut one = pattern[number % pattern.len()].clone();
        one["InstanceId"] = json!(instance(number));
        one
    };
    group["Instances"] = (0..count + LEFT).map(one).collect();
    facts
}

/// A journal without the commands that were never carried out: their minute was over before their turn came, which a budget of calls each second brings with it.
/// Nothing is carried out twice.
fn carried_out(journal: &str) -> String {
    let text = std::fs::read_to_string(journal).expect("it is there");
    // Of one key more than one may wait: it is asked for once more while its first is still under way.
    let mut waiting: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut lines: Vec<Option<&str>> = Vec::new();
    let mut ended = BTreeSet::new();
    for line in text.lines() {
        let what: Value = serde_json::from_str(line).expect("it is JSON");
        let key = |at: &str| what.pointer(at).and_then(Value::as_str).map(str::to_owned);
        if let Some(key) = key("/what/sent/command/key") {
            waiting.entry(key).or_default().push(lines.len());
        }
        if let Some(key) = key("/what/answered/key") {
            let answer = &what["what"]["answered"]["answer"];
            let is_late = *answer == json!({"refused": "late"});
            let sent = waiting.entry(key.clone()).or_default();
            let over = if is_late { 1 } else { sent.len().saturating_sub(1) };
            sent.drain(..over.min(sent.len())).for_each(|sent| lines[sent] = None);
            if !is_late {
                sent.clear();
            }
            let is_end = *answer == "done" && key.contains("/terminate/");
            assert!(!is_end || ended.insert(key), "{journal}: carried out twice: {line}");
        }
        lines.push(Some(line));
    }
    let kept: Vec<&str> = lines.into_iter().flatten().collect();
    println!("{journal}: {} commands were too late", text.lines().count() - kept.len());
    let file = format!("{journal}.carried-out");
    std::fs::write(&file, kept.join("\n")).expect("it can be written");
    file
}

/// The commands about each node, and how often each about the group was given.
fn told(journal: &str) -> (BTreeMap<String, Vec<String>>, BTreeMap<String, usize>) {
    let mut all = commands(&carried_out(journal));
    let mut group = BTreeMap::new();
    for told in all.remove("group").unwrap_or_default() {
        *group.entry(told).or_default() += 1;
    }
    // Messages; and in which order pods of one workload leave different nodes depends on which message comes first.
    all.retain(|key, _| key.starts_with("node ") && key != "node null");
    // What is refused because the node has changed since it was seen, or by a budget, is asked for once more.
    all.values_mut().for_each(Vec::dedup);
    (all, group)
}

#[test]
fn hundreds_of_interruptions_are_handled_as_rehearsed() {
    let is_whole = std::env::var_os("REPLANK_AWS_PARITY").is_some();
    let count = if is_whole { 500 } else { 20 };
    println!("{count} interruptions; 500 with REPLANK_AWS_PARITY");
    let folder = "handle-many";
    let account = Account::stepped(folder, &snapshot(count), "group", 60);
    let most = u32::try_from(3 * count).expect("not many");
    bounds(&account, "web", 0, most);
    wait(&account, "all pods are Ready", |account| {
        let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
        budget["status"]["currentHealthy"] == count
    });
    for number in count..count + LEFT {
        account.merge(&format!("/api/v1/nodes/{}", name(number)), &json!({"spec": {"unschedulable": null}}));
    }
    let url = queue(&account);
    let at = |name: &str| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder).join(name);
        drop(std::fs::remove_file(&file));
        file.to_str().expect("text").to_owned()
    };
    let facts = scratch(&format!("{folder}/groups.json"), facts(&account, count).to_string());
    let (rehearsed, handled, snapshot) = (at("rehearsed.jsonl"), at("handled.jsonl"), at("before.json"));
    let taken = account.run(&["snapshot"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    std::fs::write(&snapshot, &taken.stdout).expect("it can be written");
    let words = words(count);
    let script = words.iter().fold(String::new(), |mut text, words| {
        writeln!(text, "at 5s: {words}").expect("a text takes it");
        text
    });
    let script = scratch(&format!("{folder}/script.txt"), script);
    let rehearse = ["rehearse", &snapshot, "--script", &script, "--groups", &facts];
    let ran = replank(&[&rehearse[..], &["--group-label", "group", "--journal", &rehearsed]].concat());
    assert!([Some(0), Some(3)].contains(&ran.code), "{ran:?}");
    words.iter().for_each(|words| befalls(&account, words));
    let ran = account.run(&["handle", "--queue-url", &url, "--idle", "30s", "--journal", &handled]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ((planned, of_group), (done, to_group)) = (told(&rehearsed), told(&handled));
    assert!((0..count).all(|number| planned.contains_key(&format!("node {}", name(number)))), "{planned:?}");
    for (node, planned) in &planned {
        assert_eq!(Some(planned), done.get(node), "{node}");
    }
    assert_eq!(planned.len(), done.len(), "no other node is touched: {:?}", done.keys());
    assert_eq!(of_group, to_group);
    let text = std::fs::read_to_string(&handled).expect("it is there");
    let swapped =
        text.replace(&name(0), "ip-swap").replace(&name(count), &name(0)).replace("ip-swap", &name(count));
    let swapped = scratch(&format!("{folder}/swapped.jsonl"), swapped);
    assert_ne!(told(&swapped).0, planned, "two nodes that are swapped are noticed");
}
