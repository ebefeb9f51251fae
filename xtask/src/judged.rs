//! What is judged, and what it is judged by: the program as a user builds it, and the programs of a control plane.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use replank_judge::{Assets, BUILT, NodeSpec, find_assets};

use crate::root;

/// The programs of a real control plane.
///
/// # Errors
/// There are none on this machine.
pub(crate) fn assets() -> Result<Assets> {
    find_assets(&root(), &cache())
}

/// Where archives are unpacked.
pub(crate) fn cache() -> PathBuf {
    root().join("target/control-plane")
}

/// Where programs are that were built here.
pub(crate) fn built() -> PathBuf {
    cache().join(BUILT)
}

/// The program: the one that is named, or one built for this.
///
/// # Errors
/// It does not build.
pub(crate) fn replank(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let done =
        Command::new("cargo").args(["build", "-p", "replank", "--locked"]).current_dir(root()).status()?;
    ensure!(done.success(), "cargo build failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("debug/replank"))
}

/// A node like those of the served cluster, for a kubelet that is played.
pub(crate) fn worker(number: u8) -> NodeSpec {
    let name = format!("node-{number:03}");
    let labels = [
        ("kubernetes.io/hostname", name.clone()),
        ("kubernetes.io/os", "linux".to_owned()),
        ("kubernetes.io/arch", "amd64".to_owned()),
        ("topology.kubernetes.io/zone", format!("zone-{}", char::from(b'a' + number))),
    ];
    let capacity = [("cpu", "8"), ("memory", "32Gi"), ("pods", "110"), ("ephemeral-storage", "100Gi")];
    NodeSpec {
        name,
        labels: labels.map(|(key, value)| (key.to_owned(), value)).into(),
        taints: Vec::new(),
        capacity: capacity.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        version: "v1.36.2".to_owned(),
    }
}
