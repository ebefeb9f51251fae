//! Who may make a node that is not there yet: Karpenter's node pools, and cluster-autoscaler where it has groups without nodes.

use replank_model::object::affinity::{
    NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, Taint,
};
use replank_model::object::pod::PodSpec;
use replank_model::object::{Object, render};
use replank_model::text::Text;
use serde_json::Value;

use super::ground::keeps_off;
use super::survey::Survey;
use replank_protocol::provisioner::LABEL_NODE_POOL;

/// Labels, by how they begin, that Karpenter knows of by itself, without a pool saying so (Karpenter "Scheduling", well-known
/// labels; EKS user guide "Create a node pool for EKS Auto Mode").
const WELL_KNOWN: [&str; 10] = [
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.k8s.aws/zone-id",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "karpenter.sh/capacity-type",
    "karpenter.k8s.aws/",
    "eks.amazonaws.com/instance-",
];

/// Whether a node for a pod may come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Provisioner {
    /// By a node pool of Karpenter: its labels, requirements and taints go with the pod.
    Pool(Text),
    /// By an autoscaler, of whose groups not all is known.
    Perhaps(&'static str),
    /// By nobody that the snapshot knows of.
    Nobody,
}

/// All that make nodes.
pub(super) struct Provisioners {
    pools: Vec<Pool>,
    perhaps: Option<&'static str>,
}

/// What a node pool says of its nodes (`karpenter.sh` NodePool, `spec.template`).
struct Pool {
    name: Text,
    requirements: Vec<NodeSelectorRequirement>,
    taints: Vec<Taint>,
}

impl Provisioners {
    pub(super) fn of(survey: &Survey<'_>) -> Self {
        let is_pool = |group: &str, kind: &str| group == "karpenter.sh" && kind == "NodePool";
        let others = survey.view.others().filter(|other| is_pool(other.group(), &other.kind));
        let pools: Vec<Pool> = others
            .map(|other| Pool::of(other.meta.name.text(), &render(&Object::Other(other.clone()))))
            .collect();
        let autoscaler = &survey.autoscaler;
        // A group whose nodes are here makes more like them; one that is not here may make others.
        let is_here = |group: &Text| {
            survey.ground.kinds().any(|(_, kind)| {
                kind.group.as_ref().is_some_and(|own| autoscaler.scales(own).is_some_and(|asg| asg == group))
            })
        };
        let runs = autoscaler.pod.is_some() || !survey.options.autoscaled.is_empty();
        let has_more = autoscaler.groups.is_empty() || !autoscaler.groups.iter().all(is_here);
        let karpenter = || {
            pools.is_empty()
                && survey
                    .ground
                    .kinds()
                    .any(|(_, kind)| kind.sample.meta.labels.get(LABEL_NODE_POOL).is_some())
        };
        let perhaps = if runs && has_more {
            Some("an autoscaler is running and may create one in a node group without nodes")
        } else if karpenter() {
            Some("Karpenter may create one: its node pools are not in the snapshot")
        } else {
            None
        };
        Self { pools, perhaps }
    }

    /// Who may make a node for a pod.
    pub(super) fn for_pod(&self, spec: &PodSpec) -> Provisioner {
        match (self.pools.iter().find(|pool| pool.makes(spec)), self.perhaps) {
            (Some(pool), _) => Provisioner::Pool(pool.name.clone()),
            (None, Some(why)) => Provisioner::Perhaps(why),
            (None, None) => Provisioner::Nobody,
        }
    }
}

impl Pool {
    fn of(name: &Text, object: &Value) -> Self {
        let template = &object["spec"]["template"];
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let read = |value: Value| serde_json::from_value(value).ok();
        let mut requirements: Vec<NodeSelectorRequirement> =
            list(&template["spec"]["requirements"]).into_iter().filter_map(read).collect();
        let labels = template["metadata"]["labels"].as_object().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some(is(key, value.as_str()?)));
        requirements.extend(labels);
        requirements.push(is(LABEL_NODE_POOL, name));
        let taints = list(&template["spec"]["taints"]);
        let taints = taints.into_iter().filter_map(|taint| serde_json::from_value(taint).ok()).collect();
        Self { name: name.clone(), requirements, taints }
    }

    fn makes(&self, spec: &PodSpec) -> bool {
        let tolerates = |taint: &Taint| spec.tolerations.iter().any(|one| one.tolerates(taint, false));
        let affinity = spec.affinity.as_deref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required = affinity.and_then(|affinity| affinity.required.as_ref());
        self.taints.iter().filter(|taint| keeps_off(taint)).all(tolerates)
            && spec.node_selector.iter().all(|(key, value)| self.meets(&is(key, value)))
            && required.is_none_or(|required| required.node_selector_terms.iter().any(|term| self.fits(term)))
    }

    fn fits(&self, term: &NodeSelectorTerm) -> bool {
        let is_empty = term.match_expressions.is_empty();
        !is_empty && term.match_fields.is_empty() && term.match_expressions.iter().all(|one| self.meets(one))
    }

    /// Whether some node of the pool can meet one requirement of a pod.
    fn meets(&self, asked: &NodeSelectorRequirement) -> bool {
        let own = || self.requirements.iter().filter(|one| one.key == asked.key);
        let is_defined = own().next().is_some() || is_well_known(&asked.key);
        let gives = |value: &Text| own().all(|one| allows(one, value));
        match asked.operator {
            NodeSelectorOperator::In => is_defined && asked.values.iter().any(gives),
            NodeSelectorOperator::NotIn => {
                let mut listed = own().filter(|one| one.operator == NodeSelectorOperator::In).peekable();
                listed.peek().is_none()
                    || listed
                        .flat_map(|one| &one.values)
                        .any(|value| !asked.values.contains(value) && gives(value))
            }
            NodeSelectorOperator::Exists | NodeSelectorOperator::Gt | NodeSelectorOperator::Lt => is_defined,
            NodeSelectorOperator::DoesNotExist => !is_defined,
        }
    }
}

fn is(key: &str, value: &str) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: Text::from(key),
        operator: NodeSelectorOperator::In,
        values: vec![Text::from(value)],
    }
}

fn is_well_known(key: &str) -> bool {
    WELL_KNOWN.iter().any(|known| key.starts_with(known))
}

fn allows(one: &NodeSelectorRequirement, value: &Text) -> bool {
    let bound = || Some((value.parse::<i64>().ok()?, one.values.first()?.parse::<i64>().ok()?));
    match one.operator {
        NodeSelectorOperator::In => one.values.contains(value),
        NodeSelectorOperator::NotIn => !one.values.contains(value),
        NodeSelectorOperator::Exists => true,
        NodeSelectorOperator::DoesNotExist => false,
        NodeSelectorOperator::Gt => bound().is_some_and(|(value, bound)| value > bound),
        NodeSelectorOperator::Lt => bound().is_some_and(|(value, bound)| value < bound),
    }
}
