//! Every kind that is converted, and every row of what changes between versions, is held by the random tests, in both directions.

use super::*;
use crate::convert::family::{Family, SAME};

/// What changed between versions, a row for each: kinds, the newest version, and the older ones. From the deprecation guide and
/// `defaults.go` and `conversion.go` of each group.
const ROWS: &[(&[&str], &str, &[&str])] = &[
    (&["Deployment"], "apps/v1", &["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"]),
    (&["DaemonSet"], "apps/v1", &["extensions/v1beta1", "apps/v1beta2"]),
    (&["StatefulSet"], "apps/v1", &["apps/v1beta1", "apps/v1beta2"]),
    (&["ReplicaSet"], "apps/v1", &["extensions/v1beta1", "apps/v1beta2"]),
    (&["ControllerRevision"], "apps/v1", &["apps/v1beta1", "apps/v1beta2"]),
    (&["NetworkPolicy"], "networking.k8s.io/v1", &["extensions/v1beta1"]),
    (&["Ingress"], "networking.k8s.io/v1", &["extensions/v1beta1", "networking.k8s.io/v1beta1"]),
    (&["IngressClass", "IPAddress", "ServiceCIDR"], "networking.k8s.io/v1", &["networking.k8s.io/v1beta1"]),
    (
        &["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"],
        "rbac.authorization.k8s.io/v1",
        &["rbac.authorization.k8s.io/v1alpha1", "rbac.authorization.k8s.io/v1beta1"],
    ),
    (&["Lease"], "coordination.k8s.io/v1", &["coordination.k8s.io/v1beta1"]),
    (
        &["PriorityClass"],
        "scheduling.k8s.io/v1",
        &["scheduling.k8s.io/v1alpha1", "scheduling.k8s.io/v1beta1"],
    ),
    (&["APIService"], "apiregistration.k8s.io/v1", &["apiregistration.k8s.io/v1beta1"]),
    (
        &[
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
        "storage.k8s.io/v1",
        &["storage.k8s.io/v1beta1"],
    ),
    (
        &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"],
        "admissionregistration.k8s.io/v1",
        &["admissionregistration.k8s.io/v1alpha1", "admissionregistration.k8s.io/v1beta1"],
    ),
    (&["RuntimeClass"], "node.k8s.io/v1", &["node.k8s.io/v1alpha1", "node.k8s.io/v1beta1"]),
    (&["CronJob"], "batch/v1", &["batch/v1beta1"]),
    (&["PodDisruptionBudget", "Eviction"], "policy/v1", &["policy/v1beta1"]),
    (
        &["HorizontalPodAutoscaler"],
        "autoscaling/v2",
        &["autoscaling/v1", "autoscaling/v2beta1", "autoscaling/v2beta2"],
    ),
    (&["CustomResourceDefinition"], "apiextensions.k8s.io/v1", &["apiextensions.k8s.io/v1beta1"]),
    (
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
        "admissionregistration.k8s.io/v1",
        &["admissionregistration.k8s.io/v1beta1"],
    ),
    (&["CertificateSigningRequest"], "certificates.k8s.io/v1", &["certificates.k8s.io/v1beta1"]),
    (
        &[
            "SubjectAccessReview",
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
        ],
        "authorization.k8s.io/v1",
        &["authorization.k8s.io/v1beta1"],
    ),
    (&["TokenReview"], "authentication.k8s.io/v1", &["authentication.k8s.io/v1beta1"]),
    (&["EndpointSlice"], "discovery.k8s.io/v1", &["discovery.k8s.io/v1beta1"]),
    (&["Event"], "events.k8s.io/v1", &["events.k8s.io/v1beta1"]),
    (
        &["PriorityLevelConfiguration", "FlowSchema"],
        "flowcontrol.apiserver.k8s.io/v1",
        &[
            "flowcontrol.apiserver.k8s.io/v1beta1",
            "flowcontrol.apiserver.k8s.io/v1beta2",
            "flowcontrol.apiserver.k8s.io/v1beta3",
        ],
    ),
    (&["ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"], "resource.k8s.io/v1", DEVICES),
    (&["DeviceClass"], "resource.k8s.io/v1", &["resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"]),
];

/// Whether random objects of a kind go from one version to the other and back.
fn is_random(kind: &str, older: &str, newest: &str) -> bool {
    let has = |of: &Gvk| {
        SAME.iter().any(|(groups, versions, kinds)| {
            groups.contains(&&*of.group) && versions.contains(&&*of.version) && kinds.contains(&kind)
        })
    };
    KINDS.iter().any(|(of, to, versions)| *of == kind && *to == newest && versions.contains(&older))
        || (has(&Gvk::of(older, kind)) && has(&Gvk::of(newest, kind)))
}

#[test]
fn every_row_of_what_changes_is_held() {
    let mut missing = Vec::new();
    for (kinds, newest, versions) in ROWS {
        for kind in *kinds {
            for older in *versions {
                let between = Family::between(&Gvk::of(older, kind), &Gvk::of(newest, kind));
                if between.is_none() || !is_random(kind, older, newest) {
                    missing.push(format!("{older} {kind} to {newest}"));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    // One row has no other side.
    for group in ["extensions", "policy"] {
        let policy = Gvk::of(&format!("{group}/v1beta1"), "PodSecurityPolicy");
        assert!(matches!(without_successor(&policy), Hold::NoSuccessor { instead } if !instead.is_empty()));
    }
}

/// The other way round: whatever the lifecycle data have that is converted here is among the random objects.
#[test]
fn every_kind_that_is_converted_is_held() {
    let table = Table::embedded();
    let of_kubernetes = || table.rows().iter().filter(|row| row.product == Product::Kubernetes);
    let (mut missing, mut seen) = (Vec::new(), 0);
    for row in of_kubernetes() {
        for other in of_kubernetes().filter(|other| other.gvk != row.gvk) {
            let is_held = match Family::between(&row.gvk, &other.gvk) {
                None => continue,
                Some(Family::Same) => true,
                Some(_) => KINDS.iter().any(|(kind, newest, versions)| {
                    let known =
                        |gvk: &Gvk| *newest == gvk.api_version() || versions.contains(&&*gvk.api_version());
                    *kind == row.gvk.kind && known(&row.gvk) && known(&other.gvk)
                }),
            };
            seen += 1;
            if !is_held {
                missing.push(format!("{} to {}", row.gvk, other.gvk));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(seen > 150, "{seen} pairs");
}

fn any_body() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z.:/ ]{0,9}".prop_map(Value::from),
    ];
    let nested = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    proptest::collection::btree_map("(spec|rules|value|roleRef|subjects|provisioner|handler)", nested, 0..5)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #![proptest_config(config(60))]

    /// Of kinds with the same fields in all versions nothing changes but the version, from any to any.
    #[test]
    fn what_has_the_same_fields_stays_as_it_is(body in any_body()) {
        for (groups, versions, kinds) in SAME {
            let all = || groups.iter().flat_map(|group| versions.iter().map(move |version| format!("{group}/{version}")));
            for kind in *kinds {
                for (from, to) in all().flat_map(|from| all().map(move |to| (from.clone(), to))) {
                    let with = |version: &str| {
                        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
                        object.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
                        object
                    };
                    prop_assert_eq!(converted(&with(&from), &to).unwrap(), with(&to));
                }
            }
        }
    }
}
