//! What else must change besides `apiVersion`, in a few words for each kind. The converter does it; here it is said.
//!
//! Sources: the defaults and conversions of Kubernetes' own packages (`pkg/apis/*/v*/defaults.go`, `conversion.go`) at the
//! last version that had both sides, and the deprecation guide.

use crate::table::Gvk;

const SELECTOR: &str =
    "spec.selector is required and cannot be changed afterwards (was: the template's labels)";
const STRUCTURAL: &str = "every schema must be structural: decide on missing types";

/// What else changes on the way from a version to the one that is written instead (without one: to the last of its
/// successors). Nothing for kinds whose fields are the same.
pub fn changes(used: &Gvk, to: Option<&Gvk>) -> Vec<&'static str> {
    // At targets before 1.19 an Ingress gets another group and keeps its fields.
    if used.kind == "Ingress" && to.is_some_and(|to| to.version == used.version) {
        return Vec::new();
    }
    match (&*used.group, &*used.version, &*used.kind) {
        ("extensions", _, "Deployment") => vec![
            SELECTOR,
            "write out the old defaults: maxSurge and maxUnavailable 1, no progress deadline, all revisions kept",
            "remove spec.rollbackTo",
        ],
        ("apps", "v1beta1", "Deployment") => {
            vec![SELECTOR, "write out the old defaults: revisionHistoryLimit 2", "remove spec.rollbackTo"]
        }
        ("extensions", _, "DaemonSet") => vec![
            SELECTOR,
            "write out the old defaults: updateStrategy OnDelete",
            "remove spec.templateGeneration",
        ],
        ("apps", "v1beta2", "DaemonSet") => vec!["remove spec.templateGeneration"],
        ("apps", "v1beta1", "StatefulSet") => {
            vec![SELECTOR, "write out the old defaults: updateStrategy OnDelete"]
        }
        ("extensions", _, "ReplicaSet") => vec![SELECTOR],
        ("extensions", _, "Ingress") | ("networking.k8s.io", "v1beta1", "Ingress") => vec![
            "spec.backend is spec.defaultBackend",
            "serviceName and servicePort are service.name and service.port.number or .name",
            "pathType is required (was: ImplementationSpecific)",
        ],
        ("node.k8s.io", "v1alpha1", "RuntimeClass") => {
            vec!["spec.runtimeHandler is handler; spec.overhead and spec.scheduling move to the top"]
        }
        ("batch", "v1beta1" | "v2alpha1", "CronJob") => {
            vec!["TZ= in the schedule is refused: use spec.timeZone"]
        }
        ("policy", "v1beta1", "PodDisruptionBudget") => {
            vec!["an empty selector {} matched nothing and matches every pod of the namespace in v1"]
        }
        ("autoscaling", "v2beta1", "HorizontalPodAutoscaler") => vec![
            "metrics: targetAverageUtilization, targetAverageValue and targetValue move into target, metricName and selector into metric",
            "no metrics meant CPU at 80%",
        ],
        ("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition") => vec![
            "spec.version, validation, subresources and additionalPrinterColumns move into spec.versions",
            "preserveUnknownFields was true: write x-kubernetes-preserve-unknown-fields where it is needed",
            STRUCTURAL,
        ],
        (
            "admissionregistration.k8s.io",
            "v1beta1",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => vec![
            "write out the old defaults: failurePolicy Ignore, matchPolicy Exact, timeoutSeconds 30, admissionReviewVersions [v1beta1]",
            "sideEffects must be None or NoneOnDryRun (was: Unknown)",
        ],
        ("certificates.k8s.io", "v1beta1", "CertificateSigningRequest") => {
            vec!["signerName and usages are required; kubernetes.io/legacy-unknown is refused"]
        }
        ("authorization.k8s.io", "v1beta1", _) => vec!["spec.group is spec.groups"],
        ("discovery.k8s.io", "v1beta1", "EndpointSlice") => {
            vec!["topology's zone moves to zone; the rest moves to deprecatedTopology, which is read-only"]
        }
        ("events.k8s.io", "v1beta1", "Event") => {
            vec![
                "action, reason, reportingController and reportingInstance are required; type is Normal or Warning",
            ]
        }
        ("flowcontrol.apiserver.k8s.io", "v1beta1" | "v1beta2", "PriorityLevelConfiguration") => {
            vec!["assuredConcurrencyShares is nominalConcurrencyShares"]
        }
        ("flowcontrol.apiserver.k8s.io", "v1beta3", "PriorityLevelConfiguration") => {
            vec!["nominalConcurrencyShares 0 meant 30, unless an annotation keeps it"]
        }
        ("resource.k8s.io", "v1alpha3" | "v1beta1", "ResourceClaim" | "ResourceClaimTemplate") => {
            vec!["fields of spec.devices.requests[] move into exactly"]
        }
        ("resource.k8s.io", "v1alpha3" | "v1beta1", "ResourceSlice") => {
            vec!["fields of spec.devices[].basic move one level up"]
        }
        ("extensions" | "policy", "v1beta1", "PodSecurityPolicy") => {
            vec!["no successor: remove it; use the labels pod-security.kubernetes.io/* on namespaces"]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    #[test]
    fn only_versions_that_end_have_changes() {
        for row in Table::embedded().rows() {
            if !changes(&row.gvk, None).is_empty() {
                assert!(row.removed.is_some(), "{}", row.gvk);
            }
        }
    }

    #[test]
    fn an_ingress_that_changes_its_group_alone_keeps_its_fields() {
        let old = Gvk::of("extensions/v1beta1", "Ingress");
        let to = |version: &str| changes(&old, Some(&Gvk::of(version, "Ingress"))).len();
        assert_eq!((to("networking.k8s.io/v1beta1"), to("networking.k8s.io/v1")), (0, 3));
    }

    #[test]
    fn every_line_is_about_a_row() {
        // Each arm above, by one of its kinds: a typing error in a group would go unseen.
        let table = Table::embedded();
        let with: Vec<String> = table
            .rows()
            .iter()
            .filter(|row| !changes(&row.gvk, None).is_empty())
            .map(|row| row.gvk.to_string())
            .collect();
        for expected in [
            "extensions/v1beta1 Deployment",
            "apps/v1beta1 Deployment",
            "extensions/v1beta1 DaemonSet",
            "apps/v1beta2 DaemonSet",
            "apps/v1beta1 StatefulSet",
            "extensions/v1beta1 ReplicaSet",
            "networking.k8s.io/v1beta1 Ingress",
            "node.k8s.io/v1alpha1 RuntimeClass",
            "batch/v1beta1 CronJob",
            "policy/v1beta1 PodDisruptionBudget",
            "autoscaling/v2beta1 HorizontalPodAutoscaler",
            "apiextensions.k8s.io/v1beta1 CustomResourceDefinition",
            "admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration",
            "certificates.k8s.io/v1beta1 CertificateSigningRequest",
            "authorization.k8s.io/v1beta1 SubjectAccessReview",
            "discovery.k8s.io/v1beta1 EndpointSlice",
            "events.k8s.io/v1beta1 Event",
            "flowcontrol.apiserver.k8s.io/v1beta2 PriorityLevelConfiguration",
            "flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration",
            "resource.k8s.io/v1beta1 ResourceClaim",
            "resource.k8s.io/v1beta1 ResourceSlice",
            "policy/v1beta1 PodSecurityPolicy",
        ] {
            assert!(with.iter().any(|gvk| gvk == expected), "{expected} is not among {with:?}");
        }
    }
}
