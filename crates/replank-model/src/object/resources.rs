//! Resource lists: `requests`, `limits`, `capacity`, `allocatable`.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::list::List;
use crate::quantity::Quantity;
use crate::text::Text;
use crate::wire::wire;

/// CPU, counted in cores.
pub const CPU: &str = "cpu";
/// Memory, in bytes.
pub const MEMORY: &str = "memory";
/// Local ephemeral storage, in bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// Number of pods that a node takes.
pub const PODS: &str = "pods";

/// A resource list (core/v1 ResourceList): resource name → quantity, sorted by name. Versions of an object share it until it is changed.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Resources(List<(Text, Quantity)>);

impl Resources {
    /// The quantity of one resource.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.0.iter().find(|(key, _)| &**key == name).map(|(_, quantity)| quantity)
    }

    /// Sets the quantity of one resource.
    pub fn set(&mut self, name: impl Into<Text>, quantity: Quantity) {
        let name = name.into();
        match self.0.binary_search_by(|(key, _)| key.cmp(&name)) {
            Ok(at) => self.0[at].1 = quantity,
            Err(at) => self.0.insert(at, (name, quantity)),
        }
    }

    /// All resources, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Quantity)> {
        self.0.iter().map(|(name, quantity)| (name, quantity))
    }

    /// Whether no resource is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<Text>> FromIterator<(K, Quantity)> for Resources {
    fn from_iter<I: IntoIterator<Item = (K, Quantity)>>(pairs: I) -> Self {
        let mut all = Self::default();
        for (name, quantity) in pairs {
            all.set(name, quantity);
        }
        all
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, quantity)| (name, quantity))).finish()
    }
}

impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, quantity) in &self.0 {
            map.serialize_entry(&**name, quantity)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Resources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Resources;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of resource names to quantities")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Resources, A::Error> {
                let mut all = Resources::default();
                while let Some((name, quantity)) = map.next_entry::<Text, Quantity>()? {
                    all.set(name, quantity);
                }
                Ok(all)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

wire! {
    /// What a container or pod asks for and may use (core/v1 ResourceRequirements).
    pub struct ResourceRequirements {
        /// What scheduling counts.
        pub requests: Resources,
        /// What the kubelet enforces.
        pub limits: Resources,
    }
}
