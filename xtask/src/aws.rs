//! AWS's clients on `replank cluster up --aws`: boto3, the command line, the real Cluster Autoscaler and node termination handler.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::judged::replank;
use crate::root;

/// Programs of others, by the beginnings of their archives' names.
const AUTOSCALER: &str = "cluster-autoscaler-";
const HANDLER: &str = "node-termination-handler-";
/// The parts that need nothing served.
const SIGNATURES: &str = "signatures";
const MEMBERS: &str = "members";
/// What is known of the members of calls.
const TABLE: &str = "crates/replank-aws/src/members/members.txt";
/// Names the folder with their archives.
const PEERS: &str = "REPLANK_PEERS";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only one part: `signatures` (ours held against botocore's), `members` (of calls, as botocore's models have them), `calls`, `identity`, `commands`, `autoscaler`, `termination`, `moto` (the driver on somebody else's server); or `interruptions` and `pending`, which measure and run only where they are asked for.
    #[arg(long)]
    only: Option<String>,
    /// How many instances are interrupted at once.
    #[arg(long, default_value_t = 50)]
    interrupted: u32,
    /// How many pods wait for a node at once.
    #[arg(long, default_value_t = 10_000)]
    pending: u32,
    /// The program that serves; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// Where logs go.
    #[arg(long, default_value = "target/aws/run")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let python = environment()?;
    if args.only.as_deref().is_none_or(|only| only == SIGNATURES) {
        signatures(&python)?;
    }
    if args.only.as_deref().is_none_or(|only| only == MEMBERS) {
        members(&python)?;
    }
    if args.only.as_deref().is_some_and(|only| [SIGNATURES, MEMBERS].contains(&only)) {
        return Ok(());
    }
    let peers = peers()?;
    let served = replank(args.replank.as_deref())?;
    let served = served.canonicalize().with_context(|| format!("{} is not there", served.display()))?;
    let mut command = crate::workspace::of_no_crate(Command::new(python));
    command.arg(root().join("peers/aws-clients/main.py")).arg("--replank").arg(served);
    command.arg("--autoscaler").arg(unpacked(&peers, AUTOSCALER)?);
    command.arg("--handler").arg(unpacked(&peers, HANDLER)?);
    command.arg("--folder").arg(root().join(&args.folder));
    command.args(["--interrupted", &args.interrupted.to_string(), "--pending", &args.pending.to_string()]);
    if let Some(only) = &args.only {
        command.args(["--only", only]);
    }
    let done = command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1").status()?;
    ensure!(done.success(), "what AWS's clients met is told above; logs are in {}", args.folder.display());
    Ok(())
}

/// The driver's signatures of random requests and its endpoints, held against botocore's.
fn signatures(python: &Path) -> Result<()> {
    let mut cargo = crate::workspace::cargo();
    // The program beside it, so that what both stand on has the same features as in the whole workspace, and is not built again.
    cargo.args(["test", "-p", "replank-live", "-p", "replank", "--locked", "--lib"]);
    cargo.args(["botocore_", "--", "--nocapture"]);
    let ran = cargo.current_dir(root()).env("REPLANK_PYTHON", python).output()?;
    let told = String::from_utf8_lossy(&ran.stdout);
    ensure!(
        ran.status.success() && told.contains("2 passed") && !told.contains("not run"),
        "signatures: {told}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    println!("ok     signatures: 300 random requests, as botocore signs them");
    println!("ok     endpoints: hosts of each partition, as botocore has them");
    Ok(())
}

/// The table of members, held against botocore's models.
fn members(python: &Path) -> Result<()> {
    let mut command = Command::new(python);
    command.arg(root().join("peers/aws-clients/members.py")).arg("--check").arg(root().join(TABLE));
    let ran = command.env("PYTHONDONTWRITEBYTECODE", "1").output()?;
    let told = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "{TABLE} is not what peers/aws-clients/members.py writes:\n{told}");
    println!("ok     members of calls, as botocore's models have them");
    Ok(())
}

/// Python with boto3, the command line and moto.
fn environment() -> Result<PathBuf> {
    let wanted = root().join("peers/aws-clients/requirements.txt");
    let folder = root().join("target/aws/python");
    let (program, installed) = (folder.join("bin/python"), folder.join("requirements.txt"));
    let list = std::fs::read(&wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    if std::fs::read(&installed).ok().as_ref() != Some(&list) {
        let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder).status();
        let made = made.context("python3 cannot be started: install Python 3 with venv")?;
        ensure!(made.success(), "python3 cannot make an environment: install Python 3 with venv");
        let pip = ["-m", "pip", "install", "--quiet", "--requirement"];
        let done = Command::new(&program).args(pip).arg(&wanted).status()?;
        ensure!(done.success(), "boto3, awscli and moto cannot be installed");
        std::fs::write(&installed, &list)?;
    }
    Ok(program)
}

/// The folder with the archives: the one that is named, or `shared/peers` beside the checkout.
fn peers() -> Result<PathBuf> {
    let named = std::env::var_os(PEERS).map(PathBuf::from);
    let beside = root().parent().map(|parent| parent.join("shared/peers"));
    let found = named.or(beside).filter(|folder| folder.is_dir());
    found.with_context(|| format!("Cluster Autoscaler and the node termination handler are not there: name the folder of their archives, {PEERS}=DIR"))
}

/// The program of an archive, unpacked once.
fn unpacked(peers: &Path, begins: &str) -> Result<PathBuf> {
    let entries = std::fs::read_dir(peers).with_context(|| format!("cannot read {}", peers.display()))?;
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(own) = name.strip_suffix(".xz").filter(|own| own.starts_with(begins)) else { continue };
        let folder = root().join("target/aws/bin");
        let program = folder.join(own);
        if !program.exists() {
            std::fs::create_dir_all(&folder)?;
            let output = Command::new("xz").args(["-dkc"]).arg(peers.join(&name)).output();
            let output = output.context("xz cannot be started: install xz-utils")?;
            ensure!(
                output.status.success(),
                "{name} cannot be unpacked: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let beside = folder.join(format!("{own}.new"));
            std::fs::write(&beside, &output.stdout)?;
            let mut rights = std::fs::metadata(&beside)?.permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
            std::fs::set_permissions(&beside, rights)?;
            std::fs::rename(&beside, &program)?;
        }
        return Ok(program);
    }
    bail!("{} has no {begins}*.xz", peers.display())
}
