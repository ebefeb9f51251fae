//! What the snapshot lacks: the answers about some workloads are without it.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::meta::Key;

use super::super::absent::LeftOut;
use super::super::engine::Engine;
use super::super::rule::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::finding::counted;

/// Workloads that are named in one finding.
const NAMED_MAX: usize = 8;

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let mut users: BTreeMap<LeftOut, BTreeSet<&ObjectName>> = BTreeMap::new();
    for subject in survey.scheduled() {
        for sample in &subject.samples {
            for left in survey.absent.left_out(survey.view, &sample.pod) {
                users.entry(left).or_default().insert(&subject.name);
            }
        }
    }
    users.into_iter().filter_map(|(left, users)| finding(survey, left, &users)).collect()
}

fn finding(survey: &Survey<'_>, left: LeftOut, users: &BTreeSet<&ObjectName>) -> Option<Finding> {
    const VOLUMES: &str = "kubectl get persistentvolumeclaims,persistentvolumes,storageclasses -A -o yaml   # add them to the snapshot";
    let view = survey.view;
    let (kind, has_some, what, remedy) = match left {
        LeftOut::NotYetMade => return None,
        LeftOut::Claim => {
            ("persistentvolumeclaims", !view.persistent_volume_claims.is_empty(), "the volumes of", VOLUMES)
        }
        LeftOut::Volume => {
            ("persistentvolumes", !view.persistent_volumes.is_empty(), "the volumes of", VOLUMES)
        }
        LeftOut::Class => {
            ("storageclasses", !view.storage_classes.is_empty(), "the claims without a volume of", VOLUMES)
        }
        LeftOut::Namespace => (
            "namespaces",
            false,
            "required pod affinity with namespace selectors of",
            "kubectl get namespaces -o yaml   # add them to the snapshot",
        ),
        LeftOut::ResourceClaim => (
            "resourceclaims",
            false,
            "the devices of",
            "kubectl get resourceclaims,resourceslices -A   # shows which nodes have the devices; no rule checks them",
        ),
    };
    let why = match (left, has_some) {
        (LeftOut::ResourceClaim, _) => "resourceclaims are not read".to_owned(),
        (_, true) => format!("some {kind} that pods use are not in the snapshot"),
        (_, false) => format!("{kind} are not in the snapshot"),
    };
    let named: Vec<String> = users.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = users.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(Finding {
        rule: Rule::NotInSnapshot,
        severity: Severity::Info,
        object: ObjectName::new("Snapshot", Key::cluster(kind)),
        reason: format!(
            "{why}: {what} {} were not checked: {}{more}",
            counted(users.len(), "workload"),
            named.join(", ")
        ),
        remedy: remedy.to_owned().into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, pod, remedies, service};
    use super::*;

    fn using(claim: &str) -> Value {
        json!({"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}})
    }

    fn claim(name: &str, volume: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop", "uid": name,
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume, "accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Bound"}})
    }

    #[test]
    fn claims_that_a_snapshot_lacks_are_told_once_and_hold_no_pod() {
        let objects = [
            vec![node("n", "web", "a"), node("m", "web", "a")],
            service("db", &["n"], &using("data")),
            service("log", &["m"], &using("logs")),
        ]
        .concat();
        assert_eq!(
            found(Rule::NotInSnapshot, objects.clone()),
            [
                "info not-in-snapshot Snapshot persistentvolumeclaims: persistentvolumeclaims are not in the snapshot: the volumes of \
                 2 workloads were not checked: Deployment shop/db, Deployment shop/log"
            ]
        );
        assert_eq!(found(Rule::FitsNowhere, objects), [""; 0]);
    }

    #[test]
    fn what_running_pods_use_is_there_and_what_pending_ones_lack_is_not() {
        let objects = |node_of_db: &str| {
            let other = vec![node("n", "web", "a"), claim("other", "v")];
            [other, service("db", &[node_of_db], &using("data"))].concat()
        };
        assert_eq!(found(Rule::FitsNowhere, objects("n")), [""; 0]);
        assert!(found(Rule::NotInSnapshot, objects("n"))[0].contains("some persistentvolumeclaims"));
        assert_eq!(
            found(Rule::FitsNowhere, objects("")),
            [
                "blocking fits-nowhere Deployment shop/db: 1 pod, Pending: it does not fit even on empty nodes: 1 persistentvolumeclaim \
                 \"data\" not found"
            ]
        );
        assert_eq!(
            remedies(Rule::FitsNowhere, objects("")),
            ["create the claim shop/data, or correct its name in the pod template: kubectl -n shop get pvc"]
        );
        assert_eq!(found(Rule::NotInSnapshot, objects("")), [""; 0]);
    }

    #[test]
    fn volumes_without_their_objects_devices_and_volumes_to_be_made_hold_no_pod() {
        let nodes = || vec![node("n", "web", "a"), claim("data", "v")];
        let unknown_volume = [nodes(), service("db", &["n"], &using("data"))].concat();
        assert!(found(Rule::NotInSnapshot, unknown_volume.clone())[0].contains("Snapshot persistentvolumes"));
        assert_eq!(found(Rule::FitsNowhere, unknown_volume), [""; 0]);
        let devices = json!({"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}});
        let devices = [nodes(), vec![pod("p", "", None, devices)]].concat();
        assert!(found(Rule::NotInSnapshot, devices.clone())[0].contains("resourceclaims are not read"));
        assert_eq!(found(Rule::FitsNowhere, devices), [""; 0]);
        let scratch = json!({"spec": {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}});
        let scratch = [nodes(), vec![pod("p", "", None, scratch)]].concat();
        assert_eq!(found(Rule::NotInSnapshot, scratch.clone()), [""; 0]);
        assert_eq!(found(Rule::FitsNowhere, scratch), [""; 0]);
    }
}
