use super::*;
use crate::release::Release;

fn at(text: &str) -> Release {
    text.parse().unwrap()
}

fn replacement(api_version: &str, kind: &str, target: &str) -> Option<String> {
    let table = Table::embedded();
    let row = table.lookup(api_version, kind).unwrap_or_else(|| panic!("no row of {api_version} {kind}"));
    table.replacement(row, at(target)).map(ToString::to_string)
}

#[test]
fn the_rows_are_all_there() {
    let table = Table::embedded();
    assert_eq!(table.rows().len(), 236 + 110, "each row is about something else");
    let of_products = table.rows().iter().filter(|row| row.product != Product::Kubernetes).count();
    assert_eq!(of_products, 110);
}

#[test]
fn no_kind_ends_in_list() {
    // Otherwise the list of a kind could be mistaken for the kind.
    let table = Table::embedded();
    let lists: Vec<_> = table.rows().iter().filter(|row| row.gvk.kind.ends_with("List")).collect();
    assert!(lists.is_empty(), "{lists:?}");
}

#[test]
fn deprecation_comes_before_removal_and_no_version_replaces_itself() {
    for row in Table::embedded().rows() {
        assert_ne!(row.replacement.as_ref(), Some(&row.gvk));
        if let (Some(deprecated), Some(removed)) = (&row.deprecated, &row.removed) {
            assert!(removed >= deprecated, "{row:?}");
        }
    }
}

#[test]
fn a_list_lives_as_long_as_what_it_lists() {
    let table = Table::embedded();
    let row = table.lookup("extensions/v1beta1", "IngressList").unwrap();
    assert_eq!(row.gvk.kind, "Ingress");
    assert!(table.lookup("extensions/v1beta1", "List").is_none());
    assert!(table.lookup("extensions/v1", "Ingress").is_none());
}

#[test]
fn stages_follow_the_versions() {
    let table = Table::embedded();
    let row = table.lookup("policy/v1beta1", "PodDisruptionBudget").unwrap();
    assert_eq!(row.stage(at("1.20")), Stage::Served);
    assert_eq!(row.stage(at("1.21")), Stage::Deprecated);
    assert_eq!(row.stage(at("1.24")), Stage::Deprecated);
    assert_eq!(row.stage(at("1.25")), Stage::Removed);
    assert_eq!(table.lookup("policy/v1", "PodDisruptionBudget").unwrap().stage(at("1.20")), Stage::ToCome);
}

#[test]
fn successors_that_are_gone_are_followed_on() {
    assert_eq!(
        replacement("extensions/v1beta1", "PodSecurityPolicy", "1.20"),
        Some("policy/v1beta1 PodSecurityPolicy".into())
    );
    assert_eq!(replacement("extensions/v1beta1", "PodSecurityPolicy", "1.25"), None);
    let v1 = Some("external-secrets.io/v1 ExternalSecret".to_owned());
    assert_eq!(replacement("external-secrets.io/v1beta1", "ExternalSecret", "1.30"), v1);
    let certificate = Some("cert-manager.io/v1 Certificate".to_owned());
    assert_eq!(replacement("certmanager.k8s.io/v1alpha1", "Certificate", "1.30"), certificate);
}

#[test]
fn a_successor_that_is_to_come_gives_way_to_the_best_there_is() {
    let hpa = |target| replacement("autoscaling/v2beta1", "HorizontalPodAutoscaler", target);
    assert_eq!(hpa("1.25"), Some("autoscaling/v2 HorizontalPodAutoscaler".into()));
    assert_eq!(hpa("1.22"), Some("autoscaling/v1 HorizontalPodAutoscaler".into()));
    assert_eq!(
        replacement("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema", "1.26"),
        Some("flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema".into())
    );
}

#[test]
fn rows_of_a_file_replace_and_add() {
    let mut table = Table::embedded();
    let text = r#"[{"group": "policy", "version": "v1beta1", "kind": "PodDisruptionBudget", "introduced": null,
        "deprecated": null, "removed": "1.99", "replacement": null},
        {"product": "ours", "group": "example.com", "version": "v1", "kind": "Site", "introduced": null,
        "deprecated": "v2.0", "removed": null, "replacement": null}]"#;
    assert_eq!(table.overlay(text).unwrap(), 2);
    assert_eq!(table.rows().len(), 347);
    assert_eq!(table.lookup("policy/v1beta1", "PodDisruptionBudget").unwrap().removed, Some(at("1.99")));
    assert_eq!(table.lookup("example.com/v1", "Site").unwrap().product, Product::Named("ours".into()));
}

#[test]
fn rows_that_are_wrong_are_not_taken_in() {
    let mut table = Table::default();
    let row = |removed: &str, more: &str| {
        format!(
            r#"[{{"group": "a", "version": "v1", "kind": "B", "introduced": null, "deprecated": null, "removed": {removed}, "replacement": null{more}}}]"#
        )
    };
    assert!(table.overlay(&row("\"1.2\"", "")).is_ok());
    let error = table.overlay(&row("\"soon\"", "")).unwrap_err().to_string();
    assert_eq!(error, "the row of a/v1 B: `removed`: expected a version such as 1.22");
    assert!(table.overlay(&row("null", ", \"removd\": \"1.2\"")).is_err());
    assert!(table.overlay("{}").is_err());
    assert_eq!(table.rows().len(), 1);
}

#[test]
fn resources_are_named_as_they_are_served() {
    let names = [
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Endpoints", "endpoints"),
        ("StorageClass", "storageclasses"),
        ("CSIStorageCapacity", "csistoragecapacities"),
        ("IPAddress", "ipaddresses"),
        ("CronJob", "cronjobs"),
        ("ComponentStatus", "componentstatuses"),
    ];
    for (kind, resource) in names {
        assert_eq!(plural(kind), resource);
    }
    let table = Table::embedded();
    let kinds: Vec<_> =
        table.lookup_resource("extensions", None, "ingresses").map(|row| &*row.gvk.kind).collect();
    assert_eq!(kinds, ["Ingress"]);
    assert_eq!(table.lookup_resource("autoscaling", None, "horizontalpodautoscalers").count(), 4);
}
