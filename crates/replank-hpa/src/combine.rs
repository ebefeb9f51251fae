//! All metrics of the spec: the one that asks for the most decides (`computeReplicasForMetrics`).

use replank_model::object::autoscaling::{MetricSpec, MetricStatus, MetricTarget, ResourceMetricSource};

use super::metric::{self, Context};
use super::status::{ACTIVE, Draft};
use super::steps::MetricStep;

/// What the metrics come to.
pub(super) struct Combined {
    /// For `status.currentMetrics`.
    pub(super) statuses: Vec<MetricStatus>,
    /// One for each metric.
    pub(super) steps: Vec<MetricStep>,
    /// The number of replicas and the metric that asks for it; or why nothing is done.
    pub(super) wanted: Result<Wanted, String>,
}

pub(super) struct Wanted {
    pub(super) replicas: i32,
    /// What the controller calls the metric; empty if all ask for none.
    pub(super) metric: String,
    /// Which of the metrics it is.
    pub(super) index: Option<usize>,
    /// Metrics that could not be had, though they change nothing.
    pub(super) error: Option<String>,
}

/// Works out every metric. One that cannot be had keeps replicas from being taken away, not from being added.
pub(super) fn combine(context: &Context<'_>, draft: &mut Draft) -> Combined {
    let spec = &context.given.hpa.spec;
    let usual;
    let metrics: &[MetricSpec] = if spec.metrics.is_empty() {
        usual = usual_metrics();
        &usual
    } else {
        &spec.metrics
    };
    let mut combined = Combined { statuses: Vec::new(), steps: Vec::new(), wanted: Err(String::new()) };
    let mut wanted = Wanted { replicas: 0, metric: String::new(), index: None, error: None };
    let mut faults = Vec::new();
    for (index, spec) in metrics.iter().enumerate() {
        let result = metric::propose(context, spec);
        match &result {
            Ok(proposal) => {
                if wanted.replicas == 0 || proposal.working.replicas > wanted.replicas {
                    wanted.replicas = proposal.working.replicas;
                    wanted.metric.clone_from(&proposal.name);
                    wanted.index = Some(index);
                }
                combined.statuses.push(proposal.status.clone());
            }
            Err(fault) => {
                draft.warn(fault.reason, &fault.cause);
                faults.push(fault.clone());
                combined.statuses.push(MetricStatus::default());
            }
        }
        combined.steps.push(MetricStep { spec: spec.clone(), result });
    }
    wanted.error = faults.first().map(|first| {
        let (failed, all) = (faults.len(), metrics.len());
        format!("invalid metrics ({failed} invalid out of {all}), first error is: {}", first.error)
    });
    let is_less = wanted.replicas < context.scale.spec_replicas;
    combined.wanted = match (faults.first(), wanted.error.take()) {
        (Some(first), Some(error)) if faults.len() == metrics.len() || is_less => {
            let message = format!("the HPA was unable to compute the replica count: {}", first.cause);
            draft.set_false(ACTIVE, first.reason, &message);
            Err(error)
        }
        (_, error) => {
            let message =
                format!("the HPA was able to successfully calculate a replica count from {}", wanted.metric);
            draft.set_true(ACTIVE, "ValidMetricFound", &message);
            Ok(Wanted { error, ..wanted })
        }
    };
    combined
}

/// What the API server puts where there are no metrics.
fn usual_metrics() -> Vec<MetricSpec> {
    let target = MetricTarget {
        r#type: "Utilization".into(),
        average_utilization: Some(80),
        ..MetricTarget::default()
    };
    let resource = Some(ResourceMetricSource { name: "cpu".into(), target });
    vec![MetricSpec { r#type: "Resource".into(), resource, ..MetricSpec::default() }]
}
