//! What the group that nodes move into lacks, beside the groups that they leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::cloud::{NodeGroup, NodeProfile};
use replank_model::object::meta::Key;
use replank_model::object::pod::PodSpec;
use replank_model::object::resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS};
use replank_model::quantity::Quantity;
use replank_model::text::{GroupName, Text, Zone};

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::finding::counted;
use replank_facts::groups::GroupBy;
use replank_facts::instance_types::instance_type;
use replank_facts::pod_groups::POD_ENI;
use replank_facts::remedy::{Edit, Remedy};
use serde_json::json;

const ARCH: &str = "kubernetes.io/arch";
/// Labels that belong to a node, its type, its place, or name the group itself.
const OWN: [&str; 12] = [
    "eks.amazonaws.com/",
    "alpha.eksctl.io/",
    "karpenter.",
    "topology.",
    "failure-domain.",
    "beta.kubernetes.io/",
    "node.kubernetes.io/",
    "k8s.io/cloud-provider-aws",
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "aws:",
];
/// Labels that a controller sets on nodes by what it finds there, on new ones too: `vpc.amazonaws.com/has-trunk-attached` once a trunk network interface is attached
/// (troubleshooting guide of the VPC resource controller). They matter only if a pod selects them.
const FOUND: [&str; 1] = ["vpc.amazonaws.com/"];
/// Resources that every node has.
const ORDINARY: [&str; 4] = [CPU, MEMORY, PODS, EPHEMERAL_STORAGE];

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let Some(landing) = survey.plan.and_then(|plan| plan.target.group.as_ref()) else { return Vec::new() };
    let sources: Vec<&Arc<NodeGroup>> = survey
        .groups_touched()
        .iter()
        .filter(|name| *name != landing)
        .filter_map(|name| survey.groups.get(name))
        .collect();
    let is_shown =
        survey.view.nodes.unordered().any(|(_, node)| survey.group_of(node).as_ref() == Some(landing));
    let parity = Parity { survey, landing: landing.clone(), sources };
    match survey.groups.get(landing).filter(|_| is_shown) {
        Some(group) => parity.between(group),
        None => parity.with_defaults(),
    }
}

struct Parity<'a> {
    survey: &'a Survey<'a>,
    landing: GroupName,
    sources: Vec<&'a Arc<NodeGroup>>,
}

impl Parity<'_> {
    fn finding(&self, severity: Severity, reason: String, remedy: impl Into<Remedy>) -> Finding {
        let object = ObjectName::new("NodeGroup", Key::cluster(self.landing.as_str()));
        Finding { rule: Rule::GroupParity, severity, object, reason, remedy: remedy.into() }
    }

    /// The groups as their nodes show them.
    fn between(&self, landing: &NodeGroup) -> Vec<Finding> {
        let mut findings = Vec::new();
        let profile = landing.profile();
        for source in &self.sources {
            let from = source.profile();
            findings.extend(self.zones(source, landing));
            findings.extend(self.labels(&source.name, from, profile));
            findings.extend(self.taints(&source.name, from, profile));
            findings.extend(self.arch(&source.name, from, profile));
            findings.extend(self.resources(&source.name, from, profile));
        }
        findings
    }

    fn zones(&self, source: &NodeGroup, landing: &NodeGroup) -> Option<Finding> {
        let missing: Vec<&str> =
            source.zones.iter().filter(|zone| !landing.zones.contains(zone)).map(Zone::as_str).collect();
        (!missing.is_empty()).then(|| {
            let reason = format!(
                "no node in {}, where group {} has some: pods bound to a zone by a volume or topology spread cannot move",
                missing.join(", "),
                source.name
            );
            self.finding(Severity::Warning, reason, "add subnets in these zones to the group before the roll")
        })
    }

    fn labels(&self, source: &GroupName, from: &NodeProfile, to: &NodeProfile) -> Option<Finding> {
        let own = match &self.survey.options.group_by {
            GroupBy::Label(key) => Some(&**key),
            GroupBy::Selector(..) => None,
        };
        let is_found = |key: &str| {
            FOUND.iter().any(|start| key.starts_with(start)) && self.users(|spec| selects(spec, key)) == 0
        };
        let is_own =
            |key: &str| Some(key) == own || OWN.iter().any(|start| key.starts_with(start)) || is_found(key);
        let missing: BTreeMap<&str, &str> = from
            .labels
            .iter()
            .filter(|(key, value)| !is_own(key) && to.labels.value(key) != Some(value))
            .collect();
        if missing.is_empty() {
            return None;
        }
        let users = self.users(|spec| missing.keys().any(|key| selects(spec, key)));
        let listed: Vec<String> = missing.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let (severity, who) = match users {
            0 => (Severity::Info, "no pod on them selects it".to_owned()),
            users => (Severity::Warning, format!("selected by {}", counted(users, "workload"))),
        };
        let reason = format!("lacks labels of group {source}: {} ({who})", listed.join(", "));
        let remedy = Remedy::edit(Edit::plan("target.labels", json!(missing)));
        Some(self.finding(severity, reason, remedy))
    }

    fn taints(&self, source: &GroupName, from: &NodeProfile, to: &NodeProfile) -> Vec<Finding> {
        let lacks = |all: &[Taint], one: &Taint| {
            !all.iter().any(|known| known.key == one.key && known.effect == one.effect)
        };
        let mut findings = Vec::new();
        for taint in to
            .taints
            .iter()
            .filter(|taint| lacks(&from.taints, taint) && taint.effect != TaintEffect::PreferNoSchedule)
        {
            let users = self.users(|spec| !spec.tolerations.iter().any(|one| one.tolerates(taint, false)));
            if users > 0 {
                let reason = format!(
                    "has taint {}, which group {source} does not have and {} there do not tolerate",
                    told(taint),
                    counted(users, "workload")
                );
                findings.push(self.finding(
                    Severity::Warning,
                    reason,
                    "add the toleration to the pods that are meant to run there, or remove the taint",
                ));
            }
        }
        for taint in from.taints.iter().filter(|taint| lacks(&to.taints, taint)) {
            let reason = format!(
                "lacks taint {} of group {source}: pods that are not meant to run there may be scheduled",
                told(taint)
            );
            let remedy = format!("target: {{taints: [{:?}]}}", told(taint));
            findings.push(self.finding(Severity::Info, reason, remedy));
        }
        findings
    }

    fn arch(&self, source: &GroupName, from: &NodeProfile, to: &NodeProfile) -> Option<Finding> {
        let (before, after) = (archs(from), archs(to));
        let foreign: Vec<&str> = after.difference(&before).map(|arch| &**arch).collect();
        if before.is_empty() || foreign.is_empty() {
            return None;
        }
        let before: Vec<&str> = before.iter().map(|arch| &**arch).collect();
        let reason = format!(
            "its nodes are {}, those of group {source} {}: an image without that architecture does not start (exec format error)",
            foreign.join(", "),
            before.join(", ")
        );
        Some(self.finding(
            Severity::Warning,
            reason,
            "check that every image has both: docker buildx imagetools inspect IMAGE",
        ))
    }

    fn resources(&self, source: &GroupName, from: &NodeProfile, to: &NodeProfile) -> Vec<Finding> {
        let mut findings = Vec::new();
        // Branch interfaces have a rule of their own.
        let special = |profile: &NodeProfile| -> BTreeSet<Text> {
            let shapes = profile.shapes.iter().flat_map(|shape| shape.allocatable.iter());
            shapes
                .filter(|(name, quantity)| !is_ordinary(name) && ***name != *POD_ENI && !quantity.is_zero())
                .map(|(name, _)| name.clone())
                .collect()
        };
        for missing in special(from).difference(&special(to)) {
            let users = self.users(|spec| requests(spec, missing));
            let severity = if users > 0 { Severity::Warning } else { Severity::Info };
            let reason = format!(
                "has no {missing}, which nodes of group {source} have; requested by {}",
                counted(users, "workload")
            );
            findings.push(self.finding(
                severity,
                reason,
                "choose instance types that provide it, and run its device plugin there",
            ));
        }
        for name in [CPU, MEMORY, PODS] {
            let Some((had, has)) = least(from, name).zip(least(to, name)) else { continue };
            if has < had {
                let reason = format!(
                    "a node has {} {name}, a node of group {source} has {}: the same number of nodes holds less",
                    shown(name, has),
                    shown(name, had)
                );
                findings.push(self.finding(
                    Severity::Warning,
                    reason,
                    "plan more nodes, or choose larger instance types",
                ));
            }
        }
        findings
    }

    /// A group that no node shows: what EKS makes of the same instance types.
    fn with_defaults(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for source in &self.sources {
            let mut told = BTreeSet::new();
            for shape in &source.profile().shapes {
                let Some(known) = instance_type(&shape.instance_type) else { continue };
                let offered = known.allocatable(&shape.capacity);
                for name in [CPU, MEMORY, PODS] {
                    let value = |quantity: &Quantity| {
                        if name == CPU { quantity.milli_value() } else { quantity.value() }
                    };
                    let Some((had, has)) = shape.allocatable.get(name).zip(offered.get(name)) else {
                        continue;
                    };
                    // Images differ a little in what they reserve: less than a tenth is not worth a word.
                    if value(has) * 10 < value(had) * 9 && told.insert(name) {
                        let reason = format!(
                            "not in the snapshot; with EKS's defaults a {} has {} {name}, a node of group {} has {}",
                            known.name,
                            shown(name, value(has)),
                            source.name,
                            shown(name, value(had))
                        );
                        findings.push(self.finding(
                            Severity::Info,
                            reason,
                            "copy the settings of the old group: kubelet.config.maxPods and reservations in its NodeConfig",
                        ));
                    }
                }
            }
        }
        findings
    }

    /// Workloads with pods on the nodes that move of whose spec something is true.
    fn users(&self, is_so: impl Fn(&PodSpec) -> bool) -> usize {
        let workloads = self.survey.workloads.values();
        workloads.filter(|pods| self.survey.subjects_of(pods).any(|subject| is_so(&subject.pod.spec))).count()
    }
}

fn told(taint: &Taint) -> String {
    match taint.value.is_empty() {
        true => format!("{}:{}", taint.key, taint.effect.as_str()),
        false => format!("{}={}:{}", taint.key, taint.value, taint.effect.as_str()),
    }
}

fn selects(spec: &PodSpec, key: &str) -> bool {
    let required = spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|affinity| affinity.required.as_ref());
    let mut terms = required.into_iter().flat_map(|required| &required.node_selector_terms);
    spec.node_selector.get(key).is_some()
        || terms.any(|term| term.match_expressions.iter().any(|one| &*one.key == key))
}

fn requests(spec: &PodSpec, name: &str) -> bool {
    let containers = spec.containers.iter().chain(&spec.init_containers);
    let mut resources = containers.map(|container| &container.resources);
    resources.any(|resources| resources.requests.get(name).is_some() || resources.limits.get(name).is_some())
}

fn is_ordinary(name: &str) -> bool {
    ORDINARY.contains(&name) || name.starts_with("hugepages-") || name.starts_with("attachable-volumes-")
}

/// The instruction sets of a group's nodes: what they say, or what their types are known to be.
fn archs(profile: &NodeProfile) -> BTreeSet<Text> {
    if let Some(arch) = profile.labels.get(ARCH) {
        return BTreeSet::from([arch.clone()]);
    }
    let of_shape = |shape: &replank_model::object::cloud::NodeShape| {
        let known = || instance_type(&shape.instance_type).map(|known| Text::from(known.arch.as_str()));
        shape.labels.get(ARCH).cloned().or_else(known)
    };
    profile.shapes.iter().filter_map(of_shape).collect()
}

/// The least that a node of a group offers: milli-cores, bytes, pods.
fn least(profile: &NodeProfile, name: &str) -> Option<i64> {
    let of = |quantity: &Quantity| if name == CPU { quantity.milli_value() } else { quantity.value() };
    profile.shapes.iter().filter_map(|shape| shape.allocatable.get(name)).map(of).min()
}

fn shown(name: &str, value: i64) -> String {
    match name {
        CPU => format!("{value}m"),
        MEMORY => format!("{}Mi", value >> 20),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found_under, merge, node, service};
    use super::*;

    fn new(extra: Value) -> Value {
        let mut new = node("x", "a");
        new["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("web-new");
        merge(&mut new, extra);
        new
    }

    fn with(old: Value, new: Vec<Value>, pods: &Value) -> Vec<String> {
        let mut source = node("n", "a");
        merge(&mut source, old);
        found_under(
            Rule::GroupParity,
            |plan| plan.target.group = Some("web-new".into()),
            [vec![source], new, service("web", &["n"], pods)].concat(),
        )
    }

    #[test]
    fn groups_that_are_alike_are_not_found() {
        assert_eq!(with(json!({}), vec![new(json!({}))], &json!({})), [""; 0]);
        let more = json!({"metadata": {"labels": {"team": "b"}}, "status": {"allocatable": {"cpu": "8"}}});
        assert_eq!(with(json!({}), vec![new(more)], &json!({})), [""; 0], "more is not less");
    }

    #[test]
    fn labels_are_graver_where_pods_select_them() {
        let old = json!({"metadata": {"labels": {"role": "web"}}});
        assert_eq!(
            with(old.clone(), vec![new(json!({}))], &json!({})),
            [
                "info group-parity NodeGroup web-new: lacks labels of group web: role=web (no pod on them selects it)"
            ]
        );
        let selecting = json!({"spec": {"nodeSelector": {"role": "web"}}});
        assert_eq!(
            with(old, vec![new(json!({}))], &selecting),
            [
                "warning group-parity NodeGroup web-new: lacks labels of group web: role=web (selected by 1 workload)"
            ]
        );
    }

    #[test]
    fn labels_that_a_controller_sets_are_not_the_groups_unless_pods_select_them() {
        let old = |key: &str| json!({"metadata": {"labels": {key: "true"}}});
        let trunk = "vpc.amazonaws.com/has-trunk-attached";
        assert_eq!(with(old(trunk), vec![new(json!({}))], &json!({})), [""; 0]);
        let selecting = json!({"spec": {"nodeSelector": {trunk: "true"}}});
        assert_eq!(with(old(trunk), vec![new(json!({}))], &selecting).len(), 1, "it has no other place");
        let alike = old("vpc.example.com/has-trunk-attached");
        assert_eq!(with(alike, vec![new(json!({}))], &json!({})).len(), 1, "nobody is known to set it");
    }

    #[test]
    fn taints_count_where_nobody_tolerates_them() {
        let tainted =
            new(json!({"spec": {"taints": [{"key": "role", "value": "web", "effect": "NoSchedule"}]}}));
        assert_eq!(
            with(json!({}), vec![tainted.clone()], &json!({})),
            [
                "warning group-parity NodeGroup web-new: has taint role=web:NoSchedule, which group web does not have and 1 workload there do not tolerate"
            ]
        );
        let bearing = json!({"spec": {"tolerations": [{"key": "role", "operator": "Exists"}]}});
        assert_eq!(with(json!({}), vec![tainted], &bearing), [""; 0]);
        let old = json!({"spec": {"taints": [{"key": "role", "value": "web", "effect": "NoSchedule"}]}});
        assert!(
            with(old, vec![new(json!({}))], &bearing)[0]
                .starts_with("info group-parity NodeGroup web-new: lacks taint")
        );
    }

    #[test]
    fn zones_architecture_devices_and_size_are_compared() {
        let elsewhere = new(json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "b"}}}));
        assert!(
            with(json!({}), vec![elsewhere], &json!({}))[0]
                .contains("no node in a, where group web has some")
        );
        let arch = |arch: &str| json!({"metadata": {"labels": {"kubernetes.io/arch": arch}}});
        assert!(
            with(arch("amd64"), vec![new(arch("arm64"))], &json!({}))[0]
                .contains("its nodes are arm64, those of group web amd64")
        );
        assert_eq!(with(arch("amd64"), vec![new(arch("amd64"))], &json!({})), [""; 0]);
        let gpu = json!({"status": {"allocatable": {"nvidia.com/gpu": "1"}}});
        let asking = json!({"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}]}});
        assert!(
            with(gpu, vec![new(json!({}))], &asking)[0]
                .starts_with("warning group-parity NodeGroup web-new: has no nvidia.com/gpu")
        );
        let small = new(json!({"status": {"allocatable": {"memory": "8Gi"}}}));
        assert_eq!(
            with(json!({}), vec![small], &json!({})),
            [
                "warning group-parity NodeGroup web-new: a node has 8192Mi memory, a node of group web has 16384Mi: the same number of nodes holds less"
            ]
        );
    }

    #[test]
    fn of_a_group_that_is_not_shown_the_defaults_are_told_where_they_are_less() {
        let typed = |pods: &str| {
            json!({"metadata": {"labels": {"node.kubernetes.io/instance-type": "m6i.xlarge"}},
            "status": {"allocatable": {"cpu": "3920m", "memory": "14Gi", "pods": pods}, "capacity": {"cpu": "4", "memory": "16Gi", "pods": pods}}})
        };
        assert_eq!(
            with(typed("110"), vec![], &json!({})),
            [
                "info group-parity NodeGroup web-new: not in the snapshot; with EKS's defaults a m6i.xlarge has 58 pods, a node of group web has 110"
            ]
        );
        assert_eq!(with(typed("58"), vec![], &json!({})), [""; 0]);
    }
}
