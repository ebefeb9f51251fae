//! The simulated world from outside.

mod json;
mod world;
