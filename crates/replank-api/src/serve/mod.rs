//! Serving: connections, and what each request is answered with.

mod access;
mod behind;
mod bundle;
mod conversion;
mod handle;
mod hooks;
mod listen;
mod log;
mod manage;
mod peer;
mod render;
mod signing;
mod stream;
mod write;

pub use listen::{Listen, Server};
