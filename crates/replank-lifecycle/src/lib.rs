//! The life of API versions: when each was introduced, deprecated and removed, what takes its place, and where they are used.
//!
//! [`table`] is the data, [`calendar`] the support of versions on EKS; [`source`] reads texts into documents; [`scan`] finds in
//! them what the table says is deprecated or gone ([`finding`]). [`convert`] converts an object ([`tree`]) from one version to
//! another ([`reading`] those of a snapshot, as it is read), [`schema`] refuses what is not of the types that 1.36 serves, and [`fix`] lays the change onto the text; [`helm`] unpacks what Helm stores. Nothing
//! here talks to a cluster, and nothing is written.

pub mod calendar;
mod changes;
pub mod convert;
pub mod definition;
pub mod exception;
pub mod files;
pub mod finding;
pub mod fix;
pub mod helm;
mod judge;
mod object;
pub mod reading;
pub mod release;
mod rule;
pub mod scan;
pub mod schema;
pub mod source;
pub mod table;
pub mod tree;
pub mod waiver;

pub use changes::changes;
pub use judge::Measure;
