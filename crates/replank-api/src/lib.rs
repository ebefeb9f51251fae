//! The Kubernetes API on the wire, in front of the simulated cluster.
//!
//! One thread owns the world; it alone writes. What it writes is published to a read model, from which lists, gets and watches are answered without waiting
//! for it.

pub mod mirror;
