//! `replank handle` on a served AWS account: what is announced is drained in time, and nothing is done twice.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{Ran, command, plan, replank};
use super::roll_aws::of_others;
use super::roll_aws_live::{begin, begun, element, nodes, wait};

/// What has nothing to do for so long is over.
const IDLE: &str = "25s";

/// The queue, its dead-letter queue and the rules that `replank setup aws` prints, created. Its URL.
pub(crate) fn queue(account: &Account) -> String {
    let printed =
        replank(&["setup", "aws", "--cluster", "rehearsal", "--mode", "handle", "-o", "cloudformation"]);
    let template = printed.json();
    let arn = |name: &str| format!("arn:aws:sqs:{}:111122223333:{name}", account.variable("AWS_REGION"));
    let create = |body: &Value| account.json("sqs", "AmazonSQS.CreateQueue", body)["QueueUrl"].clone();
    create(&json!({"QueueName": "dead"}));
    let queue = &template["Resources"]["Queue"]["Properties"];
    let redrive = json!({"deadLetterTargetArn": arn("dead"), "maxReceiveCount": queue["RedrivePolicy"]["maxReceiveCount"]});
    let attributes = json!({"RedrivePolicy": redrive.to_string(), "VisibilityTimeout": queue["VisibilityTimeout"].to_string()});
    let url = create(&json!({"QueueName": "replank", "Attributes": attributes}));
    let resources = template["Resources"].as_object().expect("it has resources").values();
    let rules = resources.filter(|one| one["Type"] == "AWS::Events::Rule");
    for rule in rules.map(|rule| &rule["Properties"]) {
        let put = json!({"Name": rule["Name"], "EventPattern": rule["EventPattern"].to_string()});
        account.json("events", "AWSEvents.PutRule", &put);
        let target = json!({"Rule": rule["Name"], "Targets": [{"Id": "queue", "Arn": arn("replank")}]});
        account.json("events", "AWSEvents.PutTargets", &target);
    }
    url.as_str().expect("it has one").to_owned()
}

pub(crate) fn hook(account: &Account, name: &str, seconds: u32) {
    let at = "autoscaling:EC2_INSTANCE_TERMINATING";
    account.auto_scaling(
        "PutLifecycleHook",
        &format!("&AutoScalingGroupName=web&LifecycleHookName={name}&LifecycleTransition={at}&HeartbeatTimeout={seconds}&DefaultResult=CONTINUE"),
    );
}

fn send(account: &Account, url: &str, body: &str) {
    account.json("sqs", "AmazonSQS.SendMessage", &json!({"QueueUrl": url, "MessageBody": body}));
}

/// Messages that are left in a queue, whether anybody hides them or not.
pub(crate) fn left(account: &Account, url: &str) -> u64 {
    let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
    let asked = json!({"QueueUrl": url, "AttributeNames": names});
    let answer = account.json("sqs", "AmazonSQS.GetQueueAttributes", &asked);
    let number = |name: &str| answer["Attributes"][name].as_str().and_then(|text| text.parse::<u64>().ok());
    names.iter().map(|name| number(name).expect("a number")).sum()
}

/// A warning as EventBridge sends it, of an account and about an instance.
fn warning((account, instance): (&str, &str), time: &str) -> String {
    json!({"version": "0", "id": "0f1d3a54-6f0d-4c53-9a2d-1e6a7a4b1c05", "detail-type": "EC2 Spot Instance Interruption Warning",
        "source": "aws.ec2", "account": account, "time": time, "region": "eu-west-1",
        "detail": {"instance-id": instance, "instance-action": "terminate"}})
    .to_string()
}

const LONG_AGO: &str = "2026-01-20T09:15:42Z";

fn now() -> String {
    let said = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output().expect("there is a clock");
    String::from_utf8(said.stdout).expect("it is text").trim().to_owned()
}

pub(crate) fn befalls(account: &Account, words: &str) {
    let words: Vec<&str> = words.split(' ').collect();
    let ran = account.run(&[&["cluster", "faults", "start"][..], &words].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn at(folder: &str, name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder).join(name);
    drop(std::fs::remove_file(&file));
    file
}

/// What was asked of pods and of the cloud, by what processes told: how often each.
fn asked(told: &str) -> BTreeMap<&str, u32> {
    let mut all = BTreeMap::new();
    let lines = told.lines().filter_map(|line| line.split_once(' ').map(|(_, words)| words));
    for words in lines {
        if ["evicting", "deleting", "replacing", "terminating", "completing", "cordoning"]
            .iter()
            .any(|verb| words.starts_with(verb))
        {
            *all.entry(words).or_default() += 1;
        }
    }
    all
}

/// Names of pods and their nodes.
fn pods(account: &Account) -> BTreeMap<String, String> {
    let all = account.get("/api/v1/namespaces/default/pods");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = all["items"].as_array().expect("a list").iter();
    all.map(|pod| (text(&pod["metadata"]["name"]), text(&pod["spec"]["nodeName"]))).collect()
}

const NODE: &str = "ip-10-0-0-2.eu-west-1.compute.internal";
const INSTANCE: &str = "i-00000000000000002";

/// One instance is gone, another in its place, nothing of ours is left, and nothing in the queue.
fn is_over(account: &Account, (url, unread): (&str, u64), ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (launched, ended) = account.heard();
    assert_eq!((launched.len(), &*ended), (1, &[INSTANCE.to_owned()][..]), "{ran:?}");
    wait(account, "the old node is gone", |account| {
        let (providers, _, is_left) = nodes(account);
        providers.len() == 3 && !is_left && !providers.iter().any(|one| one.ends_with(INSTANCE))
    });
    let dead = url.replace("/replank", "/dead");
    assert_eq!(left(account, url) + left(account, &dead), unread, "{ran:?}");
    let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
    assert_eq!(budget["status"]["currentHealthy"], 6, "{ran:?}");
}

#[test]
fn duplicates_and_late_messages_do_nothing_twice_and_a_killed_process_is_gone_on_with() {
    let folder = "handle-aws-killed";
    let account = begun(folder, "group");
    let url = queue(&account);
    hook(&account, "replank-drain", 300);
    let handle = ["handle", "--queue-url", &url, "--idle", IDLE];
    befalls(&account, &format!("spot instance {NODE} is taken back"));
    for body in [
        &warning(("111122223333", INSTANCE), &now()),
        &warning(("111122223333", INSTANCE), LONG_AGO),
        &warning(("111122223333", "i-0dead0dead0dead00"), LONG_AGO),
        &warning(("999900001111", "i-00000000000000001"), &now()),
        "{broken",
        r#"{"Event": "autoscaling:TEST_NOTIFICATION", "AutoScalingGroupName": "web"}"#,
    ] {
        send(&account, &url, body);
    }
    let before = pods(&account);
    let mut child = begin(&account, &handle);
    let mut killed = String::new();
    for line in BufReader::new(child.stdout.take().expect("it has an output")).lines() {
        killed += &(line.expect("it is text") + "\n");
        if killed.contains("evicting pod") {
            break;
        }
    }
    child.kill().expect("it can be ended");
    let rest = child.wait_with_output().expect("it has ended");
    killed += &String::from_utf8_lossy(&rest.stderr);
    assert!(killed.contains("evicting pod") && !killed.contains(&format!("node/{NODE} drained")), "{killed}");
    let ran = account.run(&handle);
    is_over(&account, (&url, 1), &ran);
    let both = format!("{killed}{}", ran.stdout);
    let asked = asked(&both);
    let count = |verb: &str| asked.keys().filter(|words| words.starts_with(verb)).count();
    let counts = ["cordoning", "replacing", "evicting", "completing", "terminating", "deleting"].map(count);
    assert_eq!(counts, [1, 1, 2, 1, 0, 0], "{both}");
    // What was told and not yet sent when it was killed is asked for once more.
    let again: Vec<_> = asked.iter().filter(|(_, count)| **count > 1).collect();
    assert!(
        again.len() <= 1 && again.iter().all(|(words, count)| words.starts_with("evicting") && **count == 2),
        "{both}"
    );
    let after = pods(&account);
    let stayed = before.iter().filter(|(name, _)| after.contains_key(*name)).count();
    assert_eq!(stayed, 4, "the pods of other nodes have stayed: {both}");
    let told = [&killed, &*ran.stdout, &ran.stderr].concat();
    assert_eq!(told.matches("it cannot be read: invalid JSON").count(), 2, "once by each process: {told}");
    assert!(told.contains("about something else (account 999900001111)"), "{told}");
    assert!(ran.stdout.contains(&format!("going on with node {NODE}")), "{ran:?}");
}

#[test]
fn without_a_hook_an_instance_is_ended_once_it_is_drained_and_another_comes() {
    let folder = "handle-aws-plain";
    let account = begun(folder, "group");
    let url = queue(&account);
    befalls(&account, &format!("spot instance {NODE} is taken back"));
    let looked = account.run(&["handle", "--queue-url", &url, "--dry-run", "--time-zone", "Asia/Tokyo"]);
    assert_eq!(looked.code, Some(0), "{looked:?}");
    assert!(looked.stdout.contains(&format!("cordoning node {NODE}: spot-interruption")), "{looked:?}");
    // By the clock of the zone, in every line and within it.
    let of = |line: &str| line.split(' ').next().is_some_and(|time| time.ends_with("+09:00"));
    assert!(looked.stdout.lines().any(of) && looked.stdout.contains("its instance goes at 20"), "{looked:?}");
    assert!(!looked.stdout.contains("Z message") && !looked.stdout.contains("Z; 2 pods"), "{looked:?}");
    assert!(looked.stdout.contains("2 pods to move (dry run)"), "{looked:?}");
    let node = account.get(&format!("/api/v1/nodes/{NODE}"));
    assert!(node["spec"]["unschedulable"].is_null() && left(&account, &url) == 1, "nothing was changed");
    let journal = at(folder, "journal.jsonl");
    let journal_text = journal.to_str().expect("text");
    let ran = account.run(&[
        "handle",
        "--queue-url",
        &url,
        "--idle",
        IDLE,
        "--journal",
        journal_text,
        "-o",
        "json",
        "--time-zone",
        "Asia/Tokyo",
    ]);
    assert!(!ran.stdout.contains("+09:00"), "events are in UTC: {ran:?}");
    is_over(&account, (&url, 0), &ran);
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("an event per line")).collect();
    let end = events.last().expect("it ends");
    assert_eq!(
        (&end["event"], &end["nodes"], &end["drained"], &end["lost"]),
        (&json!("end"), &json!(1), &json!(1), &json!(0))
    );
    let ends = events.iter().filter(|event| event["event"] == "terminating").count();
    assert_eq!(ends, 1, "{ran:?}");
    let told = command(&["report", journal_text]).output().expect("it runs");
    assert!(told.status.success(), "{told:?}");
}

#[test]
fn a_roll_handles_interruptions_besides() {
    let folder = "handle-aws-beside";
    let account = begun(folder, "group");
    let url = queue(&account);
    hook(&account, "replank-drain", 300);
    let spec = "groups: [web], target: {kubernetesVersion: '1.36'}";
    let file = plan(&format!("{folder}/plan.yaml"), spec);
    let roll = ["roll", "-f", &file, "--yes", "--group-label", "group", "--queue-url", &url, "-o", "json"];
    let mut rolls = begin(&account, &roll);
    let mut rolled = String::new();
    for line in BufReader::new(rolls.stdout.take().expect("it has an output")).lines() {
        let line = line.expect("it is text");
        let begins = r#""event":"evicting""#;
        if line.contains(begins) && !rolled.contains(begins) {
            befalls(&account, &format!("spot instance {NODE} is taken back"));
        }
        rolled += &(line + "\n");
    }
    let rest = rolls.wait_with_output().expect("it ends");
    super::schemas::hold(&roll, &rolled);
    rolled += &String::from_utf8_lossy(&rest.stderr);
    assert_eq!(rest.status.code(), Some(0), "{rolled}");
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
    let size = ["DesiredCapacity", "MinSize", "MaxSize"].map(|name| element(&answer, name));
    // What was launched in the place of the interrupted one goes again, unless pods have come to it by then.
    assert!([["3", "0", "3"], ["4", "0", "4"]].contains(&size), "{size:?} {rolled}");
    let said = "group web stays larger than before the run: desired size 4 (before 3), maximum 4 (before 3)";
    assert_eq!(rolled.contains(said), size[0] == "4", "{size:?} {rolled}");
    assert!(rolled.contains(&format!("replacing instance {INSTANCE}")), "{rolled}");
    let (_, ended) = account.heard();
    for number in 1..=3 {
        let old = format!("i-{number:017x}");
        assert_eq!(ended.iter().filter(|id| **id == old).count(), 1, "{old}: {ended:?} {rolled}");
    }
    let wanted: usize = size[0].parse().expect("a number");
    wait(&account, "the old nodes are gone", |account| nodes(account).0.len() == wanted && !nodes(account).2);
}

/// The address of a service that lets nobody do anything.
fn denies() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = format!("http://{}", listener.local_addr().expect("it has one"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut asked = [0; 16_384];
            drop(stream.read(&mut asked));
            let body = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"Access to the resource is denied."}"#;
            let head =
                "HTTP/1.1 403 Forbidden\r\ncontent-type: application/x-amz-json-1.0\r\nconnection: close";
            drop(write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
        }
    });
    address
}

#[test]
fn what_is_wrong_is_said_before_anything_is_changed() {
    let account = begun("handle-aws-wrong", "group");
    let url = queue(&account);
    hook(&account, "somebody-elses", 300);
    let is_usage = |ran: &Ran, words: &str| {
        let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, Some(2), "{words}: {ran:?}");
        assert!(told.contains(words), "{words}: {told}");
    };
    let with = |more: &[&str]| account.run(&[&["handle"][..], more].concat());
    is_usage(&with(&["--queue-url", "replank"]), "this is no URL of an SQS queue");
    let other = url.replace("/replank", "/nowhere");
    is_usage(&with(&["--queue-url", &other]), "there is no such queue in account 111122223333 in eu-west-1");
    let other = url.replace("111122223333", "444455556666");
    is_usage(&with(&["--queue-url", &other]), "it belongs to account 444455556666");
    let other = "https://sqs.us-east-1.amazonaws.com/111122223333/replank";
    is_usage(&with(&["--queue-url", other]), "it is in region us-east-1, and eu-west-1 is meant");
    let named = with(&["--queue-url", &url, "--hook", "nobodys"]);
    is_usage(&named, "has a lifecycle hook named nobodys; they have: somebody-elses");
    let without = |names: &[&str]| {
        let mut call = account.call(&["handle", "--queue-url", &url]);
        for name in names {
            call.env_remove(name);
        }
        call.env("AWS_CONFIG_FILE", "/dev/null").env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
        Ran::from(call.output().expect("it runs"))
    };
    is_usage(&without(&["AWS_REGION", "AWS_DEFAULT_REGION"]), "no AWS region is given");
    is_usage(&without(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]), "no AWS credentials are found");
    // The queue is there, and the nodes are instances of another account.
    let theirs = of_others("handle-aws-theirs");
    let other = queue(&theirs);
    let mut call = account.call(&["handle", "--queue-url", &other]);
    call.envs(theirs.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned());
    send(&theirs, &other, "{}");
    let wrong = Ran::from(call.output().expect("it runs"));
    is_usage(
        &wrong,
        "no Auto Scaling group of account 111122223333 in eu-west-1 has the instances of these nodes",
    );
    is_usage(&wrong, NODE);
    is_usage(&wrong, "check the account and the region: aws sts get-caller-identity");
    assert_eq!(left(&theirs, &other), 1, "no message was taken");
    let denies = denies();
    let mut call = account.call(&["handle", "--queue-url", &url]);
    let denied = Ran::from(call.env("AWS_ENDPOINT_URL_SQS", denies).output().expect("it runs"));
    is_usage(&denied, "sqs:GetQueueAttributes: AccessDeniedException: Access to the resource is denied.");
    is_usage(&denied, r#"{"Effect": "Allow", "Action": ["sqs:GetQueueAttributes"], "Resource": "*"}"#);
    let (_, _, is_left) = nodes(&account);
    assert!(!is_left, "nothing was changed");
    let leases = account.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases").to_string();
    assert!(!leases.contains("replank"), "{leases}");
}
