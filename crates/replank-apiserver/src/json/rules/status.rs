//! What a status of workloads may say (`Validate…StatusUpdate` in `pkg/apis/{apps,core}/validation`).

use replank_model::object::Kind;
use serde_json::Value;

use crate::server::Cause;

/// Numbers of a status.
struct Numbers {
    /// None of them is below zero.
    natural: &'static [&'static str],
    /// None of them is above `replicas`.
    parts: &'static [&'static str],
    /// How the number is called that `availableReplicas` is not above.
    ready: &'static str,
}

fn numbers(kind: Kind) -> Option<Numbers> {
    const OF_SETS: &[&str] = &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    let (natural, parts, ready): (&[&str], &[&str], &str) = match kind {
        Kind::Deployment => (
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ],
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
            "readyReplicas",
        ),
        Kind::ReplicaSet | Kind::ReplicationController => {
            (OF_SETS, &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"], "readyReplicas")
        }
        Kind::StatefulSet => (
            &[
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "observedGeneration",
                "collisionCount",
            ],
            &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
            "status.readyReplicas",
        ),
        Kind::DaemonSet => (
            &[
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
                "observedGeneration",
                "updatedNumberScheduled",
                "numberAvailable",
                "numberUnavailable",
                "collisionCount",
            ],
            &[],
            "",
        ),
        Kind::Pod
        | Kind::Job
        | Kind::CronJob
        | Kind::Namespace
        | Kind::Node
        | Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::NodeClaim
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::PersistentVolume
        | Kind::CustomResourceDefinition
        | Kind::PersistentVolumeClaim
        | Kind::ResourceQuota
        | Kind::ControllerRevision
        | Kind::HorizontalPodAutoscaler
        | Kind::PodDisruptionBudget
        | Kind::Service
        | Kind::EndpointSlice
        | Kind::Other => return None,
    };
    Some(Numbers { natural, parts, ready })
}

/// What is wrong with a new status.
pub(in super::super) fn status(kind: Kind, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some(Numbers { natural, parts, ready }) = numbers(kind) else { return causes };
    let given =
        |of: &Value, name: &str| of.get("status").and_then(|status| status.get(name)).and_then(Value::as_i64);
    let number = |name: &str| given(new, name).unwrap_or(0);
    let mut refuse = |name: &str, why: &str| {
        causes.push(Cause::invalid(format!("status.{name}"), &number(name).to_string(), why));
    };
    for name in natural.iter().filter(|name| number(name) < 0) {
        refuse(name, "must be greater than or equal to 0");
    }
    for name in parts.iter().filter(|name| number(name) > number("replicas")) {
        refuse(name, "cannot be greater than status.replicas");
    }
    if !ready.is_empty() && number("availableReplicas") > number("readyReplicas") {
        refuse("availableReplicas", &format!("cannot be greater than {ready}"));
    }
    let count = "collisionCount";
    let has_fallen = given(old, count).is_some_and(|was| given(new, count).is_none_or(|is| is < was));
    if has_fallen && natural.contains(&count) {
        refuse(count, "cannot be decremented");
    }
    causes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_part_of_the_replicas_is_more_than_all_and_collisions_are_not_forgotten() {
        let told = |kind: Kind, new: Value| -> Vec<String> {
            let old = json!({"status": {"collisionCount": 1}});
            let told = status(kind, &old, &json!({"status": new})).into_iter();
            told.map(|cause| format!("{}: {}", cause.field.unwrap_or_default(), cause.message)).collect()
        };
        let none = told(
            Kind::Deployment,
            json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 1, "collisionCount": 1}),
        );
        assert_eq!(none, [""; 0]);
        assert_eq!(
            told(Kind::StatefulSet, json!({"replicas": 1, "availableReplicas": 2})),
            [
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
                "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
                "status.collisionCount: Invalid value: 0: cannot be decremented",
            ]
        );
        assert_eq!(
            told(Kind::DaemonSet, json!({"numberReady": -1, "collisionCount": 1})),
            ["status.numberReady: Invalid value: -1: must be greater than or equal to 0"]
        );
    }
}
