//! Questions and what-ifs.

use replank_facts::pod_factory::PodFactory;
use replank_facts::pod_factory::SubjectError;
use replank_model::text::NodeName;

use super::super::{Fate, Wanted, WhatIfError};
use super::*;

fn plain(name: &str, zone: &str) -> Value {
    node(name, "g", zone, &json!({}))
}

fn workload(kind: &str, spec: &Value) -> Object {
    let api = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    let mut whole = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}});
    lay(&mut whole["spec"], spec);
    object(&whole)
}

fn made(query: &mut PlacementQuery, object: &Object) -> (PodFactory, Arc<Pod>) {
    let factory = query.factory(object).expect("it makes pods");
    let pod = query.make(&factory);
    (factory, pod)
}

#[test]
fn a_pod_on_a_node_is_asked_about_as_if_it_were_new() {
    let mut query = query(&[plain("a", "z"), placed("p", "a", "4")]);
    let pod = query.release(&pod_of(&query, "p"));
    assert_eq!(query.ask(&pod).outcome, Outcome::Fits(1), "its own 4 cpu are free again");
    assert_eq!(pod.node, None);
}

#[test]
fn the_message_is_the_schedulers_with_preemptions_part() {
    let mut query = query(&[plain("a", "z"), placed("q", "a", "4"), pod("p", &json!({}))]);
    let pod = pod_of(&query, "p");
    let Outcome::DoesNotFit(misfit) = query.ask(&pod).outcome else { panic!("it fits") };
    assert_eq!(
        misfit.message,
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: \
         1 No preemption victims found for incoming pod."
    );
}

#[test]
fn a_more_urgent_pod_says_whom_it_would_evict() {
    let mut query = query(&[plain("a", "z"), placed("q", "a", "4"), pod("p", &json!({"priority": 10}))]);
    let pod = pod_of(&query, "p");
    let Outcome::DoesNotFit(misfit) = query.ask(&pod).outcome else { panic!("it fits") };
    let nomination = misfit.preemption.expect("q is less urgent");
    assert_eq!((nomination.node.as_str(), nomination.victims), ("a", vec![Key::new("shop", "q")]));
}

#[test]
fn copies_fit_until_the_nodes_are_full() {
    let mut query = query(&[plain("a", "z"), plain("b", "z")]);
    let (factory, first) = made(&mut query, &workload("Deployment", &json!({"replicas": 3})));
    assert_eq!(factory.wanted, 3);
    let copies = query.copies(Some(&first), &factory, 20);
    let (a, b) = (NodeName::from("a"), NodeName::from("b"));
    assert_eq!(copies.by_node().into_iter().collect::<Vec<_>>(), [(&a, 4), (&b, 4)]);
    let (_, misfit) = copies.stopped.expect("8 of 20 fit");
    assert!(misfit.message.starts_with("0/2 nodes are available: 2 Insufficient cpu."), "{}", misfit.message);
}

#[test]
fn siblings_of_a_new_deployment_spread_as_the_scheduler_spreads_them() {
    // Without constraints of their own, pods of one ReplicaSet spread over nodes and zones by the default constraints.
    let mut query = query(&[plain("a", "z1"), plain("b", "z2"), plain("c", "z3")]);
    let (factory, first) = made(&mut query, &workload("Deployment", &json!({})));
    assert_eq!(query.copies(Some(&first), &factory, 3).by_node().len(), 3);
    let labels = &query.make(&factory).meta.labels;
    assert_eq!((labels.value("app"), labels.value("pod-template-hash")), (Some("web"), Some("new")));
}

#[test]
fn a_stateful_sets_pods_have_numbers_and_claims() {
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "gp3",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "ebs.csi.aws.com", "volumeBindingMode": "WaitForFirstConsumer"});
    let mut query = query(&[plain("a", "z"), class, placed("web-0", "a", "1")]);
    let set = workload(
        "StatefulSet",
        &json!({"serviceName": "web", "volumeClaimTemplates":
        [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}),
    );
    let (_, pod) = made(&mut query, &set);
    assert_eq!(pod.meta.name.as_str(), "web-1", "web-0 is there");
    let claim = query.view().persistent_volume_claims.by_key(&Key::new("shop", "data-web-1")).cloned();
    assert_eq!(claim.expect("it was made").spec.storage_class_name, Some("gp3".into()));
    assert_eq!(query.ask(&pod).outcome, Outcome::Fits(1));
}

#[test]
fn a_daemon_set_is_asked_node_by_node() {
    let tainted = json!({"spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]}});
    let mut query = query(&[
        plain("a", "z"),
        plain("b", "z"),
        placed("q", "b", "4"),
        node("c", "g", "z", &tainted),
        node("d", "g", "z", &json!({"spec": {"unschedulable": true}})),
    ]);
    let factory = query.factory(&workload("DaemonSet", &json!({}))).expect("it makes pods");
    let rows = query.ask_per_node(&factory);
    let short: Vec<(&str, Wanted, bool)> = rows
        .iter()
        .map(|row| {
            let fits = matches!(row.row.verdict, replank_schedule::Verdict::Fits(_));
            (row.row.node.as_str(), row.wanted, fits)
        })
        .collect();
    assert_eq!(
        short,
        [
            ("a", Wanted::Yes, true),
            ("b", Wanted::Yes, false),
            ("c", Wanted::No, false),
            ("d", Wanted::Yes, true)
        ]
    );
}

#[test]
fn custom_kinds_with_a_template_and_jobs_make_pods_too() {
    let mut query = query(&[plain("a", "z")]);
    let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    assert_eq!(made(&mut query, &object(&rollout)).0.wanted, 2);
    let job = workload("Job", &json!({"parallelism": 5, "completions": 3}));
    let (factory, pod) = made(&mut query, &job);
    assert_eq!((factory.wanted, pod.meta.labels.value("job-name")), (3, Some("web")));
    let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "shop"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}}});
    assert_eq!(made(&mut query, &object(&cron)).0.wanted, 1);
    let service = object(
        &json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"}}),
    );
    assert!(matches!(query.factory(&service), Err(SubjectError::NoTemplate { .. })));
}

#[test]
fn priority_comes_from_the_class_and_a_class_that_is_not_there_is_refused() {
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
        "value": 7, "preemptionPolicy": "Never"});
    let mut query = query(&[plain("a", "z"), class]);
    let named =
        |name: &str| workload("Deployment", &json!({"template": {"spec": {"priorityClassName": name}}}));
    let (_, pod) = made(&mut query, &named("high"));
    assert_eq!(pod.spec.priority, Some(7));
    let error = query.factory(&named("hihg")).expect_err("there is no such class");
    assert_eq!(error.to_string(), "pods \"web\" is forbidden: no PriorityClass with name hihg was found");
}

#[test]
fn what_ifs_name_nodes_and_groups() {
    let objects =
        [plain("a", "z1"), plain("b", "z2"), node("c", "h", "z1", &json!({})), pod("p", &json!({}))];
    let ask = |what_if: &WhatIf| {
        let mut query = PlacementQuery::new(view(&objects), GroupBy::default(), what_if)?;
        let pod = pod_of(&query, "p");
        let answer = query.ask(&pod);
        Ok::<_, WhatIfError>((answer.rows.len(), answer.outcome))
    };
    let pick = |text: &str| vec![text.parse().expect("a pick")];
    let without = |text: &str| WhatIf { without: pick(text), ..WhatIf::default() };
    assert_eq!(ask(&without("a")), Ok((2, Outcome::Fits(2))));
    assert_eq!(ask(&without("topology.kubernetes.io/zone=z1")), Ok((1, Outcome::Fits(1))));
    assert_eq!(ask(&WhatIf { cordon: pick("a"), ..WhatIf::default() }), Ok((3, Outcome::Fits(2))));
    let only = |group: &str| WhatIf { only_group: Some(group.into()), ..WhatIf::default() };
    assert_eq!(ask(&only("h")), Ok((3, Outcome::Fits(1))));
    assert_eq!(
        ask(&only("hh")),
        Err(WhatIfError::NoSuchGroup { name: "hh".into(), meant: Some("h".into()) })
    );
    let error = ask(&without("zz")).expect_err("there is no such node");
    assert_eq!(error.to_string(), "nodes \"zz\" not found");
}

#[test]
fn a_pod_of_a_node_that_is_gone_can_be_asked_about() {
    let what_if = WhatIf { without: vec!["a".parse().expect("a name")], ..WhatIf::default() };
    let objects = [plain("a", "z"), plain("b", "z"), placed("p", "a", "4")];
    let mut query = PlacementQuery::new(view(&objects), GroupBy::default(), &what_if).expect("b stays");
    assert_eq!(query.restore(&Key::new("shop", "q")), None, "there was none of that name");
    let pod = query.restore(&Key::new("shop", "p")).expect("it was on a");
    assert_eq!(query.ask(&pod).outcome, Outcome::Fits(1));
}

#[test]
fn the_queue_is_the_schedulers() {
    let at = |name: &str, hour: u8, spec: &Value| {
        let mut pod = pod(name, spec);
        pod["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T{hour:02}:00:00Z"));
        pod
    };
    let mut moved = placed("moved", "b", "1");
    moved["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": true}]);
    let mut daemon = placed("daemon", "b", "1");
    daemon["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true}]);
    let objects = [
        plain("a", "z"),
        plain("b", "z"),
        placed("on-a", "a", "2"),
        moved,
        daemon,
        placed("bare", "b", "1"),
        at("young", 2, &json!({})),
        at("old", 1, &json!({})),
        at("gated", 3, &json!({"schedulingGates": [{"name": "quota"}]})),
        at("urgent", 4, &json!({"priority": 9})),
    ];
    let what_if = WhatIf { without: vec!["b".parse().expect("a name")], ..WhatIf::default() };
    let mut query = PlacementQuery::new(view(&objects), GroupBy::default(), &what_if).expect("a stays");
    let queued = query.place_all_pending();
    let short: Vec<(&str, &str)> = queued
        .iter()
        .map(|one| {
            let fate = match &one.fate {
                Fate::Placed(node) => node.as_str(),
                Fate::Gated(gates) => &gates[0],
                Fate::DoesNotFit(_) => "nowhere",
                Fate::Lost => "lost",
            };
            (one.pod.meta.name.as_str(), fate)
        })
        .collect();
    assert_eq!(
        short,
        [
            ("urgent", "a"),
            ("old", "a"),
            ("young", "nowhere"),
            ("gated", "quota"),
            ("moved", "nowhere"),
            ("bare", "lost")
        ]
    );
}

#[test]
fn objections_are_worded_with_their_numbers() {
    let tainted = json!({"spec": {"taints": [{"key": "t", "value": "v", "effect": "NoSchedule"}]}});
    let mut query = query(&[
        node("a", "g", "z", &tainted),
        placed("q", "a", "3500m"),
        pod("p", &json!({"nodeSelector": {"disk": "ssd"}})),
    ]);
    let pod = pod_of(&query, "p");
    let why = query.why(&pod, &["a".into()]);
    assert_eq!(
        why[&NodeName::from("a")],
        [
            "untolerated taint t=v:NoSchedule",
            "node selector disk=ssd, the node does not have the label",
            "requests 1 cpu, 500m of 4 free"
        ]
    );
}
