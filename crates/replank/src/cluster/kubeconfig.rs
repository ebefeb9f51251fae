//! The kubeconfig of a served cluster: where it is written, and that nobody else can read it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::Failure;

/// Where the kubeconfig goes if nobody says: into the directory that the cluster is kept in, or a file for the time being, which names the port, so that two clusters do not share one.
pub(super) fn place(asked: Option<&Path>, data_dir: Option<&Path>, port: u16) -> PathBuf {
    match (asked, data_dir) {
        (Some(path), _) => path.to_owned(),
        (None, Some(dir)) => dir.join("kubeconfig"),
        (None, None) => std::env::temp_dir().join(format!("replank-rehearsal-{port}.kubeconfig")),
    }
}

/// Writes the file, readable by its owner alone: whoever has the token rules the cluster.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written
        .with_context(|| format!("cannot write the kubeconfig {}", path.display()))
        .map_err(|error| Failure::usage(error).next("name another file: --kubeconfig FILE"))
}
