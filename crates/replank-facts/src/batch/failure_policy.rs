//! What has a Job bear the loss of pods, in words.

use replank_model::object::batch::Job;
use replank_model::object::pod::Pod;
use replank_model::view::View;

use super::past::job_of;

/// The rule that ignores a pod which somebody asked to go (`DisruptionTarget`).
const RULE: &str = "{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}";

/// Words for the Job that comes next, by hand or of a CronJob: the failure policy of one that exists cannot be changed (pkg/apis/batch/validation
/// `ValidateJobSpecUpdate`). The first rule that fits decides, so it goes before those that are there.
#[must_use]
pub fn ignore_disruptions(is_scheduled: bool, has_rules: bool) -> String {
    let place = match is_scheduled {
        true => "for the next runs: ignore disruptions in the CronJob's spec.jobTemplate.spec",
        false => "for the next Job: ignore disruptions in its spec",
    };
    let policy = match has_rules {
        true => format!("podFailurePolicy, as its first rule: {RULE}"),
        false => format!("podFailurePolicy: {{rules: [{RULE}]}}"),
    };
    format!("{place}: {policy} (immutable on an existing Job)")
}

/// Whether the Job of a pod has rules of its own.
#[must_use]
pub fn has_rules(view: &View, pod: &Pod) -> bool {
    let of = |job: &Job| job.spec.pod_failure_policy.as_ref().is_some_and(|policy| !policy.rules.is_empty());
    job_of(view, pod).is_some_and(of)
}
