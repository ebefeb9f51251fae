//! `replank autoscale` on a served AWS account: pods that wait bring nodes, nodes that are not needed go by their ids, and nothing is done twice.

use std::io::{BufRead, BufReader};
use std::process::Child;

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{Ran, scratch};
use super::handle_aws::befalls;
use super::roll_aws::{group, of_others};
use super::roll_aws_live::{begin, begun, element, nodes, wait};

/// What has nothing to do for so long is over.
const IDLE: &str = "25s";
/// The tag by which groups are found.
const TAG: &str = "k8s.io/cluster-autoscaler/enabled";

/// Gives a group its bounds, and the tag.
pub(crate) fn bounds(account: &Account, group: &str, min: u32, max: u32) {
    account.auto_scaling(
        "UpdateAutoScalingGroup",
        &format!("&AutoScalingGroupName={group}&MinSize={min}&MaxSize={max}"),
    );
    let key = TAG.replace('/', "%2F");
    account.auto_scaling(
        "CreateOrUpdateTags",
        &format!("&Tags.member.1.ResourceId={group}&Tags.member.1.ResourceType=auto-scaling-group&Tags.member.1.Key={key}&Tags.member.1.Value=true&Tags.member.1.PropagateAtLaunch=false"),
    );
}

/// A group without nodes, of another type.
pub(crate) fn spare(account: &Account) {
    account
        .ec2("CreateLaunchTemplate", "&LaunchTemplateName=spare&LaunchTemplateData.InstanceType=c6i.xlarge");
    let answer = account.ec2("DescribeSubnets", "");
    let subnet = element(&answer, "subnetId").to_owned();
    account.auto_scaling(
        "CreateAutoScalingGroup",
        &format!("&AutoScalingGroupName=spare&MinSize=0&MaxSize=2&DesiredCapacity=0&VPCZoneIdentifier={subnet}&LaunchTemplate.LaunchTemplateName=spare&LaunchTemplate.Version=%24Latest"),
    );
    bounds(account, "spare", 0, 2);
}

pub(crate) fn replicas(account: &Account, count: u32) {
    account.merge("/apis/apps/v1/namespaces/default/deployments/shop", &json!({"spec": {"replicas": count}}));
}

/// How many a group wants.
pub(crate) fn desired(account: &Account, group: &str) -> String {
    let answer = account
        .auto_scaling("DescribeAutoScalingGroups", &format!("&AutoScalingGroupNames.member.1={group}"));
    element(&answer, "DesiredCapacity").to_owned()
}

/// How many pods are on nodes.
pub(crate) fn placed(account: &Account) -> usize {
    let all = account.get("/api/v1/namespaces/default/pods");
    let all = all["items"].as_array().expect("a list").iter();
    all.filter(|pod| pod["spec"]["nodeName"].is_string() && pod["metadata"]["deletionTimestamp"].is_null())
        .count()
}

pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/kube-system/deployments";

/// A Cluster Autoscaler's Deployment.
pub(crate) fn cluster_autoscaler(name: &str, replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "ca", "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1", "command": ["./cluster-autoscaler", "--nodes=1:5:web"]}]}}}})
}

pub(crate) fn is_held(account: &Account) -> bool {
    let lease = account.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/replank-autoscale");
    lease["spec"]["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty())
}

fn autoscale<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let found = "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled";
    [&["autoscale", found], more].concat()
}

/// Flags with which a node goes soon.
const SOON: [&str; 2] = ["--scale-down-unneeded-time=10s", "--scale-down-delay-after-add=0s"];

fn read_until(child: &mut Child, words: &str) -> String {
    let mut told = String::new();
    for line in BufReader::new(child.stdout.take().expect("it has an output")).lines() {
        told += &(line.expect("it is text") + "\n");
        if told.contains(words) {
            return told;
        }
    }
    panic!("{words}: {told}");
}

#[test]
fn pending_pods_bring_nodes_of_a_group_that_is_found_by_its_tag() {
    let account = begun("autoscale-up", "group");
    bounds(&account, "web", 0, 6);
    replicas(&account, 40);
    wait(&account, "pods wait for nodes", |account| placed(account) == 27);
    let journal = scratch("autoscale-up/journal.jsonl", "");
    std::fs::remove_file(&journal).expect("it was there");
    let up = ["--scale-down-enabled=false", "--idle", IDLE, "-o", "json", "--journal", &journal];
    let ran = account.run(&autoscale(&up));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("an event per line")).collect();
    let adding: Vec<&Value> = events.iter().filter(|event| event["event"] == "adding").collect();
    assert_eq!(adding.len(), 1, "one request: {ran:?}");
    assert_eq!(
        (&adding[0]["group"], &adding[0]["from"], &adding[0]["to"]),
        (&json!("web"), &json!(3), &json!(5))
    );
    assert_eq!(events.iter().filter(|event| event["event"] == "ready").count(), 2, "{ran:?}");
    let end = events.last().expect("it ends");
    assert_eq!((&end["event"], &end["added"], &end["removed"]), (&json!("end"), &json!(2), &json!(0)));
    wait(&account, "all pods have a node", |account| placed(account) == 40);
    let (launched, ended) = account.heard();
    assert_eq!((launched.len(), ended.len()), (2, 0), "{ran:?}");
    assert_eq!(desired(&account, "web"), "5");
    let told = super::common::replank(&["report", &journal]);
    assert_eq!(told.code, Some(0), "{told:?}");
}

#[test]
fn a_node_that_is_not_needed_goes_by_its_id_once_it_is_drained() {
    let account = begun("autoscale-down", "group");
    bounds(&account, "web", 2, 3);
    let looked = account.run(&autoscale(&["--dry-run"]));
    assert_eq!(looked.code, Some(0), "{looked:?}");
    assert!(looked.stdout.contains("Scale down"), "{looked:?}");
    assert_eq!(account.heard(), (Vec::new(), Vec::new()), "a dry run changes nothing");
    let ran = account.run(&autoscale(&[&SOON[..], &["--idle", IDLE]].concat()));
    is_smaller(&account, &[&ran]);
}

/// One node went, by its id, and nothing of ours is left.
fn is_smaller(account: &Account, ran: &[&Ran]) {
    let last = ran.last().expect("there is one");
    assert_eq!(last.code, Some(0), "{ran:?}");
    let (launched, ended) = account.heard();
    assert_eq!((launched.len(), ended.len()), (0, 1), "{ran:?}");
    assert_eq!(desired(account, "web"), "2");
    wait(account, "its node is gone", |account| nodes(account).0.len() == 2);
    let (providers, _, is_left) = nodes(account);
    assert!(!is_left, "nothing of ours is left: {ran:?}");
    assert!(!providers.iter().any(|one| one.ends_with(&*ended[0])), "{providers:?}");
    let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
    assert_eq!(budget["status"]["currentHealthy"], 6, "{ran:?}");
    let all: String = ran.iter().map(|ran| ran.stdout.as_str()).collect();
    assert_eq!(all.matches("evicting pod").count(), 2, "{all}");
    assert_eq!(all.matches(&format!("terminating instance {}", ended[0])).count(), 1, "{all}");
}

#[test]
fn a_scale_down_that_was_killed_is_gone_on_with() {
    let account = begun("autoscale-killed", "group");
    bounds(&account, "web", 2, 3);
    let call = autoscale(&[&SOON[..], &["--idle", IDLE]].concat());
    let mut child = begin(&account, &call);
    let told = read_until(&mut child, "pod/");
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    assert!(told.contains("removing node") && !told.contains("terminating"), "{told}");
    assert!(nodes(&account).2, "the node carries our mark");
    let ran = account.run(&call);
    assert!(ran.stdout.contains("going on with node"), "{ran:?}");
    let killed = Ran { code: None, stdout: told, stderr: String::new() };
    is_smaller(&account, &[&killed, &ran]);
}

#[test]
fn where_there_is_no_capacity_another_group_is_tried() {
    let account = begun("autoscale-short", "group");
    bounds(&account, "web", 0, 6);
    spare(&account);
    befalls(&account, "any capacity of m6i.large in any runs out");
    replicas(&account, 40);
    wait(&account, "pods wait for nodes", |account| placed(account) == 27);
    let prices = scratch(
        "autoscale-short/prices.json",
        r#"{"m6i.large": {"onDemand": 0.1, "spot": 0.1}, "c6i.xlarge": {"onDemand": 2, "spot": 2}}"#,
    );
    let flags = ["--expander=price", "--prices", &prices, "--scale-down-enabled=false"];
    let mut child = begin(&account, &autoscale(&flags));
    let told = read_until(&mut child, "to group spare");
    wait(&account, "all pods have a node", |account| placed(account) == 40);
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    let (first, second) = (told.find("to group web").expect("web is cheaper"), told.find("to group spare"));
    assert!(second.is_some_and(|second| first < second), "{told}");
    assert_eq!(told.matches("adding").count(), 2, "{told}");
}

#[test]
fn one_process_scales_at_a_time_and_the_next_one_goes_on() {
    let account = begun("autoscale-two", "group");
    bounds(&account, "web", 3, 6);
    let mut first = begin(&account, &autoscale(&[]));
    wait(&account, "the first holds the Lease", is_held);
    // Wherever its priorities are: the cluster is scaled by one.
    let second = begin(&account, &autoscale(&["--idle", "12s", "-n", "default"]));
    std::thread::sleep(std::time::Duration::from_secs(5));
    bounds(&account, "web", 3, 5);
    first.kill().expect("it can be ended");
    first.wait().expect("it has ended");
    let second = Ran::from(second.wait_with_output().expect("it ends"));
    assert_eq!(second.code, Some(0), "{second:?}");
    assert!(second.stderr.contains("the cluster is scaled by"), "{second:?}");
    assert!(
        second.stderr.contains("web: 3 (min 3, max 5)"),
        "what was read before it waited is old: {second:?}"
    );
}

#[test]
fn a_cluster_autoscaler_that_comes_back_scales_alone() {
    let account = begun("autoscale-back", "group");
    account.create(DEPLOYMENTS, &cluster_autoscaler("cluster-autoscaler", 0));
    bounds(&account, "web", 3, 6);
    let first = begin(&account, &autoscale(&[]));
    wait(&account, "it holds the Lease", is_held);
    std::thread::sleep(std::time::Duration::from_secs(5));
    account.merge(&format!("{DEPLOYMENTS}/cluster-autoscaler"), &json!({"spec": {"replicas": 1}}));
    let first = Ran::from(first.wait_with_output().expect("it ends"));
    assert_eq!(first.code, Some(5), "{first:?}");
    assert!(
        first.stderr.contains("no more: the cluster's own Cluster Autoscaler scales it: Deployment kube-system/cluster-autoscaler has 1 replica"),
        "{first:?}"
    );
}

#[test]
fn what_is_wrong_is_said_before_anything_is_changed() {
    let denied = ["--aws-deny", "autoscaling:DescribeAutoScalingGroups"];
    let snapshot = super::roll_aws_live::snapshot("group");
    let account = Account::served_with("autoscale-denied", &snapshot, ("group", 60), &denied);
    let is_usage = |ran: &Ran, words: &str| {
        let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, Some(2), "{words}: {ran:?}");
        assert!(told.contains(words), "{words}: {told}");
    };
    let ran = account.run(&autoscale(&[]));
    is_usage(&ran, "autoscaling:DescribeAutoScalingGroups");
    is_usage(&ran, r#""Effect": "Allow""#);
    let account = begun("autoscale-wrong", "group");
    let with = |more: &[&str]| account.run(&[&["autoscale"][..], more].concat());
    is_usage(&with(&["--expander=cheapest"]), "unknown expander \"cheapest\"");
    is_usage(&with(&["--nodes=9:1:web"]), "--nodes=9:1:web: expected MIN:MAX:NAME");
    is_usage(&with(&["--scale-down-unneeded-time=soon"]), "expected a duration such as 10m");
    is_usage(&with(&[]), "nothing says which groups are to be scaled");
    is_usage(&with(&["--nodes=1:3:nobody"]), "named nobody");
    is_usage(&with(&["--node-group-auto-discovery=asg:tag=nobody"]), "has these tags");
    is_usage(&with(&["--nodes=1:3:web", "--expander=price"]), "the expander price needs prices");
    let without = |names: &[&str]| {
        let mut call = account.call(&["autoscale", "--nodes=1:3:web"]);
        for name in names {
            call.env_remove(name);
        }
        call.env("AWS_CONFIG_FILE", "/dev/null").env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
        Ran::from(call.output().expect("it runs"))
    };
    let no_region = without(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
    is_usage(&no_region, "no AWS region is given");
    is_usage(&no_region, "pass --region REGION, or set AWS_REGION");
    let no_credentials = without(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
    is_usage(&no_credentials, "no AWS credentials are found");
    is_usage(&no_credentials, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass --profile NAME");
    // One without replicas does not hide one that runs.
    account.create(DEPLOYMENTS, &cluster_autoscaler("before", 0));
    account.create(DEPLOYMENTS, &cluster_autoscaler("cluster-autoscaler", 1));
    let ran = with(&["--nodes=1:3:web"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("Deployment kube-system/cluster-autoscaler has 1 replica"), "{ran:?}");
    assert_eq!(account.heard(), (Vec::new(), Vec::new()));
}

#[test]
fn a_group_of_another_account_is_not_scaled() {
    let (mine, theirs) = (begun("autoscale-mine", "group"), of_others("autoscale-theirs"));
    replicas(&mine, 40);
    let before = group(&theirs);
    for more in [&[][..], &["--dry-run"]] {
        let mut call = mine.call(&[&["autoscale", "--nodes=1:9:web"], more].concat());
        call.envs(theirs.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned());
        let ran = Ran::from(call.output().expect("it runs"));
        let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(told.contains("no group that is named or tagged is one of this cluster's"), "{told}");
        assert!(told.contains("check context, account and region"), "{told}");
    }
    assert_eq!(group(&theirs), before);
    assert_eq!(mine.heard(), (Vec::new(), Vec::new()));
}

#[test]
fn a_write_that_iam_denies_is_named_with_the_statement_that_allows_it() {
    let denied = ["--aws-deny", "autoscaling:TerminateInstanceInAutoScalingGroup"];
    let snapshot = super::roll_aws_live::snapshot("group");
    let account = Account::served_with("autoscale-may-not", &snapshot, ("group", 60), &denied);
    wait(&account, "all pods are on nodes", |account| placed(account) == 6);
    let mut call = account.call(&[&["autoscale", "--nodes=2:9:web"], &SOON[..]].concat());
    call.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let mut child = call.spawn().expect("it runs");
    let mut told = String::new();
    for line in BufReader::new(child.stderr.take().expect("it has one")).lines() {
        told += &(line.expect("it is text") + "\n");
        if told.contains("\"Effect\"") {
            break;
        }
    }
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    assert!(told.contains("error when terminating instance"), "{told}");
    assert!(told.contains(r#""Action": ["autoscaling:TerminateInstanceInAutoScalingGroup"]"#), "{told}");
    assert!(told.contains("--nodes=2:9:web: the group's own maximum is 3, which is not raised"), "{told}");
}

#[test]
fn a_managed_node_group_grows_through_eks_and_shrinks_by_instance() {
    let account = begun("autoscale-managed", "eks.amazonaws.com/nodegroup");
    let sizes = |min: u32, max: u32| {
        let change = json!({"scalingConfig": {"minSize": min, "maxSize": max, "desiredSize": 3}});
        account.eks("POST", "/clusters/rehearsal/node-groups/web/update-config", &change);
    };
    let wanted = |account: &Account| {
        let answer = account.eks("GET", "/clusters/rehearsal/node-groups/web", &Value::Null);
        answer["nodegroup"]["scalingConfig"].clone()
    };
    sizes(2, 4);
    wait(&account, "the node group has its bounds", |account| wanted(account)["maxSize"] == 4);
    let ran = account.run(&autoscale(&[&SOON[..], &["--idle", IDLE, "-o", "json"]].concat()));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (launched, ended) = account.heard();
    assert_eq!((launched.len(), ended.len()), (0, 1), "{ran:?}");
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("an event per line")).collect();
    assert_eq!(events.iter().filter(|event| event["event"] == "evicting").count(), 2, "{ran:?}");
    let ends: Vec<_> = events.iter().filter(|event| event["event"] == "terminating").collect();
    assert_eq!(ends.len(), 1, "{ran:?}");
    assert_eq!((&ends[0]["instance"], &ends[0]["group"]), (&json!(ended[0]), &json!("web")), "{ran:?}");
    assert_eq!(wanted(&account)["desiredSize"], 2, "{ran:?}");
    wait(&account, "its node is gone", |account| nodes(account).0.len() == 2);
    replicas(&account, 30);
    wait(&account, "pods wait for nodes", |account| placed(account) == 18);
    let ran = account.run(&autoscale(&["--scale-down-enabled=false", "--idle", IDLE]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(wanted(&account)["desiredSize"], 4, "{ran:?}");
    assert_eq!(account.heard().0.len(), 2, "{ran:?}");
    wait(&account, "all pods have a node", |account| placed(account) == 30);
    // The same change once more is asked for anew, and is no repetition of the first.
    replicas(&account, 6);
    wait(&account, "there is room", |account| placed(account) == 6);
    let ran = account.run(&autoscale(&[&SOON[..], &["--idle", IDLE]].concat()));
    assert_eq!((ran.code, &wanted(&account)["desiredSize"]), (Some(0), &json!(2)), "{ran:?}");
    replicas(&account, 30);
    wait(&account, "pods wait for nodes once more", |account| placed(account) == 18);
    let ran = account.run(&autoscale(&["--scale-down-enabled=false", "--idle", IDLE]));
    assert_eq!((ran.code, &wanted(&account)["desiredSize"]), (Some(0), &json!(4)), "{ran:?}");
    wait(&account, "all pods have a node once more", |account| placed(account) == 30);
}

#[test]
fn groups_of_another_cluster_are_left_alone_and_pods_without_a_group_are_named() {
    let account = begun("autoscale-others", "group");
    bounds(&account, "web", 0, 3);
    spare(&account);
    let of = |group: &str, cluster: &str| {
        account.auto_scaling(
            "CreateOrUpdateTags",
            &format!("&Tags.member.1.ResourceId={group}&Tags.member.1.ResourceType=auto-scaling-group&Tags.member.1.Key=kubernetes.io%2Fcluster%2F{cluster}&Tags.member.1.Value=owned&Tags.member.1.PropagateAtLaunch=false"),
        );
    };
    of("web", "here");
    of("spare", "elsewhere");
    replicas(&account, 40);
    wait(&account, "pods wait for nodes", |account| placed(account) == 27);
    let ran = account.run(&autoscale(&["--scale-down-enabled=false", "--idle", IDLE]));
    assert!(ran.stderr.contains("group spare is not scaled: its tags name cluster elsewhere"), "{ran:?}");
    assert_eq!(
        (desired(&account, "web"), desired(&account, "spare")),
        ("3".to_owned(), "0".to_owned()),
        "{ran:?}"
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("nothing more can be done") && ran.stderr.contains("default/shop"),
        "{ran:?}"
    );
}
