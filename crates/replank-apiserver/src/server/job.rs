//! What a new Job gets from the server, whoever creates it (`pkg/apis/batch/v1/defaults.go`, batch/job strategy).

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::batch::{CompletionMode, Job, PodReplacementPolicy};

/// Fills in what is left out; a Job's selector is made from its uid, which is there already. Labels that a Job has from its template are the
/// template's own map upstream, and get what that is given: `shares_labels` says whether they do here.
pub(crate) fn complete(object: Object, shares_labels: bool) -> Object {
    let Object::Job(mut job) = object else { return object };
    let new = Arc::make_mut(&mut job);
    fill_in(new);
    let is_shared =
        shares_labels && !new.meta.labels.is_empty() && new.meta.labels == new.spec.template.meta.labels;
    if new.spec.manual_selector != Some(true) {
        select_by_uid(new);
    }
    if is_shared {
        new.meta.labels = new.spec.template.meta.labels.clone();
    }
    Object::Job(job)
}

/// As users' Jobs, those of CronJobs leave most to the server.
fn fill_in(job: &mut Job) {
    if job.meta.labels.is_empty() {
        job.meta.labels = job.spec.template.meta.labels.clone();
    }
    let spec = &mut job.spec;
    if spec.completions.is_none() && spec.parallelism.is_none() {
        spec.completions = Some(1);
    }
    spec.parallelism.get_or_insert(1);
    let limit = if spec.backoff_limit_per_index.is_some() { i32::MAX } else { 6 };
    spec.backoff_limit.get_or_insert(limit);
    spec.completion_mode.get_or_insert(CompletionMode::NonIndexed);
    spec.suspend.get_or_insert(false);
    spec.pod_replacement_policy.get_or_insert(match spec.pod_failure_policy {
        Some(_) => PodReplacementPolicy::Failed,
        None => PodReplacementPolicy::TerminatingOrFailed,
    });
}

/// The selector, and the labels that go with it (`generateSelector`).
fn select_by_uid(job: &mut Job) {
    let uid = job.meta.uid.text().clone();
    let name = job.meta.name.text().clone();
    let labels = &mut job.spec.template.meta.labels;
    for prefix in ["", "batch.kubernetes.io/"] {
        *labels = labels
            .with(format!("{prefix}controller-uid"), uid.clone())
            .with(format!("{prefix}job-name"), name.clone());
    }
    let selector = job.spec.selector.get_or_insert_default();
    selector.match_labels.insert("batch.kubernetes.io/controller-uid".into(), uid);
}
