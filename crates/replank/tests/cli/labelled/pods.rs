//! Pods, as a kubelet reports them.

use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use super::cluster::uid;
use super::entry::{Entry, merge, now};

/// How a pod is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Running and Ready for a day.
    Ready,
    /// Running for a day, its readiness probe fails for an hour.
    Unready,
    /// Its container crashes again and again.
    Crashing,
    /// On its node for a minute, not Ready yet.
    Starting,
    /// Without a node for half an hour.
    Pending,
    /// It has succeeded.
    Succeeded,
}

/// What the pods of one workload have in common.
pub(crate) struct Template {
    pub(crate) labels: Value,
    pub(crate) annotations: Value,
    pub(crate) spec: Value,
}

impl Template {
    /// The words `labels`, `annotations`, `pod spec` and `container` of an entry, over plain defaults.
    pub(crate) fn take(entry: &mut Entry, app: &str, restart: &str) -> Self {
        let mut labels = json!({"app": app});
        merge(&mut labels, entry.patch("labels"));
        let mut spec = json!({
            "containers": [{"name": "app", "image": format!("registry.example.com/{app}:1"),
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}],
            "restartPolicy": restart, "terminationGracePeriodSeconds": 30, "schedulerName": "default-scheduler", "dnsPolicy": "ClusterFirst",
        });
        merge(&mut spec, entry.patch("pod spec"));
        merge(&mut spec["containers"][0], entry.patch("container"));
        Self { labels, annotations: entry.patch("annotations"), spec }
    }

    /// As it stands in a workload's spec.
    pub(crate) fn object(&self) -> Value {
        json!({"metadata": {"labels": self.labels, "annotations": self.annotations}, "spec": self.spec})
    }
}

/// One pod.
pub(crate) struct Pod<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) node: &'a str,
    pub(crate) owner: Option<Value>,
    pub(crate) state: State,
    /// When it was created; a day ago where nothing is said.
    pub(crate) since: Option<Time>,
}

impl Pod<'_> {
    /// The object.
    pub(crate) fn object(&self, template: &Template) -> Value {
        let since = self.since.unwrap_or_else(|| now() - self.state.age());
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": self.name, "namespace": self.namespace, "uid": uid("pod", self.namespace, self.name),
                "creationTimestamp": since, "labels": template.labels, "annotations": template.annotations},
            "spec": template.spec,
            "status": self.status(&template.spec, since),
        });
        if let Some(owner) = &self.owner {
            pod["metadata"]["ownerReferences"] = json!([owner]);
        }
        if self.state != State::Pending {
            pod["spec"]["nodeName"] = json!(self.node);
        }
        // As admission adds them.
        let usual = ["not-ready", "unreachable"].map(|key| {
            json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
        });
        let own = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        pod["spec"]["tolerations"] = own.into_iter().chain(usual).collect();
        pod
    }

    fn status(&self, spec: &Value, since: Time) -> Value {
        let hour = now() - Span::from_minutes(60);
        let condition = |kind: &str, is: bool, at: Time| json!({"type": kind, "status": if is { "True" } else { "False" }, "lastTransitionTime": at});
        if self.state == State::Pending {
            return json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "0/3 nodes are available", "lastTransitionTime": since}]});
        }
        let ready = self.state == State::Ready;
        let at = match self.state {
            State::Unready | State::Crashing => hour,
            State::Ready | State::Starting | State::Pending | State::Succeeded => since,
        };
        let conditions = [
            condition("PodScheduled", true, since),
            condition("Initialized", true, since),
            condition("ContainersReady", ready, at),
            condition("Ready", ready, at),
        ];
        let running = json!({"running": {"startedAt": since}});
        let (state, restarts) = match self.state {
            State::Ready | State::Unready | State::Starting => (running, 0),
            State::Crashing => (json!({"waiting": {"reason": "CrashLoopBackOff"}}), 14),
            State::Succeeded => (
                json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": now()}}),
                0,
            ),
            State::Pending => (json!({}), 0),
        };
        let containers = spec["containers"].as_array().cloned().unwrap_or_default();
        let statuses: Vec<Value> = containers
            .iter()
            .map(|container| {
                json!({"name": container["name"], "image": container["image"], "ready": ready, "started": ready, "restartCount": restarts, "state": state})
            })
            .collect();
        let phase = if self.state == State::Succeeded { "Succeeded" } else { "Running" };
        json!({"phase": phase, "startTime": since, "conditions": conditions, "containerStatuses": statuses, "qosClass": "Burstable"})
    }
}

impl State {
    fn age(self) -> Span {
        match self {
            State::Ready | State::Unready | State::Crashing | State::Succeeded => Span::from_minutes(24 * 60),
            State::Starting => Span::from_minutes(1),
            State::Pending => Span::from_minutes(30),
        }
    }

    /// The words `unready`, `crashing`, `starting` and `pending` of an entry, each with ordinals.
    pub(crate) fn take(entry: &mut Entry, number: usize) -> Vec<State> {
        let mut states = vec![State::Ready; number];
        let words = [
            ("unready", State::Unready),
            ("crashing", State::Crashing),
            ("starting", State::Starting),
            ("pending", State::Pending),
        ];
        for (word, state) in words {
            for ordinal in entry.ordinals(word) {
                states[usize::try_from(ordinal).expect("small") - 1] = state;
            }
        }
        states
    }
}
