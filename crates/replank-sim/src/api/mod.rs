//! The API server of the simulated cluster: what a write means, and what it is refused with.

mod admission;
mod delete;
mod error;
mod events;
mod eviction;
mod job;
pub mod json;
pub(crate) mod quota;
mod store;

pub use delete::{DeleteOptions, Propagation};
pub(crate) use delete::{FOREGROUND, ORPHAN};
pub use error::{About, ApiError, Cause, ResourceName};
pub use events::{EventRecord, EventType};
pub use eviction::{Eviction, EvictionRefusal};
pub use store::Api;
