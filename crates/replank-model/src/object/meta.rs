//! Metadata that every object carries.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::labels::{Annotations, Labels};
use crate::list::List;
use crate::text::{Name, Namespace, Text, Uid};
use crate::time::Time;
use crate::wire::wire;

/// `metadata.resourceVersion`: the store's counter at an object's last write.
///
/// Compared as a number (1.36 guarantees that versions of one resource are comparable; KEP-5504). Text that is no
/// number, as hand-written manifests may have it, reads as 0, "unknown".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion(pub u64);

impl Serialize for ResourceVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ResourceVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self(text.parse().unwrap_or(0)))
    }
}

/// What came from outside, as JSON text, so that fields nobody models survive.
///
/// A pod's spec is not in its own text: it is shared through [`crate::object::pod::PodSpec::raw`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Raw(pub Option<Arc<str>>);

/// The slot that an object had in the view that stored it first; its later states have it from that one. Another view finds by it where it keeps the object
/// itself, without a look at the name. It says nothing about the object: two that differ in it alone are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint(pub(crate) Option<u32>);

impl PartialEq for Hint {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Hint {}

impl Hash for Hint {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

wire! {
    /// `metadata` (meta/v1 ObjectMeta).
    pub struct Meta {
        /// Name, unique for its kind within the namespace.
        pub name: Name,
        /// Prefix from which the API server made the name.
        pub generate_name: Option<Text>,
        /// Namespace; empty for cluster-scoped kinds.
        pub namespace: Namespace,
        /// Unique id of this incarnation.
        pub uid: Uid,
        /// Version of the last write.
        pub resource_version: ResourceVersion,
        /// Counts changes of the desired state.
        pub generation: i64,
        /// When the API server stored the object first.
        pub creation_timestamp: Option<Time>,
        /// When the object is due to go; set once deletion was asked for.
        pub deletion_timestamp: Option<Time>,
        /// Seconds of grace that the deletion was given.
        pub deletion_grace_period_seconds: Option<i64>,
        /// Labels.
        pub labels: Labels,
        /// Annotations.
        pub annotations: Annotations,
        /// Objects that this one depends on.
        pub owner_references: List<OwnerReference>,
        /// Names that must be taken away before the object can go.
        pub finalizers: Vec<Text>,
        /// The JSON this came from.
        #[serde(skip)]
        pub raw: Raw,
        /// Where to look for it first.
        #[serde(skip)]
        pub hint: Hint,
    }

    /// One owner of an object (meta/v1 OwnerReference).
    pub struct OwnerReference {
        /// API group and version of the owner.
        pub api_version: Text,
        /// Kind of the owner.
        pub kind: Text,
        /// Name of the owner, in the same namespace.
        pub name: Name,
        /// Uid of the owner.
        pub uid: Uid,
        /// Whether the owner manages this object.
        pub controller: Option<bool>,
        /// Whether the owner's foreground deletion waits for this object.
        pub block_owner_deletion: Option<bool>,
    }
}

impl Meta {
    /// The owner that manages this object, if any.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller == Some(true))
    }

    /// Whether deletion was asked for.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> Key {
        Key { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

/// Namespace and name: what identifies an object of a known kind at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Key {
    /// Namespace; empty for cluster-scoped kinds.
    #[serde(skip_serializing_if = "Namespace::is_empty")]
    pub namespace: Namespace,
    /// Name.
    pub name: Name,
}

impl Key {
    /// Key of a namespaced object.
    pub fn new(namespace: impl Into<Namespace>, name: impl Into<Name>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Key of a cluster-scoped object.
    pub fn cluster(name: impl Into<Name>) -> Self {
        Self { namespace: Namespace::default(), name: name.into() }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
