//! Serving: connections, and what each request is answered with.

mod handle;
mod listen;
mod write;

pub use listen::{Listen, Server};
