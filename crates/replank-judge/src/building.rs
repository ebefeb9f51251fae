//! The programs of the control plane, built from their public Go modules.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What is built; etcd is Debian's.
const BUILT: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
/// Kubernetes' end-to-end tests, as one program.
pub(crate) const SUITE: &str = "e2e.test";
/// The version that they say they are.
const VERSION: &str = "1.36.2";

/// Builds what `peers/control-plane/go.mod` names into `folder`, and puts Debian's etcd beside it: about 15 minutes of two cores.
///
/// # Errors
/// There is no Go or no etcd, or it does not build.
pub fn build(checkout: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    etcd(&folder)?;
    let (major, minor) =
        VERSION.rsplit_once('.').and_then(|(minor, _)| minor.split_once('.')).unwrap_or_default();
    let told = [
        ("gitVersion", format!("v{VERSION}")),
        ("gitMajor", major.to_owned()),
        ("gitMinor", minor.to_owned()),
        ("gitTreeState", "clean".to_owned()),
    ];
    let told = told.map(|(name, value)| format!("-X k8s.io/component-base/version.{name}={value}"));
    for program in BUILT.iter().filter(|program| !folder.join(program).is_file()) {
        eprintln!("building {program} {VERSION}");
        let done = Command::new("go")
            .args(["build", "-trimpath", "-ldflags", &format!("-s -w {}", told.join(" ")), "-o"])
            .arg(folder.join(program))
            .arg(format!("k8s.io/kubernetes/cmd/{program}"))
            .env("CGO_ENABLED", "0")
            .current_dir(checkout.join("peers/control-plane"))
            .status()
            .context("cannot run go")?;
        ensure!(done.success(), "{program} does not build: see peers/control-plane/README.md");
    }
    Ok(())
}

/// Builds Kubernetes' end-to-end tests, of the same module, into `folder`: about 10 minutes of two cores after the programs.
///
/// # Errors
/// There is no Go, or they do not build.
pub fn build_suite(checkout: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    eprintln!("building {SUITE} {VERSION}");
    let done = Command::new("go")
        .args(["test", "-c", "-trimpath", "-ldflags", "-s -w", "-o"])
        .arg(folder.canonicalize()?.join(SUITE))
        .arg("k8s.io/kubernetes/test/e2e")
        .env("CGO_ENABLED", "0")
        .current_dir(checkout.join("peers/control-plane"))
        .status()
        .context("cannot run go")?;
    ensure!(done.success(), "{SUITE} does not build: see peers/control-plane/README.md");
    Ok(())
}

/// Puts Debian's etcd into the folder; installs it if it is not there.
fn etcd(folder: &Path) -> Result<()> {
    let wanted = folder.join("etcd");
    if wanted.is_file() {
        return Ok(());
    }
    let installed = PathBuf::from("/usr/bin/etcd");
    if !installed.is_file() {
        let done = Command::new("apt-get")
            .args(["install", "-q", "-y", "--no-install-recommends", "etcd-server"])
            .status();
        ensure!(
            done.is_ok_and(|status| status.success()),
            "there is no etcd: install Debian's etcd-server, or put one into {}",
            folder.display()
        );
    }
    std::fs::copy(&installed, &wanted).with_context(|| format!("cannot copy {}", installed.display()))?;
    Ok(())
}
