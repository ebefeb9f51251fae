//! `terraform show -json`: what a state or plan would apply.
//!
//! The provider's typed resources have no version field: each is tied to one by its type's name. The table below has those
//! that are tied to a version that ends: the types of `kubernetes/provider.go` whose resource asks a client of such a version
//! (hashicorp/terraform-provider-kubernetes, v1.13 to v3.2, the same in all of them; types ending in `_v1` and the like replace
//! them). Those of webhook configurations ask the API server which version it serves, and are tied to none.

use std::sync::Arc;

use super::{Lines, Origin, Scan, Unrendered, Use};
use crate::finding::{Confidence, Evidence};
use crate::source::{Node, Place};

/// Types and what they send.
const TYPED: [(&str, &str, &str); 8] = [
    ("kubernetes_ingress", "extensions/v1beta1", "Ingress"),
    ("kubernetes_certificate_signing_request", "certificates.k8s.io/v1beta1", "CertificateSigningRequest"),
    ("kubernetes_cron_job", "batch/v1beta1", "CronJob"),
    ("kubernetes_csi_driver", "storage.k8s.io/v1beta1", "CSIDriver"),
    ("kubernetes_pod_disruption_budget", "policy/v1beta1", "PodDisruptionBudget"),
    ("kubernetes_pod_security_policy", "policy/v1beta1", "PodSecurityPolicy"),
    ("kubernetes_pod_security_policy_v1beta1", "policy/v1beta1", "PodSecurityPolicy"),
    AUTOSCALER,
];

/// What an autoscaler's type sends.
const AUTOSCALER: (&str, &str, &str) =
    ("kubernetes_horizontal_pod_autoscaler_v2beta2", "autoscaling/v2beta2", "HorizontalPodAutoscaler");

/// Modules within modules.
const NESTING_MAX: u32 = 32;

/// Takes in a document if it is one of Terraform's. Whether it is.
pub(super) fn scan(scan: &mut Scan<'_>, name: &Arc<str>, root: &Node<'_>) -> bool {
    if root.get("format_version").is_none() || root.get("kind").is_some() {
        return false;
    }
    // A plan has what will be, and what was besides: what will be counts.
    let module = root.path(&["planned_values", "root_module"]).or(root.path(&["values", "root_module"]));
    let Some(module) = module else { return root.get("terraform_version").is_some() };
    of_module(scan, name, module, NESTING_MAX);
    true
}

fn of_module(scan: &mut Scan<'_>, name: &Arc<str>, module: &Node<'_>, depth: u32) {
    for resource in module.get("resources").map(Node::items).unwrap_or_default() {
        of_resource(scan, name, resource);
    }
    for child in module.get("child_modules").map(Node::items).unwrap_or_default() {
        if depth > 0 {
            of_module(scan, name, child, depth - 1);
        }
    }
}

fn of_resource(scan: &mut Scan<'_>, name: &Arc<str>, resource: &Node<'_>) {
    let (Some(of_type), Some(values)) = (resource.text_of("type"), resource.get("values")) else { return };
    if resource.text_of("mode") == Some("data") {
        return;
    }
    let address = resource.text_of("address").unwrap_or(of_type);
    let place = Place { source: name.clone(), line: resource.at.line, column: resource.at.column };
    let evidence = Evidence::Terraform { address: address.to_owned() };
    let within =
        Origin::Within { evidence: evidence.clone(), confidence: Confidence::High, place: place.clone() };
    match of_type {
        "kubernetes_manifest" => {
            let Some(manifest) = values.get("manifest") else { return };
            crate::object::visit(manifest, &mut |object| {
                scan.report.counts.objects += 1;
                scan.object(&object, place.clone(), Lines::Holder, evidence.clone(), Confidence::High);
            });
        }
        "kubectl_manifest" => {
            if let Some(text) = values.text_of("yaml_body") {
                scan.text(name, text, &within, &super::Hint::default());
            }
        }
        "helm_release" => match values.text_of("manifest") {
            Some(text) => of_helm(scan, name, text, &within),
            None => scan.report.unrendered.push(Unrendered {
                place,
                what: format!("{address}: chart {}", chart_of(values)),
                why: "the state contains no rendered manifest",
                values: Vec::new(),
            }),
        },
        _ => {
            let Some((api_version, kind)) = sent(of_type, values) else { return };
            let metadata = values.get("metadata").and_then(|metadata| metadata.items().first());
            let text = |key: &str| metadata.and_then(|metadata| metadata.text_of(key));
            scan.report.counts.objects += 1;
            scan.used(Use {
                api_version,
                kind,
                name: text("name").unwrap_or_default(),
                namespace: text("namespace"),
                holder: None,
                place,
                evidence,
                confidence: Confidence::High,
            });
        }
    }
}

/// The version and kind that a type of the provider sends.
fn sent<'n>(of_type: &str, values: &'n Node<'_>) -> Option<(&'n str, &'n str)> {
    let is_given = |key: &str| {
        let spec = values.get("spec").and_then(|spec| spec.items().first());
        spec.and_then(|spec| spec.get(key)).is_some_and(|list| !list.items().is_empty())
    };
    match of_type {
        // They look for the object at the version that they name (resource_kubernetes_labels.go).
        "kubernetes_labels" | "kubernetes_annotations" => {
            Some((values.text_of("api_version")?, values.text_of("kind")?))
        }
        // Version 1 has neither of these (useV2Beta2 in resource_kubernetes_horizontal_pod_autoscaler.go).
        "kubernetes_horizontal_pod_autoscaler" if is_given("metric") || is_given("behavior") => {
            Some((AUTOSCALER.1, AUTOSCALER.2))
        }
        _ => {
            let (_, api_version, kind) = TYPED.iter().find(|(named, ..)| *named == of_type)?;
            Some((*api_version, *kind))
        }
    }
}

/// The provider keeps a map from names to manifests, as JSON text.
fn of_helm(scan: &mut Scan<'_>, name: &Arc<str>, text: &str, within: &Origin) {
    match serde_json::from_str::<std::collections::BTreeMap<String, serde_json::Value>>(text) {
        Ok(manifests) => {
            for manifest in manifests.values() {
                let text = manifest.as_str().map_or_else(|| manifest.to_string(), str::to_owned);
                scan.text(name, &text, within, &super::Hint::default());
            }
        }
        Err(_) => scan.text(name, text, within, &super::Hint::default()),
    }
}

fn chart_of(values: &Node<'_>) -> String {
    let text = |key: &str| values.text_of(key).unwrap_or_default();
    let version = values.text_of("version").map(|version| format!("@{version}")).unwrap_or_default();
    format!("{} {}{version}", text("repository"), text("chart")).trim().to_owned()
}
