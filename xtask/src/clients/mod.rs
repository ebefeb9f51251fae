//! Real clients on the served cluster, or on a real control plane: kubectl, client-go, the Python client, kube-rs, Helm.

mod build;
mod go;
mod helm;
mod kube_rs;
mod kubectl;
mod python;
mod task;

pub(crate) use build::k9s;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use replank_judge::session::{Session, Setting, Side, play};

use crate::judged::{Cluster, on_cluster, replank};
use crate::root;
use task::{Task, What};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Runs them on a real control plane, not on the served cluster.
    #[arg(long)]
    real: bool,
    /// Only these clients.
    #[arg(long, value_name = "CLIENT", value_delimiter = ',')]
    only: Vec<Client>,
    /// Only sessions with this in their names.
    #[arg(long, value_name = "TEXT")]
    session: Option<String>,
    /// Takes what a session prints for what it should print; with --real.
    #[arg(long, requires = "real")]
    write: bool,
    /// Builds the clients, and runs none.
    #[arg(long)]
    build: bool,
    /// How many at a time, each on a cluster of its own.
    #[arg(long, default_value_t = 5)]
    jobs: usize,
    /// The program that serves; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// The program on kube-rs; built if it is not given.
    #[arg(long, value_name = "PROGRAM")]
    kube_rs: Option<PathBuf>,
    /// Where logs go.
    #[arg(long, default_value = "target/clients/run")]
    folder: PathBuf,
}

/// A client; those that take longest come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Client {
    /// Helm.
    Helm,
    /// kubectl of the control plane's version.
    Kubectl,
    /// A program on client-go.
    Go,
    /// A program on the Python client.
    Python,
    /// A controller on kube-rs.
    KubeRs,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let tasks = tasks(args)?;
    if args.build {
        return Ok(());
    }
    let folder = root().join(&args.folder);
    replank_judge::replay::clean(&folder)?;
    let served = if args.real { None } else { Some(replank(args.replank.as_deref())?) };
    let cluster =
        Cluster { served: served.as_deref(), arguments: &["--disable-admission-plugins", "ServiceAccount"] };
    let (next, counted, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let told = |line: &str| {
                        println!("{:<16} {line}", task.name);
                        if !line.starts_with(' ') {
                            counted.fetch_add(1, Ordering::Relaxed);
                        }
                        if line.starts_with("FAILED") {
                            wrong
                                .lock()
                                .expect("no thread panics with it")
                                .push(format!("{}: {line}", task.name));
                        }
                    };
                    let place = folder.join(task.name.replace(' ', "-"));
                    let done = on_cluster(&cluster, &place, |kubeconfig| {
                        run_task(task, args, kubeconfig, &place, &told)
                    });
                    if let Err(error) = done.and_then(|done| done) {
                        told(&format!("FAILED {error:#}"));
                    }
                    println!("{:<16} took {:.0} s", task.name, begun.elapsed().as_secs_f64());
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no thread panics with it");
    println!("{} checks by clients, {} failed", counted.into_inner(), wrong.len());
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn tasks(args: &Args) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for client in Client::value_variants() {
        if !args.only.is_empty() && !args.only.contains(client) {
            continue;
        }
        tasks.extend(match client {
            Client::Kubectl => kubectl::tasks()?,
            Client::Go => go::tasks()?,
            Client::Python => python::tasks()?,
            Client::KubeRs => kube_rs::tasks(args.kube_rs.as_deref())?,
            Client::Helm => helm::tasks()?,
        });
    }
    tasks.retain(|task| args.session.as_ref().is_none_or(|part| task.name.contains(part)));
    ensure!(!tasks.is_empty(), "there is no such session");
    Ok(tasks)
}

fn run_task(task: &Task, args: &Args, kubeconfig: &Path, folder: &Path, told: &dyn Fn(&str)) -> Result<()> {
    match &task.what {
        What::Session { file, programs } => {
            let side = if args.real { Side::Real } else { Side::Served };
            let at = file.parent().context("a file is in a folder")?;
            let setting = Setting { kubeconfig, side, programs, at, folder, write: args.write };
            run_session(file, &setting, told)
        }
        What::Program { program, arguments } => {
            let mut command = Command::new(program);
            command.args(arguments).env("KUBECONFIG", kubeconfig);
            command.env("CLIENTS_REAL", if args.real { "1" } else { "0" });
            run_program(&mut command, &folder.join("log"), told)
        }
    }
}

fn run_session(file: &Path, setting: &Setting<'_>, told: &dyn Fn(&str)) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut session = Session::parse(&text).with_context(|| file.display().to_string())?;
    play(&mut session, setting, &|title, wrong| {
        let line = match wrong {
            None => format!("ok {title}"),
            Some(wrong) => format!("FAILED {title}{}", wrong.trim_end().replace('\n', "\n    ")),
        };
        told(&line);
    })?;
    if setting.write {
        std::fs::write(file, session.to_string())?;
    }
    Ok(())
}

fn run_program(command: &mut Command, log: &Path, told: &dyn Fn(&str)) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(log)?)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
    for line in BufReader::new(child.stdout.take().context("it has an output")?).lines() {
        told(&line?);
    }
    ensure!(child.wait()?.success(), "the program failed: {}", log.display());
    Ok(())
}
