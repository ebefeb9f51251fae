//! What the three metrics APIs answer: metrics.k8s.io/v1beta1 (metrics-server), custom.metrics.k8s.io/v1beta2 and
//! external.metrics.k8s.io/v1beta1 (adapters).

use crate::object::meta::Meta;
use crate::object::resources::Resources;
use crate::quantity::Quantity;
use crate::selector::LabelSelector;
use crate::text::{Name, Namespace, Text};
use crate::time::{Span, Time};
use crate::wire::wire;

wire! {
    /// metrics.k8s.io PodMetrics: what a pod used in the window that ends at `timestamp`.
    pub struct PodMetrics {
        /// Name, namespace and labels of the pod.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// End of the window.
        pub timestamp: Option<Time>,
        /// How long it was.
        pub window: Span,
        /// Each container that was measured.
        pub containers: Vec<ContainerMetrics>,
    }

    /// metrics.k8s.io ContainerMetrics.
    pub struct ContainerMetrics {
        /// The container.
        pub name: Text,
        /// What it used.
        pub usage: Resources,
    }

    /// custom.metrics.k8s.io MetricValue: a number that an object of the cluster has.
    pub struct MetricValue {
        /// The object.
        pub described_object: DescribedObject,
        /// The metric.
        pub metric: MetricSeries,
        /// When it was measured.
        pub timestamp: Option<Time>,
        /// Over how long; absent counts as a minute.
        pub window_seconds: Option<i64>,
        /// The number.
        pub value: Quantity,
    }

    /// core/v1 ObjectReference, as far as metrics use it.
    pub struct DescribedObject {
        /// API version.
        pub api_version: Text,
        /// Kind.
        pub kind: Text,
        /// Namespace.
        pub namespace: Namespace,
        /// Name.
        pub name: Name,
    }

    /// custom.metrics.k8s.io MetricIdentifier: the labels of the series stand where a selector would.
    pub struct MetricSeries {
        /// Its name.
        pub name: Text,
        /// Labels of the series.
        pub selector: Option<LabelSelector>,
    }

    /// external.metrics.k8s.io ExternalMetricValue: a number that nothing in the cluster has.
    pub struct ExternalMetricValue {
        /// Its name.
        pub metric_name: Text,
        /// Labels of the series.
        pub metric_labels: crate::labels::TextMap,
        /// When it was measured.
        pub timestamp: Option<Time>,
        /// The number.
        pub value: Quantity,
    }
}
