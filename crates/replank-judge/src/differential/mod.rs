//! The same generated requests to two API servers, and what their answers have in common.
//!
//! A run is made of walks: each takes one resource in a namespace of its own, and sends requests of all classes to both servers, one after the other. What
//! differs between any two servers (uids, versions, times, addresses, generated names) is masked; a number gives the same walks again.

mod compare;
mod draw;
mod kinds;
mod meta;
mod mutate;
mod normal;
mod protobuf;
mod report;
mod run;
mod step;
mod walk;
mod words;
mod yaml;

pub use report::{Answered, Difference, Report};
pub use run::{Wanted, run};
pub use step::Class;
