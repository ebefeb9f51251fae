use proptest::collection::vec;
use proptest::prelude::*;
use replank_model::delta::Delta;
use replank_model::object::Object;
use serde_json::{Value, json};

use super::*;

fn object(value: Value) -> Delta {
    Delta::Put(Object::from_json(value).expect("a valid object"))
}

/// In one of two zones; every third is for data, every fourth has two GPUs.
fn node(number: usize) -> Delta {
    let (pool, taints) = match number % 3 {
        0 => ("data", json!([{"key": "dedicated", "value": "data", "effect": "NoSchedule"}])),
        _ => ("web", json!([])),
    };
    let name = format!("n{number}");
    object(json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"pool": pool, "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("z{}", number % 2)}},
        "spec": {"taints": taints},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "10Gi", "pods": "5",
            "example.com/gpu": if number.is_multiple_of(4) { "2" } else { "0" }}}}))
}

/// A claim that is bound, its volume in one of the zones, and a node that takes two such volumes. Some claims are for one pod alone.
fn storage(number: usize) -> [Delta; 3] {
    let modes = json!([if number % 5 == 4 { "ReadWriteOncePod" } else { "ReadWriteOnce" }]);
    let zone = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [format!("z{}", number % 2)]});
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": format!("c{number}"), "namespace": "shop", "uid": format!("c{number}"),
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": format!("v{number}"), "accessModes": modes,
            "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"}});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("v{number}"), "uid": format!("v{number}")},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": modes,
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": format!("h{number}")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}}},
        "status": {"phase": "Bound"}});
    let node = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
        "metadata": {"name": format!("n{number}"), "uid": format!("csi{number}")},
        "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": format!("i{number}"),
            "allocatable": {"count": 2}}]}});
    [claim, volume, node].map(object)
}

fn pod(number: usize, (kind, app, on): (u8, u8, usize)) -> Delta {
    let name = format!("p{number}");
    let app = json!({"app": format!("a{app}")});
    let term = |topology: &str| json!({"topologyKey": topology, "labelSelector": {"matchLabels": app}});
    let spread = |how: &str| {
        json!([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": how,
            "labelSelector": {"matchLabels": app}}])
    };
    let mut container =
        json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": "300m", "memory": "200Mi"}}});
    let mut spec = json!({"nodeName": format!("n{on}")});
    match kind {
        0 => container["resources"]["requests"]["cpu"] = json!("700m"),
        1 => spec["topologySpreadConstraints"] = spread("ScheduleAnyway"),
        2 => {
            let term = json!({"weight": 100, "podAffinityTerm": term("topology.kubernetes.io/zone")});
            spec["affinity"] =
                json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}});
        }
        3 => {
            let required = [term("kubernetes.io/hostname")];
            spec["affinity"] =
                json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
        }
        4 => spec["topologySpreadConstraints"] = spread("DoNotSchedule"),
        5 | 6 => {
            spec["nodeSelector"] = json!({"pool": "data"});
            spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
            spec["topologySpreadConstraints"] = spread("ScheduleAnyway");
            if kind == 6 {
                container["ports"] = json!([{"containerPort": 80, "hostPort": 80}]);
            }
        }
        7 => container["resources"]["requests"]["example.com/gpu"] = json!("1"),
        8 => container["resources"] = json!({}),
        9 => {
            container["resources"]["requests"]["memory"] = json!("1500Mi");
            container["resources"]["requests"]["ephemeral-storage"] = json!("3Gi");
        }
        // Not placed yet.
        10 => drop(spec.as_object_mut().expect("a spec").remove("nodeName")),
        13..=15 => {
            spec["volumes"] =
                json!([{"name": "v", "persistentVolumeClaim": {"claimName": format!("c{number}")}}]);
        }
        _ => {}
    }
    spec["containers"] = json!([container]);
    // Those of a ReplicaSet are spread by default.
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "set", "controller": true});
    let owners = if kind % 2 == 0 { vec![owner] } else { Vec::new() };
    object(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": app, "ownerReferences": owners},
        "spec": spec, "status": {"phase": "Running"}}))
}

#[derive(Clone, Copy, Debug)]
enum Try {
    Move(usize),
    Another(usize, usize),
    Back(usize),
}

fn tries() -> impl Strategy<Value = Vec<Try>> {
    let one = prop_oneof![
        6 => (0_usize..24).prop_map(Try::Move),
        2 => (0_usize..24, 0_usize..2).prop_map(|(pod, number)| Try::Another(pod, number)),
        1 => (0_usize..40).prop_map(Try::Back),
    ];
    vec(one, 1..40)
}

proptest! {
    #[test]
    fn no_answer_depends_on_whether_pods_are_put_where_they_are_sure_of_a_place(
        pods in vec((0_u8..16, 0_u8..4, 0_usize..6), 24),
        tries in tries(),
    ) {
        let nodes = (0..14).map(node);
        let pods = pods.into_iter().enumerate().map(|(number, of)| pod(number, of));
        let set = object(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "set", "namespace": "shop", "uid": "set"},
            "spec": {"replicas": 9, "selector": {"matchLabels": {"app": "a1"}}, "template": {"spec": {"containers": []}}}}));
        let view: View = nodes.chain([set]).chain((0..24).flat_map(storage)).chain(pods).collect();
        let closed: BTreeSet<NodeName> = (0..5).map(|number| NodeName::from(format!("n{number}"))).collect();
        let pods: Vec<Arc<Pod>> = view.pods.sorted().into_iter().map(|(_, pod)| pod.clone()).collect();
        let mut rooms = [Room::load(&view, closed.clone()), Room::load(&view, closed)];
        let [lazy, plain] = &mut rooms;
        let (mut lazy, mut plain) = (lazy.search(&view), plain.search(&view));
        let mut points = Vec::new();
        for one in tries {
            match one {
                Try::Move(pod) => {
                    points.push((lazy.point(), plain.point()));
                    prop_assert_eq!(lazy.fits(&pods[pod]), plain.find(&pods[pod]).map(drop));
                }
                Try::Another(pod, number) => {
                    points.push((lazy.point(), plain.point()));
                    let found = plain.find_beside(&pods[pod], number).is_ok();
                    prop_assert_eq!(lazy.find_for_another(&pods[pod], number), found);
                }
                Try::Back(to) => {
                    if let Some((lazily, plainly)) = points.get(to).copied() {
                        lazy.rewind(lazily);
                        plain.rewind(plainly);
                        points.truncate(to);
                    }
                }
            }
        }
        prop_assert_eq!(lazy.find(&pods[0]), plain.find(&pods[0]));
    }
}
