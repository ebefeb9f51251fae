//! Kubernetes' conformance tests on the served cluster, or on a real control plane with kubelets played for it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use replank_judge::conformance::{Ended, GROUPS, Suite, Wanted, listed};

use crate::judged::{Cluster, assets, cache, on_cluster, replank};
use crate::root;

/// Those that pass on the real one.
const REAL: &str = "testdata/conformance/real-1.36.2.txt";
/// Those that pass on ours.
const SERVED: &str = "testdata/conformance/served.txt";
/// Those that do not pass on ours, each with its reason.
const EXCEPTIONS: &str = "testdata/conformance/not-served.txt";
/// Those of `.ci/run`.
const QUICK: &str = "testdata/conformance/quick.txt";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Runs them on a real control plane, not on the served cluster.
    #[arg(long)]
    real: bool,
    /// Only tests of this group; may be repeated.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    /// Only tests with this in their names; may be repeated.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Only the dozen quick ones.
    #[arg(long)]
    quick: bool,
    /// All conformance tests of the groups, not only those that pass on the real control plane.
    #[arg(long)]
    all: bool,
    /// Prints their names, and runs none.
    #[arg(long)]
    list: bool,
    /// How many at a time.
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// What one test may take, in seconds: a token of a list is kept for five to ten minutes, and one test waits for its end.
    #[arg(long, default_value_t = 720)]
    timeout: u64,
    /// The kubeconfig of a cluster that runs already, with nodes.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The program that serves; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// Where logs go.
    #[arg(long, default_value = "target/conformance")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let suite = Suite::find(&root(), &cache())?;
    let tests = chosen(args, &suite)?;
    if args.list {
        tests.iter().for_each(|name| println!("{name}"));
        return Ok(());
    }
    let folder = root().join(&args.folder);
    replank_judge::replay::clean(&folder)?;
    std::fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let kubectl = assets().map_or_else(|_| PathBuf::from("kubectl"), |assets| assets.program("kubectl"));
    let ended = at(args, &folder, |kubeconfig| {
        let timeout = Duration::from_secs(args.timeout);
        let wanted = Wanted { kubeconfig, kubectl: &kubectl, folder: &folder, timeout, jobs: args.jobs };
        suite.run(&tests, &wanted, &|one| eprintln!("{one}"))
    })?;
    judge(args, &ended)
}

/// Prints what ended how; fails where one that must pass has not.
fn judge(args: &Args, ended: &[Ended]) -> Result<()> {
    ended.iter().for_each(|one| println!("{one}"));
    let passed = ended.iter().filter(|one| one.failure.is_none()).count();
    println!("{} conformance tests, {passed} passed", ended.len());
    if args.real {
        return Ok(());
    }
    let excepted: BTreeMap<String, Option<String>> = lines(EXCEPTIONS)?.into_iter().collect();
    let must = lines(REAL)?.into_iter().chain(lines(SERVED)?);
    let must: BTreeSet<String> = must.map(|(name, _)| name).collect();
    let wrong: Vec<&str> = ended
        .iter()
        .filter(|one| one.failure.is_some() && must.contains(&one.name) && !excepted.contains_key(&one.name))
        .map(|one| one.name.as_str())
        .collect();
    ensure!(
        wrong.is_empty(),
        "{} have passed here or on a real control plane, and do not pass:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let better = ended.iter().filter(|one| one.failure.is_none() && excepted.contains_key(&one.name));
    for one in better {
        println!("{EXCEPTIONS} names one that passes: {}", one.name);
    }
    Ok(())
}

fn chosen(args: &Args, suite: &Suite) -> Result<Vec<String>> {
    let groups: Vec<String> =
        if args.group.is_empty() { GROUPS.map(str::to_owned).to_vec() } else { args.group.clone() };
    let mut tests = if args.quick {
        lines(QUICK)?.into_iter().map(|(name, _)| name).collect()
    } else if args.all || args.real {
        suite.tests(&groups)?
    } else {
        let passing = lines(REAL)?.into_iter().map(|(name, _)| name);
        passing.filter(|name| groups.iter().any(|group| name.starts_with(&format!("[{group}] ")))).collect()
    };
    tests.retain(|name| args.only.is_empty() || args.only.iter().any(|part| name.contains(part)));
    ensure!(!tests.is_empty(), "there is no such test");
    Ok(tests)
}

fn lines(file: &str) -> Result<Vec<(String, Option<String>)>> {
    let text = std::fs::read_to_string(root().join(file)).with_context(|| format!("cannot read {file}"))?;
    Ok(listed(&text))
}

/// Does something with the cluster that is named, or one that lasts as long.
fn at<T>(args: &Args, folder: &Path, act: impl FnOnce(&Path) -> T) -> Result<T> {
    if let Some(kubeconfig) = &args.kubeconfig {
        return Ok(act(&kubeconfig.canonicalize()?));
    }
    let served = if args.real { None } else { Some(replank(args.replank.as_deref())?) };
    on_cluster(&Cluster { served: served.as_deref(), arguments: &[] }, folder, act)
}
