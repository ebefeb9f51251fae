//! Limits that a cluster sets: disruption budgets, quotas, priorities.

use std::collections::BTreeMap;

use crate::int_or_string::IntOrString;
use crate::list::List;
use crate::object::condition::Condition;
use crate::object::meta::Meta;
use crate::object::pod::PreemptionPolicy;
use crate::object::resources::Resources;
use crate::selector::LabelSelector;
use crate::text::Text;
use crate::time::Time;
use crate::wire::{wire, words};

words! {
    /// Which unready pods may be evicted.
    pub enum UnhealthyPodEvictionPolicy {
        /// Only while the budget is met.
        IfHealthyBudget = "IfHealthyBudget",
        /// Always.
        AlwaysAllow = "AlwaysAllow",
    }
}

wire! {
    /// policy/v1 PodDisruptionBudget.
    pub struct PodDisruptionBudget {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// What must stay.
        pub spec: PodDisruptionBudgetSpec,
        /// What is.
        pub status: PodDisruptionBudgetStatus,
    }

    /// policy/v1 PodDisruptionBudgetSpec.
    pub struct PodDisruptionBudgetSpec {
        /// Healthy pods that must stay.
        pub min_available: Option<IntOrString>,
        /// Pods that may be missing.
        pub max_unavailable: Option<IntOrString>,
        /// Which pods are covered: absent none, `{}` all of the namespace.
        pub selector: Option<LabelSelector>,
        /// Absent means IfHealthyBudget.
        pub unhealthy_pod_eviction_policy: Option<UnhealthyPodEvictionPolicy>,
    }

    /// policy/v1 PodDisruptionBudgetStatus.
    pub struct PodDisruptionBudgetStatus {
        /// Generation that the controller has seen.
        pub observed_generation: i64,
        /// Evictions that were allowed and not yet seen to happen, by pod.
        pub disrupted_pods: BTreeMap<Text, Time>,
        /// Evictions that are allowed.
        pub disruptions_allowed: i32,
        /// Healthy pods.
        pub current_healthy: i32,
        /// Healthy pods that must stay.
        pub desired_healthy: i32,
        /// Pods covered.
        pub expected_pods: i32,
        /// Conditions.
        pub conditions: List<Condition>,
    }

    /// core/v1 ResourceQuota.
    pub struct ResourceQuota {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// What is allowed.
        pub spec: ResourceQuotaSpec,
        /// What is used.
        pub status: ResourceQuotaStatus,
    }

    /// core/v1 ResourceQuotaSpec.
    pub struct ResourceQuotaSpec {
        /// Upper bounds by resource, object counts among them.
        pub hard: Resources,
        /// Which objects count.
        pub scopes: Vec<Text>,
        /// Which objects count, with values.
        pub scope_selector: Option<ScopeSelector>,
    }

    /// core/v1 ScopeSelector: all requirements must hold.
    pub struct ScopeSelector {
        /// The requirements.
        pub match_expressions: Vec<ScopeRequirement>,
    }

    /// core/v1 ScopedResourceSelectorRequirement.
    pub struct ScopeRequirement {
        /// Scope, such as `PriorityClass`.
        pub scope_name: Text,
        /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
        pub operator: Text,
        /// Values.
        pub values: Vec<Text>,
    }

    /// core/v1 ResourceQuotaStatus.
    pub struct ResourceQuotaStatus {
        /// Upper bounds in force.
        pub hard: Resources,
        /// Use.
        pub used: Resources,
    }

    /// scheduling.k8s.io/v1 PriorityClass.
    pub struct PriorityClass {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// The priority.
        pub value: i32,
        /// Whether pods without a class get this one.
        pub global_default: bool,
        /// Absent means PreemptLowerPriority.
        pub preemption_policy: Option<PreemptionPolicy>,
    }
}
