//! A controller on kube-rs: `peers/kube-rs`, a project of its own.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::build::build;
use super::task::{Task, What};
use crate::workspace::{cargo, target};

pub(super) fn tasks(named: Option<&Path>) -> Result<Vec<Task>> {
    let program = match named {
        Some(program) => program.to_owned(),
        None => built()?,
    };
    Ok(vec![Task { name: "kube-rs".to_owned(), what: What::Program { program, arguments: Vec::new() } }])
}

/// Built where the workspace is, by its profiles: most of what it stands on has been built there.
fn built() -> Result<PathBuf> {
    let target = target()?;
    let mut command = cargo();
    command.args(["build", "--locked", "--manifest-path", "peers/kube-rs/Cargo.toml"]);
    command.args(["--config", "Cargo.toml", "--target-dir"]).arg(&target);
    build("kube-rs", "install Rust", &mut command)?;
    Ok(target.join("debug/kube-rs-client"))
}
