//! What the failure of a pod means, and when enough have succeeded (`pod_failure_policy.go`, `success_policy.go`).

use replank_model::object::batch::{
    ExitCodeOperator, Job, OnExitCodes, OnPodCondition, PodFailureAction, PodFailurePolicyRule, SuccessPolicy,
};
use replank_model::object::pod::{ContainerStatus, Pod};

use super::indexes::Indexes;

/// What the policy says of one pod.
pub(super) struct Verdict {
    /// Why the Job fails, if it does.
    pub(super) message: Option<String>,
    /// Whether the failure counts.
    pub(super) counts: bool,
    pub(super) action: Option<PodFailureAction>,
}

/// Asks a Job's policy about a pod. Without one every failure counts.
pub(super) fn judge(job: &Job, pod: &Pod) -> Verdict {
    let rules = job.spec.pod_failure_policy.iter().flat_map(|policy| &policy.rules);
    let found = rules.enumerate().find_map(|(index, rule)| {
        let action = rule.action?;
        matched(rule, pod).map(|what| (index, action, what))
    });
    match found {
        None => Verdict { message: None, counts: true, action: None },
        Some((index, PodFailureAction::FailJob, what)) => Verdict {
            message: Some(format!("{what} matching FailJob rule at index {index}")),
            counts: true,
            action: Some(PodFailureAction::FailJob),
        },
        Some((_, action @ PodFailureAction::Ignore, _)) => {
            Verdict { message: None, counts: false, action: Some(action) }
        }
        Some((_, action @ (PodFailureAction::FailIndex | PodFailureAction::Count), _)) => {
            Verdict { message: None, counts: true, action: Some(action) }
        }
    }
}

/// What of a pod a rule matches.
fn matched(rule: &PodFailurePolicyRule, pod: &Pod) -> Option<String> {
    let at = format!("{}/{}", pod.meta.namespace, pod.meta.name);
    if let Some(wanted) = &rule.on_exit_codes {
        let statuses = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
        let (name, code) = statuses.filter_map(|status| exit_code(wanted, status)).next()?;
        return Some(format!("Container {name} for pod {at} failed with exit code {code}"));
    }
    let is_wanted = |pattern: &OnPodCondition, r#type: &str, status: &str| {
        let wanted = if pattern.status.is_empty() { "True" } else { &*pattern.status };
        *pattern.r#type == *r#type && wanted == status
    };
    let condition = pod.status.conditions.iter().find(|condition| {
        let mut patterns = rule.on_pod_conditions.iter();
        patterns.any(|pattern| is_wanted(pattern, &condition.r#type, condition.status.as_str()))
    })?;
    Some(format!("Pod {at} has condition {}", condition.r#type))
}

/// Name and exit code of a container that failed as a rule wants it.
fn exit_code<'a>(wanted: &OnExitCodes, status: &'a ContainerStatus) -> Option<(&'a str, i32)> {
    let code = status.state.terminated.as_ref()?.exit_code;
    let is_meant = wanted.container_name.as_ref().is_none_or(|name| *name == status.name);
    let fits = match wanted.operator? {
        ExitCodeOperator::In => wanted.values.contains(&code),
        ExitCodeOperator::NotIn => !wanted.values.contains(&code),
    };
    (is_meant && code != 0 && fits).then_some((&*status.name, code))
}

/// Which rule of a success policy holds.
pub(super) fn success(
    policy: Option<&SuccessPolicy>,
    completions: i32,
    succeeded: &Indexes,
) -> Option<String> {
    if succeeded.is_empty() {
        return None;
    }
    let holds =
        policy?.rules.iter().position(|rule| match (&rule.succeeded_indexes, rule.succeeded_count) {
            (Some(text), count) => {
                let wanted = Indexes::parse(text, completions);
                let common = wanted.common(succeeded);
                !wanted.is_empty() && (common == wanted.total() || count.is_some_and(|count| common >= count))
            }
            (None, Some(count)) => succeeded.total() >= count,
            (None, None) => false,
        })?;
    Some(format!("Matched rules at index {holds}"))
}
