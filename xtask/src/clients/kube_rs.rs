//! A controller on kube-rs: `peers/kube-rs`, a project of its own.

use anyhow::Result;

use super::build::{build, folder};
use super::task::{Task, What};

pub(super) fn tasks() -> Result<Vec<Task>> {
    let target = folder().join("kube-rs");
    let mut command = crate::workspace::cargo();
    command
        .args(["build", "--locked", "--manifest-path", "peers/kube-rs/Cargo.toml", "--target-dir"])
        .arg(&target);
    build("kube-rs", "install Rust", &mut command)?;
    let program = target.join("debug/kube-rs-client");
    Ok(vec![Task { name: "kube-rs".to_owned(), what: What::Program { program, arguments: Vec::new() } }])
}
