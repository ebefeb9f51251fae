//! What a sync is given besides the object and the memory.

use std::sync::Arc;

use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::metrics::{ExternalMetricValue, MetricValue, PodMetrics};
use replank_model::object::pod::Pod;
use replank_model::selector::Selector;
use replank_model::text::Name;
use replank_model::time::{Span, Time};

/// Flags and feature gates of kube-controller-manager that the autoscaler reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// `--horizontal-pod-autoscaler-tolerance`, for HPAs whose behavior does not say another.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    pub downscale_stabilization: Span,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    pub cpu_initialization_period: Span,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    pub initial_readiness_delay: Span,
    /// Feature gate HPAScaleToZero.
    pub scale_to_zero: bool,
}

/// What a cluster has that sets none of them. EKS lets nobody set them.
impl Default for Config {
    fn default() -> Self {
        Self {
            tolerance: 0.1,
            downscale_stabilization: Span::from_minutes(5),
            cpu_initialization_period: Span::from_minutes(5),
            initial_readiness_delay: Span::from_secs(30),
            scale_to_zero: false,
        }
    }
}

/// Everything that one sync reads.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// The HorizontalPodAutoscaler, its status as the last sync left it.
    pub hpa: &'a HorizontalPodAutoscaler,
    /// The scale of what it scales.
    pub scale: Result<Scale, ScaleError>,
    /// Pods of its namespace; those that the scale does not select may be left out.
    pub pods: &'a [Arc<Pod>],
    /// What the metrics APIs answer.
    pub metrics: &'a Metrics,
    /// The other HPAs of the namespace.
    pub rivals: &'a [Rival],
    /// The time.
    pub now: Time,
    /// The controller's flags.
    pub config: Config,
}

/// autoscaling/v1 Scale, as much as is read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// Replicas asked for.
    pub spec_replicas: i32,
    /// Replicas that are.
    pub status_replicas: i32,
    /// Selects the pods, as text.
    pub selector: String,
}

/// Why there is no scale, in the words of the API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// `scaleTargetRef.apiVersion` is not of the form.
    #[error("{0}")]
    ApiVersion(String),
    /// The cluster has no such kind.
    #[error("{0}")]
    Kind(String),
    /// The API server did not give it.
    #[error("{0}")]
    Read(String),
}

/// Another HPA of the namespace, as far as it may want the same pods.
#[derive(Clone, Debug)]
pub struct Rival {
    /// Its name.
    pub name: Name,
    /// Which pods its target has.
    pub selector: Selector,
}

/// What the metrics APIs hold of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// metrics.k8s.io.
    pub pods: Vec<PodMetrics>,
    /// custom.metrics.k8s.io.
    pub custom: Vec<MetricValue>,
    /// external.metrics.k8s.io.
    pub external: Vec<ExternalMetricValue>,
    /// Which of the APIs do not answer, and with what words.
    pub down: Down,
}

/// Errors of the metrics APIs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Down {
    /// metrics.k8s.io.
    pub resource: Option<String>,
    /// custom.metrics.k8s.io.
    pub custom: Option<String>,
    /// external.metrics.k8s.io.
    pub external: Option<String>,
}
