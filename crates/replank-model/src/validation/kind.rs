//! The kinds that are validated.

use serde_json::Value;

/// Kinds that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pod,
    PodTemplate,
    ReplicationController,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
}

impl Kind {
    /// By `apiVersion` and `kind`; `None` for any other.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        match (text("apiVersion")?, text("kind")?) {
            ("v1", "Pod") => Some(Self::Pod),
            ("v1", "PodTemplate") => Some(Self::PodTemplate),
            ("v1", "ReplicationController") => Some(Self::ReplicationController),
            ("apps/v1", "Deployment") => Some(Self::Deployment),
            ("apps/v1", "ReplicaSet") => Some(Self::ReplicaSet),
            ("apps/v1", "StatefulSet") => Some(Self::StatefulSet),
            ("apps/v1", "DaemonSet") => Some(Self::DaemonSet),
            ("batch/v1", "Job") => Some(Self::Job),
            ("batch/v1", "CronJob") => Some(Self::CronJob),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::PodTemplate => "PodTemplate",
            Self::ReplicationController => "ReplicationController",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
        }
    }

    pub(super) fn group(self) -> &'static str {
        match self {
            Self::Pod | Self::PodTemplate | Self::ReplicationController => "",
            Self::Deployment | Self::ReplicaSet | Self::StatefulSet | Self::DaemonSet => "apps",
            Self::Job | Self::CronJob => "batch",
        }
    }

    /// The Go type that it is read as.
    pub(super) fn go_type(self) -> String {
        format!("v1.{}", self.name())
    }
}
