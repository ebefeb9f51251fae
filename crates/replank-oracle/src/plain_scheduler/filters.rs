//! Filters.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::{
    NodeSelectorOperator, PodAffinity, PodAffinityTerm, Taint, TaintEffect, TopologySpreadConstraint,
    UnsatisfiableAction,
};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;

use super::pods::{
    Amounts, affinity_matches, amounts, counts_for, get, host_ports, is_blocked, spread_selector, taken,
    wanted,
};
use super::{OnNode, Question};

pub use super::failure::Failure;
pub(crate) use super::failure::fail;

pub(crate) fn required(affinity: Option<&PodAffinity>) -> &[PodAffinityTerm] {
    affinity.map_or(&[], |affinity| &affinity.required)
}

pub(crate) fn near(pod: &Pod) -> Option<&PodAffinity> {
    pod.spec.affinity.as_ref()?.pod_affinity.as_ref()
}

pub(crate) fn apart(pod: &Pod) -> Option<&PodAffinity> {
    pod.spec.affinity.as_ref()?.pod_anti_affinity.as_ref()
}

impl<'a> Question<'a> {
    /// The names that every required term gives.
    pub(crate) fn narrowed(&self) -> Option<BTreeSet<String>> {
        if let Some(pin) = &self.pod.pin {
            return Some(BTreeSet::from([pin.to_string()]));
        }
        let affinity = self.pod.spec.affinity.as_ref()?.node_affinity.as_ref()?;
        let terms = &affinity.required.as_ref()?.node_selector_terms;
        let mut names = BTreeSet::new();
        for term in terms {
            let mut own: Option<BTreeSet<String>> = None;
            for field in &term.match_fields {
                if &*field.key == "metadata.name" && field.operator == NodeSelectorOperator::In {
                    let values: BTreeSet<String> = field.values.iter().map(ToString::to_string).collect();
                    own =
                        Some(own.map_or(values.clone(), |own| own.intersection(&values).cloned().collect()));
                }
            }
            names.extend(own?);
        }
        (!terms.is_empty()).then_some(names)
    }

    /// The pod is refused before nodes are looked at.
    pub(crate) fn rejection(&self) -> Option<(String, String)> {
        if self.narrowed().is_some_and(|names| names.is_empty()) {
            return Some(("NodeAffinity".into(), "pod affinity terms conflict".into()));
        }
        self.refused_for_volumes().or_else(|| {
            // Claims of dynamic resource allocation are not known here.
            let Pod { meta, spec, .. } = self.pod;
            let reason = match &spec.resource_claims.first()?.resource_claim_name {
                Some(claim) => format!("could not find ResourceClaim \"{}/{claim}\"", meta.namespace),
                None => {
                    format!("pod \"{}/{}\": ResourceClaim not created yet", meta.namespace, meta.name)
                }
            };
            Some(("DynamicResources".into(), reason))
        })
    }

    pub(crate) fn skipped_filters(&self) -> BTreeSet<String> {
        let pod = self.pod;
        let has_node_affinity = pod.pin.is_some()
            || !pod.spec.node_selector.is_empty()
            || pod
                .spec
                .affinity
                .as_ref()
                .and_then(|affinity| affinity.node_affinity.as_ref())
                .is_some_and(|affinity| affinity.required.is_some());
        let is_meant = self.nodes.values().any(|on| self.repelled_from(on, &[]).next().is_some());
        let has_terms = !required(near(pod)).is_empty() || !required(apart(pod)).is_empty();
        let mut skipped: BTreeSet<String> = self.skipped_for_volumes();
        let mut skip = |plugin: &str, is_skipped: bool| {
            if is_skipped {
                skipped.insert(plugin.to_owned());
            }
        };
        skip("NodeAffinity", !has_node_affinity);
        skip("NodePorts", host_ports(pod).is_empty());
        skip("PodTopologySpread", self.hard().is_empty());
        skip("InterPodAffinity", !is_meant && !has_terms);
        skip("DynamicResources", true);
        skip("NodeDeclaredFeatures", features(pod).is_empty());
        skipped
    }

    /// All objections of a node, each plugin asked on its own, with some pods more on it.
    pub(crate) fn failures(&self, on: &OnNode<'a>, more: &[&'a Pod]) -> Vec<Failure> {
        let mut with = on.clone();
        with.pods.extend(more);
        let (on, node) = (&with, with.node);
        let mut all = Vec::new();
        let is_excluded = self.settings.excluded.contains(node.meta.name.as_str());
        let cordon = Taint::new("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule);
        let compare = self.settings.compare_numbers;
        let tolerates = self.pod.spec.tolerations.iter().any(|t| t.tolerates(&cordon, compare));
        if (node.spec.unschedulable && !tolerates) || is_excluded {
            all.extend(fail("NodeUnschedulable", false, "node(s) were unschedulable"));
        }
        if self.pod.node.as_ref().is_some_and(|name| name.as_str() != node.meta.name.as_str()) {
            all.extend(fail("NodeName", false, "node(s) didn't match the requested node name"));
        }
        if is_blocked(self.pod, node, compare) {
            all.extend(fail("TaintToleration", false, "node(s) had untolerated taint(s)"));
        }
        if !affinity_matches(self.pod, node) {
            all.extend(fail("NodeAffinity", false, "node(s) didn't match Pod's node affinity/selector"));
        }
        all.extend(self.ports(on));
        all.extend(self.fit(on));
        all.extend(self.volumes(on, more));
        all.extend(self.spread(on, more));
        all.extend(self.affinity(on, more));
        let declared: Vec<&str> = node.status.declared_features.iter().map(|name| &**name).collect();
        if !features(self.pod).iter().all(|feature| declared.contains(feature)) {
            all.extend(fail("NodeDeclaredFeatures", false, "node(s) didn't match Pod's required features"));
        }
        // A plugin that had nothing to look at takes no part, whatever is put there for the question.
        if !more.is_empty() {
            let skipped = self.skipped_filters();
            all.retain(|failure| !skipped.contains(&failure.plugin));
        }
        all
    }

    fn ports(&self, on: &OnNode<'a>) -> Option<Failure> {
        let used: Vec<_> = on.pods.iter().flat_map(|pod| host_ports(pod)).collect();
        let is_any = |address: &str| address == "0.0.0.0";
        let is_taken = host_ports(self.pod).iter().any(|(address, protocol, number)| {
            used.iter().any(|(other, proto, used)| {
                number == used && protocol == proto && (address == other || is_any(address) || is_any(other))
            })
        });
        if is_taken {
            fail("NodePorts", true, "node(s) didn't have free ports for the requested pod ports")
        } else {
            None
        }
    }

    fn fit(&self, on: &OnNode<'a>) -> Option<Failure> {
        let room = amounts(&on.node.status.allocatable);
        let pods = on.node.status.allocatable.get("pods").map_or(0, replank_model::quantity::Quantity::value);
        let mut used = Amounts::new();
        for pod in &on.pods {
            for (name, amount) in taken(pod).0 {
                *used.entry(name).or_default() += amount;
            }
        }
        let (wanted, _) = wanted(self.pod);
        let mut reasons = Vec::new();
        let mut resolvable = true;
        if i64::try_from(on.pods.len()).expect("few pods") + 1 > pods {
            reasons.push("Too many pods".to_owned());
        }
        let first = ["cpu", "memory", "ephemeral-storage"];
        let rest = wanted.keys().map(String::as_str).filter(|name| !first.contains(name));
        for name in first.into_iter().chain(rest) {
            let amount = get(&wanted, name);
            if amount > 0 && amount > get(&room, name) - get(&used, name) {
                reasons.push(format!("Insufficient {name}"));
                resolvable &= amount <= get(&room, name);
            }
        }
        let failure = Failure { plugin: "NodeResourcesFit".into(), resolvable, reasons };
        (!failure.reasons.is_empty()).then_some(failure)
    }

    pub(crate) fn hard(&self) -> Vec<&'a TopologySpreadConstraint> {
        let all = self.pod.spec.topology_spread_constraints.iter();
        all.filter(|c| c.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule).collect()
    }

    fn spread(&self, on: &OnNode<'a>, more: &[&'a Pod]) -> Option<Failure> {
        let hard = self.hard();
        let has_all = |node: &Node| hard.iter().all(|c| node.meta.labels.contains_key(&c.topology_key));
        for constraint in &hard {
            let Some(own) = on.node.meta.labels.value(&constraint.topology_key) else {
                let reason = "node(s) didn't match pod topology spread constraints (missing required label)";
                return fail("PodTopologySpread", false, reason);
            };
            let selector = spread_selector(constraint, self.pod);
            let is_meant = |pod: &Pod| {
                pod.meta.namespace == self.pod.meta.namespace
                    && selector.matches(|key| pod.meta.labels.value(key))
            };
            let mut domains: BTreeMap<&str, i64> = BTreeMap::new();
            for other in self.nodes.values() {
                let node = other.node;
                if !has_all(node) || !counts_for(constraint, self.pod, node, self.settings.compare_numbers) {
                    continue;
                }
                let value = node.meta.labels.value(&constraint.topology_key).expect("has all keys");
                let count = domains.entry(value).or_default();
                // An empty selector counts nothing that is there.
                if !selector.is_empty() {
                    let staying = other.pods.iter().filter(|pod| !pod.is_terminating() && is_meant(pod));
                    *count += i64::try_from(staying.count()).expect("few pods");
                }
                // Pods that are put there for the question count whatever they do.
                if std::ptr::eq(node, on.node) {
                    *count +=
                        i64::try_from(more.iter().filter(|pod| is_meant(pod)).count()).expect("few pods");
                }
            }
            let known = i64::try_from(domains.len()).expect("few domains");
            let enough = known >= i64::from(constraint.min_domains.unwrap_or(1));
            let fewest = if enough { domains.values().copied().min().unwrap_or(0) } else { 0 };
            let myself = i64::from(selector.matches(|key| self.pod.meta.labels.value(key)));
            let here = domains.get(own).copied().unwrap_or(0);
            if here + myself - fewest > i64::from(constraint.max_skew) {
                return fail(
                    "PodTopologySpread",
                    true,
                    "node(s) didn't match pod topology spread constraints",
                );
            }
        }
        None
    }

    fn affinity(&self, on: &OnNode<'a>, more: &[&'a Pod]) -> Option<Failure> {
        let labels = &on.node.meta.labels;
        let terms = required(near(self.pod));
        let means_all = |other: &Pod| {
            !terms.is_empty() && terms.iter().all(|term| self.means(term, self.pod, other, true))
        };
        let shares = |key: &str, node: &Node| {
            labels.value(key).is_some() && labels.value(key) == node.meta.labels.value(key)
        };
        let mut are_none = true;
        let mut is_met = true;
        for term in terms {
            if !labels.contains_key(&term.topology_key) {
                return fail("InterPodAffinity", false, "node(s) didn't match pod affinity rules");
            }
            let mut here = false;
            for other in self.with(on, more) {
                let is_there = other.pods.iter().any(|pod| means_all(pod));
                are_none &= !(is_there && other.node.meta.labels.contains_key(&term.topology_key));
                here |= is_there && shares(&term.topology_key, other.node);
            }
            is_met &= here;
        }
        // The first of a series that only wants its own kind near may go anywhere.
        let is_first = are_none && means_all(self.pod);
        if !is_met && !is_first {
            return fail("InterPodAffinity", false, "node(s) didn't match pod affinity rules");
        }
        let is_kept_apart = required(apart(self.pod)).iter().any(|term| {
            self.with(on, more).iter().any(|other| {
                shares(&term.topology_key, other.node)
                    && other.pods.iter().any(|pod| self.means(term, self.pod, pod, true))
            })
        });
        if is_kept_apart {
            return fail("InterPodAffinity", true, "node(s) didn't match pod anti-affinity rules");
        }
        let is_repelled = self
            .with(on, more)
            .iter()
            .any(|other| self.repelled_from(other, &[]).any(|term| shares(&term.topology_key, other.node)));
        if is_repelled {
            return fail(
                "InterPodAffinity",
                true,
                "node(s) didn't satisfy existing pods anti-affinity rules",
            );
        }
        None
    }

    /// All nodes, the one that is asked with its pods as they would be.
    fn with(&self, on: &OnNode<'a>, more: &[&'a Pod]) -> Vec<OnNode<'a>> {
        let mut all: Vec<OnNode<'a>> = self.nodes.values().cloned().collect();
        for other in all.iter_mut().filter(|other| std::ptr::eq(other.node, on.node)) {
            other.pods.extend(more);
        }
        all
    }

    /// The required anti-affinity terms of a node's pods that mean the pod to be placed, where the node has the label.
    fn repelled_from<'b>(
        &'b self,
        on: &'b OnNode<'a>,
        more: &'b [&'a Pod],
    ) -> impl Iterator<Item = &'a PodAffinityTerm> + 'b {
        on.pods.iter().chain(more).flat_map(move |other| {
            required(apart(other)).iter().filter(move |term| {
                on.node.meta.labels.contains_key(&term.topology_key)
                    && self.means(term, other, self.pod, false)
            })
        })
    }
}

/// Abilities that a pod needs of its node.
fn features(pod: &Pod) -> Vec<&'static str> {
    let mut all = Vec::new();
    let mut containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    if containers.any(|c| c.restart_policy_rules.iter().any(|rule| &*rule.action == "RestartAllContainers")) {
        all.push("RestartAllContainersOnContainerExits");
    }
    if pod.spec.host_network && pod.spec.host_users == Some(false) {
        all.push("UserNamespacesHostNetworkSupport");
    }
    all
}
