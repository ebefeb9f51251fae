//! Whether work may be run again from its beginning: what its author declares.

use std::fmt;

use replank_model::object::pod::Pod;

/// Annotation of a pod: `safe` where its work may be run again from its beginning without harm (it is idempotent), `unsafe` where it must not.
pub const RERUN: &str = "replank.dev/rerun";

/// What is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rerun {
    /// To run it again does no harm.
    Safe,
    /// It must not be run again by itself: a payment that is made twice.
    Unsafe,
}

impl fmt::Display for Rerun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
        })
    }
}

/// What a pod declares, if it does; as it stands there, where it cannot be read.
#[must_use]
pub fn declared(pod: &Pod) -> Option<Result<Rerun, &str>> {
    match pod.meta.annotations.value(RERUN)? {
        "safe" => Some(Ok(Rerun::Safe)),
        "unsafe" => Some(Ok(Rerun::Unsafe)),
        other => Some(Err(other)),
    }
}

/// Whether a pod's work must not be run again. A value that cannot be read is no leave to.
#[must_use]
pub fn is_unsafe(pod: &Pod) -> bool {
    matches!(declared(pod), Some(Ok(Rerun::Unsafe) | Err(_)))
}
