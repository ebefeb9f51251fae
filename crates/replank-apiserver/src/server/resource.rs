//! Which resources the server knows: the built-in ones, and those that CustomResourceDefinitions declare.

use std::sync::{Arc, LazyLock};

use replank_model::object::Kind;
use replank_model::object::cluster::{CustomResourceDefinition, CustomResourceScale, CustomResourceVersion};
use replank_model::text::Text;

use super::error::{ApiError, ResourceName};
use super::store::Api;

/// A resource of the API: what is behind one plural name of one group and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceType {
    /// Its names.
    pub name: ResourceName,
    /// API version, without the group.
    pub version: Text,
    /// How objects are held.
    pub kind: Kind,
    /// Whether objects live in a namespace.
    pub is_namespaced: bool,
    /// How `metadata.generation` is kept.
    pub(crate) generation: Generation,
    /// How `status` is written.
    pub(crate) status: StatusWrites,
    /// The scale subresource.
    pub(crate) scale: Option<Arc<CustomResourceScale>>,
}

/// Whether objects have a `metadata.generation`, and what counts it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// There is none.
    Absent,
    /// Changes of the desired state.
    Counted,
}

/// How `status` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusWrites {
    /// With the rest of the object.
    WithObject,
    /// Through the status subresource only.
    Apart,
}

/// Built-in resources that are held untyped: API version, kind, plural, namespaced, has a generation and a status apart.
const UNTYPED: &[(&str, &str, &str, bool, bool, bool)] = &[
    ("v1", "ConfigMap", "configmaps", true, false, false),
    ("v1", "Endpoints", "endpoints", true, false, false),
    ("v1", "Event", "events", true, false, false),
    ("v1", "LimitRange", "limitranges", true, false, false),
    ("v1", "PodTemplate", "podtemplates", true, true, false),
    ("v1", "Secret", "secrets", true, false, false),
    ("v1", "ServiceAccount", "serviceaccounts", true, false, false),
    ("events.k8s.io/v1", "Event", "events", true, false, false),
    ("coordination.k8s.io/v1", "Lease", "leases", true, false, false),
    ("networking.k8s.io/v1", "Ingress", "ingresses", true, true, true),
    ("networking.k8s.io/v1", "IngressClass", "ingressclasses", false, true, false),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true, true, false),
    ("networking.k8s.io/v1", "IPAddress", "ipaddresses", false, false, false),
    ("networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", false, false, true),
    ("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", false, false, false),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false, false, false),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false, false, false),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", true, false, false),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true, false, false),
    ("resource.k8s.io/v1", "DeviceClass", "deviceclasses", false, true, false),
    ("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", true, false, true),
    ("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", true, false, false),
    ("resource.k8s.io/v1", "ResourceSlice", "resourceslices", false, true, false),
    ("apiregistration.k8s.io/v1", "APIService", "apiservices", false, false, true),
    (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        false,
        true,
        false,
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        false,
        true,
        false,
    ),
    ("certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests", false, false, true),
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", false, true, true),
    (
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        false,
        true,
        true,
    ),
];

/// All built-in resources, made once.
static BUILT_IN: LazyLock<Vec<ResourceType>> = LazyLock::new(|| {
    let typed = Kind::TYPED.iter().copied().map(ResourceType::typed);
    typed.chain(UNTYPED.iter().map(ResourceType::untyped)).collect()
});

impl ResourceType {
    /// A built-in resource of a plural name.
    #[must_use]
    pub fn built_in(group: &str, version: &str, plural: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|resource| {
            &*resource.name.plural == plural
                && &*resource.name.group == group
                && &*resource.version == version
        })
    }

    /// Whether objects of a custom resource have a part of their own of that name.
    #[must_use]
    pub fn has_part(&self, part: &str) -> bool {
        match part {
            "status" => self.status == StatusWrites::Apart,
            "scale" => self.scale.is_some(),
            _ => false,
        }
    }

    /// `apiVersion` of the objects.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.name.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.name.group, self.version)
        }
    }

    fn typed(kind: Kind) -> Self {
        let version = kind.api_version().rsplit('/').next().unwrap_or_default();
        Self {
            name: kind.into(),
            version: version.into(),
            kind,
            is_namespaced: kind.is_namespaced(),
            generation: if kind.has_generation() { Generation::Counted } else { Generation::Absent },
            status: if has_status(kind) { StatusWrites::Apart } else { StatusWrites::WithObject },
            scale: scale_of(kind).map(Arc::new),
        }
    }

    fn untyped(row: &(&str, &str, &str, bool, bool, bool)) -> Self {
        let (api_version, kind, plural, is_namespaced, counted, apart) = *row;
        let (group, version) = split(api_version);
        Self {
            name: ResourceName { group: group.into(), plural: plural.into(), kind: kind.into() },
            version: version.into(),
            kind: Kind::Other,
            is_namespaced,
            generation: if counted { Generation::Counted } else { Generation::Absent },
            status: if apart { StatusWrites::Apart } else { StatusWrites::WithObject },
            scale: None,
        }
    }

    fn custom(definition: &CustomResourceDefinition, version: &CustomResourceVersion) -> Self {
        let spec = &definition.spec;
        let subresources = version.subresources.as_ref();
        let status = subresources.and_then(|subresources| subresources.status.as_ref());
        Self {
            name: ResourceName {
                group: spec.group.clone(),
                plural: spec.names.plural.clone(),
                kind: spec.names.kind.clone(),
            },
            version: version.name.clone(),
            kind: Kind::Other,
            is_namespaced: &*spec.scope == "Namespaced",
            generation: Generation::Counted,
            status: if status.is_some() { StatusWrites::Apart } else { StatusWrites::WithObject },
            scale: subresources.and_then(|subresources| subresources.scale.clone()).map(Arc::new),
        }
    }
}

impl Api {
    /// The resources that definitions declare, each served version of each.
    #[must_use]
    pub fn custom_resources(&self) -> Vec<ResourceType> {
        let definitions = self.view().custom_resource_definitions.sorted();
        let of = |definition: &CustomResourceDefinition| -> Vec<ResourceType> {
            let served = definition.spec.versions.iter().filter(|version| version.served);
            served.map(|version| ResourceType::custom(definition, version)).collect()
        };
        definitions.into_iter().flat_map(|(_, definition)| of(definition)).collect()
    }

    /// The resource of an API version and kind.
    ///
    /// # Errors
    /// 404 if there is none.
    pub fn resource_type(&self, api_version: &str, kind: &str) -> Result<ResourceType, ApiError> {
        let (group, version) = split(api_version);
        self.find_type(group, version, |name| &*name.kind == kind)
    }

    /// The resource of a plural name, as in URLs.
    ///
    /// # Errors
    /// 404 if there is none.
    pub fn resource_of_plural(&self, api_version: &str, plural: &str) -> Result<ResourceType, ApiError> {
        let (group, version) = split(api_version);
        self.find_type(group, version, |name| &*name.plural == plural)
    }

    fn find_type(
        &self,
        group: &str,
        version: &str,
        is_it: impl Fn(&ResourceName) -> bool,
    ) -> Result<ResourceType, ApiError> {
        let of_group = |resource: &ResourceType| &*resource.name.group == group && is_it(&resource.name);
        let is_meant = |resource: &&ResourceType| &*resource.version == version && of_group(resource);
        if let Some(resource) = BUILT_IN.iter().find(is_meant) {
            return Ok(resource.clone());
        }
        for (_, definition) in self.view().custom_resource_definitions.sorted() {
            for served in definition.spec.versions.iter().filter(|served| served.served) {
                let resource = ResourceType::custom(definition, served);
                if of_group(&resource) && &*resource.version == version {
                    return Ok(resource);
                }
            }
        }
        Err(ApiError::no_resource())
    }
}

/// Group and version of an `apiVersion`.
pub(crate) fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn has_status(kind: Kind) -> bool {
    match kind {
        Kind::Namespace
        | Kind::Node
        | Kind::NodeClaim
        | Kind::VolumeAttachment
        | Kind::PersistentVolume
        | Kind::CustomResourceDefinition
        | Kind::PersistentVolumeClaim
        | Kind::ResourceQuota
        | Kind::Deployment
        | Kind::ReplicaSet
        | Kind::ReplicationController
        | Kind::StatefulSet
        | Kind::DaemonSet
        | Kind::CronJob
        | Kind::Job
        | Kind::HorizontalPodAutoscaler
        | Kind::PodDisruptionBudget
        | Kind::Service
        | Kind::Pod => true,
        Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::CsiStorageCapacity
        | Kind::ControllerRevision
        | Kind::EndpointSlice
        | Kind::Other => false,
    }
}

fn scale_of(kind: Kind) -> Option<CustomResourceScale> {
    let is_scaled =
        matches!(kind, Kind::Deployment | Kind::ReplicaSet | Kind::ReplicationController | Kind::StatefulSet);
    is_scaled.then(|| CustomResourceScale {
        spec_replicas_path: ".spec.replicas".into(),
        status_replicas_path: ".status.replicas".into(),
        label_selector_path: None,
    })
}
