//! Where clients are built, once: `target/clients`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::task::{Task, What};
use crate::root;

/// Where programs are that were built.
pub(super) fn folder() -> PathBuf {
    root().join("target/clients")
}

/// Runs a command that builds or brings something; `need` says what it is there for.
pub(super) fn build(what: &str, need: &str, command: &mut Command) -> Result<()> {
    let begun = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .current_dir(root())
        .output()
        .with_context(|| format!("{program} cannot be started, and {what} needs it: {need}"))?;
    ensure!(
        output.status.success(),
        "{what}: {program} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{what} built in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// k9s, for pictures.
///
/// # Errors
/// It does not build.
pub(crate) fn k9s() -> Result<PathBuf> {
    go("peers/k9s", "k9s", "github.com/derailed/k9s")
}

/// Builds a package of a Go module, as fast as it can be built: optimised, what is built for clients takes a quarter longer, and a client waits most of its time.
pub(super) fn go(module: &str, name: &str, package: &str) -> Result<PathBuf> {
    let program = folder().join("bin").join(name);
    let mut command = Command::new("go");
    command.args(["build", "-C", module, "-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w", "-o"]);
    command.arg(&program).arg(package);
    build(name, "install Go 1.26 or newer", &mut command)?;
    Ok(program)
}

/// One task for each session in a folder of `peers`.
pub(super) fn sessions(client: &str, programs: &[PathBuf]) -> Result<Vec<Task>> {
    let folder = root().join("peers").join(client);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "session"));
    files.sort();
    let name = |file: &Path| format!("{client} {}", file.file_stem().unwrap_or_default().to_string_lossy());
    let task =
        |file: PathBuf| Task { name: name(&file), what: What::Session { file, programs: programs.to_vec() } };
    Ok(files.into_iter().map(task).collect())
}
