//! What a client does on a cluster.

use std::path::PathBuf;

/// Something to run on a cluster of its own.
pub(super) struct Task {
    pub(super) name: String,
    pub(super) what: What,
}

pub(super) enum What {
    /// Commands with what they print, and the folders of the programs that they call.
    Session { file: PathBuf, programs: Vec<PathBuf> },
    /// A program that prints `ok CHECK` and `FAILED CHECK: why`.
    Program { program: PathBuf, arguments: Vec<PathBuf> },
}
