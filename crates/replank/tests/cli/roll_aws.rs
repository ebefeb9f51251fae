//! `replank roll` on AWS: what is wrong with region, credentials, account or group is said, and nothing is changed.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::aws_account::{Account, list, nodes_of};
use super::common::{plan, replank};

/// Three nodes of a group by a label.
fn snapshot(label: &str) -> Value {
    list(nodes_of(label))
}

const GROUPED: &[&str] = &["--group-label", "group"];
const SPEC: &str = "groups: [web], target: {kubernetesVersion: '1.36'}";

fn nodes(account: &Account) -> Vec<Value> {
    account.get("/api/v1/nodes")["items"].as_array().cloned().unwrap_or_default()
}

/// An account that has a group of the same name, with other instances.
pub(crate) fn of_others(name: &str) -> Account {
    let mut elsewhere = snapshot("group");
    for node in elsewhere["items"].as_array_mut().expect("a list") {
        if let Some(id) = node["spec"]["providerID"].as_str().map(|id| id.replace("/i-", "/i-f")) {
            node["spec"]["providerID"] = id.into();
        }
    }
    Account::served(name, &elsewhere, "group")
}

/// The sizes and the tags of ours that the group has.
pub(crate) fn group(account: &Account) -> String {
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "");
    let of = |name: &str| {
        let rest = answer.split_once(&format!("<{name}>")).map_or("", |(_, rest)| rest);
        rest.split('<').next().unwrap_or_default().to_owned()
    };
    let ours = if answer.contains("replank.dev/") { " and tags of ours" } else { "" };
    format!("{} (min {}, max {}){ours}", of("DesiredCapacity"), of("MinSize"), of("MaxSize"))
}

#[test]
fn what_is_wrong_with_the_account_is_said_and_nothing_is_changed() {
    let account = Account::served("roll-aws-bad", &snapshot("group"), "group");
    let file = plan("roll-aws-bad/plan.yaml", SPEC);
    let arguments = [&["roll", "-f", &file, "--yes"], GROUPED].concat();
    let refused = |change: &dyn Fn(&mut std::process::Command), words: &str| {
        let mut command = account.call(&arguments);
        change(&mut command);
        let ran: super::common::Ran = command.output().expect("it can be run").into();
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words}: {ran:?}");
    };
    refused(
        &|command| {
            command.env_remove("AWS_REGION").env_remove("AWS_DEFAULT_REGION");
        },
        "no AWS region is given",
    );
    refused(
        &|command| {
            command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        },
        "no AWS credentials are found",
    );
    refused(
        &|command| {
            command.args(["--profile", "nobody"]);
        },
        "has no profile \"nobody\"",
    );
    refused(
        &|command| {
            command.env("AWS_SECRET_ACCESS_KEY", "wrong");
        },
        "AWS does not accept the credentials from the environment",
    );
    for (name, next) in [("webb", "did you mean web? by the label group"), ("batch", "by the label group")] {
        let other = plan("roll-aws-bad/other.yaml", &format!("groups: [{name}]"));
        for more in ["--yes", "--dry-run"] {
            let unknown = account.run(&[&["roll", "-f", &other, more], GROUPED].concat());
            assert_eq!(unknown.code, Some(2), "{unknown:?}");
            let told = flat(&unknown.stderr);
            let words = format!(
                "error: node group {name:?} is not in the snapshot next: {next} there are web (3 nodes)"
            );
            assert!(told.contains(&words), "{told}");
        }
    }
    assert_eq!(group(&account), "3 (min 0, max 3)");
    assert!(nodes(&account).iter().all(|node| node["spec"]["unschedulable"].is_null()));
    assert!(replank(&["roll", "--help"]).stdout.contains("--endpoint-url"));
}

#[test]
fn another_account_and_a_managed_group_under_another_name_are_refused() {
    let mine = Account::served("roll-aws-mine", &snapshot("group"), "group");
    let file = plan("roll-aws-mine/plan.yaml", SPEC);
    let theirs = of_others("roll-aws-theirs");
    let mut command = mine.call(&[&["roll", "-f", &file, "--yes"], GROUPED].concat());
    command.envs(theirs.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned());
    let ran: super::common::Ran = command.output().expect("it can be run").into();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("no Auto Scaling group of account 111122223333 in eu-west-1"), "{ran:?}");

    let mut both = snapshot("eks.amazonaws.com/nodegroup");
    for node in both["items"].as_array_mut().expect("a list").iter_mut().filter(|one| one["kind"] == "Node") {
        node["metadata"]["labels"]["group"] = "front".into();
    }
    let managed = Account::served("roll-aws-renamed", &both, "eks.amazonaws.com/nodegroup");
    let file = plan("roll-aws-renamed/plan.yaml", "groups: [front], target: {kubernetesVersion: '1.36'}");
    let ran = managed.run(&[&["roll", "-f", &file, "--yes"], GROUPED].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("EKS owns its Auto Scaling group"), "{ran:?}");
    assert_eq!(group(&managed), "3 (min 0, max 3)");
}

#[test]
fn an_endpoint_at_which_nobody_answers_is_told_soon() {
    let account = Account::served("roll-aws-silent", &snapshot("group"), "group");
    let file = plan("roll-aws-silent/plan.yaml", SPEC);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let silent_at = silent.local_addr().expect("it has an address");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let closed_at = closed.local_addr().expect("it has an address");
    drop(closed);
    for (address, why) in [(silent_at, "no answer within 10 s"), (closed_at, "Connection refused")] {
        let url = format!("http://{address}");
        let ran = account.run(&[&["roll", "-f", &file, "--yes", "--endpoint-url", &url], GROUPED].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(&format!("cannot reach {url}")) && flat.contains(why), "{ran:?}");
        assert!(flat.contains("check the region, the network, and --endpoint-url"), "{ran:?}");
    }
    // It was tried twice and not more: each attempt has a connection of its own.
    silent.set_nonblocking(true).expect("it can be set");
    let asked = std::iter::from_fn(|| silent.accept().ok()).count();
    assert_eq!(asked, 2);
    assert_eq!(group(&account), "3 (min 0, max 3)");
}

/// The words of a text, however it is wrapped.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_read_that_iam_denies_is_named_with_the_statement_that_allows_it() {
    let denied = ["--aws-deny", "autoscaling:DescribeAutoScalingInstances"];
    let account = Account::served_with("roll-aws-blind", &snapshot("group"), ("group", 20), &denied);
    let file = plan("roll-aws-blind/plan.yaml", SPEC);
    for more in [&["--yes"][..], &["--dry-run"]] {
        let ran = account.run(&[&["roll", "-f", &file], more, GROUPED].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let told = flat(&ran.stderr);
        assert!(told.contains("autoscaling:DescribeAutoScalingInstances: AccessDenied"), "{told}");
        assert!(told.contains(r#""Action": ["autoscaling:DescribeAutoScalingInstances"]"#), "{told}");
    }
    assert_eq!(group(&account), "3 (min 0, max 3)");
    assert!(nodes(&account).iter().all(|node| node["spec"]["unschedulable"].is_null()));
}

#[test]
fn a_write_that_iam_denies_is_named_with_the_statement_that_allows_it() {
    let denied = ["--aws-deny", "autoscaling:CreateOrUpdateTags"];
    let account = Account::served_with("roll-aws-may-not", &snapshot("group"), ("group", 60), &denied);
    let file = plan("roll-aws-may-not/plan.yaml", SPEC);
    let mut call = account.call(&[&["roll", "-f", &file, "--yes"], GROUPED].concat());
    call.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = call.spawn().expect("it runs");
    let mut told = String::new();
    // It waits for somebody to allow it, so it is ended here.
    for line in BufReader::new(child.stderr.take().expect("it has one")).lines() {
        told += &(line.expect("it is text") + "\n");
        if told.contains("\"Effect\"") {
            break;
        }
    }
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    let told = flat(&told);
    assert!(told.contains("autoscaling:CreateOrUpdateTags: AccessDenied"), "{told}");
    assert!(told.contains(r#""Action": ["autoscaling:CreateOrUpdateTags"]"#), "{told}");
    assert_eq!(group(&account), "3 (min 0, max 3)");
    assert!(nodes(&account).iter().all(|node| node["spec"]["unschedulable"].is_null()));
}

#[test]
fn overrides_with_a_launch_template_of_their_own_are_refused_before_anything_starts() {
    let account = Account::served("roll-aws-overrides", &snapshot("group"), "group");
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
    let id = answer.split_once("<LaunchTemplateId>").expect("it has one").1;
    let id = id.split('<').next().expect("it ends");
    account
        .ec2("CreateLaunchTemplate", "&LaunchTemplateName=other&LaunchTemplateData.InstanceType=m6g.large");
    let policy = "&MixedInstancesPolicy.LaunchTemplate";
    let overrides = format!("{policy}.Overrides.member");
    account.auto_scaling(
        "UpdateAutoScalingGroup",
        &format!("&AutoScalingGroupName=web{policy}.LaunchTemplateSpecification.LaunchTemplateId={id}{policy}.LaunchTemplateSpecification.Version=1{overrides}.1.InstanceType=m6i.large{overrides}.2.InstanceType=m6g.large{overrides}.2.LaunchTemplateSpecification.LaunchTemplateName=other{overrides}.2.LaunchTemplateSpecification.Version=1"),
    );
    let file = plan("roll-aws-overrides/plan.yaml", SPEC);
    for more in [&["--yes"][..], &["--dry-run"]] {
        let ran = account.run(&[&["roll", "-f", &file], more, GROUPED].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let told = flat(&ran.stderr);
        assert!(told.contains("would be like the old ones: m6g.large"), "{told}");
        assert!(
            told.contains(
                "remove LaunchTemplateSpecification from these overrides of Auto Scaling group web"
            ),
            "{told}"
        );
    }
    assert_eq!(group(&account), "3 (min 0, max 3)");
    assert!(nodes(&account).iter().all(|node| node["spec"]["unschedulable"].is_null()));
    // Where like is replaced with like, nothing is in the way.
    let same = plan("roll-aws-overrides/same.yaml", "groups: [web]");
    let ran = account.run(&[&["roll", "-f", &same, "--dry-run"], GROUPED].concat());
    assert!(!ran.stderr.contains("overrides"), "{ran:?}");
    assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
}
