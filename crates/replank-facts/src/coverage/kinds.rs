//! Which kinds an answer looks at, and what it cannot see without them.

use super::form::{AbsentKind, Read};

/// What is asked about a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What happens when nodes are replaced.
    Roll,
    /// Where pods go.
    Placement,
    /// Which nodes are added and taken away.
    Scaling,
    /// What another run left on nodes and groups.
    Leftovers,
    /// What a pod autoscaler makes of its metrics.
    PodAutoscaler,
    /// What the change of a selector does to a workload.
    Migration,
}

/// Whether an answer can be right without a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Without it, what looks good may not be.
    Needed,
    /// Without it some findings cannot be made. Many clusters have none.
    Looked,
    /// It is not looked at.
    Not,
}

/// Kinds, what cannot be seen without them, and the kind's name in `kubectl get`, where it is not typed.
const KINDS: [(&str, &str, &str); 12] = [
    ("Pod", "pods", "which pods would have to move"),
    ("PodDisruptionBudget", "poddisruptionbudgets", "which evictions a disruption budget refuses"),
    ("HorizontalPodAutoscaler", "horizontalpodautoscalers", "which numbers of replicas change by themselves"),
    ("CronJob", "cronjobs", "which runs start on a schedule"),
    ("Service", "services", "which connections end when pods move"),
    ("EndpointSlice", "endpointslices", "which pods receive traffic"),
    ("CSINode", "csinodes", "how many volumes a node can attach"),
    ("Namespace", "namespaces", "the labels of namespaces, by which affinities and webhooks choose"),
    ("ResourceQuota", "resourcequotas", "which pods a quota refuses"),
    (
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "which webhooks can refuse evictions and new pods",
    ),
    (
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "which webhooks change or refuse new pods",
    ),
    ("PriorityClass", "priorityclasses", "which pods preempt others"),
];

fn need(question: Question, kind: &str) -> Need {
    match (question, kind) {
        (Question::Leftovers, _) => Need::Not,
        (Question::PodAutoscaler | Question::Migration, "Pod") => Need::Looked,
        (Question::PodAutoscaler | Question::Migration, _) => Need::Not,
        (Question::Roll | Question::Scaling, "Pod" | "PodDisruptionBudget") => Need::Needed,
        (Question::Placement, "Pod") => Need::Needed,
        (Question::Placement, "CSINode" | "Namespace" | "PriorityClass" | "ResourceQuota") => Need::Looked,
        (Question::Placement, _) => Need::Not,
        (Question::Scaling, "CSINode" | "Namespace" | "PriorityClass") => Need::Looked,
        (Question::Scaling, _) => Need::Not,
        (Question::Roll, _) => Need::Looked,
    }
}

/// Kinds that an answer looks at, and of which there is neither an object nor a list.
pub(super) fn absent(question: Question, read: &Read) -> Vec<AbsentKind> {
    let is_there = |kind: &str| {
        let named = |name: &String| name.split('.').next() == Some(kind);
        read.objects.keys().any(named) || read.listed.iter().any(named)
    };
    let absent = KINDS.iter().filter_map(|&(kind, resource, unseen)| {
        let need = need(question, kind);
        (need != Need::Not && !is_there(kind)).then(|| AbsentKind {
            kind: kind.to_owned(),
            resource: resource.to_owned(),
            unseen,
            needed: need == Need::Needed,
        })
    });
    absent.collect()
}

#[cfg(test)]
mod tests {
    use replank_model::object::Kind;

    use super::*;

    #[test]
    fn resources_are_named_as_the_model_names_them() {
        for (kind, resource, _) in KINDS {
            if let Some(typed) = Kind::TYPED.iter().find(|typed| typed.as_str() == kind) {
                assert_eq!(typed.plural(), resource);
            }
        }
    }
}
