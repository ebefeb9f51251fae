//! What has to be so after a run, whatever went wrong meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::case::{Case, Verb};
use super::stage::{NODE, items};
use crate::aws_account::Account;
use crate::common::Ran;
use crate::roll_aws_live::{element, nodes};

const RECORDS: &str = "/api/v1/namespaces/kube-system/configmaps?labelSelector=replank.dev%2Frecord";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
/// How long what is under way in the account may take once the run is over.
const SETTLES: Duration = Duration::from_secs(60);
/// Longer than a message is late at the most.
const LATE: Duration = Duration::from_secs(20);

pub(super) fn records(account: &Account) -> Vec<Value> {
    items(account, RECORDS)
}

/// Whether a process may have ended as it did, although nobody killed it: before anything was begun, because something could not be read or was not believed; or because it waits
/// for one that is gone.
pub(super) fn may_end(account: &Account, case: &Case, (ran, is_first): (&Ran, bool)) -> bool {
    let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    if ran.code == Some(5) {
        return told.contains("is carried out by") || told.contains("another process");
    }
    let has_faults_before = case.faults.iter().any(|fault| fault.after.is_none());
    let is_begun = !records(account).is_empty();
    let is_said = told.contains("error: ");
    // One that goes on meets what goes wrong before it has begun itself.
    let is_before = !is_first || has_faults_before && !is_begun;
    is_before && is_said && matches!(ran.code, Some(1 | 2))
}

/// What becomes of instances: each once, however often a message about it came, in the order of the events. Messages about them may be late, too.
fn states(account: &Account, case: &Case) -> Vec<(String, String)> {
    let url = format!("{}/111122223333/states", account.variable("AWS_ENDPOINT_URL"));
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    let late = if case.has_late_messages() { LATE } else { Duration::ZERO };
    let mut last = Instant::now();
    loop {
        let asked = json!({"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 3600});
        let answer = account.json("sqs", "AmazonSQS.ReceiveMessage", &asked);
        let Some(messages) = answer["Messages"].as_array().filter(|all| !all.is_empty()) else {
            if last.elapsed() >= late {
                break;
            }
            thread::sleep(Duration::from_secs(1));
            continue;
        };
        last = Instant::now();
        for message in messages {
            let body = message["Body"].as_str().expect("it has a body");
            let event: Value = serde_json::from_str(body).expect("it is JSON");
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            if seen.insert(text(&event["id"])) {
                let detail = &event["detail"];
                all.push((text(&event["time"]), text(&detail["instance-id"]), text(&detail["state"])));
            }
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.into_iter().map(|(_, id, state)| (id, state)).collect()
}

/// Messages in a queue, hidden or not.
pub(super) fn left(account: &Account, url: &str) -> u64 {
    let names = [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
    ];
    let asked = json!({"QueueUrl": url, "AttributeNames": names});
    let answer = account.json("sqs", "AmazonSQS.GetQueueAttributes", &asked);
    let number = |name: &&str| answer["Attributes"][*name].as_str().and_then(|text| text.parse::<u64>().ok());
    names.iter().filter_map(number).sum()
}

fn group(account: &Account) -> String {
    account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web")
}

/// What is wrong.
pub(super) fn wrong(account: &Account, case: &Case, url: Option<&str>) -> Vec<String> {
    let began = Instant::now();
    // Instances that were told to go take a while, and so do pods.
    let mut found = at_rest(account, case);
    while !found.is_empty() && began.elapsed() < SETTLES {
        thread::sleep(Duration::from_secs(1));
        found = at_rest(account, case);
    }
    let states = states(account, case);
    found.extend(of_instances(case, &states));
    if let Some(url) = url.filter(|_| case.verb == Verb::Handle) {
        let (here, dead) = (left(account, url), left(account, &url.replace("/replank", "/dead")));
        if here + dead > 0 {
            found.push(format!("{here} messages are left, and {dead} dead ones"));
        }
    }
    found
}

/// What has to be so some time after the run.
fn at_rest(account: &Account, case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut note = |is_wrong: bool, what: String| wrong.extend(is_wrong.then_some(what));
    let (providers, kubelets, is_left) = nodes(account);
    let size = size_of(account, case.verb);
    let wanted = match case.verb {
        // What was launched in the place of an interrupted one stays where pods have come to it.
        Verb::RollBeside => vec!["3 (0 to 3)", "4 (0 to 4)"],
        Verb::Roll | Verb::Managed | Verb::Handle => vec!["3 (0 to 3)"],
    };
    // Somebody's size is kept, or what it began with, according to when it came.
    let is_somebodys = case.is_resized()
        && size
            .split(' ')
            .next()
            .and_then(|size| size.parse::<u32>().ok())
            .is_some_and(|size| (2..=6).contains(&size));
    note(!is_somebodys && !wanted.contains(&&*size), format!("the group's size is {size}"));
    note(!size.starts_with(&providers.len().to_string()), format!("nodes are {providers:?}"));
    note(is_left, "a node is cordoned or carries a mark".to_owned());
    let is_new = |kubelet: &String| kubelet.starts_with("v1.36.");
    let old = kubelets.iter().filter(|kubelet| !is_new(kubelet)).count();
    match case.verb {
        Verb::Handle => {
            let instance = "i-00000000000000002";
            note(providers.iter().any(|one| one.ends_with(instance)), format!("{NODE} is there"));
        }
        Verb::Roll | Verb::RollBeside | Verb::Managed => note(old > 0, format!("{old} nodes are old")),
    }
    let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
    note(
        budget["status"]["currentHealthy"] != 6,
        format!("{} pods are healthy", budget["status"]["currentHealthy"]),
    );
    note(!records(account).is_empty(), "the record is still there".to_owned());
    let leases = items(account, LEASES);
    let is_ours =
        |lease: &&Value| lease["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("replank"));
    let held: Vec<&Value> =
        leases.iter().filter(is_ours).filter(|lease| lease["spec"]["holderIdentity"] != "").collect();
    // One that nobody is left to renew runs out.
    let is_lost = case.kill.is_some();
    note(
        !is_lost && held.iter().any(|lease| !lease["spec"]["holderIdentity"].is_null()),
        format!("Leases are held: {held:?}"),
    );
    if case.verb.is_managed() {
        let answer = account.eks("GET", "/clusters/rehearsal/node-groups/web", &Value::Null);
        let tags = &answer["nodegroup"]["tags"];
        note(*tags != json!({}), format!("tags are left: {tags}"));
        let all = account.eks("GET", "/clusters/rehearsal/updates?nodegroupName=web", &Value::Null);
        let count = all["updateIds"].as_array().map_or(0, Vec::len);
        note(count != 1, format!("{count} updates were begun"));
    } else {
        let answer = group(account);
        // A group that stays larger keeps the note of what it was, for whoever lets it shrink.
        let is_larger = case.verb == Verb::RollBeside && size.starts_with('4')
            || case.is_resized() && ["4 ", "5 ", "6 "].iter().any(|begins| size.starts_with(begins));
        let may_keep = if is_larger {
            &["replank.dev/original-size", "replank.dev/original-template", "replank.dev/begun"][..]
        } else {
            &[]
        };
        let keys = answer.split("<Key>").skip(1).filter_map(|rest| rest.split('<').next());
        let left: Vec<&str> =
            keys.filter(|key| key.starts_with("replank.dev/") && !may_keep.contains(key)).collect();
        note(!left.is_empty(), format!("tags are left: {left:?}"));
        let suspended = element(&answer, "SuspendedProcesses");
        note(suspended.contains("ProcessName"), format!("suspended are {suspended}"));
        let versions = account.ec2("DescribeLaunchTemplateVersions", "&LaunchTemplateName=web-template");
        let count = versions.matches("<versionNumber>").count();
        let expected = if case.verb == Verb::Handle { 1 } else { 2 };
        note(count != expected, format!("{count} versions of the launch template"));
    }
    wrong
}

/// Desired, minimum and maximum.
fn size_of(account: &Account, verb: Verb) -> String {
    if verb.is_managed() {
        let answer = account.eks("GET", "/clusters/rehearsal/node-groups/web", &Value::Null);
        let sizes = &answer["nodegroup"]["scalingConfig"];
        return format!("{} ({} to {})", sizes["desiredSize"], sizes["minSize"], sizes["maxSize"]);
    }
    let answer = group(account);
    let of = |name: &str| element(&answer, name).to_owned();
    format!("{} ({} to {})", of("DesiredCapacity"), of("MinSize"), of("MaxSize"))
}

/// What is wrong with the instances that were launched and terminated.
fn of_instances(case: &Case, states: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut ended = BTreeMap::<&str, u32>::new();
    let (mut launched, mut there, mut most) = (0, 3_i32, 3_i32);
    for (id, state) in states {
        match &**state {
            "pending" => (launched, there) = (launched + 1, there + 1),
            "shutting-down" => {
                *ended.entry(id).or_default() += 1;
                there -= 1;
            }
            _ => {}
        }
        most = most.max(there);
    }
    wrong.extend(
        ended.iter().filter(|(_, times)| **times > 1).map(|(id, times)| format!("{id} ended {times} times")),
    );
    let is_old = |id: &&&str| (1..=3).any(|number| **id == &*format!("i-{number:017x}"));
    let (old, new) = (ended.keys().filter(is_old).count(), ended.len() - ended.keys().filter(is_old).count());
    let (expected_old, expected_launches, room) = match case.verb {
        // One that somebody's smaller size has ended is launched anew.
        Verb::Roll if case.is_resized() => (3, 2..=12, 8),
        Verb::Roll => (3, 3..=3, 6),
        Verb::RollBeside => (3, 3..=4, 7),
        // EKS launches as many as it has zones, twice, and terminates what it does not need.
        Verb::Managed => (3, 3..=9, 10),
        Verb::Handle => (1, 1..=1, 4),
    };
    if old != expected_old {
        wrong.push(format!("{old} old instances have ended"));
    }
    if !expected_launches.contains(&launched) {
        wrong.push(format!("{launched} instances were launched, {new} of them ended: {states:?}"));
    }
    if most > room {
        wrong.push(format!("{most} instances at a time"));
    }
    wrong
}
