//! The directory that a cluster is kept in.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use replank_api::Secrets;
use replank_aws::Credentials;
use replank_cluster::{Files, JournalError, Kept};

use crate::failure::Failure;

/// The file of what makes the cluster's identity.
const SECRETS: &str = "identity.json";
/// The file with the key of AWS' clients.
const CREDENTIALS: &str = "aws-credentials.json";

/// Takes a directory for this process, and reads what it holds.
///
/// # Errors
/// It cannot be used, or what it holds cannot.
pub(super) fn open(dir: &Path, version: &str) -> Result<(Files, Option<Kept>), Failure> {
    Files::open(dir, version).map_err(|error| {
        let next = match &error {
            JournalError::Locked(_) => "end that process, or name another directory: --data-dir DIR",
            JournalError::Foreign(_) => {
                "name an empty directory, or one that is not there yet: --data-dir DIR"
            }
            JournalError::Version { .. } => "name another directory, or use the replank that wrote this one",
            JournalError::Kubernetes { .. } => "leave out --kubernetes-version, or name another directory",
            JournalError::Damaged { .. } => "take the directory from a backup, or name another one",
            JournalError::Io { .. } => {
                "check its permissions and the room on its disk, or name another directory"
            }
        };
        Failure::usage(error).next(next)
    })
}

/// What makes the cluster's identity: as it was, or new. Clients that knew it know it again.
///
/// # Errors
/// It cannot be read or written.
pub(super) fn secrets(dir: Option<&Path>) -> Result<Secrets, Failure> {
    let Some(dir) = dir else { return Secrets::generate().map_err(Failure::internal) };
    let path = dir.join(SECRETS);
    let told = |what: &str| format!("cannot {what} {}", path.display());
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| told("read")).map_err(|error| {
            Failure::usage(error).next("remove it: another identity is made, and another kubeconfig")
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secrets = Secrets::generate().map_err(Failure::internal)?;
            let text = serde_json::to_vec(&secrets).map_err(Failure::internal)?;
            keep(dir, &path, &text).with_context(|| told("write")).map_err(Failure::usage)?;
            Ok(secrets)
        }
        Err(error) => Err(Failure::usage(anyhow::Error::new(error).context(told("read")))),
    }
}

/// The key that AWS' clients sign with, kept like the identity.
///
/// # Errors
/// Where the file cannot be read or written.
pub(super) fn credentials(dir: Option<&Path>) -> Result<Credentials, Failure> {
    let make = || {
        Credentials::generate()
            .map_err(|_| Failure::internal(anyhow::anyhow!("the system has no randomness")))
    };
    let Some(dir) = dir else { return make() };
    let path = dir.join(CREDENTIALS);
    let told = |what: &str| format!("cannot {what} {}", path.display());
    match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| told("read"))
            .map_err(|error| Failure::usage(error).next("remove it: another key is made")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = make()?;
            let text = serde_json::to_vec(&made).map_err(Failure::internal)?;
            keep(dir, &path, &text).with_context(|| told("write")).map_err(Failure::usage)?;
            Ok(made)
        }
        Err(error) => Err(Failure::usage(anyhow::Error::new(error).context(told("read")))),
    }
}

/// Writes a file that only its owner reads, so that it is there as a whole or not at all.
fn keep(dir: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(&beside)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(dir)?.sync_all()
}
