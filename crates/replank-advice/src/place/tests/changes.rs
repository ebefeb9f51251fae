//! One test for each kind of change: it is found, its numbers are right, and it is enough.

use super::*;

/// That a remedy reads so, and those with which it is shown.
fn expect(objects: &[Value], text: &str) -> Vec<Remedy> {
    let remedies = remedies(objects);
    let texts = texts(&remedies);
    assert!(texts.iter().any(|known| known == text), "{text:?} is not among {texts:#?}");
    remedies
}

fn full(node: &str) -> Value {
    placed("big", node, "3500m")
}

#[test]
fn a_taint_is_tolerated_or_taken_away() {
    let tainted = json!({"spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}});
    let objects = [node("a", "g", "z1", &tainted), pod("p", &json!({}))];
    let remedies = expect(&objects, "tolerate the taint dedicated=gpu:NoSchedule");
    assert_eq!(texts(&remedies)[0], "tolerate the taint dedicated=gpu:NoSchedule", "the least comes first");
    assert_eq!(remedies[0].node, "a");
    assert_eq!(
        remedies[0].paste(&pod_of(&query(&objects), "p").spec),
        ["tolerations: [{key: dedicated, operator: Equal, value: gpu, effect: NoSchedule}]"]
    );
    expect(&objects, "remove the taint dedicated=gpu:NoSchedule from the node a");
}

#[test]
fn tolerations_are_pasted_with_those_that_there_are() {
    let tainted = json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]}});
    let tolerating = json!({"tolerations": [{"key": "a", "operator": "Exists"},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]});
    let objects = [node("n", "g", "z1", &tainted), pod("p", &tolerating)];
    let remedies = expect(&objects, "tolerate the taint b:NoSchedule");
    assert_eq!(
        remedies[0].paste(&pod_of(&query(&objects), "p").spec),
        ["tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists, effect: NoSchedule}]"]
    );
}

#[test]
fn a_taint_that_comes_and_goes_is_no_matter_of_tolerations() {
    let passing =
        json!({"spec": {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}});
    let remedies = remedies(&[node("a", "g", "z1", &passing), pod("p", &json!({}))]);
    assert_eq!(texts(&remedies), ["add a node to the group g (m5.xlarge)"]);
}

#[test]
fn a_mistyped_selector_is_corrected() {
    let ssd = json!({"metadata": {"labels": {"disktype": "ssd"}}});
    let objects = [node("a", "g", "z1", &ssd), pod("p", &json!({"nodeSelector": {"disktype": "sdd"}}))];
    let remedies = expect(&objects, "select nodes with disktype=ssd instead of disktype=sdd");
    assert_eq!(texts(&remedies)[0], "select nodes with disktype=ssd instead of disktype=sdd");
}

#[test]
fn a_selector_is_dropped_or_a_node_is_labelled() {
    let objects = [node("a", "g", "z1", &json!({})), pod("p", &json!({"nodeSelector": {"tier": "gold"}}))];
    expect(&objects, "remove tier=gold from the node selector");
    expect(&objects, "label the node a tier=gold");
    let zone = json!({"nodeSelector": {"topology.kubernetes.io/zone": "z9"}});
    let given = remedies(&[node("a", "g", "z1", &json!({})), pod("p", &zone)]);
    assert!(texts(&given).iter().all(|text| !text.contains("label the node")), "a zone is not chosen");
}

fn affinity(expressions: &Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}})
}

#[test]
fn required_affinity_accepts_one_more_value_or_gives_up_a_requirement() {
    let tier = json!({"metadata": {"labels": {"tier": "silver", "arch": "arm"}}});
    let wants = affinity(&json!([{"key": "tier", "operator": "In", "values": ["gold"]}]));
    let objects = [node("a", "g", "z1", &tier), pod("p", &wants)];
    expect(&objects, "allow tier=silver in the node affinity");
    expect(&objects, "remove required node affinity");
    expect(&objects, "label the node a tier=gold instead of tier=silver");
    let wants =
        affinity(&json!([{"key": "arch", "operator": "Exists"}, {"key": "rack", "operator": "Exists"}]));
    expect(
        &[node("a", "g", "z1", &tier), pod("p", &wants)],
        "remove \"rack Exists\" from required node affinity",
    );
    let wants = affinity(&json!([{"key": "arch", "operator": "DoesNotExist"}]));
    expect(&[node("a", "g", "z1", &tier), pod("p", &wants)], "remove the label arch from the node a");
}

#[test]
fn the_pod_asks_for_less_or_room_is_made() {
    let objects = [node("a", "g", "z1", &json!({})), full("a"), pod("p", &json!({}))];
    let remedies = expect(&objects, "request 500m less cpu: 500m instead of 1");
    expect(&objects, "free 500m cpu on the node a");
    let spec = &pod_of(&query(&objects), "p").spec.clone();
    let lower = remedies.iter().find(|remedy| matches!(remedy.changes[0], Change::Request { .. }));
    assert_eq!(
        lower.expect("found above").paste(spec),
        [
            "containers: [{name: c, resources: {requests: {cpu: 500m}}}]   # kubectl patch merges containers by name"
        ]
    );
}

#[test]
fn a_place_among_the_pods_is_freed() {
    let one = json!({"status": {"allocatable": {"pods": "1"}}});
    let objects = [node("a", "g", "z1", &one), placed("q", "a", "1"), pod("p", &json!({}))];
    expect(&objects, "remove a pod from the node a");
}

#[test]
fn a_host_port_is_released() {
    let port = json!({"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 8080}]}]});
    let mut other = pod("q", &port);
    other["spec"]["nodeName"] = json!("a");
    expect(&[node("a", "g", "z1", &json!({})), other, pod("p", &port)], "remove host port 8080/TCP");
}

#[test]
fn a_spread_is_relaxed() {
    let spread = json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]});
    let mut objects = vec![node("a", "g", "z1", &json!({})), node("b", "g", "z2", &json!({}))];
    objects[1]["spec"] = json!({"taints": [{"key": "k", "effect": "NoExecute"}]});
    for name in ["w1", "w2"] {
        let mut web = placed(name, "a", "100m");
        web["metadata"]["labels"] = json!({"app": "web"});
        objects.push(web);
    }
    let mut asked = pod("p", &spread);
    asked["metadata"]["labels"] = json!({"app": "web"});
    objects.push(asked);
    expect(&objects, "raise maxSkew over topology.kubernetes.io/zone from 1 to 3");
    expect(&objects, "make the topology spread over topology.kubernetes.io/zone preferred (ScheduleAnyway)");
    expect(&objects, "tolerate the taint k:NoExecute");
}

#[test]
fn required_pod_affinity_and_anti_affinity_become_preferences() {
    let term = |app: &str| {
        json!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": app}}}]})
    };
    let apart = json!({"affinity": {"podAntiAffinity": term("q")}});
    expect(
        &[node("a", "g", "z1", &json!({})), placed("q", "a", "1"), pod("p", &apart)],
        "make the anti-affinity over kubernetes.io/hostname preferred",
    );
    let objects = [node("a", "g", "z1", &json!({})), placed("q", "a", "1"), pod("p", &apart)];
    let spec = pod_of(&query(&objects), "p").spec.clone();
    let pasted: Vec<String> = remedies(&objects).iter().flat_map(|remedy| remedy.paste(&spec)).collect();
    let takes_out = |text: &String| text.contains("requiredDuringSchedulingIgnoredDuringExecution: null");
    assert!(pasted.iter().any(takes_out), "{pasted:?}");
    let near = json!({"affinity": {"podAffinity": term("nobody")}});
    expect(&[node("a", "g", "z1", &json!({})), pod("p", &near)], "make the pod affinity preferred");
}

#[test]
fn a_cordoned_node_is_uncordoned_unless_the_question_cordons_it() {
    let cordoned = json!({"spec": {"unschedulable": true,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}});
    let objects = [node("a", "g", "z1", &cordoned), pod("p", &json!({}))];
    expect(&objects, "uncordon the node a");
    let what_if = WhatIf { cordon: vec!["a".parse().expect("a name")], ..WhatIf::default() };
    let open = [node("a", "g", "z1", &json!({})), pod("p", &json!({}))];
    let mut asked =
        PlacementQuery::new(view(&open), GroupBy::default(), &what_if).expect("there is such a node");
    let pod = pod_of(&asked, "p");
    assert_eq!(texts(&asked.remedies(&pod, 20)), ["add a node to the group g (m5.xlarge)"]);
}

#[test]
fn a_node_is_added_where_the_zone_matters_in_that_zone() {
    let objects = [
        node("a", "g", "z1", &json!({})),
        node("b", "g", "z2", &json!({})),
        placed("x", "a", "4"),
        placed("y", "b", "4"),
    ];
    let anywhere = [&objects[..], &[pod("p", &json!({}))]].concat();
    expect(&anywhere, "add a node to the group g (m5.xlarge)");
    let bound = json!({"nodeSelector": {"topology.kubernetes.io/zone": "z2"}});
    expect(&[&objects[..], &[pod("p", &bound)]].concat(), "add a node to the group g in z2 (m5.xlarge)");
}

#[test]
fn a_node_that_daemon_sets_fill_is_no_remedy_and_a_larger_one_is() {
    let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "namespace": "shop", "uid": "d"},
        "spec": {"selector": {"matchLabels": {"app": "d"}}, "template": {"metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}]}}}});
    let four = json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}]});
    let objects = [node("a", "g", "z1", &json!({})), placed("d-a", "a", "500m"), set, pod("p", &four)];
    let remedies =
        expect(&objects, "add a node like those of the group g, but with 4500m cpu for pods instead of 4");
    assert!(
        !texts(&remedies).contains(&"add a node to the group g (m5.xlarge)".to_owned()),
        "it would not be enough"
    );
}

#[test]
fn a_resource_that_no_node_has_takes_another_type_of_node() {
    let gpu = json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]});
    expect(
        &[node("a", "g", "z1", &json!({})), pod("p", &gpu)],
        "add a node like those of the group g, but with 1 nvidia.com/gpu, which its nodes do not have",
    );
}

#[test]
fn a_higher_priority_pushes_others_out() {
    let class = |name: &str, value: i32| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": value})
    };
    let objects = [
        node("a", "g", "z1", &json!({})),
        full("a"),
        class("high", 1000),
        class("higher", 2000),
        class("low", -5),
        pod("p", &json!({})),
    ];
    let remedies = expect(&objects, "set the priority class high (1000): 1 pod on a would be evicted");
    let found = remedies.iter().find_map(|remedy| {
        let Change::Prioritize { victims, .. } = &remedy.changes[0] else { return None };
        Some(victims.clone())
    });
    assert_eq!(found, Some(vec![Key::new("shop", "big")]));
}

fn class(name: &str, mode: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "ebs.csi.aws.com", "volumeBindingMode": mode})
}

fn claim(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "c"},
        "spec": spec, "status": {"phase": "Pending"}})
}

fn with_claim() -> Value {
    pod("p", &json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}))
}

#[test]
fn a_claim_is_made() {
    let objects = [node("a", "g", "z1", &json!({})), class("gp3", "WaitForFirstConsumer"), with_claim()];
    expect(&objects, "create the PersistentVolumeClaim shop/data (class gp3)");
}

#[test]
fn a_claim_of_a_class_that_is_not_there_is_made_anew() {
    let objects = [
        node("a", "g", "z1", &json!({})),
        class("gp3", "WaitForFirstConsumer"),
        claim(&json!({"storageClassName": "gp33"})),
        with_claim(),
    ];
    expect(
        &objects,
        "recreate the PersistentVolumeClaim shop/data with the storage class gp3 instead of gp33",
    );
}

#[test]
fn a_claim_whose_volume_is_out_of_reach_is_made_anew_and_that_comes_last() {
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
        "spec": {"storageClassName": "gp3", "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
            [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z2"]}]}]}}}});
    let mut bound = claim(&json!({"storageClassName": "gp3", "volumeName": "pv"}));
    bound["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    bound["status"]["phase"] = json!("Bound");
    let objects = [
        node("a", "g", "z1", &json!({})),
        node("b", "g", "z2", &json!({})),
        placed("x", "b", "4"),
        class("gp3", "WaitForFirstConsumer"),
        volume,
        bound,
        with_claim(),
    ];
    let remedies =
        expect(&objects, "recreate the PersistentVolumeClaim shop/data empty: the data of pv does not move");
    let texts = texts(&remedies);
    assert_eq!(texts[0], "add a node to the group g in z2 (m5.xlarge)", "{texts:#?}");
    assert!(texts.last().is_some_and(|last| last.contains("empty: the data")), "{texts:#?}");
}

#[test]
fn several_objections_take_several_changes() {
    let both = json!({"spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]}});
    let objects = [node("a", "g", "z1", &both), pod("p", &json!({"nodeSelector": {"tier": "gold"}}))];
    expect(&objects, "tolerate the taint t:NoSchedule, and label the node a tier=gold");
}
