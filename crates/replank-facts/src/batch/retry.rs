//! What Argo does about a step whose pod is lost: the retry strategy in force (argo-workflows `workflow/controller/operator.go`,
//! `processNodeRetries`; docs/retries).
//!
//! A template's own strategy counts, field by field over `templateDefaults`; without one the Workflow's `spec.retryStrategy`. What the
//! controller's `workflowDefaults` say is laid under the Workflow's spec first. A strategy retries an attempt that its policy AND its expression
//! let pass, up to `limit` times.

use std::borrow::Cow;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, render};
use replank_model::text::Namespace;
use replank_model::time::Span;
use replank_model::view::View;
use serde_json::Value;

use super::expression::{self, LastRetry};
use super::templates::{self, lay_over};

/// Annotation of a pod: its node in the Workflow's status.
const NODE_ID: &str = "workflows.argoproj.io/node-id";
/// Annotation of a pod: the name of that node.
const NODE_NAME: &str = "workflows.argoproj.io/node-name";
/// The ConfigMap that the controller reads unless it is told otherwise.
const CONFIG_MAP: &str = "workflow-controller-configmap";

/// Which ends are run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Failed steps.
    OnFailure,
    /// Steps in error.
    OnError,
    /// Both.
    Always,
    /// Those whose message looks like a passing trouble.
    OnTransientError,
}

/// A retry strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// Which ends are run again; `Always` where an expression stands without a policy (3.5 and later), else `OnFailure`.
    pub policy: Policy,
    /// What else must hold.
    pub expression: Option<String>,
    /// Attempts beyond the first; none: without end.
    pub limit: Option<i64>,
    /// Pauses between attempts.
    pub backoff: Option<Backoff>,
    /// Whether an attempt keeps away from the nodes of those before it (`affinity.nodeAntiAffinity`).
    pub avoids_nodes: bool,
}

/// Pauses between attempts; without a `limit` the controller skips them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The first.
    pub duration: Span,
    /// By how much each is longer than the one before.
    pub factor: i32,
    /// The longest.
    pub cap: Option<Span>,
    /// From the first attempt's start on: nothing is run again later.
    pub max_duration: Option<Span>,
}

/// Whether an attempt is followed by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// An expression decides that cannot be worked out here.
    Unknown,
}

impl Backoff {
    /// How long before an attempt, counted from 1 for the first retry.
    #[must_use]
    pub fn pause(&self, retry: i64) -> Span {
        let times = u32::try_from(retry - 1).unwrap_or(0).min(30);
        let factor = i64::from(self.factor.max(1)).saturating_pow(times);
        let pause = Span::from_millis(self.duration.as_millis().saturating_mul(factor));
        self.cap.map_or(pause, |cap| pause.min(cap))
    }
}

impl Strategy {
    fn of(value: &Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let expression = text("expression").map(str::to_owned);
        let policy = match (text("retryPolicy"), &expression) {
            (Some("Always"), _) | (None, Some(_)) => Policy::Always,
            (Some("OnError"), _) => Policy::OnError,
            (Some("OnTransientError"), _) => Policy::OnTransientError,
            (Some(_), _) | (None, None) => Policy::OnFailure,
        };
        let backoff = value.get("backoff").filter(|backoff| backoff.is_object()).map(backoff);
        let avoids_nodes = value.pointer("/affinity/nodeAntiAffinity").is_some_and(Value::is_object);
        Self { policy, expression, limit: value.get("limit").and_then(number), backoff, avoids_nodes }
    }

    /// Whether an attempt that ended so is run again.
    #[must_use]
    pub fn retries(&self, last: &LastRetry) -> Retried {
        let is_error = last.status == "Error";
        let passes = match self.policy {
            Policy::Always => true,
            Policy::OnFailure => !is_error,
            Policy::OnError => is_error,
            Policy::OnTransientError => is_transient(&last.message),
        };
        if !passes || self.limit.is_some_and(|limit| last.retries >= limit) {
            return Retried::No;
        }
        match self.expression.as_deref().map(|text| expression::holds(text, last)) {
            None | Some(Some(true)) => Retried::Yes,
            Some(Some(false)) => Retried::No,
            Some(None) => Retried::Unknown,
        }
    }
}

/// A number, or a text with one, as Argo's IntOrString fields are.
#[must_use]
pub fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn backoff(value: &Value) -> Backoff {
    let span = |key: &str| value.get(key).and_then(duration);
    Backoff {
        duration: span("duration").unwrap_or(Span::ZERO),
        factor: value
            .get("factor")
            .and_then(number)
            .and_then(|factor| i32::try_from(factor).ok())
            .unwrap_or(1),
        cap: span("cap").filter(|cap| *cap > Span::ZERO),
        max_duration: span("maxDuration").filter(|span| *span > Span::ZERO),
    }
}

/// Seconds without a unit, else Go's form (`util/strings` `ParseStringToDuration`).
#[must_use]
pub fn duration(value: &Value) -> Option<Span> {
    match number(value) {
        Some(seconds) => Some(Span::from_secs(seconds)),
        None => value.as_str()?.parse().ok(),
    }
}

/// What `util/errors` `IsTransientErr` finds in a message; what is added by `TRANSIENT_ERROR_PATTERN` is not known here.
fn is_transient(message: &str) -> bool {
    ["net/http: TLS handshake timeout", "i/o timeout", "connection timed out", "connection reset by peer"]
        .iter()
        .any(|part| message.contains(part))
}

/// How a step ends that is evicted, whenever that is: its main container dies of SIGTERM.
#[must_use]
pub fn evicted() -> LastRetry {
    LastRetry {
        exit_code: Some(143),
        status: "Failed",
        seconds: None,
        message: "main: Error (exit code 143)".to_owned(),
        retries: 0,
    }
}

/// How a step ends whose pod is gone before the controller has read how it ended.
#[must_use]
pub fn deleted() -> LastRetry {
    let message = "pod deleted".to_owned();
    LastRetry { exit_code: None, status: "Error", seconds: None, message, retries: 0 }
}

/// What an eviction does to a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Stake {
    /// No strategy: the run fails.
    NoStrategy,
    /// There is one.
    Strategy {
        /// It.
        strategy: Strategy,
        /// Whether a step that was ended by the eviction is run again.
        evicted: Retried,
        /// Whether a step lost as "pod deleted" is.
        deleted: Retried,
    },
}

impl Stake {
    fn of(strategy: Option<Strategy>) -> Self {
        let Some(strategy) = strategy else { return Self::NoStrategy };
        let (evicted, deleted) = (strategy.retries(&evicted()), strategy.retries(&deleted()));
        Self::Strategy { strategy, evicted, deleted }
    }

    /// Whether an eviction costs no more than the time of the step.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self, Self::Strategy { evicted: Retried::Yes, deleted: Retried::Yes, .. })
    }

    /// What an eviction does, in words.
    #[must_use]
    pub fn consequence(&self) -> Cow<'static, str> {
        let Self::Strategy { strategy, evicted, deleted } = self else {
            return "no retryStrategy: an eviction fails the run".into();
        };
        if strategy.limit == Some(0) {
            return "retryStrategy with limit 0: an eviction fails the run".into();
        }
        if strategy.expression.is_some() {
            return of_expression(*evicted, *deleted);
        }
        match strategy.policy {
            Policy::OnFailure => {
                "retryPolicy OnFailure: a step lost as \"pod deleted\" is not retried".into()
            }
            Policy::OnError => {
                "retryPolicy OnError: a step terminated by the eviction (exit code 143) is not retried".into()
            }
            Policy::Always => "retryPolicy Always: an eviction costs only the step's time".into(),
            Policy::OnTransientError => "retryPolicy OnTransientError: an evicted step is not retried".into(),
        }
    }
}

fn of_expression(evicted: Retried, deleted: Retried) -> Cow<'static, str> {
    match (evicted, deleted) {
        (Retried::Yes, Retried::Yes) => {
            "the retry expression retries evicted steps: an eviction costs only the step's time".into()
        }
        (Retried::Unknown, _) | (_, Retried::Unknown) => {
            "a retry expression decides whether an evicted step is retried, and it cannot be evaluated here".into()
        }
        (Retried::No, Retried::No) => "the retry expression excludes evicted steps: they are not retried".into(),
        (Retried::No, Retried::Yes) => {
            "the retry expression excludes a step terminated by the eviction (exit code 143): it is not retried".into()
        }
        (Retried::Yes, Retried::No) => {
            "the retry expression excludes a step lost as \"pod deleted\": it is not retried".into()
        }
    }
}

/// A Workflow as it came.
#[must_use]
pub fn raw(view: &View, key: &Key) -> Option<Value> {
    view.other("argoproj.io", "Workflow", key).map(|workflow| render(&Object::Other(workflow.clone())))
}

/// What an eviction does to a Workflow's pod; `None` for pods of others, and where the Workflow is not there.
#[must_use]
pub fn stake_of(view: &View, pod: &Pod) -> Option<Stake> {
    Reader::default().stake_of(view, pod)
}

/// Reads Workflows for their pods, and keeps the last one: of pods that are asked about one after the other, each Workflow is read once. It may have thousands of them, and its
/// status grows with their number.
#[derive(Debug, Default)]
pub struct Reader {
    last: Option<(Key, Option<Workflow>)>,
}

/// A Workflow as it came, and its spec in force: read once for all that is asked of it.
#[derive(Debug)]
pub struct Workflow {
    raw: Value,
    spec: Value,
}

impl Workflow {
    /// Reads one; `None` where it is not there.
    #[must_use]
    pub fn read(view: &View, key: &Key) -> Option<Self> {
        raw(view, key).map(|raw| Self { spec: spec_of(view, &raw), raw })
    }

    /// As it came.
    #[must_use]
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// Its spec in force.
    #[must_use]
    pub fn spec(&self) -> &Value {
        &self.spec
    }
}

impl Reader {
    /// The same as [`stake_of`].
    pub fn stake_of(&mut self, view: &View, pod: &Pod) -> Option<Stake> {
        let Workflow { raw, spec } = self.read(view, pod)?;
        let nodes = raw.pointer("/status/nodes").and_then(Value::as_object);
        let node = node_of(raw, pod);
        if nodes.is_some_and(|nodes| !nodes.is_empty()) && node.is_none() {
            // A step that the controller has not written down yet: nobody knows of which template it is.
            return None;
        }
        let template = node.and_then(|node| template_of_node(view, spec, node, pod));
        Some(Stake::of(strategy_of(spec, template.as_ref())))
    }

    /// The template that a pod of a Workflow was made from.
    pub fn template_of(&mut self, view: &View, pod: &Pod) -> Option<Value> {
        let Workflow { raw, spec } = self.read(view, pod)?;
        template_of_node(view, spec, node_of(raw, pod)?, pod)
    }

    fn read(&mut self, view: &View, pod: &Pod) -> Option<&Workflow> {
        let owner = pod.meta.controller().filter(|owner| &*owner.kind == "Workflow")?;
        let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
        if self.last.as_ref().is_none_or(|(known, _)| *known != key) {
            let read = Workflow::read(view, &key);
            self.last = Some((key, read));
        }
        self.last.as_ref()?.1.as_ref()
    }
}

/// The spec in force: a Workflow's own, what it was made from (as it was then, where that is stored), and the controller's defaults under it.
#[must_use]
pub fn spec_of(view: &View, workflow: &Value) -> Value {
    let stored = workflow.pointer("/status/storedWorkflowTemplateSpec").cloned();
    let namespace =
        Namespace::from(workflow.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default());
    let referred = workflow.pointer("/spec/workflowTemplateRef");
    let stored = stored.or_else(|| templates::referred_spec(view, &namespace, referred?));
    let mut spec =
        workflow_defaults(view).and_then(|defaults| defaults.get("spec").cloned()).unwrap_or_default();
    for over in stored.iter().chain(workflow.get("spec")) {
        lay_over(&mut spec, over);
    }
    spec
}

/// What a Workflow's status says of a pod's step.
fn node_of<'w>(workflow: &'w Value, pod: &Pod) -> Option<&'w Value> {
    let nodes = workflow.pointer("/status/nodes");
    let id = pod.meta.annotations.value(NODE_ID).unwrap_or(pod.meta.name.as_str());
    let by_id = || nodes?.get(id);
    let by_name = || {
        let name = pod.meta.annotations.value(NODE_NAME)?;
        nodes?.as_object()?.values().find(|node| node["name"] == name)
    };
    by_id().or_else(by_name)
}

/// The template that a pod was made from.
#[must_use]
pub fn template_of(view: &View, workflow: &Value, pod: &Pod) -> Option<Value> {
    let node = node_of(workflow, pod)?;
    template_of_node(view, &spec_of(view, workflow), node, pod)
}

fn template_of_node(view: &View, spec: &Value, node: &Value, pod: &Pod) -> Option<Value> {
    if let Some(reference) = node.get("templateRef") {
        return templates::referred(view, &pod.meta.namespace, reference);
    }
    templates::named(spec, node.get("templateName")?.as_str()?).cloned()
}

/// The strategy in force for a template under a spec in force.
#[must_use]
pub fn strategy_of(spec: &Value, template: Option<&Value>) -> Option<Strategy> {
    let mut merged = spec.pointer("/templateDefaults/retryStrategy").cloned().unwrap_or_default();
    if let Some(own) = template.and_then(|template| template.get("retryStrategy")) {
        lay_over(&mut merged, own);
    }
    let in_force = if merged.is_null() { spec.get("retryStrategy")? } else { &merged };
    in_force.is_object().then(|| Strategy::of(in_force))
}

/// The controller's `workflowDefaults`, where its ConfigMap is in the snapshot and they are written as JSON or simple YAML.
fn workflow_defaults(view: &View) -> Option<Value> {
    configured(view, "workflowDefaults")
}

/// How often a pod is made again that failed before its main container ran (`failedPodRestart`); `None` where that is off, as it is unless the
/// controller's ConfigMap says so.
#[must_use]
pub fn failed_pod_restarts(view: &View) -> Option<i64> {
    let said = configured(view, "failedPodRestart")?;
    (said["enabled"] == true).then(|| said.get("maxRestarts").and_then(number).unwrap_or(3))
}

/// A part of the controller's configuration.
fn configured(view: &View, part: &str) -> Option<Value> {
    let map =
        view.others().find(|other| &*other.kind == "ConfigMap" && other.meta.name.as_str() == CONFIG_MAP)?;
    let raw: Value = serde_json::from_str(map.meta.raw.0.as_deref()?).ok()?;
    let text = |key: &str| raw.get("data")?.get(key)?.as_str();
    match text(part) {
        Some(own) => super::yaml::read(own),
        None => super::yaml::read(text("config")?)?.get(part).cloned(),
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workflow_is_read_once_for_all_of_its_pods() {
        let view = |objects: Vec<Value>| -> View {
            objects.into_iter().map(|one| Delta::Put(Object::from_json(one).expect("valid"))).collect()
        };
        let workflow = |name: &str, policy: &str| {
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": name, "namespace": "shop"},
                "spec": {"retryStrategy": {"retryPolicy": policy}, "templates": [{"name": "step"}]},
                "status": {"nodes": {format!("{name}-1"): {"templateName": "step"}, format!("{name}-2"): {"templateName": "step"}}}})
        };
        let pod = |workflow: &str, name: &str| {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop",
                "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": workflow, "uid": workflow, "controller": true}]}});
            let Ok(Object::Pod(pod)) = Object::from_json(pod) else { panic!("a pod") };
            pod
        };
        let (both, none) = (view(vec![workflow("a", "Always"), workflow("b", "OnError")]), view(Vec::new()));
        let mut reader = Reader::default();
        let first = reader.stake_of(&both, &pod("a", "a-1")).expect("it is there");
        assert!(first.is_safe());
        assert_eq!(reader.stake_of(&none, &pod("a", "a-2")), Some(first), "it is not asked for again");
        assert!(reader.stake_of(&both, &pod("b", "b-1")).is_some_and(|stake| !stake.is_safe()));
        assert_eq!(reader.stake_of(&none, &pod("a", "a-1")), None, "the last one is kept, and no other");
        assert_eq!(reader.stake_of(&both, &pod("b", "b-3")), None, "a step that is not written down");
    }
}
