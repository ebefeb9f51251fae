//! autoscaling/v2: how many replicas a workload is to have, by what is measured.

use serde::{Deserialize, Serialize};

use crate::list::List;
use crate::object::condition::Condition;
use crate::object::meta::Meta;
use crate::quantity::Quantity;
use crate::selector::LabelSelector;
use crate::text::{Name, Text};
use crate::time::Time;
use crate::wire::{is_default, wire};

wire! {
    /// autoscaling/v2 HorizontalPodAutoscaler.
    pub struct HorizontalPodAutoscaler {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: HorizontalPodAutoscalerSpec,
        /// Observed state.
        pub status: HorizontalPodAutoscalerStatus,
    }

    /// autoscaling/v2 HorizontalPodAutoscalerSpec.
    pub struct HorizontalPodAutoscalerSpec {
        /// What is scaled.
        pub scale_target_ref: CrossVersionObjectReference,
        /// Absent means 1.
        pub min_replicas: Option<i32>,
        /// Upper bound.
        pub max_replicas: i32,
        /// What is measured, and what it ought to be. The API server puts 80% of the CPU requests where there is none.
        pub metrics: Vec<MetricSpec>,
        /// How fast, and after how long.
        pub behavior: Option<HorizontalPodAutoscalerBehavior>,
    }

    /// autoscaling/v2 CrossVersionObjectReference.
    pub struct CrossVersionObjectReference {
        /// API version.
        pub api_version: Text,
        /// Kind.
        pub kind: Text,
        /// Name.
        pub name: Name,
    }

    /// autoscaling/v2 MetricSpec: one source, the one that `type` names.
    pub struct MetricSpec {
        /// `Resource`, `ContainerResource`, `Pods`, `Object` or `External`.
        pub r#type: Text,
        /// CPU or memory of the pods.
        pub resource: Option<ResourceMetricSource>,
        /// CPU or memory of one container of each pod.
        pub container_resource: Option<ContainerResourceMetricSource>,
        /// A number that each pod has.
        pub pods: Option<PodsMetricSource>,
        /// A number that another object of the cluster has.
        pub object: Option<ObjectMetricSource>,
        /// A number that nothing in the cluster has.
        pub external: Option<ExternalMetricSource>,
    }

    /// autoscaling/v2 ResourceMetricSource.
    pub struct ResourceMetricSource {
        /// `cpu` or `memory`.
        pub name: Text,
        /// What it ought to be.
        pub target: MetricTarget,
    }

    /// autoscaling/v2 ContainerResourceMetricSource.
    pub struct ContainerResourceMetricSource {
        /// `cpu` or `memory`.
        pub name: Text,
        /// The container.
        pub container: Text,
        /// What it ought to be.
        pub target: MetricTarget,
    }

    /// autoscaling/v2 PodsMetricSource.
    pub struct PodsMetricSource {
        /// Which metric.
        pub metric: MetricIdentifier,
        /// What it ought to be.
        pub target: MetricTarget,
    }

    /// autoscaling/v2 ObjectMetricSource.
    pub struct ObjectMetricSource {
        /// Whose metric.
        pub described_object: CrossVersionObjectReference,
        /// Which metric.
        pub metric: MetricIdentifier,
        /// What it ought to be.
        pub target: MetricTarget,
    }

    /// autoscaling/v2 ExternalMetricSource.
    pub struct ExternalMetricSource {
        /// Which metric.
        pub metric: MetricIdentifier,
        /// What it ought to be.
        pub target: MetricTarget,
    }

    /// autoscaling/v2 MetricIdentifier.
    pub struct MetricIdentifier {
        /// Its name.
        pub name: Text,
        /// Which of the series of that name. An absent one selects all in the eyes of the metrics APIs.
        pub selector: Option<LabelSelector>,
    }

    /// autoscaling/v2 MetricTarget.
    pub struct MetricTarget {
        /// `Utilization`, `Value` or `AverageValue`.
        pub r#type: Text,
        /// Per cent of the requests, over all pods.
        pub average_utilization: Option<i32>,
        /// Per pod.
        pub average_value: Option<Quantity>,
        /// In all.
        pub value: Option<Quantity>,
    }

    /// autoscaling/v2 HorizontalPodAutoscalerBehavior.
    pub struct HorizontalPodAutoscalerBehavior {
        /// Towards more replicas.
        pub scale_up: Option<HpaScalingRules>,
        /// Towards fewer.
        pub scale_down: Option<HpaScalingRules>,
    }

    /// autoscaling/v2 HPAScalingRules.
    pub struct HpaScalingRules {
        /// Over how many seconds the least change that was recommended is taken, at most 3600.
        pub stabilization_window_seconds: Option<i32>,
        /// `Max`, `Min` or `Disabled`.
        pub select_policy: Option<Text>,
        /// How much may change within how long.
        pub policies: Option<Vec<HpaScalingPolicy>>,
        /// How far the metric may be off in this direction without anything being done: 0.1 is 10%.
        pub tolerance: Option<Quantity>,
    }

    /// autoscaling/v2 HPAScalingPolicy.
    pub struct HpaScalingPolicy {
        /// `Pods` or `Percent`.
        pub r#type: Text,
        /// Pods, or per cent of those at the beginning of the period.
        pub value: i32,
        /// Seconds, at most 1800.
        pub period_seconds: i32,
    }

    /// autoscaling/v2 HorizontalPodAutoscalerStatus.
    pub struct HorizontalPodAutoscalerStatus {
        /// Generation that the controller has seen.
        pub observed_generation: Option<i64>,
        /// Last change of replicas.
        pub last_scale_time: Option<Time>,
        /// Replicas there are.
        pub current_replicas: i32,
        /// Replicas wanted.
        pub desired_replicas: i32,
        /// What was measured, in the order of the spec's metrics.
        pub current_metrics: Vec<MetricStatus>,
        /// Conditions.
        pub conditions: List<Condition>,
    }

    /// autoscaling/v2 ResourceMetricStatus.
    pub struct ResourceMetricStatus {
        /// `cpu` or `memory`.
        pub name: Text,
        /// What it is.
        pub current: MetricValueStatus,
    }

    /// autoscaling/v2 ContainerResourceMetricStatus.
    pub struct ContainerResourceMetricStatus {
        /// `cpu` or `memory`.
        pub name: Text,
        /// The container.
        pub container: Text,
        /// What it is.
        pub current: MetricValueStatus,
    }

    /// autoscaling/v2 PodsMetricStatus.
    pub struct PodsMetricStatus {
        /// Which metric.
        pub metric: MetricIdentifier,
        /// What it is.
        pub current: MetricValueStatus,
    }

    /// autoscaling/v2 ObjectMetricStatus.
    pub struct ObjectMetricStatus {
        /// Which metric.
        pub metric: MetricIdentifier,
        /// What it is.
        pub current: MetricValueStatus,
        /// Whose metric.
        pub described_object: CrossVersionObjectReference,
    }

    /// autoscaling/v2 ExternalMetricStatus.
    pub struct ExternalMetricStatus {
        /// Which metric.
        pub metric: MetricIdentifier,
        /// What it is.
        pub current: MetricValueStatus,
    }

    /// autoscaling/v2 MetricValueStatus.
    pub struct MetricValueStatus {
        /// Per cent of the requests, over all pods.
        pub average_utilization: Option<i32>,
        /// Per pod.
        pub average_value: Option<Quantity>,
        /// In all.
        pub value: Option<Quantity>,
    }
}

/// autoscaling/v2 MetricStatus. A metric that could not be had leaves an entry with an empty `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricStatus {
    /// As in the spec. Always written, an empty one too.
    pub r#type: Text,
    /// CPU or memory of the pods.
    #[serde(skip_serializing_if = "is_default")]
    pub resource: Option<ResourceMetricStatus>,
    /// CPU or memory of one container of each pod.
    #[serde(skip_serializing_if = "is_default")]
    pub container_resource: Option<ContainerResourceMetricStatus>,
    /// A number that each pod has.
    #[serde(skip_serializing_if = "is_default")]
    pub pods: Option<PodsMetricStatus>,
    /// A number that another object has.
    #[serde(skip_serializing_if = "is_default")]
    pub object: Option<ObjectMetricStatus>,
    /// A number that nothing in the cluster has.
    #[serde(skip_serializing_if = "is_default")]
    pub external: Option<ExternalMetricStatus>,
}
