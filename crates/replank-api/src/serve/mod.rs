//! Serving: connections, and what each request is answered with.

mod access;
mod handle;
mod listen;
mod manage;
mod render;
mod write;

pub use listen::{Listen, Server};
