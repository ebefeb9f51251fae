//! `replank roll` on a served AWS account while a Job's pod runs: somebody who lowers the group's size does not end its instance.

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::plan;
use super::roll_aws_live::{begin, begun, element, nodes, wait};

const SPEC: &str =
    "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, batch: {wait: 4h}";
const NODE: &str = "ip-10-0-0-2.eu-west-1.compute.internal";
const INSTANCE: &str = "i-00000000000000002";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// A Job whose pod runs on one node until it is deleted.
fn crunch(account: &Account) {
    let container =
        json!({"name": "crunch", "image": "crunch:1", "resources": {"requests": {"cpu": "200m"}}});
    let template = json!({"metadata": {"annotations": {"fakekubelet/run-seconds": "864000"}}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container],
        "nodeSelector": {"kubernetes.io/hostname": NODE}}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "crunch", "namespace": "default"},
        "spec": {"template": template}});
    account.create(JOBS, &job);
    wait(account, "the Job's pod runs", is_crunching);
}

fn is_crunching(account: &Account) -> bool {
    let pods = account.get("/api/v1/namespaces/default/pods?labelSelector=job-name%3Dcrunch");
    let pods = pods["items"].as_array().expect("a list");
    let runs = |pod: &&Value| {
        pod["status"]["phase"] == "Running"
            && pod["spec"]["nodeName"] == NODE
            && pod["metadata"]["deletionTimestamp"].is_null()
    };
    pods.iter().filter(runs).count() == 1
}

/// The work is over.
fn over(account: &Account) {
    account.delete(&format!("{JOBS}/crunch?propagationPolicy=Background"));
}

/// What the group's instances are: each with its state, and whether it is protected.
fn members(account: &Account) -> Vec<(String, String, bool)> {
    let answer = account.auto_scaling("DescribeAutoScalingInstances", "");
    let all = answer.split("<InstanceId>").skip(1);
    let text = |one: &str, name: &str| element(one, name).to_owned();
    all.map(|one| {
        // Names come in any order: the parts before belong to the one before.
        let id = one.split('<').next().unwrap_or_default().to_owned();
        let own =
            account.auto_scaling("DescribeAutoScalingInstances", &format!("&InstanceIds.member.1={id}"));
        (id, text(&own, "LifecycleState"), text(&own, "ProtectedFromScaleIn") == "true")
    })
    .collect()
}

fn protected(account: &Account) -> Vec<String> {
    members(account).into_iter().filter(|(_, _, is_protected)| *is_protected).map(|(id, ..)| id).collect()
}

fn tags(account: &Account) -> Vec<String> {
    let answer = account.auto_scaling("DescribeTags", "");
    let keys = answer.split("<Key>").skip(1).filter_map(|one| one.split('<').next());
    keys.filter(|key| key.starts_with("replank.dev/")).map(str::to_owned).collect()
}

fn size(account: &Account) -> [String; 3] {
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
    ["DesiredCapacity", "MinSize", "MaxSize"].map(|name| element(&answer, name).to_owned())
}

/// Whether all nodes but that of the Job are replaced, and nothing else is under way.
fn waits_for_batch_only(account: &Account) -> bool {
    let all = account.get("/api/v1/nodes");
    let all = all["items"].as_array().expect("a list");
    let old: Vec<&Value> = all
        .iter()
        .filter(|node| {
            let kubelet = node["status"]["nodeInfo"]["kubeletVersion"].as_str();
            kubelet.is_some_and(|kubelet| kubelet.starts_with("v1.35."))
        })
        .collect();
    let in_service = members(account).iter().filter(|(_, state, _)| state == "InService").count();
    old.len() == 1 && old[0]["metadata"]["name"] == NODE && all.len() == 3 && in_service == 3
}

#[test]
fn a_lower_size_does_not_end_the_instance_of_a_batch_pod() {
    let folder = "roll-aws-protected";
    let account = begun(folder, "group");
    crunch(&account);
    let file = plan(&format!("{folder}/plan.yaml"), SPEC);
    let call = ["roll", "-f", &file, "--yes", "--group-label", "group", "-o", "json"];
    let child = begin(&account, &call);
    wait(&account, "only the Job is waited for", waits_for_batch_only);
    assert_eq!(protected(&account), [INSTANCE]);
    assert!(tags(&account).contains(&format!("replank.dev/protected-{INSTANCE}")), "{:?}", tags(&account));
    // By its default, Auto Scaling ends what was made from the oldest launch template: the instance of the Job.
    account.auto_scaling("SetDesiredCapacity", "&AutoScalingGroupName=web&DesiredCapacity=2");
    wait(&account, "the group is smaller", |account| members(account).len() == 2);
    let left = members(&account);
    assert!(left.iter().any(|(id, state, _)| id == INSTANCE && state == "InService"), "{left:?}");
    assert!(is_crunching(&account), "the Job goes on");
    over(&account);
    let ran: super::common::Ran = child.wait_with_output().expect("it ends").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    super::schemas::hold(&call, &ran.stdout);
    let at = |words: &str| ran.stdout.find(words).unwrap_or_else(|| panic!("{words}: {ran:?}"));
    let begins = at(&format!("protecting instance {INSTANCE} of group web from scale-in"));
    let ends = at(&format!("no longer protecting instance {INSTANCE} of group web from scale-in"));
    assert!(begins < ends && ends < at(&format!("terminating instance {INSTANCE}")), "{ran:?}");
    assert_eq!(size(&account), ["3", "0", "3"], "{ran:?}");
    assert_eq!((protected(&account), tags(&account)), (Vec::new(), Vec::new()), "{ran:?}");
    wait(&account, "the old node is gone", |account| nodes(account).0.len() == 3 && !nodes(account).2);
}

#[test]
fn a_process_that_goes_on_ends_the_protection_that_was_set_and_no_other() {
    let folder = "roll-aws-protected-killed";
    let account = begun(folder, "group");
    crunch(&account);
    let file = plan(&format!("{folder}/plan.yaml"), SPEC);
    let mut child = begin(&account, &["roll", "-f", &file, "--yes", "--group-label", "group"]);
    wait(&account, "only the Job is waited for", waits_for_batch_only);
    assert_eq!(protected(&account), [INSTANCE]);
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    // What the dead process had protected stays so until somebody goes on; and somebody protects another.
    let other = members(&account).into_iter().map(|(id, ..)| id).find(|id| id != INSTANCE).expect("new ones");
    account.auto_scaling(
        "SetInstanceProtection",
        &format!("&AutoScalingGroupName=web&InstanceIds.member.1={other}&ProtectedFromScaleIn=true"),
    );
    let mut both = [INSTANCE.to_owned(), other.clone()];
    both.sort();
    let mut found = protected(&account);
    found.sort();
    assert_eq!(found, both);
    over(&account);
    let ran = account.run(&["roll", "resume"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(&format!("no longer protecting instance {INSTANCE}")), "{ran:?}");
    assert!(!ran.stdout.contains(&other), "{ran:?}");
    assert_eq!((protected(&account), tags(&account)), (vec![other], Vec::new()), "{ran:?}");
    assert_eq!(size(&account), ["3", "0", "3"], "{ran:?}");
    let (_, ended) = account.heard();
    assert_eq!(ended.iter().filter(|id| **id == INSTANCE).count(), 1, "{ended:?}");
}
