//! Objects: the API's kinds as typed projections beside their raw JSON.
//!
//! Objects are immutable and shared: a change is a new object in an [`Arc`], so that the simulated cluster, the lagging
//! View and a report can hold the same one.

pub mod affinity;
pub mod autoscaling;
pub mod batch;
pub mod cloud;
pub mod cluster;
pub mod condition;
mod difference;
pub mod karpenter;
mod kinds;
pub mod meta;
pub mod metrics;
pub mod network;
pub mod node;
pub mod pod;
mod pod_conditions;
mod pod_text;
mod pod_wire;
pub mod policy;
mod project;
mod render;
pub mod requests;
pub mod resources;
pub mod volume;
pub mod workload;

pub use kinds::{Kind, Object, ObjectRef, Resource};
pub use pod_wire::change_spec;
pub use project::{ProjectError, Projector};
pub use render::render;

/// As the API writes it.
impl serde::Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        render(self).serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::from_json(value).map_err(serde::de::Error::custom)
    }
}

impl Object {
    /// Reads one object from the API's JSON; for many, a [`Projector`] shares what repeats.
    ///
    /// # Errors
    /// When the value is not an object with `apiVersion`, `kind` and `metadata.name`, or a member that is modelled has
    /// another type than the API's.
    pub fn from_json(value: serde_json::Value) -> Result<Self, ProjectError> {
        Projector::default().object(value)
    }
}
