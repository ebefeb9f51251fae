//! Controllers of a control plane that a rehearsal does not need and clients expect: what they make is looked at, not decided upon.
//!
//! Each is level-triggered: a change queues the object to be looked at, and a look moves it to where it should be. They act through the API like everybody else.

mod accounts;
mod aggregation;
mod certificates;
mod control;
pub(crate) mod edit;
mod endpoints;
mod fairness;
mod mirroring;
mod node_labels;
mod node_ttl;
mod protection;
mod queue;
mod tokens;

pub(crate) use control::Controllers;
