//! Serving: connections, and what each request is answered with.

mod access;
mod handle;
mod listen;
mod log;
mod manage;
mod render;
mod stream;
mod write;

pub use listen::{Listen, Server};
