//! Where the workspace is, and what builds it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies in the workspace").to_owned()
}

/// Where it is built: `target`, unless the environment or a configuration says otherwise.
///
/// # Errors
/// Cargo does not say.
pub(crate) fn target() -> Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .context("cargo metadata cannot be started")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("what cargo metadata printed")?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(folder))
}

/// Cargo, with nothing of the crate that runs.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    of_no_crate(Command::new(program))
}

/// A command that may run cargo: without what this crate was told of itself. Build scripts that ask for it (ring's does) would run again, and all that stands on
/// them would be built again, here and once more where it is not told.
pub(crate) fn of_no_crate(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let of_a_crate = name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"));
        if of_a_crate {
            command.env_remove(name);
        }
    }
    command
}
