//! Where a pod may and would like to run: selectors, affinity, taints and tolerations, topology spread.

use std::fmt;

use crate::selector::LabelSelector;
use crate::text::Text;
use crate::time::Time;
use crate::wire::{wire, words};

words! {
    /// Operator of a node selector requirement.
    pub enum NodeSelectorOperator {
        /// The value is one of the given.
        In = "In",
        /// The value is none of the given, or the label is absent.
        NotIn = "NotIn",
        /// The label is there.
        Exists = "Exists",
        /// The label is absent.
        DoesNotExist = "DoesNotExist",
        /// The value, as an integer, is greater than the given one.
        Gt = "Gt",
        /// The value, as an integer, is less than the given one.
        Lt = "Lt",
    }

    /// What a taint does to pods that do not tolerate it.
    pub enum TaintEffect {
        /// They are not placed there.
        NoSchedule = "NoSchedule",
        /// They are placed there only if nothing better is found.
        PreferNoSchedule = "PreferNoSchedule",
        /// They are not placed there, and those that run are evicted.
        NoExecute = "NoExecute",
    }

    /// How a toleration compares with a taint.
    pub enum TolerationOperator {
        /// Same value.
        Equal = "Equal",
        /// Any value.
        Exists = "Exists",
        /// The taint's value is less, as integers (gate TaintTolerationComparisonOperators).
        Lt = "Lt",
        /// The taint's value is greater, as integers (gate TaintTolerationComparisonOperators).
        Gt = "Gt",
    }

    /// What happens when a spread constraint cannot be met.
    pub enum UnsatisfiableAction {
        /// The pod is not scheduled.
        DoNotSchedule = "DoNotSchedule",
        /// The pod is scheduled where the skew is least.
        ScheduleAnyway = "ScheduleAnyway",
    }

    /// Whether node affinity or taints decide which nodes count for a spread constraint.
    pub enum InclusionPolicy {
        /// Nodes that the pod cannot use do not count.
        Honor = "Honor",
        /// All nodes count.
        Ignore = "Ignore",
    }
}

wire! {
    /// core/v1 Affinity.
    pub struct Affinity {
        /// Attraction to nodes.
        pub node_affinity: Option<NodeAffinity>,
        /// Attraction to pods.
        pub pod_affinity: Option<PodAffinity>,
        /// Repulsion from pods.
        pub pod_anti_affinity: Option<PodAffinity>,
    }

    /// core/v1 NodeAffinity.
    pub struct NodeAffinity {
        /// Must hold at scheduling.
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        pub required: Option<NodeSelector>,
        /// Adds to the score.
        #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
        pub preferred: Vec<PreferredSchedulingTerm>,
    }

    /// core/v1 NodeSelector: terms are alternatives.
    pub struct NodeSelector {
        /// The alternatives; none means no node.
        pub node_selector_terms: Vec<NodeSelectorTerm>,
    }

    /// core/v1 NodeSelectorTerm: all requirements must hold; an empty term matches nothing.
    pub struct NodeSelectorTerm {
        /// Requirements on labels.
        pub match_expressions: Vec<NodeSelectorRequirement>,
        /// Requirements on fields (`metadata.name`).
        pub match_fields: Vec<NodeSelectorRequirement>,
    }

    /// core/v1 PreferredSchedulingTerm.
    pub struct PreferredSchedulingTerm {
        /// 1 to 100.
        pub weight: i64,
        /// What earns the weight.
        pub preference: NodeSelectorTerm,
    }

    /// core/v1 PodAffinity and PodAntiAffinity, which have the same shape.
    pub struct PodAffinity {
        /// Must hold at scheduling.
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        pub required: Vec<PodAffinityTerm>,
        /// Adds to the score.
        #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
        pub preferred: Vec<WeightedPodAffinityTerm>,
    }

    /// core/v1 PodAffinityTerm.
    pub struct PodAffinityTerm {
        /// Which pods are meant; absent means none.
        pub label_selector: Option<LabelSelector>,
        /// Namespaces by name.
        pub namespaces: Vec<Text>,
        /// Node label whose equal values make one place.
        pub topology_key: Text,
        /// Namespaces by label; `{}` means all.
        pub namespace_selector: Option<LabelSelector>,
        /// Keys whose values, taken from the pod, narrow the selector.
        pub match_label_keys: Vec<Text>,
        /// Keys whose values, taken from the pod, are excluded.
        pub mismatch_label_keys: Vec<Text>,
    }

    /// core/v1 WeightedPodAffinityTerm.
    pub struct WeightedPodAffinityTerm {
        /// 1 to 100.
        pub weight: i64,
        /// What earns the weight.
        pub pod_affinity_term: PodAffinityTerm,
    }
}

/// core/v1 NodeSelectorRequirement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorRequirement {
    /// Label key or field path.
    #[serde(default)]
    pub key: Text,
    /// How the values are compared.
    pub operator: NodeSelectorOperator,
    /// The values; sorted only if the user sorted them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Text>,
}

/// core/v1 Taint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Taint key.
    pub key: Text,
    /// Taint value; may be empty.
    #[serde(default, skip_serializing_if = "crate::wire::is_default")]
    pub value: Text,
    /// What it does.
    pub effect: TaintEffect,
    /// When a NoExecute taint was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}

/// As `kubectl taint` writes it: `key=value:Effect`, or `key:Effect` without a value.
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{}", self.key, self.value, self.effect.as_str())
    }
}

impl Taint {
    /// A taint without value.
    pub fn new(key: impl Into<Text>, effect: TaintEffect) -> Self {
        Self { key: key.into(), value: Text::default(), effect, time_added: None }
    }
}

wire! {
    /// core/v1 Toleration.
    pub struct Toleration {
        /// Taint key; empty with `Exists` tolerates every key.
        pub key: Text,
        /// Absent means `Equal`.
        pub operator: Option<TolerationOperator>,
        /// Value to compare.
        pub value: Text,
        /// Absent means all effects.
        pub effect: Option<TaintEffect>,
        /// How long a NoExecute taint is borne; absent means for ever.
        pub toleration_seconds: Option<i64>,
    }
}

impl Toleration {
    /// Whether the toleration covers the taint (core/v1 `ToleratesTaint`). `compare_numbers` is the state of the
    /// gate TaintTolerationComparisonOperators: when off, `Lt` and `Gt` never match.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint, compare_numbers: bool) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        if !self.key.is_empty() && self.key != taint.key {
            return false;
        }
        match self.operator.unwrap_or(TolerationOperator::Equal) {
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Exists => true,
            TolerationOperator::Lt => compare_numbers && numbers(self, taint).is_some_and(|(t, v)| v < t),
            TolerationOperator::Gt => compare_numbers && numbers(self, taint).is_some_and(|(t, v)| v > t),
        }
    }
}

/// The toleration's and the taint's values as decimal 64-bit integers.
fn numbers(toleration: &Toleration, taint: &Taint) -> Option<(i64, i64)> {
    Some((decimal(&toleration.value)?, decimal(&taint.value)?))
}

/// A decimal integer in the only form that counts as one: no plus sign, no leading zero, no negative zero (apimachinery
/// `pkg/api/validate/content/decimal_int.go`).
fn decimal(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_canonical = text == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    if is_canonical { text.parse().ok() } else { None }
}

/// core/v1 TopologySpreadConstraint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpreadConstraint {
    /// Largest allowed difference between a domain and the emptiest one.
    pub max_skew: i32,
    /// Node label whose equal values make one domain.
    pub topology_key: Text,
    /// What to do when it cannot be met.
    pub when_unsatisfiable: UnsatisfiableAction,
    /// Which pods count; absent means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Fewer domains than this make the emptiest count 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<i32>,
    /// Absent means Honor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_affinity_policy: Option<InclusionPolicy>,
    /// Absent means Ignore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_taints_policy: Option<InclusionPolicy>,
    /// Keys whose values, taken from the pod, narrow the selector.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_label_keys: Vec<Text>,
}
