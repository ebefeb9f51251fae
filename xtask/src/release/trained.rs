//! What the program spends its time in, for the compiler: it is built once with counters, runs what users run, and the counts go into the build that is
//! published (profile-guided optimisation). Which branches are taken and which calls are worth inlining is then known and not guessed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use replank_testkit::big::BigCluster;

use super::build::build;
use crate::bench_files::{Files, files};
use crate::root;

/// Nodes of the cluster whose rehearsal weighs most: large enough to be typical of larger ones.
const NODES: usize = 400;

/// What else is run, in the workspace: code that never ran counts as cold.
const RUNS: [&[&str]; 6] = [
    &["rehearse", "--seeds", "100", "-o", "json"],
    &["rehearse", "examples/elastic/snapshot.yaml", "-f", "examples/elastic/plan.yaml", "--timeline"],
    &["check", "examples/job-site/snapshot.yaml", "-f", "examples/job-site/plan.yaml"],
    &["scan", ".", "-o", "csv"],
    &["scale", "simulate", "examples/scale/cluster.yaml", "--groups", "examples/scale/groups.json"],
    &["hpa", "simulate", "examples/hpa/snapshot.yaml", "--load", "examples/hpa/load.csv"],
];

/// Counts for a target, in a file that the compiler reads.
///
/// # Errors
/// Where rustup's component llvm-tools is not installed, the program cannot be built, or a run of it fails.
pub(super) fn profile(target: &str, host: &str) -> Result<PathBuf> {
    let merge = merger(host)?;
    let dir = root().join("target").join("trained");
    let binary = build(target, &dir, &["-Cprofile-generate".to_owned()])?;
    let counts = dir.join("counts");
    if counts.exists() {
        std::fs::remove_dir_all(&counts)
            .with_context(|| format!("{} cannot be removed", counts.display()))?;
    }
    std::fs::create_dir_all(&counts).with_context(|| format!("{} cannot be made", counts.display()))?;

    let Files { snapshot, plan, .. } = files(&dir, BigCluster::of_nodes(NODES))?;
    let (snapshot, plan) = (path(&snapshot)?, path(&plan)?);
    run(&binary, &counts, &["rehearse", snapshot, "-f", plan, "-o", "json"])?;
    for arguments in RUNS {
        run(&binary, &counts, arguments)?;
    }

    let profile = dir.join("replank.profdata");
    let merged = Command::new(&merge)
        .arg("merge")
        .arg("-o")
        .args([&profile, &counts])
        .status()
        .with_context(|| format!("{} cannot be started", merge.display()))?;
    ensure!(merged.success(), "{} ended with {merged}", merge.display());
    Ok(profile)
}

/// What merges the counts: the one of the compiler's own LLVM, as their form changes between versions.
fn merger(host: &str) -> Result<PathBuf> {
    let output =
        Command::new("rustc").args(["--print", "sysroot"]).output().context("rustc cannot be started")?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let name = if cfg!(windows) { "llvm-profdata.exe" } else { "llvm-profdata" };
    let merger = sysroot.join("lib/rustlib").join(host).join("bin").join(name);
    if !merger.exists() {
        bail!(
            "{} is not there: `rustup component add llvm-tools` installs it; without --trained it is not needed",
            merger.display()
        );
    }
    Ok(merger)
}

/// One run, which writes its counts when it ends. 3 and 4 are verdicts, not failures.
fn run(binary: &Path, counts: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new(binary)
        .args(arguments)
        .current_dir(root())
        .env("LLVM_PROFILE_FILE", counts.join("%p.profraw"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("{} cannot be started", binary.display()))?;
    ensure!(
        matches!(status.code(), Some(0 | 3 | 4)),
        "{} {} ended with {status}",
        binary.display(),
        arguments.join(" ")
    );
    Ok(())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}
