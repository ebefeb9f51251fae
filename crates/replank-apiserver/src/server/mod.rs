//! The server itself: names, uids, versions, admission, preconditions, finalizers, quotas, eviction.

mod admission;
mod admitted;
mod budget;
mod caller;
pub(crate) mod custom;
mod definitions;
mod delete;
mod effect;
mod error;
mod event_log;
mod event_store;
mod events;
mod eviction;
mod families;
mod job;
mod limits;
pub(crate) mod pod_security;
pub(crate) mod policies;
pub mod quota;
pub(crate) mod resource;
mod runtime_class;
pub(crate) mod security;
mod service;
mod service_account;
mod serving;
mod store;

pub use budget::{DISRUPTION_TARGET, set_allowed_condition, set_disruption_condition};
pub use caller::{Caller, HookCall, HookPurpose, Hooks};
pub use custom::{Conversion, Custom};
pub use delete::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};
pub use error::{About, ApiError, Cause, ResourceName};
pub use events::{EventRecord, EventType, Teller};
pub use eviction::{Eviction, EvictionRefusal};
pub(crate) use families::{address_problems, related};
pub use resource::ResourceType;
pub use serving::Serving;
pub use store::{Api, PodWebhook};

pub use effect::Effect;
