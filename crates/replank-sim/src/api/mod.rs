//! The API server of the simulated cluster: what a write means, and what it is refused with.

mod delete;
mod error;
mod store;

pub use delete::{DeleteOptions, Propagation};
pub use error::{ApiError, Cause};
pub use store::Api;
