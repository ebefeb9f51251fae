//! Which resources the server knows: the built-in ones, and those that CustomResourceDefinitions declare.

use std::sync::{Arc, LazyLock};

use replank_model::object::cluster::{CustomResourceDefinition, CustomResourceScale, CustomResourceVersion};
use replank_model::object::{Kind, Object};
use replank_model::text::Text;
use replank_schema::{Resource, Scope, discovery};

use super::custom::{Conversion, Custom};
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
    /// What a definition says of its objects; `None` for built-in resources.
    pub custom: Option<Arc<Custom>>,
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
    /// Nothing: it stays as creation sets it.
    Fixed,
}

/// How `status` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusWrites {
    /// With the rest of the object.
    WithObject,
    /// Through the status subresource only.
    Apart,
}

/// Untyped resources that have a `metadata.generation`: group and plural. Read off a running 1.36.2.
const COUNTED: &[(&str, &str)] = &[
    ("", "podtemplates"),
    ("networking.k8s.io", "ingresses"),
    ("networking.k8s.io", "ingressclasses"),
    ("networking.k8s.io", "networkpolicies"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "resourceslices"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
];

/// All built-in resources, made once: the typed ones, and whatever else discovery says that objects can be made of.
static BUILT_IN: LazyLock<Vec<ResourceType>> = LazyLock::new(|| {
    let mut all: Vec<ResourceType> = Kind::TYPED.iter().copied().map(ResourceType::typed).collect();
    for group in discovery().all() {
        for version in &group.versions {
            for resource in
                version.resources.iter().filter(|resource| is_kept(resource) || is_only_asked(resource))
            {
                let is_typed = all.iter().any(|typed| {
                    *typed.name.group == *group.name() && *typed.name.kind == *resource.response_kind.kind
                });
                if !is_typed {
                    all.push(ResourceType::untyped(group.name(), &version.version, resource));
                }
            }
        }
    }
    all
});

/// Whether objects of a resource are kept: they can be created and listed.
fn is_kept(resource: &Resource) -> bool {
    ["create", "list"].iter().all(|verb| resource.verbs.iter().any(|one| one == verb))
}

/// Whether it is a question that is asked by creating it, or one that is answered anew each time: the wire answers these, none is kept.
fn is_only_asked(resource: &Resource) -> bool {
    resource.resource == "componentstatuses"
        || resource.resource.ends_with("reviews") && resource.verbs.iter().all(|verb| verb == "create")
}

impl ResourceType {
    /// How a definition converts, if a webhook does.
    pub(crate) fn webhook(&self) -> Option<&Conversion> {
        self.custom.as_ref()?.conversion.as_ref()
    }

    /// Whether an object is stored in a version that only a webhook can bring to the one of this resource.
    pub(crate) fn is_foreign(&self, object: &Object) -> bool {
        self.webhook().is_some() && *object.api_version() != *self.api_version()
    }
}

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

    /// The built-in resource of a kind.
    #[must_use]
    pub fn of_kind(group: &str, version: &str, kind: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|resource| {
            &*resource.name.kind == kind && &*resource.name.group == group && &*resource.version == version
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
            generation: if kind == Kind::PriorityClass {
                Generation::Fixed
            } else if kind.has_generation() {
                Generation::Counted
            } else {
                Generation::Absent
            },
            status: if has_status(kind) { StatusWrites::Apart } else { StatusWrites::WithObject },
            custom: None,
            scale: scale_of(kind).map(Arc::new),
        }
    }

    fn untyped(group: &str, version: &str, resource: &Resource) -> Self {
        let is_counted = COUNTED.contains(&(group, resource.resource.as_str()));
        let has_status = resource.subresources.iter().any(|part| part.subresource == "status");
        Self {
            name: ResourceName {
                group: group.into(),
                plural: resource.resource.as_str().into(),
                kind: resource.response_kind.kind.as_str().into(),
            },
            version: version.into(),
            kind: Kind::Other,
            is_namespaced: resource.scope == Scope::Namespaced,
            generation: if is_counted { Generation::Counted } else { Generation::Absent },
            status: if has_status { StatusWrites::Apart } else { StatusWrites::WithObject },
            custom: None,
            scale: None,
        }
    }

    fn custom(
        definition: &CustomResourceDefinition,
        version: &CustomResourceVersion,
        custom: Option<Arc<Custom>>,
    ) -> Self {
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
            custom,
            scale: subresources.and_then(|subresources| subresources.scale.clone()).map(Arc::new),
        }
    }
}

impl Api {
    /// The resources that definitions declare, each served version of each.
    #[must_use]
    pub fn custom_resources(&self) -> Vec<ResourceType> {
        let definitions = self.view().custom_resource_definitions.sorted();
        let of = |definition: &Arc<CustomResourceDefinition>| -> Vec<ResourceType> {
            let served = definition.spec.versions.iter().filter(|version| version.served);
            let of = |version: &CustomResourceVersion| {
                let custom = self.customs.of(definition, &version.name)?;
                Some(ResourceType::custom(definition, version, Some(custom)))
            };
            served.filter_map(of).collect()
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
                let resource = ResourceType::custom(definition, served, None);
                if of_group(&resource)
                    && &*resource.version == version
                    && let Some(custom) = self.customs.of(definition, version)
                {
                    return Ok(ResourceType { custom: Some(custom), ..resource });
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
