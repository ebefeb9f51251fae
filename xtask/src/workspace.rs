//! Where the workspace is, and what builds it.

use std::path::PathBuf;
use std::process::Command;

/// The workspace's directory.
pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies in the workspace").to_owned()
}

/// Cargo, with nothing of the crate that runs: build scripts that ask for these variables (ring's does) would run again, and all that stands on them.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let of_a_crate = name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"));
        if of_a_crate {
            cargo.env_remove(name);
        }
    }
    cargo
}
