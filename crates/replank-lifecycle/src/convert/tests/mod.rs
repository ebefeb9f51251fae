//! Old defaults mean the same after a conversion: on random objects, against a second account of the defaults that
//! shares no code with the converters ([`means`]). And back again, where both versions were served.

mod means;
mod random;
mod rows;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::*;
use crate::schema::Schema;

fn converted(object: &Value, to: &str) -> Result<Value, Hold> {
    let mut tree = Tree::from_value(object);
    let to = Gvk::of(to, object["kind"].as_str().unwrap());
    TABLE.with(|table| convert(table, &mut tree, &to, Release::minor(1, 36)))?;
    Ok(tree.value())
}

/// The newest version of every kind that has converters, and its older ones.
const KINDS: [(&str, &str, &[&str]); 22] = [
    ("Deployment", "apps/v1", &["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"]),
    ("DaemonSet", "apps/v1", &["extensions/v1beta1", "apps/v1beta2"]),
    ("StatefulSet", "apps/v1", &["apps/v1beta1", "apps/v1beta2"]),
    ("ReplicaSet", "apps/v1", &["extensions/v1beta1", "apps/v1beta2"]),
    ("NetworkPolicy", "networking.k8s.io/v1", &["extensions/v1beta1"]),
    ("Ingress", "networking.k8s.io/v1", &["extensions/v1beta1", "networking.k8s.io/v1beta1"]),
    ("RuntimeClass", "node.k8s.io/v1", &["node.k8s.io/v1alpha1", "node.k8s.io/v1beta1"]),
    ("CronJob", "batch/v1", &["batch/v2alpha1", "batch/v1beta1"]),
    ("PodDisruptionBudget", "policy/v1", &["policy/v1beta1"]),
    (
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        &["autoscaling/v1", "autoscaling/v2beta1", "autoscaling/v2beta2"],
    ),
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1", &["apiextensions.k8s.io/v1beta1"]),
    (
        "ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io/v1",
        &["admissionregistration.k8s.io/v1beta1"],
    ),
    (
        "MutatingWebhookConfiguration",
        "admissionregistration.k8s.io/v1",
        &["admissionregistration.k8s.io/v1beta1"],
    ),
    ("CertificateSigningRequest", "certificates.k8s.io/v1", &["certificates.k8s.io/v1beta1"]),
    ("SubjectAccessReview", "authorization.k8s.io/v1", &["authorization.k8s.io/v1beta1"]),
    ("LocalSubjectAccessReview", "authorization.k8s.io/v1", &["authorization.k8s.io/v1beta1"]),
    ("EndpointSlice", "discovery.k8s.io/v1", &["discovery.k8s.io/v1beta1"]),
    ("Event", "events.k8s.io/v1", &["events.k8s.io/v1beta1"]),
    (
        "PriorityLevelConfiguration",
        "flowcontrol.apiserver.k8s.io/v1",
        &[
            "flowcontrol.apiserver.k8s.io/v1alpha1",
            "flowcontrol.apiserver.k8s.io/v1beta1",
            "flowcontrol.apiserver.k8s.io/v1beta2",
            "flowcontrol.apiserver.k8s.io/v1beta3",
        ],
    ),
    ("ResourceClaim", "resource.k8s.io/v1", DEVICES),
    ("ResourceClaimTemplate", "resource.k8s.io/v1", DEVICES),
    ("ResourceSlice", "resource.k8s.io/v1", DEVICES),
];

/// Older versions of dynamic resource allocation, with the same objects under other fields.
const DEVICES: &[&str] = &["resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"];

fn any_object() -> impl Strategy<Value = (usize, usize, Value)> {
    (0..KINDS.len(), 0..12_usize).prop_flat_map(|(kind, version)| {
        let (name, _, versions) = KINDS[kind];
        let version = version % versions.len();
        random::object(name, versions[version]).prop_map(move |object| (kind, version, object))
    })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(7),
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

thread_local! {
    // Reading them takes longer than a case.
    static SCHEMA: Schema = Schema::embedded();
    static TABLE: Table = Table::embedded();
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn what_was_taken_for_granted_means_the_same_after((kind, _, object) in any_object()) {
        let (_, newest, _) = KINDS[kind];
        match converted(&object, newest) {
            Ok(new) => {
                prop_assert_eq!(&new["apiVersion"], newest);
                prop_assert_eq!(means::means(&new), means::means(&object), "{:#} became {:#}", object, new);
                let problems = SCHEMA.with(|schema| schema.check(&new));
                prop_assert!(problems.is_empty(), "{:?}: {:#} became {:#}", problems, object, new);
                // Once there, there is nothing to do.
                prop_assert_eq!(converted(&new, newest).unwrap(), new);
            }
            Err(hold) => prop_assert!(means::needs_a_person(&object), "{}: {:#}", hold, object),
        }
    }

    #[test]
    fn back_again_it_still_means_the_same((kind, version, object) in any_object()) {
        let (_, newest, versions) = KINDS[kind];
        let Ok(new) = converted(&object, newest) else { return Ok(()) };
        let Ok(old) = converted(&new, versions[version]) else { return Ok(()) };
        prop_assert_eq!(&old["apiVersion"], versions[version]);
        prop_assert_eq!(means::means(&old), means::means(&new), "{:#} became {:#}", new, old);
        let again = converted(&old, newest).unwrap();
        prop_assert_eq!(means::means(&again), means::means(&new), "{:#} became {:#}", new, again);
    }
}

/// Random objects must be hard: each kind is converted, and each that can be left is left.
#[test]
fn random_objects_are_of_every_sort() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(config(1));
    let (mut done, mut held, mut back) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for _ in 0..4000 {
        let (kind, version, object) = any_object().new_tree(&mut runner).unwrap().current();
        let (name, newest, versions) = KINDS[kind];
        match converted(&object, newest) {
            Ok(new) => {
                done.insert((name, versions[version]));
                if converted(&new, versions[version]).is_ok() {
                    back.insert((name, versions[version]));
                }
            }
            Err(_) => {
                held.insert(name);
            }
        }
    }
    let all: usize = KINDS.iter().map(|(_, _, versions)| versions.len()).sum();
    assert_eq!(done.len(), all, "{done:?}");
    assert!(back.len() >= all - 1, "{back:?}");
    for name in [
        "Deployment",
        "Ingress",
        "CronJob",
        "CustomResourceDefinition",
        "ValidatingWebhookConfiguration",
        "CertificateSigningRequest",
        "Event",
    ] {
        assert!(held.contains(name), "no {name} was left: {held:?}");
    }
}

#[test]
fn every_row_that_ends_has_a_way_or_a_reason() {
    // Whatever the table says is gone at 1.36 and has a successor there, is converted here, or known not to be.
    const NONE: [&str; 4] =
        ["kubescheduler.config.k8s.io", "audit.k8s.io", "admission.k8s.io", "kubeadm.k8s.io"];
    const REWRITTEN: [(&str, &str); 8] = [
        // Classic dynamic resource allocation: other objects with other fields.
        ("resource.k8s.io", "v1alpha1"),
        ("resource.k8s.io", "v1alpha2"),
        ("resource.k8s.io", "v1alpha3"),
        // Never on by default, or written by controllers only.
        ("coordination.k8s.io", "v1alpha1"),
        ("discovery.k8s.io", "v1alpha1"),
        ("certificates.k8s.io", "v1alpha1"),
        ("storagemigration.k8s.io", "v1alpha1"),
        ("scheduling.k8s.io", "v1alpha1"),
    ];
    let table = Table::embedded();
    let target = Release::minor(1, 36);
    let mut unknown = Vec::new();
    for row in table.rows().iter().filter(|row| row.product == Product::Kubernetes) {
        let gone = row.stage(target) == crate::table::Stage::Removed;
        let Some(to) = table.replacement(row, target).filter(|_| gone) else { continue };
        let known = Family::between(&row.gvk, to).is_some()
            || NONE.contains(&&*row.gvk.group)
            || REWRITTEN.contains(&(&*row.gvk.group, &*row.gvk.version))
            // Bodies of subresources, of reviews by webhooks, and a kind that never was.
            || matches!(&*row.gvk.kind, "Scale" | "ConversionReview" | "DeploymentRollback")
            || (&*row.gvk.version, &*row.gvk.kind) == ("v1beta1", "ReplicaSet");
        if !known {
            unknown.push(format!("{} to {to}", row.gvk));
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn an_object_that_is_left_is_as_it_was() {
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingWebhookConfiguration",
        "webhooks": [{"name": "a.example.com", "sideEffects": "None"}, {"name": "b.example.com"}],
    });
    let mut tree = Tree::from_value(&webhook);
    let to = Gvk::of("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration");
    let hold = convert(&Table::embedded(), &mut tree, &to, Release::minor(1, 36)).unwrap_err();
    assert!(matches!(hold, Hold::Absent { path, .. } if path == "webhooks[1].sideEffects"));
    assert_eq!(tree.value(), webhook);
}

#[test]
fn kinds_that_are_no_versions_of_each_other_have_no_way() {
    let object = json!({"apiVersion": "v1", "kind": "Endpoints"});
    assert!(matches!(converted(&object, "discovery.k8s.io/v1"), Err(Hold::NoWay(_))));
    let object = json!({"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool"});
    assert!(matches!(converted(&object, "karpenter.sh/v1"), Err(Hold::OfProduct(_))));
}

#[test]
fn a_budget_that_matches_all_says_so_in_the_older_version() {
    let all = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"selector": {}}});
    let old = converted(&all, "policy/v1beta1").unwrap();
    assert_eq!(old["spec"]["selector"]["matchExpressions"][0]["operator"], "DoesNotExist");
    assert_eq!(converted(&old, "policy/v1").unwrap(), all);
}

#[test]
fn what_an_older_version_cannot_say_is_held() {
    let zero = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "a"}, "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 0}},
    });
    assert!(matches!(
        converted(&zero, "flowcontrol.apiserver.k8s.io/v1beta2"),
        Err(Hold::NoCounterpart { .. })
    ));
    let kept = converted(&zero, "flowcontrol.apiserver.k8s.io/v1beta3").unwrap();
    assert_eq!(converted(&kept, "flowcontrol.apiserver.k8s.io/v1").unwrap(), zero);
}

#[test]
fn an_ingress_that_changes_its_group_alone_keeps_every_field() {
    let old = json!({
        "apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "a"},
        "spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": {"serviceName": "a", "servicePort": 80}}]}}]},
    });
    let new = converted(&old, "networking.k8s.io/v1beta1").unwrap();
    assert_eq!((&new["apiVersion"], &new["spec"]), (&json!("networking.k8s.io/v1beta1"), &old["spec"]));
}
