//! The life of API versions: when each was introduced, deprecated and removed, what takes its place, and where they are used.
//!
//! [`table`] is the data, [`calendar`] the support of versions on EKS; [`source`] reads texts into documents; [`scan`] finds in
//! them what the table says is deprecated or gone ([`finding`]). [`schema`] has the types of what 1.36 serves, and refuses
//! what is not of its type. Nothing here talks to a cluster, and nothing is written.

pub mod calendar;
mod changes;
pub mod files;
pub mod finding;
mod helm;
mod judge;
mod object;
pub mod release;
pub mod scan;
pub mod schema;
pub mod source;
pub mod table;
pub mod waiver;

pub use changes::changes;
pub use judge::Measure;
