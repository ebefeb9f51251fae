//! Things of the cluster as a whole, and kinds that no decision reads.

use crate::list::List;
use crate::object::condition::Condition;
use crate::object::meta::Meta;
use crate::text::{Name, Text};
use crate::wire::{wire, words};

words! {
    /// `status.phase` of a namespace.
    pub enum NamespacePhase {
        /// In use.
        Active = "Active",
        /// Being emptied.
        Terminating = "Terminating",
    }
}

wire! {
    /// core/v1 Namespace.
    pub struct NamespaceObject {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: NamespaceSpec,
        /// Observed state.
        pub status: NamespaceStatus,
    }

    /// core/v1 NamespaceSpec.
    pub struct NamespaceSpec {
        /// What must be done before it can go.
        pub finalizers: Vec<Text>,
    }

    /// core/v1 NamespaceStatus.
    pub struct NamespaceStatus {
        /// Absent reads as Active.
        pub phase: Option<NamespacePhase>,
        /// Conditions.
        pub conditions: List<Condition>,
    }

    /// apiextensions.k8s.io/v1 CustomResourceDefinition, what tells whether a kind can be scaled.
    pub struct CustomResourceDefinition {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// The kind.
        pub spec: CustomResourceDefinitionSpec,
    }

    /// apiextensions.k8s.io/v1 CustomResourceDefinitionSpec.
    pub struct CustomResourceDefinitionSpec {
        /// API group.
        pub group: Text,
        /// Names.
        pub names: CustomResourceNames,
        /// Namespaced or Cluster.
        pub scope: Text,
        /// Versions.
        pub versions: Vec<CustomResourceVersion>,
    }

    /// apiextensions.k8s.io/v1 CustomResourceDefinitionNames.
    pub struct CustomResourceNames {
        /// Plural, as in URLs.
        pub plural: Text,
        /// Kind.
        pub kind: Text,
    }

    /// apiextensions.k8s.io/v1 CustomResourceDefinitionVersion.
    pub struct CustomResourceVersion {
        /// Name of the version.
        pub name: Text,
        /// Whether it is served.
        pub served: bool,
        /// Whether it is the one that is stored.
        pub storage: bool,
        /// Subresources.
        pub subresources: Option<CustomResourceSubresources>,
    }

    /// apiextensions.k8s.io/v1 CustomResourceSubresources.
    pub struct CustomResourceSubresources {
        /// The status subresource: if it is there, status is written apart from the rest.
        pub status: Option<serde_json::Value>,
        /// The scale subresource.
        pub scale: Option<CustomResourceScale>,
    }

    /// apiextensions.k8s.io/v1 CustomResourceSubresourceScale.
    pub struct CustomResourceScale {
        /// Path of the wanted replicas, such as `.spec.replicas`.
        pub spec_replicas_path: Text,
        /// Path of the observed replicas.
        pub status_replicas_path: Text,
        /// Path of the selector.
        pub label_selector_path: Option<Text>,
    }
}

/// An object of a kind that no decision reads, or a custom one: all of it is in its raw JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Other {
    /// API group and version.
    pub api_version: Text,
    /// Kind.
    pub kind: Text,
    /// Metadata; `meta.raw` has the whole object.
    pub meta: Meta,
    /// `spec.replicas`, if it is a number.
    pub replicas: Option<i32>,
}

impl Other {
    /// The API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.meta.name
    }
}
