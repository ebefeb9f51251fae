//! Scores.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::{TaintEffect, TopologySpreadConstraint, UnsatisfiableAction};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_ZONE, Node};
use replank_model::selector::Selector;
use replank_model::text::Text;

use super::filters::{apart, near, required};
use super::pods::{Amounts, amounts, counts_for, get, spread_selector, taken, term_matches, wanted};
use super::{OnNode, Outcome, Question};

/// Scores of one plugin, by node.
type Scores<'a> = BTreeMap<&'a str, i64>;

const MIB: f64 = 1024.0 * 1024.0;

impl<'a> Question<'a> {
    pub(crate) fn score(&self, feasible: &[&'a str], outcome: &mut Outcome) {
        let Ok(preferred) = self.preferred(feasible) else {
            outcome.is_error = true;
            outcome.scores = feasible.iter().map(|name| ((*name).to_owned(), BTreeMap::new())).collect();
            return;
        };
        let all = [
            ("TaintToleration", 3, Some(self.taints(feasible))),
            ("NodeAffinity", 2, preferred),
            ("NodeResourcesFit", 1, Some(self.least_allocated(feasible))),
            ("VolumeBinding", 1, None),
            ("PodTopologySpread", 2, self.soft_spread(feasible)),
            ("InterPodAffinity", 2, self.pulls(feasible)),
            ("DynamicResources", 2, Some(feasible.iter().map(|name| (*name, 0)).collect())),
            ("NodeResourcesBalancedAllocation", 1, self.balance(feasible)),
            ("ImageLocality", 1, Some(self.images(feasible))),
        ];
        for (plugin, weight, scores) in all {
            match scores {
                None => {
                    outcome.skipped_scores.insert(plugin.to_owned());
                }
                Some(scores) => {
                    for name in feasible {
                        let of_node = outcome.scores.entry((*name).to_owned()).or_default();
                        of_node.insert(plugin.to_owned(), weight * scores[name]);
                    }
                }
            }
        }
    }

    fn node(&self, name: &str) -> &'a Node {
        self.nodes[name].node
    }

    fn taints(&self, feasible: &[&'a str]) -> Scores<'a> {
        let compare = self.settings.compare_numbers;
        let count = |name: &&'a str| {
            let taints = self.node(name).spec.taints.iter().filter(|taint| {
                taint.effect == TaintEffect::PreferNoSchedule
                    && !self.pod.spec.tolerations.iter().any(|t| t.tolerates(taint, compare))
            });
            (*name, i64::try_from(taints.count()).expect("few taints"))
        };
        let raw: Scores<'a> = feasible.iter().map(count).collect();
        let most = raw.values().copied().max().unwrap_or(0);
        raw.into_iter()
            .map(|(name, score)| (name, if most == 0 { 100 } else { 100 - 100 * score / most }))
            .collect()
    }

    /// An error if a term cannot be read.
    fn preferred(&self, feasible: &[&'a str]) -> Result<Option<Scores<'a>>, ()> {
        let affinity = self.pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let Some(terms) = affinity.map(|affinity| &affinity.preferred).filter(|terms| !terms.is_empty())
        else {
            return Ok(None);
        };
        let mut raw = Scores::new();
        for name in feasible {
            let mut score = 0;
            for term in terms {
                let preference = &term.preference;
                let is_empty = preference.match_expressions.is_empty() && preference.match_fields.is_empty();
                if term.weight == 0 || is_empty {
                    continue;
                }
                let labels = &self.node(name).meta.labels;
                if term_matches(preference, labels, Some(*name)).ok_or(())? {
                    score += term.weight;
                }
            }
            raw.insert(name, score);
        }
        let most = raw.values().copied().max().unwrap_or(0);
        Ok(Some(raw.into_iter().map(|(n, s)| (n, if most == 0 { s } else { 100 * s / most })).collect()))
    }

    /// Sums of what the node's pods take: plainly, and as LeastAllocated reckons.
    fn used(&self, name: &str) -> (Amounts, Amounts) {
        let (mut plain, mut scored) = (Amounts::new(), Amounts::new());
        for pod in &self.nodes[name].pods {
            let (of_pod, scored_of_pod) = taken(pod);
            of_pod.into_iter().for_each(|(name, amount)| *plain.entry(name).or_default() += amount);
            scored_of_pod.into_iter().for_each(|(name, amount)| *scored.entry(name).or_default() += amount);
        }
        (plain, scored)
    }

    fn least_allocated(&self, feasible: &[&'a str]) -> Scores<'a> {
        let (_, wanted) = wanted(self.pod);
        let score = |name: &&'a str| {
            let room = amounts(&self.node(name).status.allocatable);
            let (_, used) = self.used(name);
            let mut parts = Vec::new();
            for resource in ["cpu", "memory"] {
                let (all, taken) = (get(&room, resource), get(&used, resource) + get(&wanted, resource));
                if all != 0 {
                    parts.push(if taken > all { 0 } else { (all - taken) * 100 / all });
                }
            }
            let count = i64::try_from(parts.len()).expect("two at most");
            (*name, if count == 0 { 0 } else { parts.iter().sum::<i64>() / count })
        };
        feasible.iter().map(score).collect()
    }

    fn balance(&self, feasible: &[&'a str]) -> Option<Scores<'a>> {
        let (wanted, _) = wanted(self.pod);
        if get(&wanted, "cpu") == 0 && get(&wanted, "memory") == 0 {
            return None;
        }
        let evenness = |room: &Amounts, used: &dyn Fn(&str) -> i64| {
            let mut parts = Vec::new();
            for resource in ["cpu", "memory"] {
                if get(room, resource) != 0 {
                    parts.push((used(resource) as f64 / get(room, resource) as f64).min(1.0));
                }
            }
            let deviation = if let [a, b] = parts.as_slice() { ((a - b) / 2.0).abs() } else { 0.0 };
            ((1.0 - deviation) * 100.0) as i64
        };
        let score = |name: &&'a str| {
            let room = amounts(&self.node(name).status.allocatable);
            let (used, _) = self.used(name);
            let with = evenness(&room, &|resource| get(&used, resource) + get(&wanted, resource));
            let without = evenness(&room, &|resource| get(&used, resource));
            (*name, 50 + (50 + with - without) / 2)
        };
        Some(feasible.iter().map(score).collect())
    }

    fn images(&self, feasible: &[&'a str]) -> Scores<'a> {
        let spec = &self.pod.spec;
        let containers = spec.init_containers.iter().chain(&spec.containers);
        let names: Vec<String> = containers
            .map(|container| container.image.to_string())
            .chain(spec.volumes.iter().filter_map(|v| Some(v.source.image.as_ref()?.reference.to_string())))
            .map(|name| {
                let after_slash = name.rsplit('/').next().unwrap_or("");
                if after_slash.contains(':') { name.clone() } else { format!("{name}:latest") }
            })
            .collect();
        let has = |node: &Node, wanted: &str| {
            let images = node.status.images.iter();
            images
                .filter(|image| image.names.iter().any(|name| &**name == wanted))
                .map(|i| i.size_bytes)
                .next()
        };
        let total = self.nodes.len() as f64;
        let score = |name: &&'a str| {
            let mut sum = 0.0;
            for wanted in &names {
                if has(self.node(name), wanted).is_some() {
                    let sizes: Vec<i64> = self.nodes.values().filter_map(|on| has(on.node, wanted)).collect();
                    // Of different sizes that of the first node by name counts.
                    let size = sizes.first().copied().unwrap_or(0) as f64;
                    sum += (size * (sizes.len() as f64 / total)).trunc();
                }
            }
            let containers = (spec.init_containers.len() + spec.containers.len()) as f64;
            let (floor, ceiling) = (23.0 * MIB, 1000.0 * MIB * containers);
            let sum = if sum < floor { floor } else { sum.min(ceiling) };
            (*name, (100.0 * (sum - floor) / (ceiling - floor)).trunc() as i64)
        };
        feasible.iter().map(score).collect()
    }

    /// Constraints that only score, each with its selector; those by default if the pod has none of its own.
    fn soft(&self) -> Vec<(TopologySpreadConstraint, Selector)> {
        let own = &self.pod.spec.topology_spread_constraints;
        if !own.is_empty() {
            let soft = own.iter().filter(|c| c.when_unsatisfiable == UnsatisfiableAction::ScheduleAnyway);
            return soft.map(|c| (c.clone(), spread_selector(c, self.pod))).collect();
        }
        let selector = self.sibling_selector();
        if selector.is_empty() {
            return Vec::new();
        }
        let by_default = |key: &str, max_skew| TopologySpreadConstraint {
            max_skew,
            topology_key: key.into(),
            when_unsatisfiable: UnsatisfiableAction::ScheduleAnyway,
            label_selector: None,
            min_domains: None,
            node_affinity_policy: None,
            node_taints_policy: None,
            match_label_keys: Vec::new(),
        };
        [by_default(LABEL_HOSTNAME, 3), by_default(LABEL_ZONE, 5)]
            .into_iter()
            .map(|constraint| (constraint, selector.clone()))
            .collect()
    }

    fn sibling_selector(&self) -> Selector {
        let mut labels: BTreeMap<Text, Text> = BTreeMap::new();
        for (_, service) in self.view.services.sorted() {
            let selector = &service.spec.selector;
            let selects = selector.iter().all(|(key, value)| self.pod.meta.labels.value(key) == Some(value));
            if service.meta.namespace == self.pod.meta.namespace && !selector.is_empty() && selects {
                labels.extend(selector.pairs().iter().cloned());
            }
        }
        let mut more = Vec::new();
        if let Some(owner) = self.pod.meta.controller() {
            let key = Key::new(self.pod.meta.namespace.clone(), owner.name.clone());
            let selector = match (&*owner.api_version, &*owner.kind) {
                ("apps/v1", "ReplicaSet") => {
                    self.view.replica_sets.by_key(&key).and_then(|owner| owner.spec.selector.clone())
                }
                ("apps/v1", "StatefulSet") => {
                    self.view.stateful_sets.by_key(&key).and_then(|owner| owner.spec.selector.clone())
                }
                ("v1", "ReplicationController") => {
                    let owner = self.view.replication_controllers.by_key(&key);
                    labels.extend(owner.into_iter().flat_map(|o| o.spec.selector.pairs().to_vec()));
                    None
                }
                _ => None,
            };
            let selector = selector.and_then(|selector| selector.compile().ok());
            more.extend(selector.iter().flat_map(replank_model::selector::Selector::requirements).cloned());
        }
        let labels = Selector::from_set(labels);
        Selector::new(labels.requirements().iter().cloned().chain(more).collect())
    }

    fn soft_spread(&self, feasible: &[&'a str]) -> Option<Scores<'a>> {
        let soft = self.soft();
        if soft.is_empty() {
            return None;
        }
        let needs_all = !self.pod.spec.topology_spread_constraints.is_empty();
        let has_all = |node: &Node| soft.iter().all(|(c, _)| node.meta.labels.contains_key(&c.topology_key));
        let counted: Vec<&str> =
            feasible.iter().copied().filter(|name| !needs_all || has_all(self.node(name))).collect();
        let value = |node: &'a Node, key: &str| node.meta.labels.value(key).unwrap_or("");
        let count = |on: &OnNode<'a>, selector: &Selector| {
            let pods = on.pods.iter().filter(|pod| {
                !selector.is_empty()
                    && !pod.is_terminating()
                    && pod.meta.namespace == self.pod.meta.namespace
                    && selector.matches(|key| pod.meta.labels.value(key))
            });
            i64::try_from(pods.count()).expect("few pods")
        };
        let mut raw: BTreeMap<&str, f64> = counted.iter().map(|name| (*name, 0.0)).collect();
        for (constraint, selector) in &soft {
            let key = &*constraint.topology_key;
            let is_hostname = key == LABEL_HOSTNAME;
            let values: BTreeSet<&str> = counted.iter().map(|name| value(self.node(name), key)).collect();
            let domains = if is_hostname { counted.len() } else { values.len() };
            let weight = ((domains + 2) as f64).ln();
            for name in &counted {
                let Some(own) = self.node(name).meta.labels.value(key) else { continue };
                let here: i64 = if is_hostname {
                    count(&self.nodes[name], selector)
                } else {
                    let same = self.nodes.values().filter(|on| {
                        value(on.node, key) == own
                            && (!needs_all || has_all(on.node))
                            && counts_for(constraint, self.pod, on.node, self.settings.compare_numbers)
                    });
                    same.map(|on| count(on, selector)).sum()
                };
                *raw.get_mut(name).expect("counted") +=
                    here as f64 * weight + f64::from(constraint.max_skew - 1);
            }
        }
        let raw: BTreeMap<&str, i64> = raw.into_iter().map(|(n, score)| (n, score.round() as i64)).collect();
        let least = raw.values().copied().min().unwrap_or(0);
        let most = raw.values().copied().max().unwrap_or(0);
        let score = |name: &&'a str| match raw.get(name) {
            None => (*name, 0),
            Some(_) if most == 0 => (*name, 100),
            Some(score) => (*name, 100 * (most + least - score) / most),
        };
        Some(feasible.iter().map(score).collect())
    }

    fn pulls(&self, feasible: &[&'a str]) -> Option<Scores<'a>> {
        // Label and value, with the weights added up.
        let mut by_domain: BTreeMap<(String, String), i64> = BTreeMap::new();
        for on in self.nodes.values() {
            let mut add = |key: &str, weight: i64| {
                if let Some(value) = on.node.meta.labels.value(key) {
                    *by_domain.entry((key.to_owned(), value.to_owned())).or_default() += weight;
                }
            };
            for other in &on.pods {
                for (sign, affinity) in [(1, near(self.pod)), (-1, apart(self.pod))] {
                    for term in affinity.iter().flat_map(|affinity| &affinity.preferred) {
                        if self.means(&term.pod_affinity_term, self.pod, other, true) {
                            add(&term.pod_affinity_term.topology_key, sign * term.weight);
                        }
                    }
                }
                for term in required(near(other)) {
                    if self.means(term, other, self.pod, false) {
                        add(&term.topology_key, 1);
                    }
                }
                for (sign, affinity) in [(1, near(other)), (-1, apart(other))] {
                    for term in affinity.iter().flat_map(|affinity| &affinity.preferred) {
                        if self.means(&term.pod_affinity_term, other, self.pod, false) {
                            add(&term.pod_affinity_term.topology_key, sign * term.weight);
                        }
                    }
                }
            }
        }
        if by_domain.is_empty() {
            return None;
        }
        let sum = |name: &&'a str| {
            let labels = &self.node(name).meta.labels;
            let of_node = by_domain.iter().filter(|((key, value), _)| labels.value(key) == Some(value));
            (*name, of_node.map(|(_, weight)| weight).sum::<i64>())
        };
        let raw: Scores<'a> = feasible.iter().map(sum).collect();
        let least = raw.values().copied().min().unwrap_or(0);
        let range = raw.values().copied().max().unwrap_or(0) - least;
        let scaled = |score: i64| {
            if range == 0 { 0 } else { (100.0 * ((score - least) as f64 / range as f64)) as i64 }
        };
        Some(raw.into_iter().map(|(name, score)| (name, scaled(score))).collect())
    }
}
