//! Which kinds are versions of each other, and what leads from one to the other.

use super::{
    Hold, Work, access_review, cron_job, csr, custom_resource, daemon_set, deployment, endpoint_slice, event,
    hpa, ingress, pdb, priority_level, resource_claim, resource_slice, runtime_class, stateful_set, webhook,
    workload,
};
use crate::table::Gvk;
use crate::tree::Tree;

/// Versions of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Deployment,
    DaemonSet,
    StatefulSet,
    ReplicaSet,
    Ingress,
    CronJob,
    PodDisruptionBudget,
    HorizontalPodAutoscaler,
    CustomResourceDefinition,
    Webhooks,
    CertificateSigningRequest,
    AccessReview,
    EndpointSlice,
    Event,
    PriorityLevel,
    ResourceClaim,
    ResourceSlice,
    RuntimeClass,
    /// All versions have the same fields, with the same defaults.
    Same,
}

/// Kinds all of whose versions have the same fields, by group. `extensions` and `apps` go together, and so do the groups of
/// policies and Ingresses.
pub(super) const SAME: &[(&[&str], &[&str], &[&str])] = &[
    (&["extensions", "networking.k8s.io"], &["v1beta1", "v1"], &["NetworkPolicy"]),
    (&["networking.k8s.io"], &["v1beta1", "v1"], &["IngressClass"]),
    (&["networking.k8s.io"], &["v1alpha1", "v1beta1", "v1"], &["IPAddress", "ServiceCIDR"]),
    (&["apps"], &["v1beta1", "v1beta2", "v1"], &["ControllerRevision"]),
    (
        &["rbac.authorization.k8s.io"],
        &["v1alpha1", "v1beta1", "v1"],
        &["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"],
    ),
    (&["coordination.k8s.io"], &["v1beta1", "v1"], &["Lease"]),
    (&["scheduling.k8s.io"], &["v1alpha1", "v1beta1", "v1"], &["PriorityClass"]),
    (&["apiregistration.k8s.io"], &["v1beta1", "v1"], &["APIService"]),
    (
        &["storage.k8s.io"],
        &["v1alpha1", "v1beta1", "v1"],
        &[
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
    (
        &["admissionregistration.k8s.io"],
        &["v1alpha1", "v1beta1", "v1"],
        &[
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
        ],
    ),
    (&["policy"], &["v1beta1", "v1"], &["Eviction"]),
    (&["extensions", "policy"], &["v1beta1"], &["PodSecurityPolicy"]),
    (
        &["flowcontrol.apiserver.k8s.io"],
        &["v1alpha1", "v1beta1", "v1beta2", "v1beta3", "v1"],
        &["FlowSchema"],
    ),
    (&["resource.k8s.io"], &["v1beta1", "v1beta2", "v1"], &["DeviceClass"]),
    (&["authentication.k8s.io"], &["v1alpha1", "v1beta1", "v1"], &["TokenReview", "SelfSubjectReview"]),
    (&["authorization.k8s.io"], &["v1beta1", "v1"], &["SelfSubjectAccessReview", "SelfSubjectRulesReview"]),
    (&["certificates.k8s.io"], &["v1alpha1", "v1beta1", "v1"], &["ClusterTrustBundle"]),
    // Products whose guides say that nothing but the version changed.
    (
        &["snapshot.storage.k8s.io"],
        &["v1beta1", "v1"],
        &["VolumeSnapshot", "VolumeSnapshotClass", "VolumeSnapshotContent"],
    ),
    (
        &["traefik.containo.us", "traefik.io"],
        &["v1alpha1"],
        &[
            "IngressRoute",
            "IngressRouteTCP",
            "IngressRouteUDP",
            "Middleware",
            "MiddlewareTCP",
            "ServersTransport",
            "TLSOption",
            "TLSStore",
            "TraefikService",
        ],
    ),
];

impl Family {
    /// What leads from one to the other, if they are versions of one kind.
    pub(super) fn between(from: &Gvk, to: &Gvk) -> Option<Family> {
        if from.kind != to.kind {
            return None;
        }
        if let (Some(a), Some(b)) = (Self::with_changes(from), Self::with_changes(to)) {
            return (a == b).then_some(a);
        }
        let both = |(groups, versions, kinds): &&(&[&str], &[&str], &[&str])| {
            let has = |gvk: &Gvk| {
                groups.contains(&&*gvk.group)
                    && versions.contains(&&*gvk.version)
                    && kinds.contains(&&*gvk.kind)
            };
            has(from) && has(to)
        };
        SAME.iter().find(both).map(|_| Self::Same)
    }

    fn with_changes(gvk: &Gvk) -> Option<Family> {
        Some(match (&*gvk.group, &*gvk.version, &*gvk.kind) {
            ("extensions", "v1beta1", "Deployment")
            | ("apps", "v1beta1" | "v1beta2" | "v1", "Deployment") => Self::Deployment,
            ("extensions", "v1beta1", "DaemonSet") | ("apps", "v1beta2" | "v1", "DaemonSet") => {
                Self::DaemonSet
            }
            ("apps", "v1beta1" | "v1beta2" | "v1", "StatefulSet") => Self::StatefulSet,
            ("extensions", "v1beta1", "ReplicaSet") | ("apps", "v1beta2" | "v1", "ReplicaSet") => {
                Self::ReplicaSet
            }
            ("extensions", "v1beta1", "Ingress") | ("networking.k8s.io", "v1beta1" | "v1", "Ingress") => {
                Self::Ingress
            }
            ("batch", "v2alpha1" | "v1beta1" | "v1", "CronJob") => Self::CronJob,
            ("policy", "v1beta1" | "v1", "PodDisruptionBudget") => Self::PodDisruptionBudget,
            ("autoscaling", "v1" | "v2beta1" | "v2beta2" | "v2", "HorizontalPodAutoscaler") => {
                Self::HorizontalPodAutoscaler
            }
            ("apiextensions.k8s.io", "v1beta1" | "v1", "CustomResourceDefinition") => {
                Self::CustomResourceDefinition
            }
            (
                "admissionregistration.k8s.io",
                "v1beta1" | "v1",
                "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
            ) => Self::Webhooks,
            ("certificates.k8s.io", "v1beta1" | "v1", "CertificateSigningRequest") => {
                Self::CertificateSigningRequest
            }
            (
                "authorization.k8s.io",
                "v1beta1" | "v1",
                "SubjectAccessReview" | "LocalSubjectAccessReview",
            ) => Self::AccessReview,
            ("discovery.k8s.io", "v1beta1" | "v1", "EndpointSlice") => Self::EndpointSlice,
            ("events.k8s.io", "v1beta1" | "v1", "Event") => Self::Event,
            (
                "flowcontrol.apiserver.k8s.io",
                "v1alpha1" | "v1beta1" | "v1beta2" | "v1beta3" | "v1",
                "PriorityLevelConfiguration",
            ) => Self::PriorityLevel,
            (
                "resource.k8s.io",
                "v1alpha3" | "v1beta1" | "v1beta2" | "v1",
                "ResourceClaim" | "ResourceClaimTemplate",
            ) => Self::ResourceClaim,
            ("resource.k8s.io", "v1alpha3" | "v1beta1" | "v1beta2" | "v1", "ResourceSlice") => {
                Self::ResourceSlice
            }
            ("node.k8s.io", "v1alpha1" | "v1beta1" | "v1", "RuntimeClass") => Self::RuntimeClass,
            (_, _, _) => return None,
        })
    }

    /// Whether two older versions have the same fields, with the same defaults: then nothing but the version is written.
    pub(super) fn has_same_fields(self, from: &Gvk, to: &Gvk) -> bool {
        match self {
            Self::Ingress => from.version == "v1beta1" && to.version == "v1beta1",
            Self::Same => true,
            Self::Deployment
            | Self::DaemonSet
            | Self::StatefulSet
            | Self::ReplicaSet
            | Self::CronJob
            | Self::PodDisruptionBudget
            | Self::HorizontalPodAutoscaler
            | Self::CustomResourceDefinition
            | Self::Webhooks
            | Self::CertificateSigningRequest
            | Self::AccessReview
            | Self::EndpointSlice
            | Self::Event
            | Self::PriorityLevel
            | Self::ResourceClaim
            | Self::ResourceSlice
            | Self::RuntimeClass => false,
        }
    }

    /// From any version to the newest.
    pub(super) fn up(self, object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
        match self {
            Self::Deployment => deployment::up(object, from, work),
            Self::DaemonSet => daemon_set::up(object, from, work),
            Self::StatefulSet => stateful_set::up(object, from, work),
            Self::ReplicaSet => workload::replica_set_up(object, from, work),
            Self::Ingress => ingress::up(object, from),
            Self::CronJob => cron_job::up(object, work),
            Self::PodDisruptionBudget => pdb::up(object, from, work),
            Self::HorizontalPodAutoscaler => hpa::up(object, from),
            Self::CustomResourceDefinition => custom_resource::up(object, from, work),
            Self::Webhooks => webhook::up(object, from, work),
            Self::CertificateSigningRequest => csr::up(object, from, work),
            Self::AccessReview => access_review::up(object, from),
            Self::EndpointSlice => endpoint_slice::up(object, from, work),
            Self::Event => event::up(object, from, work),
            Self::PriorityLevel => priority_level::up(object, from),
            Self::ResourceClaim => resource_claim::up(object, from),
            Self::ResourceSlice => resource_slice::up(object, from),
            Self::RuntimeClass => runtime_class::up(object, from),
            Self::Same => Ok(()),
        }
    }

    /// From the newest version to any.
    pub(super) fn down(self, object: &mut Tree, to: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
        match self {
            Self::Deployment => deployment::down(object, to),
            Self::DaemonSet => daemon_set::down(object, to),
            Self::StatefulSet => stateful_set::down(object, to),
            Self::Ingress => ingress::down(object, to),
            Self::CronJob => cron_job::down(object, to, work),
            Self::PodDisruptionBudget => pdb::down(object, to),
            Self::HorizontalPodAutoscaler => hpa::down(object, to),
            Self::CustomResourceDefinition => custom_resource::down(object, to),
            Self::Webhooks => webhook::down(object, to),
            Self::AccessReview => access_review::down(object, to),
            Self::EndpointSlice => endpoint_slice::down(object, to),
            Self::PriorityLevel => priority_level::down(object, to),
            Self::ResourceClaim => resource_claim::down(object, to),
            Self::ResourceSlice => resource_slice::down(object, to),
            Self::RuntimeClass => runtime_class::down(object, to),
            // What the newer version demands, the older one takes.
            Self::ReplicaSet | Self::CertificateSigningRequest | Self::Event | Self::Same => Ok(()),
        }
    }
}
