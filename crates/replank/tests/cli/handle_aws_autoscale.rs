//! `replank handle --autoscale` on a served AWS account: interruptions and the number of nodes, by one process and within one budget.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::autoscale_aws::{
    DEPLOYMENTS, bounds, cluster_autoscaler, desired, is_held, placed, replicas, spare,
};
use super::aws_account::Account;
use super::common::{Ran, plan};
use super::handle_aws::{befalls, hook, left, queue};
use super::roll_aws_live::{begin, begun, nodes, wait};

const NODE: &str = "ip-10-0-0-2.eu-west-1.compute.internal";
const OTHER: &str = "ip-10-0-0-3.eu-west-1.compute.internal";
const INSTANCES: [&str; 2] = ["i-00000000000000002", "i-00000000000000003"];
/// What has nothing to do for so long is over.
const IDLE: &str = "25s";
const FOUND: &str = "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled";
/// Groups are looked up once a minute.
const LOOKED_UP: Duration = Duration::from_secs(90);

/// Lines of a process, from both of its outputs, as they come.
struct Told {
    lines: Receiver<String>,
    all: String,
}

impl Told {
    fn by(child: &mut Child) -> Self {
        let (send, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("it has an output")),
            Box::new(child.stderr.take().expect("it has another")),
        ];
        for output in outputs {
            let send = send.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    drop(send.send(line));
                }
            });
        }
        Self { lines, all: String::new() }
    }

    /// Reads on until a line has these words.
    fn until(&mut self, words: &str) {
        loop {
            let line = self.lines.recv_timeout(LOOKED_UP);
            let line = line.unwrap_or_else(|why| panic!("{words}: {why}\n{}", self.all));
            self.all += &line;
            self.all.push('\n');
            if line.contains(words) {
                return;
            }
        }
    }

    /// Reads to the end.
    fn rest(mut self) -> String {
        for line in self.lines {
            self.all += &(line + "\n");
        }
        self.all
    }
}

fn leases(account: &Account) -> String {
    let all = account.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
    let held = all["items"].as_array().expect("a list").iter().filter(|lease| {
        let name = lease["metadata"]["name"].as_str().unwrap_or_default();
        name.starts_with("replank-")
            && lease["spec"]["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty())
    });
    held.map(|lease| lease["metadata"]["name"].to_string()).collect()
}

#[test]
fn interruptions_and_pending_pods_are_handled_by_one_process() {
    let account = begun("handle-autoscale", "group");
    let url = queue(&account);
    hook(&account, "replank-drain", 300);
    bounds(&account, "web", 0, 8);
    let scales = format!("--autoscale={FOUND} --scale-down-enabled=false");
    let mut child = begin(&account, &["handle", "--queue-url", &url, &scales, "--idle", "80s"]);
    let mut told = Told::by(&mut child);
    told.until("1 group scaled besides");
    wait(&account, "it holds both Leases", |account| {
        is_held(account) && leases(account).contains("replank-handle")
    });
    befalls(&account, &format!("spot instance {NODE} is taken back"));
    told.until(&format!("node/{NODE} drained"));
    // Another group gets the tag: everything is read anew, and messages are handled as before.
    spare(&account);
    told.until("everything is read anew");
    told.until("2 groups scaled besides");
    befalls(&account, &format!("spot instance {OTHER} is taken back"));
    told.until(&format!("node/{OTHER} drained"));
    wait(&account, "instances were replaced", |account| {
        let (providers, _, is_left) = nodes(account);
        let is_old = |one: &String| INSTANCES.iter().any(|id| one.ends_with(id));
        providers.len() == 3 && !is_left && !providers.iter().any(is_old)
    });
    replicas(&account, 40);
    told.until("adding");
    let all = told.rest();
    assert_eq!(child.wait().expect("it has ended").code(), Some(0), "{all}");
    assert_eq!(placed(&account), 40, "{all}");
    let (launched, mut ended) = account.heard();
    ended.sort_unstable();
    assert_eq!(ended, INSTANCES.map(str::to_owned), "{all}");
    assert_eq!(all.matches("replacing instance").count(), 2, "{all}");
    // One of the larger type, or two of the other.
    let said = match launched.len() {
        3 => "2 nodes interrupted, 2 drained; 1 node added, 0 removed, 0 pods evicted",
        4 => "2 nodes interrupted, 2 drained; 2 nodes added, 0 removed, 0 pods evicted",
        other => panic!("{other} launched: {all}"),
    };
    assert!(all.contains(said), "{all}");
    assert_eq!((left(&account, &url), leases(&account)), (0, String::new()), "{all}");
    assert!(!nodes(&account).2, "nothing of ours is left: {all}");
}

#[test]
fn a_node_that_is_not_needed_goes_beside_an_interruption_within_one_budget() {
    let account = begun("handle-autoscale-down", "group");
    let url = queue(&account);
    hook(&account, "replank-drain", 300);
    bounds(&account, "web", 2, 6);
    befalls(&account, &format!("spot instance {NODE} is taken back"));
    let scales =
        format!("--autoscale={FOUND} --scale-down-unneeded-time=10s --scale-down-delay-after-add=0s");
    let ran = account.run(&["handle", "--queue-url", &url, &scales, "--idle", IDLE, "-o", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("an event per line")).collect();
    let ends = events.iter().filter(|event| event["event"] == "terminating" && event["group"] == "web");
    assert_eq!(ends.count(), 1, "{ran:?}");
    let end = events.last().expect("it ends");
    assert_eq!((&end["nodes"], &end["drained"], &end["lost"]), (&json!(1), &json!(1), &json!(0)), "{end}");
    assert_eq!(end["scaled"]["removed"], json!(1), "{end}");
    assert_eq!(desired(&account, "web"), "2", "{ran:?}");
    let (launched, ended) = account.heard();
    assert_eq!((launched.len(), ended.len()), (1, 2), "{ran:?}");
    assert!(ended.contains(&INSTANCES[0].to_owned()), "{ended:?}");
    wait(&account, "two nodes are left", |account| nodes(account).0.len() == 2 && !nodes(account).2);
    let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
    assert_eq!(budget["status"]["currentHealthy"], 6, "{ran:?}");
    assert_eq!((left(&account, &url), leases(&account)), (0, String::new()), "{ran:?}");
}

#[test]
fn a_roll_handles_interruptions_and_scales_in_one_process() {
    let folder = "roll-handle-autoscale";
    let account = begun(folder, "group");
    let url = queue(&account);
    hook(&account, "replank-drain", 300);
    bounds(&account, "web", 0, 8);
    let spec = "groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}";
    let file = plan(&format!("{folder}/plan.yaml"), spec);
    let scales = format!("--autoscale={FOUND} --scale-down-enabled=false");
    let roll = ["roll", "-f", &file, "--yes", "--group-label", "group", "--queue-url", &url, &scales];
    let mut child = begin(&account, &roll);
    let mut told = Told::by(&mut child);
    told.until("evicting pod");
    befalls(&account, &format!("spot instance {OTHER} is taken back"));
    replicas(&account, 40);
    let all = told.rest();
    assert_eq!(child.wait().expect("it has ended").code(), Some(0), "{all}");
    wait(&account, "all pods are on nodes", |account| placed(account) == 40);
    let (_, ended) = account.heard();
    for number in 1..=3 {
        let old = format!("i-{number:017x}");
        assert_eq!(ended.iter().filter(|id| **id == old).count(), 1, "{old}: {ended:?} {all}");
    }
    wait(&account, "all nodes are new, and nothing of ours is left", |account| {
        let (_, kubelets, is_left) = nodes(account);
        !is_left && kubelets.iter().all(|one| one.starts_with("v1.36."))
    });
    assert_eq!(leases(&account), "", "{all}");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_changed() {
    let account = begun("handle-autoscale-wrong", "group");
    let url = queue(&account);
    bounds(&account, "web", 3, 6);
    let is_told = |ran: &Ran, code: i32, words: &str| {
        let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, Some(code), "{words}: {ran:?}");
        assert!(told.contains(words), "{words}: {told}");
    };
    let with = |more: &[&str]| account.run(&[&["handle", "--queue-url", &url][..], more].concat());
    is_told(&with(&["--autoscale"]), 2, "nothing says which groups are to be scaled");
    is_told(&with(&["--autoscale=--expander=cheapest"]), 2, "unknown expander \"cheapest\"");
    is_told(&with(&["--autoscale=--nodes=1:3:nobody"]), 2, "named nobody");
    is_told(&with(&["--autoscale=--nodes=1:3:web --expander=price"]), 2, "the expander price needs prices");
    let dry = with(&["--autoscale=--nodes=1:3:web", "--dry-run"]);
    is_told(&dry, 2, "cannot be used with '--dry-run'");
    account.create(DEPLOYMENTS, &cluster_autoscaler("cluster-autoscaler", 1));
    let scales = format!("--autoscale={FOUND}");
    is_told(&with(&[&scales]), 5, "Deployment kube-system/cluster-autoscaler has 1 replica");
    account.delete(&format!("{DEPLOYMENTS}/cluster-autoscaler"));
    let mut first = begin(&account, &["autoscale", FOUND]);
    wait(&account, "the first holds the Lease", is_held);
    is_told(&with(&[&scales]), 5, "--autoscale: the cluster is scaled by");
    assert!(!leases(&account).contains("replank-handle"), "its own is given up");
    first.kill().expect("it can be ended");
    first.wait().expect("it has ended");
    assert_eq!(account.heard(), (Vec::new(), Vec::new()));
}
