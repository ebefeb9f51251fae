//! What is published, built.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::root;

/// Builds the program with the profile `dist`: optimised over all crates, and without symbols.
pub(super) fn build(target: &str, dir: &Path, flags: &[String]) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--profile", "dist", "-p", "replank", "--target", target]);
    cargo.arg("--target-dir").arg(dir);
    // Parted as cargo wants it where a flag may hold a blank.
    let own = std::env::var("RUSTFLAGS").unwrap_or_default();
    let all: Vec<&str> = own.split_whitespace().chain(flags.iter().map(String::as_str)).collect();
    cargo.env("CARGO_ENCODED_RUSTFLAGS", all.join("\u{1f}"));
    let status = cargo.current_dir(root()).status().context("cargo cannot be started")?;
    ensure!(status.success(), "cargo build ended with {status}");
    let name = if target.contains("windows") { "replank.exe" } else { "replank" };
    Ok(dir.join(target).join("dist").join(name))
}
