//! The world: everything simulated, moved forward event by event.

mod account;
mod observer;
mod outside;
mod run;

pub use observer::Observer;
pub use run::{Settings, World};
