//! The kinds of objects, and what all of them have in common.

use std::fmt;
use std::sync::Arc;

use super::meta::{Key, Meta};
use super::{autoscaling, batch, cluster, karpenter, network, node, pod, policy, volume, workload};
use crate::text::Uid;

/// A typed kind: what its objects are called on the wire.
pub trait Resource: Clone + fmt::Debug + PartialEq + Into<Object> {
    /// The kind.
    const KIND: Kind;

    /// Metadata.
    fn meta(&self) -> &Meta;

    /// Metadata, to be changed.
    fn meta_mut(&mut self) -> &mut Meta;

    /// The same as an object of any kind.
    fn shared(object: Arc<Self>) -> Object;

    /// Whether both say the same about the desired state. Where they differ, `metadata.generation` is counted up;
    /// kinds whose desired state has no generation always agree.
    fn same_spec(&self, other: &Self) -> bool;
}

macro_rules! kinds {
    ($( $variant:ident, $ty:path, $api:literal, $kind:literal, $plural:literal, $scope:ident, $generation:ident; )*) => {
        /// The kinds of objects, in the order in which objects are sorted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum Kind {
            $( #[doc = concat!("`", $api, "` ", $kind, ".")] #[serde(rename = $kind)] $variant, )*
            /// A kind that no decision reads.
            Other,
        }

        /// One object of any kind.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Object {
            $( #[doc = concat!("`", $api, "` ", $kind, ".")] $variant(Arc<$ty>), )*
            /// An object of a kind that no decision reads.
            Other(Arc<cluster::Other>),
        }

        impl Kind {
            /// All typed kinds.
            pub const TYPED: &'static [Kind] = &[ $( Kind::$variant ),* ];

            /// The kind's name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $kind, )* Self::Other => "Other" }
            }

            /// API group and version that its objects are written with; empty for [`Kind::Other`].
            #[must_use]
            pub fn api_version(self) -> &'static str {
                match self { $( Self::$variant => $api, )* Self::Other => "" }
            }

            /// The resource's name in URLs and in `kubectl get`.
            #[must_use]
            pub fn plural(self) -> &'static str {
                match self { $( Self::$variant => $plural, )* Self::Other => "" }
            }

            /// Whether objects live in a namespace ([`Kind::Other`]: as each object says).
            #[must_use]
            pub fn is_namespaced(self) -> bool {
                match self { $( Self::$variant => kinds!(@scope $scope), )* Self::Other => true }
            }

            /// Whether the API server gives its objects a `metadata.generation` (untyped kinds: as each object says).
            #[must_use]
            pub fn has_generation(self) -> bool {
                match self { $( Self::$variant => kinds!(@counts $generation), )* Self::Other => false }
            }

            /// The typed kind of an API group and kind. Versions of a group are read alike.
            #[must_use]
            pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
                let group = |text: &str| text.split_once('/').map_or(String::new(), |(group, _)| group.to_owned());
                Self::TYPED.iter().copied().find(|k| k.as_str() == kind && group(k.api_version()) == group(api_version))
            }
        }

        impl Object {
            /// The kind.
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self { $( Self::$variant(_) => Kind::$variant, )* Self::Other(_) => Kind::Other }
            }

            /// Metadata.
            #[must_use]
            pub fn meta(&self) -> &Meta {
                match self { $( Self::$variant(object) => &object.meta, )* Self::Other(object) => &object.meta }
            }

            /// Whether two states of one object say the same about what is desired (see [`Resource::same_spec`]).
            #[must_use]
            pub fn same_spec(&self, other: &Self) -> bool {
                match (self, other) {
                    $( (Self::$variant(a), Self::$variant(b)) => a.same_spec(b), )*
                    _ => self.meta().raw == other.meta().raw,
                }
            }

            /// The same object with its metadata changed; copies only if the object is shared.
            #[must_use]
            pub fn map_meta(mut self, change: impl FnOnce(&mut Meta)) -> Self {
                match &mut self {
                    $( Self::$variant(object) => change(&mut Arc::make_mut(object).meta), )*
                    Self::Other(object) => change(&mut Arc::make_mut(object).meta),
                }
                self
            }
        }

        $(
            impl From<Arc<$ty>> for Object {
                fn from(object: Arc<$ty>) -> Self { Self::$variant(object) }
            }

            impl From<$ty> for Object {
                fn from(object: $ty) -> Self { Self::$variant(Arc::new(object)) }
            }

            impl Resource for $ty {
                const KIND: Kind = Kind::$variant;

                fn meta(&self) -> &Meta { &self.meta }

                fn meta_mut(&mut self) -> &mut Meta { &mut self.meta }

                fn shared(object: Arc<Self>) -> Object { Object::$variant(object) }

                fn same_spec(&self, other: &Self) -> bool { kinds!(@spec $generation, self, other) }
            }
        )*
    };
    (@scope Namespaced) => { true };
    (@scope Cluster) => { false };
    (@counts Counted) => { true };
    (@counts CountedEndpoints) => { true };
    (@counts Numbered) => { true };
    (@counts Uncounted) => { false };
    (@spec Counted, $a:ident, $b:ident) => { $a.spec == $b.spec };
    (@spec CountedEndpoints, $a:ident, $b:ident) => { $a.endpoints == $b.endpoints };
    (@spec Numbered, $a:ident, $b:ident) => { { let _ = ($a, $b); true } };
    (@spec Uncounted, $a:ident, $b:ident) => { { let _ = ($a, $b); true } };
}

kinds! {
    Namespace, cluster::NamespaceObject, "v1", "Namespace", "namespaces", Cluster, Uncounted;
    Node, node::Node, "v1", "Node", "nodes", Cluster, Uncounted;
    PriorityClass, policy::PriorityClass, "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", Cluster, Numbered;
    StorageClass, volume::StorageClass, "storage.k8s.io/v1", "StorageClass", "storageclasses", Cluster, Uncounted;
    CsiDriver, volume::CsiDriver, "storage.k8s.io/v1", "CSIDriver", "csidrivers", Cluster, Uncounted;
    CsiNode, volume::CsiNode, "storage.k8s.io/v1", "CSINode", "csinodes", Cluster, Uncounted;
    CsiStorageCapacity, volume::CsiStorageCapacity, "storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", Namespaced, Uncounted;
    VolumeAttachment, volume::VolumeAttachment, "storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", Cluster, Uncounted;
    PersistentVolume, volume::PersistentVolume, "v1", "PersistentVolume", "persistentvolumes", Cluster, Uncounted;
    NodeClaim, karpenter::NodeClaim, "karpenter.sh/v1", "NodeClaim", "nodeclaims", Cluster, Counted;
    CustomResourceDefinition, cluster::CustomResourceDefinition, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", Cluster, Counted;
    PersistentVolumeClaim, volume::PersistentVolumeClaim, "v1", "PersistentVolumeClaim", "persistentvolumeclaims", Namespaced, Uncounted;
    ResourceQuota, policy::ResourceQuota, "v1", "ResourceQuota", "resourcequotas", Namespaced, Uncounted;
    Deployment, workload::Deployment, "apps/v1", "Deployment", "deployments", Namespaced, Counted;
    ReplicaSet, workload::ReplicaSet, "apps/v1", "ReplicaSet", "replicasets", Namespaced, Counted;
    ReplicationController, workload::ReplicationController, "v1", "ReplicationController", "replicationcontrollers", Namespaced, Counted;
    StatefulSet, workload::StatefulSet, "apps/v1", "StatefulSet", "statefulsets", Namespaced, Counted;
    DaemonSet, workload::DaemonSet, "apps/v1", "DaemonSet", "daemonsets", Namespaced, Counted;
    ControllerRevision, workload::ControllerRevision, "apps/v1", "ControllerRevision", "controllerrevisions", Namespaced, Uncounted;
    CronJob, batch::CronJob, "batch/v1", "CronJob", "cronjobs", Namespaced, Counted;
    Job, batch::Job, "batch/v1", "Job", "jobs", Namespaced, Counted;
    HorizontalPodAutoscaler, autoscaling::HorizontalPodAutoscaler, "autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Namespaced, Uncounted;
    PodDisruptionBudget, policy::PodDisruptionBudget, "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", Namespaced, Counted;
    Service, network::Service, "v1", "Service", "services", Namespaced, Uncounted;
    EndpointSlice, network::EndpointSlice, "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", Namespaced, CountedEndpoints;
    Pod, pod::Pod, "v1", "Pod", "pods", Namespaced, Counted;
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<Arc<cluster::Other>> for Object {
    fn from(object: Arc<cluster::Other>) -> Self {
        Self::Other(object)
    }
}

impl Object {
    /// The kind's name, of untyped kinds too.
    #[must_use]
    pub fn kind_name(&self) -> &str {
        if let Self::Other(other) = self { &other.kind } else { self.kind().as_str() }
    }

    /// API group and version, of untyped kinds too.
    #[must_use]
    pub fn api_version(&self) -> &str {
        if let Self::Other(other) = self { &other.api_version } else { self.kind().api_version() }
    }

    /// What identifies this incarnation.
    #[must_use]
    pub fn reference(&self) -> ObjectRef {
        ObjectRef { kind: self.kind(), key: self.meta().key(), uid: self.meta().uid.clone() }
    }
}

/// One incarnation of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ObjectRef {
    /// Kind.
    pub kind: Kind,
    /// Namespace and name.
    pub key: Key,
    /// Uid.
    pub uid: Uid,
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}
