//! What differs between kinds in how their objects are written (upstream's strategies, `pkg/registry/*/*/strategy.go`).

use replank_model::object::meta::Key;

use super::path::Subresource;
use crate::server::ResourceType;
use crate::server::resource::StatusWrites;

/// Whether a PUT makes the object where it is not there (`AllowCreateOnUpdate`).
pub(super) fn creates_on_update(resource: &ResourceType) -> bool {
    let name = (&*resource.name.group, &*resource.name.plural);
    matches!(
        name,
        ("", "limitranges" | "events" | "services" | "endpoints")
            | ("events.k8s.io", "events")
            | ("node.k8s.io", "runtimeclasses")
            | ("coordination.k8s.io", "leases" | "leasecandidates")
            | (
                "rbac.authorization.k8s.io",
                "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings"
            )
    )
}

/// Whether an update must name the version that it changes (`AllowUnconditionalUpdate` is false).
pub(super) fn must_name_version(resource: &ResourceType) -> bool {
    let name = (&*resource.name.group, &*resource.name.plural);
    let is_listed = matches!(
        name,
        ("policy", "poddisruptionbudgets")
            | ("node.k8s.io", "runtimeclasses")
            | ("coordination.k8s.io", "leases" | "leasecandidates")
            | ("storage.k8s.io", "csidrivers" | "csinodes" | "csistoragecapacities" | "volumeattachments")
            | ("apiextensions.k8s.io", "customresourcedefinitions")
            | ("apiregistration.k8s.io", "apiservices")
            | ("certificates.k8s.io", "clustertrustbundles" | "podcertificaterequests")
            | (
                "admissionregistration.k8s.io",
                "validatingadmissionpolicies"
                    | "validatingadmissionpolicybindings"
                    | "mutatingadmissionpolicies"
                    | "mutatingadmissionpolicybindings"
                    | "mutatingwebhookconfigurations"
                    | "validatingwebhookconfigurations"
            )
    );
    is_listed || is_custom(resource)
}

fn is_custom(resource: &ResourceType) -> bool {
    let name = &resource.name;
    ResourceType::built_in(&name.group, &resource.version, &name.plural).is_none()
}

/// Fields that a write does not change, so that nobody manages them by it (`GetResetFields`).
pub(super) fn reset_fields(resource: &ResourceType, part: Option<Subresource>) -> &'static [&'static str] {
    let name = (&*resource.name.group, &*resource.name.plural);
    match part {
        Some(Subresource::Status) => match name {
            ("apps", "deployments") => &["spec", "metadata.labels"],
            ("", "pods") => &["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
            ("certificates.k8s.io", "certificatesigningrequests") => &["spec", "status.conditions"],
            _ if keeps_metadata(resource) => &["spec", "metadata"],
            _ => &["spec"],
        },
        None if name == ("certificates.k8s.io", "certificatesigningrequests") => &["spec", "status"],
        None if resource.status == StatusWrites::Apart => &["status"],
        Some(Subresource::Finalize) => &["status"],
        Some(Subresource::Approval) => &["spec", "status.certificate"],
        None
        | Some(
            Subresource::Scale
            | Subresource::Eviction
            | Subresource::Binding
            | Subresource::EphemeralContainers
            | Subresource::Resize,
        ) => &[],
    }
}

/// Whether a write of the status leaves all of the metadata alone.
fn keeps_metadata(resource: &ResourceType) -> bool {
    let group = &*resource.name.group;
    is_custom(resource)
        || matches!(group, "flowcontrol.apiserver.k8s.io" | "resource.k8s.io" | "apiregistration.k8s.io")
        || matches!(
            &*resource.name.plural,
            "servicecidrs"
                | "volumeattachments"
                | "validatingadmissionpolicies"
                | "customresourcedefinitions"
        )
}

/// Metadata that a write of the status leaves alone.
pub(super) fn kept_by_status(resource: &ResourceType) -> &'static [&'static str] {
    match (&*resource.name.group, &*resource.name.plural) {
        ("apps", "deployments") => &["labels"],
        ("", "pods") => &["ownerReferences"],
        _ if keeps_metadata(resource) => &["labels", "annotations", "ownerReferences", "finalizers"],
        _ => &[],
    }
}

/// Whether a deletion answers with what is gone, where others answer with a Status (`ReturnDeletedObject`).
pub(super) fn returns_deleted(resource: &ResourceType) -> bool {
    let name = (&*resource.name.group, &*resource.name.plural);
    matches!(
        name,
        (
            "",
            "namespaces"
                | "persistentvolumeclaims"
                | "persistentvolumes"
                | "pods"
                | "podtemplates"
                | "resourcequotas"
                | "serviceaccounts"
                | "services"
        ) | (
            "storage.k8s.io",
            "csidrivers" | "csinodes" | "storageclasses" | "volumeattachments" | "volumeattributesclasses"
        ) | ("resource.k8s.io", _)
    )
}

/// Where etcd has an object; some of its errors say so.
pub(super) fn storage_key(resource: &ResourceType, key: &Key) -> String {
    let (group, plural) = (&*resource.name.group, &*resource.name.plural);
    let folder = match (group, plural) {
        ("", "services") => "services/specs".to_owned(),
        ("", "endpoints") => "services/endpoints".to_owned(),
        ("", "nodes") => "minions".to_owned(),
        ("", "replicationcontrollers") => "controllers".to_owned(),
        ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
        ("apiextensions.k8s.io" | "apiregistration.k8s.io", _) => format!("{group}/{plural}"),
        _ if is_custom(resource) => format!("{group}/{plural}"),
        _ => plural.to_owned(),
    };
    format!("/registry/{folder}/{key}")
}
