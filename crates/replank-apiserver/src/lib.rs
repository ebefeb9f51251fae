//! The API server of the simulated cluster: what a write means, and what it is refused with.
//!
//! It knows no controllers. All truth is in one view, which only [`Api`] changes; every change is kept until somebody takes
//! it and shows it to those who watch. Clients that speak JSON, a server on a wire among them, come through [`Store`].
//!
//! Layers, each knows only those below it: `json` → `server` → `condition`, `draw`, `clock`; `template_hash` stands
//! alone.

pub mod clock;
pub mod condition;
pub mod draw;
pub mod json;
mod server;
mod template_hash;

pub use clock::Clock;
pub use json::Store;
pub use server::{
    About, Api, ApiError, Caller, Cause, Conversion, Custom, DISRUPTION_TARGET, DeleteOptions, Effect,
    EventRecord, EventType, Eviction, EvictionRefusal, FOREGROUND, HookCall, HookPurpose, Hooks, ORPHAN,
    PodWebhook, Propagation, ResourceName, ResourceType, Serving, Teller, quota, set_allowed_condition,
    set_disruption_condition,
};
pub use template_hash::template_hash;
