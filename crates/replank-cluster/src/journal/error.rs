//! Why a directory cannot be used.

use std::io;
use std::path::PathBuf;

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process has it.
    #[error("{} is in use by another replank cluster", .0.display())]
    Locked(PathBuf),
    /// It is not one of ours.
    #[error("{} holds other files and no cluster", .0.display())]
    Foreign(PathBuf),
    /// Another version wrote it.
    #[error("{} was written in {found}; this replank reads {expected}", dir.display())]
    Version {
        /// Where.
        dir: PathBuf,
        /// What it says.
        found: String,
        /// What it should say.
        expected: String,
    },
    /// Its cluster is of another version of Kubernetes.
    #[error("the cluster in {} is Kubernetes {found}, and {asked} is asked for", dir.display())]
    Kubernetes {
        /// Where.
        dir: PathBuf,
        /// Which it is.
        found: String,
        /// Which was asked for.
        asked: String,
    },
    /// It is damaged in its middle, where no crash cuts anything off.
    #[error("{} is damaged: {why}", file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// How.
        why: String,
    },
    /// The system refuses.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}
