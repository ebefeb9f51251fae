//! Files as people and tools write them, whole and broken.

mod bounds;
mod golden;
mod random;
mod real;
mod snapshot;
mod sources;
mod streaming;
