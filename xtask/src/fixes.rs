//! Whether what `replank scan --fix` writes is taken by Kubernetes' own validation, and builds as before.
//!
//! A copy of a directory is fixed. Every object that was changed goes to `peers/kube-validation`, which is
//! Kubernetes' own code; every kustomization is built before and after, and both results, fixed once more, have to be the same.
//! What is not on the machine (Go, kubectl) is named, and that part is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read;
use replank_intake::source::Source;
use serde_json::{Value, json};

use crate::{memory, workspace};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Directory of manifests. It is copied and stays as it is.
    directory: PathBuf,
    /// The binary; by default the release build.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// The version of Kubernetes to fix for.
    #[arg(long, default_value = "1.36")]
    target_version: String,
    /// `peers/kube-validation`, built; by default it is built, if Go is there.
    #[arg(long)]
    validator: Option<PathBuf>,
    /// Keeps the fixed copy there.
    #[arg(long)]
    keep: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => workspace::root().join("target/release/replank"),
    };
    ensure!(binary.exists(), "{} is not there: cargo build --release -p replank", binary.display());
    // It is run in the copy.
    let binary = binary.canonicalize()?;
    let copy = match &args.keep {
        Some(keep) => keep.clone(),
        None => std::env::temp_dir().join(format!("replank-fixes-{}", std::process::id())),
    };
    ensure!(!copy.exists(), "{} exists already", copy.display());
    copy_all(&args.directory, &copy)?;
    let done = judge(args, &binary, &copy);
    if args.keep.is_none() {
        fs::remove_dir_all(&copy).with_context(|| format!("removing {}", copy.display()))?;
    }
    done
}

fn judge(args: &Args, binary: &Path, copy: &Path) -> Result<()> {
    let replank = Replank { binary, target: &args.target_version };
    let scan = replank.measured(copy, &[])?;
    let fix = replank.measured(copy, &["--fix"])?;
    println!("| run | wall | peak memory |\n|---|---|---|");
    for (name, run) in [("scan", &scan), ("scan --fix", &fix)] {
        println!("| {name} | {:.2} s | {} MB |", run.wall.as_secs_f64(), run.peak_kib / 1024);
    }
    println!("| times | {:.2} | |\n", fix.wall.as_secs_f64() / scan.wall.as_secs_f64().max(0.001));
    let changed = changed(&args.directory, copy)?;
    println!("{} files changed", changed.len());
    let refused = objects(args, &changed)?;
    let broken = kustomizations(&replank, &args.directory, copy)?;
    ensure!(
        refused == 0 && broken == 0,
        "{refused} objects refused, {broken} kustomizations build otherwise"
    );
    Ok(())
}

struct Measured {
    wall: Duration,
    peak_kib: u64,
}

struct Replank<'r> {
    binary: &'r Path,
    target: &'r str,
}

impl Replank<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(self.binary);
        command.args([
            "scan",
            "--target-version",
            self.target,
            "--fail-on",
            "never",
            "--allow-incomplete",
            "read",
        ]);
        command
    }

    fn measured(&self, directory: &Path, options: &[&str]) -> Result<Measured> {
        let start = Instant::now();
        let mut command = self.command();
        command.args(options).arg(".").current_dir(directory).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("running {}", self.binary.display()))?;
        let peak_kib = memory::watch(&mut child)?;
        let status = child.wait()?;
        ensure!(status.success(), "scan {}: {status}", options.join(" "));
        Ok(Measured { wall: start.elapsed(), peak_kib })
    }

    /// The objects of a text, fixed.
    fn fixed(&self, text: &[u8]) -> Result<Vec<Value>> {
        let mut command = self.command();
        let fixed = with_input(command.args(["--fix", "-"]), text)?;
        documents(&fixed)
    }
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let to = to.join(entry.file_name());
        if kind.is_dir() {
            copy_all(&entry.path(), &to)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &to).with_context(|| format!("copying {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Files that differ in the copy, each as it was and as it is.
fn changed(original: &Path, copy: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut all = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(copy)?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let original = original.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            all.extend(changed(&original, &entry.path())?);
        } else if fs::read(entry.path())? != fs::read(&original)? {
            all.push((original, entry.path()));
        }
    }
    Ok(all)
}

fn documents(bytes: &[u8]) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    read::read(vec![Source::bytes("x", bytes)], &Limits::default(), &mut |found| {
        if let Found::Document(document) = found {
            all.push(document.value.clone());
        }
    })?;
    Ok(all)
}

/// How the validator answered, by kind.
#[derive(Default)]
struct Answers {
    taken: u64,
    refused: u64,
}

/// Sends every object that was changed to the validator; how many were refused.
fn objects(args: &Args, files: &[(PathBuf, PathBuf)]) -> Result<u64> {
    let Some(validator) = validator(args)? else { return Ok(0) };
    let mut cases = String::new();
    // Of a patch nobody can say whether it would be taken; what it comes to is built below.
    let patches = patches(files)?;
    for (original, file) in files.iter().filter(|(_, file)| !patches.contains(file)) {
        let before = documents(&fs::read(original)?)?;
        for (index, object) in documents(&fs::read(file)?)?.into_iter().enumerate() {
            if before.contains(&object) {
                continue;
            }
            let is_object = object["kind"].is_string() && object["apiVersion"].is_string();
            if is_object && !object["metadata"]["name"].is_null() {
                let id = format!("{} {}", file.display(), index + 1);
                cases.push_str(&json!({"id": id, "object": object}).to_string());
                cases.push('\n');
            }
        }
    }
    let mut command = Command::new(validator);
    let answers = with_input(command.args(["check", "-skip-unknown", "-times", "1"]), cases.as_bytes())?;
    let mut by_kind: BTreeMap<String, Answers> = BTreeMap::new();
    let (mut unjudged, mut told) = (0, Vec::new());
    for line in String::from_utf8(answers)?.lines() {
        let answer: Value = serde_json::from_str(line)?;
        if answer["unjudged"] == true {
            unjudged += 1;
            continue;
        }
        let object = &answer["object"];
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let of = by_kind.entry(format!("{} {}", text("apiVersion"), text("kind"))).or_default();
        let unknown = answer["unknown"].as_str().unwrap_or_default();
        if answer["expect"]["ok"] == true && unknown.is_empty() {
            of.taken += 1;
        } else {
            of.refused += 1;
            let message = answer["expect"]["message"].as_str().unwrap_or(unknown);
            let short: String = message.chars().take(TOLD_CHARACTERS_MAX).collect();
            told.push(format!("{}: {short}", answer["id"].as_str().unwrap_or_default()));
        }
    }
    println!("\n| kind, as written | accepted | refused |\n|---|---|---|");
    for (kind, of) in &by_kind {
        println!("| {kind} | {} | {} |", of.taken, of.refused);
    }
    println!("\n{unjudged} objects of other kinds were not judged");
    told.iter().for_each(|line| println!("refused: {line}"));
    Ok(by_kind.values().map(|of| of.refused).sum())
}

/// Files that a kustomization beside them has for patches.
fn patches(files: &[(PathBuf, PathBuf)]) -> Result<BTreeSet<PathBuf>> {
    let mut all = BTreeSet::new();
    let directories: BTreeSet<&Path> = files.iter().filter_map(|(_, file)| file.parent()).collect();
    for directory in directories {
        let Some(file) = KUSTOMIZATIONS.iter().map(|name| directory.join(name)).find(|file| file.exists())
        else {
            continue;
        };
        for layer in documents(&fs::read(file)?)? {
            let items = |key: &str| layer[key].as_array().cloned().unwrap_or_default();
            let listed = items("patchesStrategicMerge");
            let of_path =
                items("patches").into_iter().chain(items("patchesJson6902")).map(|item| item["path"].clone());
            let names = listed.into_iter().chain(of_path);
            all.extend(names.filter_map(|name| Some(directory.join(name.as_str()?))));
        }
    }
    Ok(all)
}

/// Names under which kustomize looks for a kustomization.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Of a message that may show a whole schema.
const TOLD_CHARACTERS_MAX: usize = 400;

/// The program around Kubernetes' code. `None`, told, where it cannot be had.
fn validator(args: &Args) -> Result<Option<PathBuf>> {
    if let Some(program) = &args.validator {
        return Ok(Some(program.clone()));
    }
    if Command::new("go").arg("version").output().is_err() {
        println!("objects were not judged: Go is not installed, which builds peers/kube-validation");
        return Ok(None);
    }
    let peer = workspace::root().join("peers/kube-validation");
    let status =
        Command::new("go").args(["build", "-o", "kube-validation", "."]).current_dir(&peer).status()?;
    if status.success() {
        return Ok(Some(peer.join("kube-validation")));
    }
    println!("objects were not judged: peers/kube-validation does not build here ({status})");
    Ok(None)
}

/// Builds every kustomization before and after; how many come out otherwise.
fn kustomizations(replank: &Replank<'_>, original: &Path, copy: &Path) -> Result<u64> {
    if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
        println!("kustomizations were not built: kubectl is not installed");
        return Ok(0);
    }
    let mut all = Vec::new();
    roots(copy, &mut all)?;
    let (mut same, mut unbuilt, mut broken) = (0, 0, 0);
    for after in all {
        let before = original.join(after.strip_prefix(copy)?);
        let Ok(built) = build(&before) else {
            unbuilt += 1;
            continue;
        };
        let differs = match build(&after) {
            Err(error) => Some(error.to_string()),
            Ok(again) => {
                let (mut one, mut other) = (replank.fixed(&built)?, replank.fixed(&again)?);
                // The order of what is built follows from kinds and versions.
                one.sort_by_key(Value::to_string);
                other.sort_by_key(Value::to_string);
                (one != other).then(|| "it comes out otherwise".to_owned())
            }
        };
        match differs {
            None => same += 1,
            Some(why) => {
                broken += 1;
                println!("{}: {why}", after.display());
            }
        }
    }
    println!("\nkustomizations: {same} build the same, {broken} do not, {unbuilt} did not build before");
    Ok(broken)
}

fn roots(directory: &Path, all: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            roots(&entry.path(), all)?;
        } else if entry.file_name().to_str().is_some_and(|name| KUSTOMIZATIONS.contains(&name)) {
            all.push(directory.to_owned());
        }
    }
    Ok(())
}

fn build(directory: &Path) -> Result<Vec<u8>> {
    let built = Command::new("kubectl").arg("kustomize").arg(directory).output()?;
    if !built.status.success() {
        bail!("it does not build: {}", String::from_utf8_lossy(&built.stderr).trim());
    }
    Ok(built.stdout)
}

fn with_input(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child =
        command.spawn().with_context(|| format!("running {}", command.get_program().display()))?;
    let mut stdin = child.stdin.take().context("no input")?;
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.write_all(input));
        let output = child.wait_with_output()?;
        writer.join().map_err(|_| anyhow::anyhow!("writing the input"))??;
        Ok(output.stdout)
    })
}
