//! Target groups of load balancers whose targets are nodes, as far as a snapshot shows them: TargetGroupBindings of the AWS Load Balancer Controller with the target
//! type `instance`.
//!
//! Source: aws-load-balancer-controller, `apis/elbv2/v1beta1/targetgroupbinding_types.go`; the controller writes one for every Service and Ingress that it serves.
//!
//! A Service with `externalTrafficPolicy: Local` is left out: there a node is healthy only while it has a pod of the Service, and which nodes these will be is not known.

use std::sync::Arc;

use replank_model::object::cloud::{Instance, Registrar, Target, TargetGroup, TargetHealth};
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::network::Service;
use replank_model::object::node::Node;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Text;
use replank_model::view::View;
use serde::Deserialize;
use serde_json::Value;

use replank_protocol::mark;

/// A target group in which a controller registers nodes.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) target_group: TargetGroup,
    nodes: Option<Selector>,
}

impl Bound {
    fn selects(&self, node: &Node) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.matches(|key| node.meta.labels.value(key)))
    }
}

/// All of them, sorted by ARN.
pub(crate) fn bound(view: &View) -> Vec<Bound> {
    let mut all: Vec<Bound> = view.others().filter_map(|other| read(view, other)).collect();
    all.sort_by(|a, b| a.target_group.arn.cmp(&b.target_group.arn));
    all.dedup_by(|a, b| a.target_group.arn == b.target_group.arn);
    all
}

fn read(view: &View, other: &Other) -> Option<Bound> {
    if (other.group(), &*other.kind) != ("elbv2.k8s.aws", "TargetGroupBinding") {
        return None;
    }
    let object: Value = serde_json::from_str(other.meta.raw.0.as_deref()?).ok()?;
    let spec = &object["spec"];
    if spec["targetType"].as_str() != Some("instance") {
        return None;
    }
    let name = spec["serviceRef"]["name"].as_str()?;
    let key = Key::new(other.meta.namespace.clone(), name);
    let is_local =
        view.find::<Service>(&key).is_some_and(|service| &*service.spec.external_traffic_policy == "Local");
    if is_local {
        return None;
    }
    let arn = ["targetGroupARN", "targetGroupName"].into_iter().find_map(|member| spec[member].as_str())?;
    let selector = Some(&spec["nodeSelector"]).filter(|selector| !selector.is_null());
    let nodes = match selector {
        None => None,
        Some(selector) => Some(LabelSelector::deserialize(selector).ok()?.compile().ok()?),
    };
    let registrar = Registrar::Controller;
    Some(Bound { target_group: TargetGroup { registrar, ..TargetGroup::attached(arn) }, nodes })
}

/// The target groups of which all nodes of a group are targets.
pub(crate) fn of_nodes(bound: &[Bound], nodes: &[&Arc<Node>]) -> Vec<TargetGroup> {
    let of = bound.iter().filter(|one| nodes.iter().all(|node| one.selects(node)));
    of.map(|one| one.target_group.clone()).collect()
}

/// Registers an instance in a target group, as it is found: healthy where its node is Ready. A controller registers only Ready nodes, and none that is excluded.
pub fn begin(instance: &mut Instance, node: Option<&Node>, target_group: &TargetGroup) {
    let is_ready = node.is_some_and(Node::is_ready);
    let is_proxy = is_ready && node.is_some_and(|node| !node.meta.labels.contains_key(mark::EXCLUDE));
    let is_registered = match target_group.registrar {
        Registrar::AutoScaling => true,
        Registrar::Controller => is_proxy,
    };
    let arn: &Text = &target_group.arn;
    if !is_registered || instance.targets.iter().any(|target| target.group == *arn) {
        return;
    }
    let health = if is_ready { TargetHealth::Healthy } else { TargetHealth::Unhealthy };
    instance.targets.push(Target { group: arn.clone(), health });
    instance.targets.sort();
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use crate::groups::{GroupBy, LearntGroup, from_nodes};

    use super::*;

    fn node(name: &str, group: &str, labels: &Value) -> Value {
        let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"eks.amazonaws.com/nodegroup": group}},
            "spec": {"providerID": format!("aws:///a/i-{name}")}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let own = node["metadata"]["labels"].as_object_mut().expect("labels");
        own.extend(labels.as_object().expect("labels").clone());
        node
    }

    fn binding(name: &str, more: &Value) -> Value {
        let mut spec = json!({"targetGroupARN": format!("arn:aws:elasticloadbalancing:r:1:targetgroup/{name}/1"), "targetType": "instance",
            "serviceRef": {"name": name, "port": 80}});
        spec.as_object_mut().expect("a spec").extend(more.as_object().expect("members").clone());
        json!({"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "TargetGroupBinding", "metadata": {"name": name, "namespace": "shop"}, "spec": spec})
    }

    fn learnt(bindings: Vec<Value>) -> Vec<LearntGroup> {
        let nodes = [
            node("n1", "web", &json!({})),
            node("n2", "web", &json!({mark::EXCLUDE: "true"})),
            node("n3", "batch", &json!({"role": "batch"})),
        ];
        let local = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "local", "namespace": "shop"},
            "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}});
        let all = nodes.into_iter().chain([local]).chain(bindings);
        let view: View = all.map(|value| Delta::Put(Object::from_json(value).expect("valid"))).collect();
        from_nodes(&view, &GroupBy::default())
    }

    /// `group: target groups | instance: target=state`
    fn shown(groups: &[LearntGroup]) -> Vec<String> {
        let shown = groups.iter().map(|learnt| {
            let names: Vec<&str> =
                learnt.group.target_groups.iter().map(|one| TargetGroup::name_of(&one.arn)).collect();
            let targets: Vec<String> = learnt
                .instances
                .iter()
                .map(|one| {
                    let all: Vec<String> = one
                        .targets
                        .iter()
                        .map(|target| format!("{}={}", TargetGroup::name_of(&target.group), target.health))
                        .collect();
                    format!("{}:{}", one.id, all.join(","))
                })
                .collect();
            format!("{} {} | {}", learnt.group.name, names.join(","), targets.join(" "))
        });
        shown.collect()
    }

    #[test]
    fn nodes_are_targets_of_bindings_of_the_type_instance_that_select_them() {
        let groups = learnt(vec![
            binding("web", &json!({})),
            binding("some", &json!({"nodeSelector": {"matchLabels": {"role": "batch"}}})),
            binding("pods", &json!({"targetType": "ip"})),
            binding("local", &json!({})),
        ]);
        assert_eq!(
            shown(&groups),
            ["batch some,web | i-n3:some=healthy,web=healthy", "web web | i-n1:web=healthy i-n2:"]
        );
        assert_eq!(groups[0].group.target_groups[0].registrar, Registrar::Controller);
    }

    #[test]
    fn without_bindings_nothing_is_known() {
        assert_eq!(shown(&learnt(Vec::new())), ["batch  | i-n3:", "web  | i-n1: i-n2:"]);
    }
}
