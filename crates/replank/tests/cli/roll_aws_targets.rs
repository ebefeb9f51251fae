//! `replank roll` on a served AWS account whose instances are in a target group of a load balancer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::aws_account::{Account, list};
use super::common::{Ran, plan};
use super::roll_aws_live::{begin, element, nodes, snapshot, wait};

/// Sixty times as fast, first health checks take 0.1 to 0.6 s: too soon to see that anybody waits.
const SPEED: u32 = 10;
const ARN: &str = "arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/web/73e2d6bc24d8a067";
const OLD: [&str; 3] = ["i-00000000000000001", "i-00000000000000002", "i-00000000000000003"];
const ROLL: [&str; 3] = ["--yes", "--group-label", "group"];

/// The account's cluster, with a Service that the AWS Load Balancer Controller has put behind a target group of nodes.
fn bound() -> Value {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "selector": {"app": "shop"}, "ports": [{"port": 80, "nodePort": 30080}]}});
    let names = json!({"plural": "targetgroupbindings", "singular": "targetgroupbinding", "kind": "TargetGroupBinding", "listKind": "TargetGroupBindingList"});
    let any = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "targetgroupbindings.elbv2.k8s.aws"},
        "spec": {"group": "elbv2.k8s.aws", "names": names, "scope": "Namespaced",
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": any}]}});
    let binding = json!({"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "TargetGroupBinding", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"targetGroupARN": ARN, "targetType": "instance", "serviceRef": {"name": "shop", "port": 80}}});
    let objects = snapshot("group")["items"].as_array().expect("a list").clone();
    let is_own = |one: &Value| one["kind"] != "Namespace";
    list(objects.into_iter().filter(is_own).chain([service, definition, binding]))
}

fn ready(account: &Account) {
    wait(account, "all pods are Ready", |account| {
        let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
        budget["status"]["currentHealthy"] == 6 && budget["status"]["disruptionsAllowed"] == 1
    });
}

/// The same as an account whose pods are Ready; targets drain for so many seconds.
fn balanced(folder: &str, seconds: u32) -> Account {
    let account = Account::served_at(folder, &bound(), "group", SPEED);
    ready(&account);
    let key = "&Attributes.member.1.Key=deregistration_delay.timeout_seconds";
    let value = format!("&Attributes.member.1.Value={seconds}");
    account.elb("ModifyTargetGroupAttributes", &format!("&TargetGroupArn={ARN}{key}{value}"));
    account
}

/// Instances in the target group, with their states.
fn targets(account: &Account) -> BTreeMap<String, String> {
    let answer = account.elb("DescribeTargetHealth", &format!("&TargetGroupArn={ARN}"));
    let all = answer.split("<Target>").skip(1);
    all.map(|one| (element(one, "Id").to_owned(), element(one, "State").to_owned())).collect()
}

/// Instances of the group that run, with their states there.
fn members(account: &Account) -> BTreeSet<String> {
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=web");
    let all = answer.split("<InstanceId>").skip(1);
    all.filter_map(|one| one.split('<').next()).map(str::to_owned).collect()
}

/// What was seen of old instances while a run went on.
#[derive(Debug, Default)]
struct Seen {
    /// Those that drained while the group still had them.
    drained: BTreeSet<String>,
    /// Those that left the group while they were in the target group.
    early: BTreeSet<String>,
}

/// Looks until a run ends.
fn looked(account: &Account, mut child: Child) -> (Ran, Seen) {
    let mut seen = Seen::default();
    while child.try_wait().expect("it can be asked").is_none() {
        // Members first: one that has left by then had left the target group before, or it is too early.
        let (members, targets) = (members(account), targets(account));
        for id in OLD {
            let is_member = members.contains(id);
            let list = match targets.get(id).map(String::as_str) {
                Some("draining") if is_member => &mut seen.drained,
                Some("healthy" | "draining") if !is_member => &mut seen.early,
                Some(_) | None => continue,
            };
            list.insert(id.to_owned());
        }
        thread::sleep(Duration::from_millis(50));
    }
    (child.wait_with_output().expect("it has ended").into(), seen)
}

/// A journal, by its name.
fn journal(folder: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder).join("rolled.jsonl");
    drop(std::fs::remove_file(&file));
    file
}

fn lines(journal: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(journal).expect("it is there");
    text.lines().map(str::to_owned).collect()
}

/// Whether a line tells that a new node is waited for until it is healthy.
fn waits(line: &str) -> bool {
    line.contains("\"targetHealth\"")
}

/// Whether it tells that a pod is to be evicted.
fn evicts(line: &str) -> bool {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    line["what"]["sent"]["command"]["effect"].to_string().contains("\"evict\"")
}

#[test]
fn nothing_is_drained_before_the_new_node_is_healthy_and_nothing_is_ended_before_it_is_deregistered() {
    let folder = "roll-aws-targets";
    let account = balanced(folder, 3);
    assert_eq!(targets(&account), OLD.map(|id| (id.to_owned(), "healthy".to_owned())).into());
    let spec = "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}, loadBalancer: {exclude: true, deregistrationDelay: 1s}";
    let file = plan(&format!("{folder}/plan.yaml"), spec);
    let journal = journal(folder);
    let written = journal.to_str().expect("it is text");
    let child = begin(&account, &[&["roll", "-f", &file, "--journal", written], &ROLL[..]].concat());
    let (ran, seen) = looked(&account, child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let old: BTreeSet<String> = OLD.map(str::to_owned).into();
    assert_eq!(seen.early, BTreeSet::new(), "{ran:?}");
    assert_eq!(seen.drained, old, "{ran:?}");
    // It was waited for, in these words; and the first eviction came after it.
    let lines = lines(&journal);
    let [waited, evicted] = [waits, evicts].map(|is_it| lines.iter().position(|line| is_it(line)));
    assert!(waited.is_some() && evicted.is_some() && waited < evicted, "{waited:?} {evicted:?}: {ran:?}");
    wait(&account, "the old nodes are gone", |account| nodes(account).0.len() == 3 && !nodes(account).2);
    let left = targets(&account);
    assert!(left.len() == 3 && left.values().all(|state| state == "healthy"), "{left:?}");
    assert!(left.keys().all(|id| !old.contains(id)), "{left:?}");
}

#[test]
fn new_nodes_that_stay_unhealthy_are_waited_for_and_nothing_is_drained() {
    let folder = "roll-aws-targets-unhealthy";
    let account = balanced(folder, 3);
    super::handle_aws::befalls(&account, "new targets of group web stay unhealthy");
    let file = plan(
        &format!("{folder}/plan.yaml"),
        "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}",
    );
    let journal = journal(folder);
    let written = journal.to_str().expect("it is text");
    let mut child = begin(&account, &[&["roll", "-f", &file, "--journal", written], &ROLL[..]].concat());
    wait(&account, "a new instance fails its checks", |account| {
        targets(account).iter().any(|(id, state)| !OLD.contains(&&**id) && state == "unhealthy")
    });
    // Longer than any step takes: the old ones are still all there, and every pod where it was.
    thread::sleep(Duration::from_secs(8));
    assert!(child.try_wait().expect("it can be asked").is_none());
    let found = targets(&account);
    assert!(OLD.iter().all(|id| found.get(*id).is_some_and(|state| state == "healthy")), "{found:?}");
    let all = account.get("/api/v1/nodes");
    let cordoned =
        all["items"].as_array().expect("a list").iter().filter(|node| node["spec"]["unschedulable"] == true);
    assert_eq!(cordoned.count(), 0);
    child.kill().expect("it can be ended");
    let ran: Ran = child.wait_with_output().expect("it has ended").into();
    let lines = lines(&journal);
    assert!(lines.iter().any(|line| waits(line)) && !lines.iter().any(|line| evicts(line)), "{ran:?}");
}

#[test]
fn without_target_groups_elastic_load_balancing_is_not_asked() {
    // Whoever asks is told so: every call is refused.
    let deny = ["DescribeTargetGroups", "DescribeTargetHealth", "DescribeTargetGroupAttributes"];
    let deny: Vec<String> = deny
        .iter()
        .flat_map(|action| ["--aws-deny".to_owned(), format!("elasticloadbalancing:{action}")])
        .collect();
    let deny: Vec<&str> = deny.iter().map(String::as_str).collect();
    let spec = "groups: [web], target: {kubernetesVersion: '1.36'}";
    let without = Account::served_with("roll-aws-no-targets", &snapshot("group"), ("group", 60), &deny);
    let file = plan("roll-aws-no-targets/plan.yaml", spec);
    ready(&without);
    let ran = without.run(&[&["roll", "-f", &file], &ROLL[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // With one it is, before anything changes, and what is missing is said.
    let with = Account::served_with("roll-aws-denied-targets", &bound(), ("group", 60), &deny);
    let ran = with.run(&[&["roll", "-f", &file], &ROLL[..]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("elasticloadbalancing:DescribeTargetGroups: AccessDenied"), "{ran:?}");
    assert!(flat.contains("\"Action\": [\"elasticloadbalancing:DescribeTargetGroups\"]"), "{ran:?}");
    assert_eq!(members(&with), OLD.map(str::to_owned).into());
}
