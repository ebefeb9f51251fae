//! What somebody changes while an upgrade is left.

use std::path::Path;

use serde_json::{Value, json};

use super::{LABEL, RECORDS, RUN, addon, begun, cluster, flat, run, served, updates};
use crate::aws_account::Account;
use crate::roll_aws_live::wait;

/// Changes a step in the record.
fn rewrite(account: &Account, step: usize, change: impl Fn(&mut Value)) {
    let object = account.get(RECORDS)["items"][0].clone();
    let text = object["data"]["upgrade"].as_str().expect("an upgrade is recorded");
    let mut upgrade: Value = serde_json::from_str(text).expect("it is JSON");
    change(&mut upgrade["steps"][step]);
    let name = object["metadata"]["name"].as_str().expect("it has a name");
    let path = format!("/api/v1/namespaces/kube-system/configmaps/{name}");
    account.merge(&path, &json!({"data": {"upgrade": upgrade.to_string()}}));
}

#[test]
fn an_add_on_that_was_set_back_stops_the_upgrade_and_is_then_asked_for_anew() {
    let account = begun("upgrade-run-set-back");
    let ran = run(&account, &[RUN, &["--no-rehearsal", "--until-step", "1"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (old, new) = ("v1.11.6-eksbuild.2", "v1.11.7-eksbuild.1");
    rewrite(&account, 1, |step| step["what"]["versions"] = json!([new]));
    let done = account.run(&["upgrade", "resume", "--step"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(addon(&account, "coredns")["addonVersion"], new);
    // As if the process had been killed before it wrote down that the step is done.
    rewrite(&account, 1, |step| {
        step["state"] = json!("begun");
        step["done"] = Value::Null;
    });
    let back = json!({"addonVersion": old, "resolveConflicts": "OVERWRITE"});
    account.eks("POST", "/clusters/rehearsal/addons/coredns/update", &back);
    wait(&account, "the add-on is set back", |account| {
        let addon = addon(account, "coredns");
        addon["status"] == "ACTIVE" && addon["addonVersion"] == old
    });
    let stopped = account.run(&["upgrade", "resume", "--step"]);
    assert_eq!(stopped.code, Some(4), "{stopped:?}");
    let told = flat(&stopped.stderr);
    assert!(told.contains("the add-on runs v1.11.6-eksbuild.2: somebody has set it back"), "{stopped:?}");
    assert_eq!(updates(&account, "addonName=coredns").len(), 2, "{stopped:?}");
    let again = account.run(&["upgrade", "resume", "--step"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(updates(&account, "addonName=coredns").len(), 3, "{again:?}");
    assert_eq!(addon(&account, "coredns")["addonVersion"], new);
}

#[test]
fn a_step_is_not_begun_where_something_else_comes_before_it_by_now() {
    let account = served("upgrade-run-before", &["--aws-deny", "eks:UpdateClusterVersion"]);
    let manifest = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upgrade-run-before").join("own.yaml");
    std::fs::write(&manifest, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n")
        .expect("it can be written");
    let scan = ["--scan", manifest.to_str().expect("it is text")];
    let begun = run(&account, &[RUN, &["--no-rehearsal"], &scan].concat());
    assert_eq!(begun.code, Some(2), "{begun:?}");
    assert!(flat(&begun.stderr).contains("eks:UpdateClusterVersion: AccessDeniedException"), "{begun:?}");
    let less = account.run(&["upgrade", "resume"]);
    assert_eq!(less.code, Some(2), "{less:?}");
    let told = flat(&less.stderr).replace(' ', "");
    let words = format!("pass the same again: replank upgrade resume --scan {}", scan[1]).replace(' ', "");
    assert!(told.contains(&words), "{less:?}");
    let node = "/api/v1/nodes/ip-10-0-0-11.eu-west-1.compute.internal/status";
    account.merge(node, &json!({"status": {"nodeInfo": {"kubeletVersion": "v1.32.9"}}}));
    let stopped = account.run(&[&["upgrade", "resume"], &scan[..]].concat());
    assert_eq!(stopped.code, Some(4), "{stopped:?}");
    let told = flat(&stopped.stderr);
    assert!(
        told.contains("by now something else comes before this step: roll own 1.32 to 1.35"),
        "{LABEL}: {stopped:?}"
    );
    assert!(updates(&account, "").is_empty());
    assert_eq!(cluster(&account)["version"], "1.35");
}

#[test]
fn a_group_without_nodes_is_not_taken_for_rolled() {
    let account = served("upgrade-run-empty", &[]);
    let ran = run(&account, &[RUN, &["--no-rehearsal", "--step"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // The add-on is somebody else's here.
    rewrite(&account, 1, |step| step["state"] = json!("done"));
    account.auto_scaling("UpdateAutoScalingGroup", "&AutoScalingGroupName=own&DesiredCapacity=0&MinSize=0");
    let none = json!({"scalingConfig": {"minSize": 0, "desiredSize": 0}});
    account.eks("POST", "/clusters/rehearsal/node-groups/web/update-config", &none);
    wait(&account, "all nodes are gone", |account| account.get("/api/v1/nodes")["items"] == json!([]));
    let own = account.run(&["upgrade", "resume", "--step"]);
    assert_eq!(own.code, Some(0), "{own:?}");
    assert!(
        flat(&own.stdout).contains(
            "own has no nodes, and nothing is rolled: check that its launch template has an image of 1.36"
        ),
        "{own:?}"
    );
    let web = account.run(&["upgrade", "resume", "--step"]);
    assert_eq!(web.code, Some(4), "{web:?}");
    assert!(flat(&web.stderr).contains("node group web has no nodes to roll, and launches 1.35"), "{web:?}");
}

#[test]
fn an_upgrade_that_a_process_works_on_is_not_cancelled_under_its_hands() {
    let account = served("upgrade-run-held", &[]);
    let ran = run(&account, &[RUN, &["--no-rehearsal", "--step"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let name =
        account.get(RECORDS)["items"][0]["metadata"]["name"].as_str().expect("it has a name").to_owned();
    // A process of another machine holds the Lease of the record.
    let held = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"holderIdentity": "elsewhere_1_x", "leaseDurationSeconds": 3600,
            "acquireTime": "2026-11-27T00:00:00.000001Z", "renewTime": "2099-01-01T00:00:00.000000Z"}});
    account.create("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", &held);
    let refused = account.run(&["upgrade", "cancel"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert_eq!(account.get(RECORDS)["items"].as_array().map(Vec::len), Some(1), "the record is still there");
    account.delete(&format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}"));
    let ended = account.run(&["upgrade", "cancel"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(account.get(RECORDS)["items"], json!([]));
}
