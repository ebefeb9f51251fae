//! What the parts of the library answer.

use crate::value::{Failure, Val};

/// What a function makes of its arguments; `None` where it is not one of a part of the library.
pub(super) type Made = Option<Result<Val, Failure>>;

/// A failure with a message.
pub(super) fn failed(message: impl Into<String>) -> Result<Val, Failure> {
    Err(Failure(message.into()))
}
