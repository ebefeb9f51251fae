//! What is judged, and what it is judged by: the program as a user builds it, and the programs of a control plane.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use replank_judge::{Assets, find_assets};

use crate::root;

/// The programs of a real control plane.
///
/// # Errors
/// There are none on this machine.
pub(crate) fn assets() -> Result<Assets> {
    find_assets(&root(), &root().join("target/control-plane"))
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
