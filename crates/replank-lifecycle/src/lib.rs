//! The life of API versions: when each was introduced, deprecated and removed, and what takes its place.
//!
//! [`table`] is the data; [`source`] reads texts into the documents in which it is looked up. Nothing here talks to a cluster, and nothing is written.

pub mod release;
pub mod source;
pub mod table;
