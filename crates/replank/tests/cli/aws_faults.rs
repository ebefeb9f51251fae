//! `replank cluster faults` on a served AWS account: what goes wrong between it and who calls it, as AWS' services say it.

use serde_json::{Value, json};

use super::aws_account::{Account, list, nodes_of};
use super::handle_aws::befalls;
use super::roll_aws_live::{element, wait};

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

fn auto_scaling(account: &Account, action: &str, parameters: &str) -> String {
    let body = format!("Action={action}&Version=2011-01-01{parameters}");
    account.exchanged("autoscaling", "POST", "/", &FORM, &body)
}

fn max_size(account: &Account) -> String {
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
    element(&answer, "MaxSize").to_owned()
}

fn clear(account: &Account) {
    let ran = account.run(&["cluster", "faults", "clear"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn calls_are_refused_and_lost_as_is_asked_for() {
    let account = Account::served("aws-faults-calls", &list(nodes_of("group")), "group");
    let update = |max: u32| {
        auto_scaling(&account, "UpdateAutoScalingGroup", &format!("&AutoScalingGroupName=web&MaxSize={max}"))
    };
    befalls(&account, "aws throttles the next 1 calls of autoscaling:UpdateAutoScalingGroup");
    let throttled = update(7);
    assert!(
        throttled.starts_with("HTTP/1.1 400") && throttled.contains("<Code>Throttling</Code>"),
        "{throttled}"
    );
    assert_eq!(max_size(&account), "3", "nothing was done");
    befalls(&account, "aws loses the next 1 requests of writes");
    assert_eq!(update(7), "", "the connection ends");
    assert_eq!(max_size(&account), "3", "nothing was done");
    befalls(&account, "aws loses the next 1 answers of autoscaling");
    assert_eq!(update(8), "", "the connection ends");
    assert_eq!(max_size(&account), "8", "it was done");
    befalls(&account, "aws fails the next 1 calls of any");
    let failed = update(9);
    assert!(failed.starts_with("HTTP/1.1 50") && failed.contains("<Type>Receiver</Type>"), "{failed}");
    assert_eq!(max_size(&account), "8", "nothing was done");
    befalls(&account, "aws credentials expire");
    let expired = auto_scaling(&account, "DescribeAutoScalingGroups", "");
    assert!(
        expired.starts_with("HTTP/1.1 403") && expired.contains("<Code>ExpiredToken</Code>"),
        "{expired}"
    );
    let of_ec2 = account.exchanged("ec2", "POST", "/", &FORM, "Action=DescribeInstances&Version=2016-11-15");
    assert!(of_ec2.starts_with("HTTP/1.1 400") && of_ec2.contains("<Code>RequestExpired</Code>"), "{of_ec2}");
    let path = "/clusters/rehearsal";
    let of_eks = account.exchanged("eks", "GET", path, &[("content-type", "application/json")], "");
    assert!(of_eks.starts_with("HTTP/1.1 403") && of_eks.contains("ExpiredTokenException"), "{of_eks}");
    let listed = account.run(&["cluster", "faults", "list"]);
    assert!(listed.stdout.contains("aws credentials expire (started"), "{listed:?}");
    assert!(listed.stdout.contains("aws loses one answer in COUNT of CALLS"), "{listed:?}");
    clear(&account);
    assert_eq!(max_size(&account), "8", "they are accepted again");
    befalls(&account, "aws throttles one call in 1 of eks:DescribeCluster");
    let throttled = account.exchanged("eks", "GET", path, &[("content-type", "application/json")], "");
    assert!(throttled.starts_with("HTTP/1.1 429"), "{throttled}");
    clear(&account);
    assert_eq!(account.eks("GET", path, &Value::Null)["cluster"]["status"], "ACTIVE");
    for words in ["aws loses the next 1 answers of s3", "aws sleeps", "aws fails one call in x of any"] {
        let words: Vec<&str> = words.split(' ').collect();
        let ran = account.run(&[&["cluster", "faults", "start"][..], &words].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}

#[test]
fn instances_are_shown_late_and_messages_come_twice_or_late() {
    let account = Account::served("aws-faults-late", &list(nodes_of("group")), "group");
    befalls(&account, "aws shows new instances after 1h");
    account.auto_scaling("UpdateAutoScalingGroup", "&AutoScalingGroupName=web&MaxSize=4&DesiredCapacity=4");
    let count = |answer: &str| answer.matches("<instanceId>").count();
    let of_group = |account: &Account| {
        let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
        answer.matches("<InstanceId>").count()
    };
    wait(&account, "the group has new instances", |account| of_group(account) >= 4);
    assert_eq!(count(&account.ec2("DescribeInstances", "")), 3, "EC2 does not show them");
    clear(&account);
    assert!(count(&account.ec2("DescribeInstances", "")) >= 4, "now it does");

    let made = account.json("sqs", "AmazonSQS.CreateQueue", &json!({"QueueName": "q"}));
    let url = made["QueueUrl"].as_str().expect("it has one").to_owned();
    let receive = || {
        let asked = json!({"QueueUrl": url, "MaxNumberOfMessages": 10});
        let answer = account.json("sqs", "AmazonSQS.ReceiveMessage", &asked);
        let all = answer["Messages"].as_array().cloned().unwrap_or_default();
        for one in &all {
            let gone = json!({"QueueUrl": url, "ReceiptHandle": one["ReceiptHandle"]});
            account.json("sqs", "AmazonSQS.DeleteMessage", &gone);
        }
        all.iter().map(|one| one["Body"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let send = |body: &str| {
        account.json("sqs", "AmazonSQS.SendMessage", &json!({"QueueUrl": url, "MessageBody": body}));
    };
    befalls(&account, "queue delivers one message in 1 late by 4s");
    send("late");
    clear(&account);
    send("soon");
    assert_eq!(receive(), ["soon"]);
    wait(&account, "the late one comes", |_| receive() == ["late"]);
    befalls(&account, "queue delivers one message in 1 twice");
    send("twice");
    clear(&account);
    assert_eq!(receive(), ["twice"]);
    wait(&account, "it comes again, although it was deleted", |_| receive() == ["twice"]);
    assert!(receive().is_empty());
}
