//! What is published of a version: the program of the profile `dist`, its size and how fast it starts, an archive, an SBOM, and the manifest of a kubectl plugin.

mod archive;
mod build;
mod elf;
mod krew;
mod sbom;
mod started;
mod trained;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use ring::digest::{SHA256, digest};
use serde_json::Value;

use crate::root;

/// What is released, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The target that is built for, such as x86_64-unknown-linux-musl: with musl the program needs no library of the machine. By default this machine's own.
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,

    /// Builds nothing: takes the program of --binary.
    #[arg(long, requires = "binary")]
    no_build: bool,

    /// Builds twice: first a program that counts what it does on generated and bundled clusters, then one that is optimised by these counts. Takes twice the time.
    #[arg(long, conflicts_with = "no_build")]
    trained: bool,

    /// A program that is there.
    #[arg(long, value_name = "FILE", requires = "no_build")]
    binary: Option<PathBuf>,

    /// Folder that everything is written into. Archives of this version that are there, of other targets, get into the manifest, too.
    #[arg(long, value_name = "DIR", default_value = "target/released")]
    out: PathBuf,

    /// Where the archives are published.
    #[arg(long, value_name = "URL", default_value = "https://github.com/replank/replank/releases/download")]
    uri: String,

    /// How often each start is measured; an odd number has one in the middle.
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// Builds or takes the program, measures it, and writes what is published.
pub(crate) fn run(args: &Args) -> Result<()> {
    let host = host()?;
    let target = args.target.as_deref().unwrap_or(&host);
    let platform = krew::platform(target)?;
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => build::build(target, &root().join("target"), &flags(target, &host, args.trained)?)?,
    };
    let bytes = std::fs::read(&binary).with_context(|| format!("{} cannot be read", binary.display()))?;
    println!("{}: {} bytes, {}", binary.display(), bytes.len(), elf::linking(&bytes));
    if runs_here(target, &host) {
        for flag in ["--version", "--help"] {
            let median = started::median(&binary, flag, args.runs)?;
            println!(
                "replank {flag}: {:.1} ms, the median of {} runs",
                median.as_secs_f64() * 1e3,
                args.runs
            );
        }
    } else {
        println!("not started: it is built for {target}, and this is {host}");
    }

    let metadata = metadata(target)?;
    let version = version(&metadata)?;
    let out = root().join(&args.out);
    std::fs::create_dir_all(out.join("plugins"))
        .with_context(|| format!("{} cannot be made", out.display()))?;
    let licence = std::fs::read(root().join("LICENSE")).context("LICENSE cannot be read")?;
    let name = archive::name(&version, target);
    let packed = archive::packed(&[("LICENSE", 0o644, &licence), ("replank", 0o755, &bytes)])?;
    write(&out.join(&name), &packed)?;

    let lock = std::fs::read_to_string(root().join("Cargo.lock")).context("Cargo.lock cannot be read")?;
    let sbom = sbom::of(&metadata, &lock, &sha256(&bytes))?;
    write(&out.join(format!("replank-{version}-{target}.cdx.json")), format!("{sbom:#}\n").as_bytes())?;

    let mut platforms = vec![(platform, name, sha256(&packed))];
    platforms.extend(others(&out, &version, target)?);
    platforms.sort();
    let manifest = krew::manifest(&version, &args.uri, &platforms);
    write(&out.join("plugins/replank.yaml"), manifest.as_bytes())?;

    // What image/Dockerfile takes.
    let folder = out.join("image").join(platform.os).join(platform.arch);
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    std::fs::copy(&binary, folder.join("replank")).context("the program cannot be copied")?;
    println!("written: {}", folder.join("replank").display());
    Ok(())
}

/// What the compiler is told besides the profile `dist`: what the program spends its time in, where it runs on this machine and so can be measured.
fn flags(target: &str, host: &str, trained: bool) -> Result<Vec<String>> {
    if !trained {
        return Ok(Vec::new());
    }
    if !runs_here(target, host) {
        println!("not trained: it is built for {target}, and this is {host}");
        return Ok(Vec::new());
    }
    let profile = trained::profile(target, host)?;
    Ok(vec![format!("-Cprofile-use={}", profile.display())])
}

/// Whether what is built for a target can be started on this machine: x86_64-unknown-linux-musl where x86_64-unknown-linux-gnu can.
fn runs_here(target: &str, host: &str) -> bool {
    let machine = |triple: &str| triple.split('-').take(3).map(str::to_owned).collect::<Vec<_>>();
    machine(target) == machine(host)
}

/// The target of this machine.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it is built for")?.to_owned())
}

/// What cargo resolves for a target.
fn metadata(target: &str) -> Result<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", target])
        .current_dir(root())
        .output()
        .context("cargo metadata cannot be started")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).context("what cargo metadata printed")
}

/// The version of the program.
fn version(metadata: &Value) -> Result<String> {
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let own = packages.iter().find(|package| package["name"] == "replank");
    let version = own.and_then(|package| package["version"].as_str());
    Ok(version.context("there is no crate replank")?.to_owned())
}

/// Archives of the same version for other targets.
fn others(out: &Path, version: &str, own: &str) -> Result<Vec<(krew::Platform, String, String)>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(out).with_context(|| format!("{} cannot be read", out.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let Some(target) = archive::target(&name, version).filter(|target| *target != own) else { continue };
        let platform = krew::platform(target)?;
        if all.iter().any(|(known, _, _)| *known == platform) || platform == krew::platform(own)? {
            bail!("{name} is a second archive for {}/{}: remove one", platform.os, platform.arch);
        }
        let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        all.push((platform, name, sha256(&bytes)));
    }
    Ok(all)
}

fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("{} cannot be written", path.display()))?;
    println!("written: {}", path.display());
    Ok(())
}
