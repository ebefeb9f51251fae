//! Files of an account: what they say is judged, and what none of them says is said to be missing.

use std::path::Path;

use serde_json::{Value, json};

use super::common::{Ran, replank, root, scratch};

const NETWORK: &str = "examples/questions/network";
const TERMINATION: &str = "examples/termination";

/// A directory with copies of an example's files; `change` alters one, or leaves it out.
fn copied(name: &str, from: &str, change: impl Fn(&str, Value) -> Option<Value>) -> String {
    // What an earlier test run left is not read.
    let first = scratch(&format!("{name}/none.json"), "{}");
    let directory = Path::new(&first).parent().expect("a directory").to_owned();
    std::fs::remove_dir_all(&directory).expect("it is there");
    for entry in std::fs::read_dir(root().join(from)).expect("the example") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let value = serde_json::from_slice(&std::fs::read(&path).expect("text")).expect("JSON");
        if let Some(value) = change(file, value) {
            scratch(&format!("{name}/{file}"), value.to_string());
        }
    }
    directory.to_str().expect("text").to_owned()
}

/// A command on the example of two groups.
fn network(verb: &str, aws: &str, more: &[&str]) -> Ran {
    let (cluster, plan) = (format!("{NETWORK}/cluster.yaml"), format!("{NETWORK}/plan.yaml"));
    replank(&[&[verb, &*cluster, "-f", &*plan, "--aws", aws, "-o", "json"][..], more].concat())
}

fn found(result: &Value, id: &str) -> Vec<String> {
    let findings = result["findings"].as_array().expect("findings");
    let of_rule = findings.iter().filter(|finding| finding["id"] == id);
    of_rule.map(|finding| finding["reason"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn without_the_launch_templates_nothing_is_compared_and_the_report_is_incomplete() {
    let aws = copied("check-aws/templates", &format!("{NETWORK}/aws"), |file, value| {
        (file != "templates.json").then_some(value)
    });
    for verb in ["check", "rehearse"] {
        let ran = network(verb, &aws, &[]);
        assert_eq!(ran.code, Some(6), "{verb}");
        let result = ran.json();
        assert_eq!(found(&result, "group-parity"), [""; 0]);
        let commands: Vec<&str> = result["coverage"]["aws"]
            .as_array()
            .expect("what is missing")
            .iter()
            .filter_map(|one| one["command"].as_str())
            .collect();
        assert_eq!(
            commands,
            [
                "aws ec2 describe-launch-template-versions --launch-template-id lt-0a1 --output json",
                "aws ec2 describe-launch-template-versions --launch-template-id lt-0b2 --output json",
            ]
        );
        let accepted = network(verb, &aws, &["--allow-incomplete", "aws"]);
        assert_ne!(accepted.code, Some(6), "{verb}");
    }
}

#[test]
fn a_security_group_that_no_file_describes_lacks_no_rule() {
    let own = |described: bool| {
        let name = if described { "check-aws/described" } else { "check-aws/undescribed" };
        let aws = copied(name, &format!("{NETWORK}/aws"), |file, mut value| {
            match file {
                // The new group has the cluster's, as its launch template names none.
                "templates.json" => value["LaunchTemplateVersions"][1]["LaunchTemplateData"] = json!({}),
                "security-groups.json" => {
                    let groups = value["SecurityGroups"].as_array_mut().expect("a list");
                    groups.retain(|group| group["GroupId"] != "sg-webnew");
                    if described {
                        groups.push(json!({"GroupId": "sg-cluster", "GroupName": "cluster"}));
                    }
                }
                _ => {}
            }
            Some(value)
        });
        let cluster = json!({"cluster": {"resourcesVpcConfig": {"clusterSecurityGroupId": "sg-cluster"}}});
        std::fs::write(Path::new(&aws).join("cluster.json"), cluster.to_string()).expect("written");
        network("check", &aws, &["--only", "group-parity"])
    };
    let is_accused = |ran: &Ran| {
        let all = found(&ran.json(), "group-parity");
        all.iter().any(|reason| reason.contains("may not send") || reason.contains("do not let in"))
    };
    let unknown = own(false);
    assert!(!is_accused(&unknown), "{}", unknown.stdout);
    assert_eq!(unknown.code, Some(6));
    assert!(unknown.stdout.contains("sg-cluster: its rules are not compared"), "{}", unknown.stdout);
    let known = own(true);
    assert!(is_accused(&known), "{}", known.stdout);
    assert_eq!(known.code, Some(3));
}

#[test]
fn a_folder_without_an_answer_is_told_all_commands() {
    let file = scratch("check-aws/useless/notes.json", "{}");
    let directory = Path::new(&file).parent().expect("a directory").to_str().expect("text").to_owned();
    let ran = network("check", &directory, &[]);
    assert_eq!(ran.code, Some(2));
    for command in [
        "autoscaling describe-auto-scaling-groups",
        "ec2 describe-launch-template-versions",
        "ec2 describe-security-groups",
        "eks describe-cluster",
        "autoscaling describe-lifecycle-hooks",
        "events list-rules",
        "events list-rule-names-by-target",
        "sqs get-queue-attributes",
    ] {
        let stderr = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains(command), "{command}: {stderr}");
    }
}

#[test]
fn a_rehearsal_has_the_findings_of_an_account() {
    let aws = format!("{NETWORK}/aws");
    let checked = network("check", &aws, &[]);
    let rehearsed = network("rehearse", &aws, &[]);
    let reasons = found(&rehearsed.json(), "group-parity");
    assert_eq!(reasons, found(&checked.json(), "group-parity"));
    assert!(reasons[0].contains("tcp 5432 to sg-db (database)"), "{reasons:?}");
    assert_eq!(rehearsed.json()["verdict"], "findings");
    let (cluster, plan) = (format!("{NETWORK}/cluster.yaml"), format!("{NETWORK}/plan.yaml"));
    let plain = replank(&["rehearse", &cluster, "-f", &plan, "-o", "json"]).json();
    assert_eq!(found(&plain, "group-parity"), [""; 0]);
    assert_eq!(plain["traceHash"], rehearsed.json()["traceHash"], "the rehearsal itself is the same");
}

#[test]
fn a_rule_that_needs_more_than_the_cluster_is_not_passed_over() {
    let cluster = format!("{TERMINATION}/cluster.yaml");
    for (rule, flag) in [("termination-setup", "--aws DIR"), ("managed-update", "--managed-update")] {
        let ran = replank(&["check", &cluster, "--only", &format!("no-room,{rule}")]);
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
        assert!(
            ran.stderr.contains(&format!("the rule {rule} is not checked without {flag}")),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn an_account_put_right_has_no_finding_and_each_fault_of_the_queue_one() {
    let check = |aws: &str| {
        let cluster = format!("{TERMINATION}/corrected/cluster.yaml");
        replank(&["check", &cluster, "--aws", aws, "--only", "termination-setup", "-o", "json"])
    };
    let right = check(&format!("{TERMINATION}/corrected/aws"));
    assert_eq!(found(&right.json(), "termination-setup"), [""; 0]);
    assert_eq!(right.code, Some(0));
    let aws = copied("check-aws/dead-letters", &format!("{TERMINATION}/corrected/aws"), |file, mut value| {
        if file == "queue.json" {
            value["Attributes"]["RedrivePolicy"] = json!(json!({"maxReceiveCount": 3}).to_string());
        }
        Some(value)
    });
    let wrong = found(&check(&aws).json(), "termination-setup");
    assert!(wrong.len() == 1 && wrong[0].contains("dead-letter queue after 3 receipts"), "{wrong:?}");
    let aws = copied("check-aws/no-rules", &format!("{TERMINATION}/corrected/aws"), |file, value| {
        (file != "rules.json").then_some(value)
    });
    let ran = check(&aws);
    assert_eq!(ran.code, Some(6), "{}", ran.stdout);
    assert!(ran.stdout.contains("aws events list-rules --output json"), "{}", ran.stdout);
}
