//! What Argo does about a step whose pod is lost: the effective retry policy of a Workflow's pod.

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::view::View;
use serde_json::Value;

/// Annotation of a pod: its node in the Workflow's status.
const NODE_ID: &str = "workflows.argoproj.io/node-id";

/// What happens to a step whose pod is evicted: its container ends with 143 (Failed), or the pod is gone before the
/// controller has seen that (Error, "pod deleted"). Source: argo-workflows operator.go, docs/retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// No retryStrategy.
    Never,
    /// Failed steps are run again.
    OnFailure,
    /// Steps in error are run again.
    OnError,
    /// Both are.
    Always,
    /// Only where the message looks like a passing trouble.
    OnTransientError,
    /// An expression decides.
    Expression,
}

impl Retry {
    /// Whether an eviction costs no more than the time of the step.
    pub(super) fn is_safe(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never | Self::OnFailure | Self::OnError | Self::OnTransientError | Self::Expression => {
                false
            }
        }
    }

    /// What an eviction does.
    pub(super) fn consequence(self) -> &'static str {
        match self {
            Self::Never => "no retryStrategy: an eviction fails the run",
            Self::OnFailure => "retryPolicy OnFailure: a step lost as \"pod deleted\" is not run again",
            Self::OnError => {
                "retryPolicy OnError: a step ended by the eviction (exit code 143) is not run again"
            }
            Self::Always => "retryPolicy Always: an eviction costs the step's time only",
            Self::OnTransientError => "retryPolicy OnTransientError: an evicted step is not run again",
            Self::Expression => "a retry expression decides whether an evicted step is run again",
        }
    }
}

/// A Workflow as it came.
pub(super) fn raw(view: &View, key: &Key) -> Option<Value> {
    let workflow = view.other("argoproj.io", "Workflow", key)?;
    serde_json::from_str(workflow.meta.raw.0.as_deref()?).ok()
}

/// The retry policy in force for a Workflow's pod; `None` for pods of others, and where the Workflow is not there.
pub(super) fn retry_of(view: &View, pod: &Pod) -> Option<Retry> {
    let owner = pod.meta.controller().filter(|owner| &*owner.kind == "Workflow")?;
    let raw = raw(view, &Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() })?;
    let template = pod.meta.annotations.value(NODE_ID).and_then(|id| {
        let name = raw.pointer("/status/nodes")?.get(id)?.get("templateName")?.as_str()?;
        let templates = raw.pointer("/spec/templates")?.as_array()?;
        templates.iter().find(|template| template["name"] == name)
    });
    let strategy = template
        .and_then(|template| template.get("retryStrategy"))
        .or_else(|| raw.pointer("/spec/templateDefaults/retryStrategy"))
        .or_else(|| raw.pointer("/spec/retryStrategy"));
    Some(strategy.map_or(Retry::Never, of_strategy))
}

fn of_strategy(strategy: &Value) -> Retry {
    let has_expression = strategy.get("expression").is_some_and(|expression| !expression.is_null());
    match strategy.get("retryPolicy").and_then(Value::as_str) {
        _ if has_expression => Retry::Expression,
        Some("Always") => Retry::Always,
        Some("OnError") => Retry::OnError,
        Some("OnTransientError") => Retry::OnTransientError,
        // The default without an expression.
        Some(_) | None => Retry::OnFailure,
    }
}
