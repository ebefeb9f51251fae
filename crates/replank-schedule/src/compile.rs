//! Compiles what pods of one class ask for.

use replank_model::labels::Labels;
use replank_model::object::affinity::{
    InclusionPolicy, PodAffinity, TopologySpreadConstraint, UnsatisfiableAction,
};
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_ZONE};
use replank_model::object::pod::PodSpec;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Namespace, Text};

use super::amounts::Request;
use super::base::Bases;
use super::eligible::{AffinityKey, EligibleKey, Eligibles};
use super::ids::{AffinityId, BaseId, CounterId, EligibleId, PreferenceId, SumId, TolerationId, TopologyId};
use super::labels::MatchKey;
use super::plan::{
    ClassKey, Counted, Hard, Near, OwnerSelector, OwnerSelectorOf, Plan, Selects, Siblings, Soft, SoftCount,
    SoftSpread,
};
use super::predicate::{node_affinity, required};
use super::scope::{PodTerm, Scope};
use super::world::World;

/// Constraints of pods that set none themselves and belong to a service or controller (PodTopologySpread's
/// `systemDefaultConstraints`): label and largest skew. Both only score.
const DEFAULT_SPREAD: [(&str, i64); 2] = [(LABEL_HOSTNAME, 3), (LABEL_ZONE, 5)];

impl World {
    /// Compiles a class.
    pub(super) fn compile(&mut self, key: ClassKey, bases: &mut Bases) -> Plan {
        let spec = self.specs[key.spec].spec.clone();
        let class = &self.labels[key.labels];
        let (namespace, labels) = (class.namespace.clone(), class.labels.clone());
        let request = Request::of(&spec, &mut self.resources);
        let affinity = (required(&spec).is_some() || !spec.node_selector.is_empty()).then(|| {
            let selector = spec.node_selector.clone();
            let required = required(&spec).cloned();
            let key = AffinityKey::Pod { selector, required, is_pinned: key.is_pinned };
            self.eligibles.affinity(key, &self.nodes)
        });
        let tolerations = self.eligibles.tolerations(&spec.tolerations, &self.nodes);
        let features = required_features(&spec);
        let (hard, soft) = self.spread(&spec, &key, &namespace, &labels, (affinity, tolerations));
        let mut plan = Plan {
            request,
            affinity,
            tolerations,
            preference: self.preference(&spec),
            images: self.images.of_pod(&spec),
            features,
            hard,
            soft,
            unreadable: None,
            near: None,
            apart: Vec::new(),
            liked: Vec::new(),
            base: BaseId::default(),
            arrivals_seen: self.images.arrivals,
            siblings: spec.topology_spread_constraints.is_empty().then(Siblings::default),
            seen: (0, 0),
            is_by_node: false,
            volumes: None,
            spec: spec.clone(),
            key,
        };
        if let Err(why) = self.terms(&mut plan, &namespace, &labels) {
            plan.unreadable = Some(why);
        }
        plan.base = bases.id(&plan, &self.specs[plan.key.spec], &self.images);
        plan.is_by_node = plan.decides_by_node(self);
        plan
    }

    fn preference(&mut self, spec: &PodSpec) -> Result<Option<PreferenceId>, Text> {
        let Some(preferred) = node_affinity(spec).map(|affinity| &affinity.preferred) else {
            return Ok(None);
        };
        if preferred.is_empty() {
            return Ok(None);
        }
        self.eligibles.preference(preferred, &self.nodes).map(Some)
    }

    fn spread(
        &mut self,
        spec: &PodSpec,
        key: &ClassKey,
        namespace: &Namespace,
        labels: &Labels,
        node_filters: (Option<AffinityId>, TolerationId),
    ) -> (Vec<Hard>, SoftSpread) {
        let of = |action| {
            spec.topology_spread_constraints
                .iter()
                .filter(move |constraint| constraint.when_unsatisfiable == action)
        };
        let hard_keys: Vec<TopologyId> =
            of(UnsatisfiableAction::DoNotSchedule).map(|c| self.topology(&c.topology_key)).collect();
        let soft_keys: Vec<TopologyId> =
            of(UnsatisfiableAction::ScheduleAnyway).map(|c| self.topology(&c.topology_key)).collect();
        let mut hard = Vec::new();
        for (constraint, topology) in of(UnsatisfiableAction::DoNotSchedule).zip(&hard_keys) {
            let eligible = self.eligible(constraint, key, &hard_keys, node_filters);
            let selector = spread_selector(constraint, labels);
            hard.push(Hard {
                topology: *topology,
                max_skew: i64::from(constraint.max_skew),
                min_domains: i64::from(constraint.min_domains.unwrap_or(1)),
                eligible,
                is_self: selector.matches(|key| labels.value(key)),
                selects: match self.counted(namespace, selector, *topology, eligible) {
                    Some((counter, sum)) => Selects::Counted(counter, sum),
                    None => Selects::Everything,
                },
            });
        }
        let mut soft = SoftSpread { constraints: Vec::new(), needs_all_labels: true };
        for (constraint, topology) in of(UnsatisfiableAction::ScheduleAnyway).zip(&soft_keys) {
            let eligible = self.eligible(constraint, key, &soft_keys, node_filters);
            let selector = spread_selector(constraint, labels);
            let is_hostname = &*constraint.topology_key == LABEL_HOSTNAME;
            soft.constraints.push(Soft {
                topology: *topology,
                is_hostname,
                max_skew: i64::from(constraint.max_skew),
                counted: self.counted_softly(namespace, selector, is_hostname, (*topology, eligible)),
            });
        }
        (hard, soft)
    }

    fn eligible(
        &mut self,
        constraint: &TopologySpreadConstraint,
        key: &ClassKey,
        topologies: &[TopologyId],
        (affinity, tolerations): (Option<AffinityId>, TolerationId),
    ) -> EligibleId {
        let honors =
            |policy: Option<InclusionPolicy>, default| policy.unwrap_or(default) == InclusionPolicy::Honor;
        let by_affinity = honors(constraint.node_affinity_policy, InclusionPolicy::Honor);
        let by_taints = honors(constraint.node_taints_policy, InclusionPolicy::Ignore);
        let key = EligibleKey {
            affinity: affinity.filter(|_| by_affinity),
            pin: key.pin.clone().filter(|_| by_affinity),
            tolerations: by_taints.then_some(tolerations),
            topologies: topologies.iter().copied().collect(),
        };
        self.eligibles.set(key, &self.nodes, &self.topologies)
    }

    /// Counts pods of a namespace that stay and that a selector matches; `None` if the selector is empty.
    fn counted(
        &mut self,
        namespace: &Namespace,
        selector: Selector,
        topology: TopologyId,
        eligible: EligibleId,
    ) -> Option<(CounterId, SumId)> {
        let counter = self.counted_per_node(namespace, selector)?;
        Some((counter, self.sum(counter, topology, eligible)))
    }

    /// As [`World::counted`], for a constraint that only scores.
    fn counted_softly(
        &mut self,
        namespace: &Namespace,
        selector: Selector,
        is_hostname: bool,
        (topology, eligible): (TopologyId, EligibleId),
    ) -> Option<SoftCount> {
        let counter = self.counted_per_node(namespace, selector)?;
        Some(match is_hostname {
            true => SoftCount::OnNode(counter),
            false => SoftCount::InDomain(self.sum(counter, topology, eligible)),
        })
    }

    fn counted_per_node(&mut self, namespace: &Namespace, selector: Selector) -> Option<CounterId> {
        if selector.is_empty() {
            return None;
        }
        Some(self.counter(MatchKey { all: vec![(Scope::one(namespace), selector)], only_staying: true }))
    }

    /// Compiles required and preferred pod affinity.
    fn terms(&mut self, plan: &mut Plan, namespace: &Namespace, labels: &Labels) -> Result<(), Text> {
        let Some(affinity) = plan.spec.affinity.clone() else { return Ok(()) };
        let empty = PodAffinity::default();
        let toward = affinity.pod_affinity.as_ref().unwrap_or(&empty);
        let away = affinity.pod_anti_affinity.as_ref().unwrap_or(&empty);
        let named = |name: &str, why: Text| Text::from(format!("{name}: {why}"));
        let near = PodTerm::compile_all(toward.required.iter(), namespace)
            .map_err(|why| named("requiredAffinityTerms", why))?;
        let apart = PodTerm::compile_all(away.required.iter(), namespace)
            .map_err(|why| named("requiredAntiAffinityTerms", why))?;
        let weighted = |affinity: &PodAffinity| {
            PodTerm::compile_all(affinity.preferred.iter().map(|term| &term.pod_affinity_term), namespace)
        };
        let liked = weighted(toward).map_err(|why| named("preferredAffinityTerms", why))?;
        let disliked = weighted(away).map_err(|why| named("preferredAntiAffinityTerms", why))?;

        if !near.is_empty() {
            let all = near.iter().map(|term| (term.scope.clone(), term.selector.clone())).collect();
            let key = MatchKey { all, only_staying: false };
            let is_self = key.matches(namespace, labels, &self.labels.namespaces);
            let counter = self.counter(key);
            let terms = near.iter().map(|term| {
                let topology = self.topology(&term.topology_key);
                (topology, self.sum(counter, topology, Eligibles::ALL))
            });
            plan.near = Some(Near { counter, terms: terms.collect(), is_self });
        }
        plan.apart = apart.into_iter().map(|term| self.counted_term(term)).collect();
        let weights = |affinity: &PodAffinity, sign: i64| {
            affinity.preferred.iter().map(|term| sign * term.weight).collect::<Vec<_>>()
        };
        for (term, weight) in liked.into_iter().zip(weights(toward, 1)) {
            plan.liked.push((self.counted_term(term), weight));
        }
        for (term, weight) in disliked.into_iter().zip(weights(away, -1)) {
            plan.liked.push((self.counted_term(term), weight));
        }
        Ok(())
    }

    fn counted_term(&mut self, term: PodTerm) -> Counted {
        let topology = self.topology(&term.topology_key);
        let counter = self.counter(MatchKey { all: vec![(term.scope, term.selector)], only_staying: false });
        Counted { topology, counter, sum: self.sum(counter, topology, Eligibles::ALL) }
    }

    /// Brings the constraints by default up to date with services and owner.
    pub(super) fn refresh_siblings(
        &mut self,
        plan: &mut Plan,
        owner: Option<OwnerSelectorOf<'_>>,
        now: (u64, u64),
    ) {
        let Some(known) = &plan.siblings else { return };
        let is_same_owner = match (&known.owner, owner) {
            (None, None) => true,
            (Some(OwnerSelector::Set(known)), Some(OwnerSelectorOf::Set(set))) => known == set,
            (Some(OwnerSelector::Object(known)), Some(OwnerSelectorOf::Object(selector))) => {
                known == selector
            }
            (Some(_), _) | (None, Some(_)) => false,
        };
        let (services_seen, _) = std::mem::replace(&mut plan.seen, now);
        if is_same_owner && services_seen == now.0 {
            return;
        }
        let class = &self.labels[plan.key.labels];
        let (namespace, labels) = (class.namespace.clone(), class.labels.clone());
        let siblings = Siblings {
            services: self.services.selector_of(&namespace, &labels),
            owner: owner.map(|owner| match owner {
                OwnerSelectorOf::Set(set) => OwnerSelector::Set(set.clone()),
                OwnerSelectorOf::Object(selector) => OwnerSelector::Object(selector.clone()),
            }),
        };
        if plan.siblings.as_ref() == Some(&siblings) {
            return;
        }
        let selector = siblings.selector();
        plan.siblings = Some(siblings);
        plan.soft = SoftSpread::default();
        if selector.is_empty() {
            return;
        }
        let key = EligibleKey { affinity: plan.affinity, ..EligibleKey::default() };
        let eligible = self.eligibles.set(key, &self.nodes, &self.topologies);
        for (label, max_skew) in DEFAULT_SPREAD {
            let topology = self.topology(&Text::from(label));
            let is_hostname = label == LABEL_HOSTNAME;
            let counted =
                self.counted_softly(&namespace, selector.clone(), is_hostname, (topology, eligible));
            plan.soft.constraints.push(Soft { topology, is_hostname, max_skew, counted });
        }
    }
}

/// The selector of a spread constraint, narrowed by `matchLabelKeys`. The API server writes them into the selector when
/// the pod is created; doing it again changes nothing.
fn spread_selector(constraint: &TopologySpreadConstraint, labels: &Labels) -> Selector {
    let selector =
        LabelSelector::compile_option(constraint.label_selector.as_ref()).unwrap_or(Selector::Nothing);
    let own: Vec<(Text, Text)> = constraint
        .match_label_keys
        .iter()
        .filter_map(|key| Some((key.clone(), labels.get(key)?.clone())))
        .collect();
    match &selector {
        Selector::Nothing => selector,
        Selector::All(_) if own.is_empty() => selector,
        Selector::All(requirements) => {
            let own = Selector::from_set(own);
            Selector::new(own.requirements().iter().chain(requirements.iter()).cloned().collect())
        }
    }
}

/// Abilities that a pod needs of its node (component-helpers 1.36 `nodedeclaredfeatures/features`), as bits of
/// [`super::nodes::FEATURES`].
fn required_features(spec: &PodSpec) -> u8 {
    let mut containers = spec.containers.iter().chain(&spec.init_containers);
    let restarts_all = containers.any(|container| {
        container.restart_policy_rules.iter().any(|rule| &*rule.action == "RestartAllContainers")
    });
    let own_users_on_host_network = spec.host_network && spec.host_users == Some(false);
    u8::from(restarts_all) << 3 | u8::from(own_users_on_host_network) << 4
}
