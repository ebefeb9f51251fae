//! Tells the binary which commit it is built from, for `replank --version`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Where there is no git directory (an archive of the sources), whoever builds may say it.
    println!("cargo:rerun-if-env-changed=REPLANK_COMMIT");
    let said = std::env::var("REPLANK_COMMIT").ok().filter(|commit| !commit.is_empty());
    let version = env!("CARGO_PKG_VERSION");
    match said.or_else(from_git) {
        Some(commit) => println!("cargo:rustc-env=REPLANK_VERSION={version} ({commit})"),
        None => println!("cargo:rustc-env=REPLANK_VERSION={version}"),
    }
}

/// Commit and its date, such as `0169dbcf62f1 2026-11-26`; nothing where git cannot say.
fn from_git() -> Option<String> {
    // HEAD names a branch, whose commit is in a file of its own or packed: any of them may change.
    for name in ["HEAD", "packed-refs", "logs/HEAD"] {
        watch(&git(&["rev-parse", "--git-path", name])?);
    }
    if let Some(branch) = git(&["symbolic-ref", "--quiet", "HEAD"]) {
        watch(&git(&["rev-parse", "--git-path", &branch])?);
    }
    git(&["log", "-1", "--abbrev=12", "--format=%h %cs"])
}

/// cargo takes a path that is not there for one that has changed: only what is there is watched.
fn watch(path: &str) {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let path = root.join(Path::new(path));
    if path.exists() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
