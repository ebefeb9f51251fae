use replank_model::delta::Delta;
use replank_model::object::Object;
use serde_json::{Value, json};

use super::*;

fn view(objects: Vec<Value>) -> View {
    objects.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("a valid object"))).collect()
}

fn node(name: &str, labels: Value, kubelet: &str) -> Value {
    let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
        "status": {"nodeInfo": {"kubeletVersion": kubelet, "osImage": "Amazon Linux 2023"}}});
    node["metadata"]["labels"] = labels;
    node
}

fn pod(name: &str, node: &str, owner: Option<&str>) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"nodeName": node, "containers": [{"name": "c"}]}, "status": {"phase": "Running"}});
    if let Some(kind) = owner {
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": true}]);
    }
    pod
}

fn group(name: &str) -> Value {
    json!({"eks.amazonaws.com/nodegroup": name})
}

#[test]
fn nodes_are_told_by_group_and_by_who_made_them() {
    let daemons = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "o", "namespace": "shop", "uid": "o"}});
    let view = view(vec![
        node("a", group("web"), "v1.33.1-eks-1"),
        node("b", group("web"), "v1.32.4-eks-1"),
        node("k", json!({"karpenter.sh/nodepool": "general"}), "v1.33.1-eks-1"),
        node("fargate-ip-10-0-0-1", json!({"eks.amazonaws.com/compute-type": "fargate"}), "v1.31.0-eks-1"),
        node("odd", group("web"), "unknown"),
        daemons,
        pod("p1", "a", Some("ReplicaSet")),
        pod("p2", "b", None),
        pod("d", "b", Some("DaemonSet")),
    ]);
    let survey = survey(&view, &GroupBy::default(), &Facts::default(), None).expect("there are nodes");
    let told: Vec<String> = survey
        .nodes
        .iter()
        .map(|of| {
            format!(
                "{} {} to {}: {} nodes, {} pods, {}",
                of.name,
                of.oldest,
                of.newest,
                of.nodes,
                of.pods,
                of.is_rolled()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "web 1.32 to 1.33: 2 nodes, 2 pods, true",
            "Fargate 1.31 to 1.31: 1 nodes, 0 pods, false",
            "general 1.33 to 1.33: 1 nodes, 0 pods, false",
        ]
    );
    assert_eq!(survey.unread, [Text::from("odd")], "what cannot be read is said");
    assert_eq!(survey.platform, Platform::Eks);
    assert_eq!(survey.control_plane, ControlPlane { version: Minor(33), known_by: KnownBy::NewestKubelet });
}

#[test]
fn the_control_plane_is_known_by_the_best_that_there_is() {
    let server = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "api", "namespace": "kube-system", "uid": "api",
            "labels": {"component": "kube-apiserver"}},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "registry.k8s.io/kube-apiserver:v1.35.1"}]}});
    let of = |objects: Vec<Value>, facts: &Facts, given| {
        survey(&view(objects), &GroupBy::default(), facts, given)
            .map(|survey| (survey.control_plane.version.0, survey.control_plane.known_by))
    };
    let mut eks = Facts::default();
    eks.read(&json!({"cluster": {"name": "prod", "version": "1.34"}})).unwrap();
    let nodes = || vec![node("a", json!({}), "v1.33.1")];
    let with_server = || vec![node("a", json!({}), "v1.33.1"), server.clone()];
    assert_eq!(of(with_server(), &eks, Some(Minor(36))), Ok((36, KnownBy::Given)));
    assert_eq!(of(with_server(), &eks, None), Ok((34, KnownBy::Eks)));
    assert_eq!(of(with_server(), &Facts::default(), None), Ok((35, KnownBy::Servers)));
    assert_eq!(of(nodes(), &Facts::default(), None), Ok((33, KnownBy::NewestKubelet)));
    assert_eq!(of(Vec::new(), &Facts::default(), None), Err(NoControlPlane));
    assert_eq!(of(Vec::new(), &eks, None), Ok((34, KnownBy::Eks)), "a plan can be made without a snapshot");
    let platform = survey(&view(nodes()), &GroupBy::default(), &Facts::default(), None).unwrap().platform;
    assert_eq!(platform, Platform::Other);
}

#[test]
fn addons_are_those_of_eks_and_those_that_are_seen() {
    let set = |name: &str, image: &str| {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "kube-system", "uid": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": image}]}}}})
    };
    let view = view(vec![
        node("a", group("web"), "v1.33.1-eks-1"),
        set("kube-proxy", "602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/kube-proxy:v1.32.0-eksbuild.2"),
        set("aws-node", "602401143452.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.18.3-eksbuild.2"),
    ]);
    let mut facts = Facts::default();
    facts.read(&json!({"addons": ["vpc-cni", "aws-ebs-csi-driver"]})).unwrap();
    let survey = survey(&view, &GroupBy::default(), &facts, None).unwrap();
    let told: Vec<String> = survey
        .addons
        .iter()
        .map(|addon| {
            format!(
                "{} {} {:?}",
                addon.name,
                addon.version.as_ref().map_or("-".to_owned(), ToString::to_string),
                addon.kept
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "aws-ebs-csi-driver - ByEks",
            "kube-proxy v1.32.0-eksbuild.2 BySomebody",
            "vpc-cni v1.18.3-eksbuild.2 ByEks"
        ]
    );
}
