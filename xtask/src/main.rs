//! Chores of the workspace: `cargo xtask help`.

mod audit;
mod aws;
mod bench;
mod bench_cluster;
mod bench_dump;
mod bench_files;
mod bench_helm;
mod bench_scan;
mod clients;
mod conformance;
mod control_plane;
mod deps;
mod differential;
mod docs;
mod feed;
mod fidelity;
mod fixes;
mod html;
mod judged;
mod layers;
mod licences;
mod list;
mod memory;
mod openb;
mod pictures;
mod record;
mod release;
mod replay;
mod several;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use workspace::root;

/// Chores of the workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Checks which crate depends on what against the allow-lists, and that the modules of each form layers.
    Deps,
    /// Draws each crate's modules in layers, from the top to the bottom.
    Layers(layers::Args),
    /// Checks licences, sources and names of all crates against deny.toml.
    Licences,
    /// Writes the openb trace as Kubernetes objects: a gzip JSON List.
    Openb(openb::Args),
    /// Rehearses rolls of generated clusters, or scans a generated tree, and prints a table of what that took.
    Bench(bench::Args),
    /// Carries rehearsals out on a real control plane, eviction by eviction, and prints what agrees.
    Replay(replay::Args),
    /// Drains a real control plane by the program and by kubectl, and counts in the server's audit log what each asked for.
    Audit(audit::Args),
    /// Drains a node of a cluster with as many pods as one likes, as a dry run, and prints the most memory that the program ever held.
    Feed(feed::Args),
    /// Rehearses rolls from snapshots of a real control plane, rolls there, and drains by kubectl: prints how far they agree.
    Fidelity(fidelity::Args),
    /// Plays scenarios on a real control plane, and writes down what it does.
    Record(record::Args),
    /// Brings the programs of a real control plane, starts one, and stops it.
    ControlPlane(control_plane::Args),
    /// Runs Kubernetes' conformance tests on the served cluster, or on a real control plane.
    Conformance(conformance::Args),
    /// Runs kubectl, Helm and programs on client-go, kube-rs and the Python client on the served cluster, or on a real control plane.
    Clients(clients::Args),
    /// Runs AWS's clients on the served cluster's AWS: boto3, its command line, Cluster Autoscaler, the node termination handler.
    Aws(aws::Args),
    /// Opens HTML reports of every kind in Chromium: axe-core, requests, size, pictures.
    Html(html::Args),
    /// Sends generated requests to a real control plane and to the served cluster, and prints how far they agree.
    Differential(differential::Args),
    /// Puts real output into the documentation, or checks that what stands there is real.
    Docs(docs::Args),
    /// Plays the tapes of docs/pictures in a terminal, and draws what it shows.
    Pictures(pictures::Args),
    /// Builds what is published of a version: the program, an archive, an SBOM, the manifest of a kubectl plugin.
    Release(release::Args),
    /// Fixes a copy of a directory of manifests and asks Kubernetes' own validation, and kustomize, what they say of it.
    ValidateFixes(fixes::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.task {
        Task::Deps => deps::run(),
        Task::Layers(args) => layers::run(args),
        Task::Licences => licences::run(),
        Task::Openb(args) => openb::run(args),
        Task::Bench(args) => bench::run(args),
        Task::Replay(args) => replay::run(args),
        Task::Audit(args) => audit::run(args),
        Task::Feed(args) => feed::run(args),
        Task::Fidelity(args) => fidelity::run(args),
        Task::Record(args) => record::run(args),
        Task::ControlPlane(args) => control_plane::run(args),
        Task::Conformance(args) => conformance::run(args),
        Task::Clients(args) => clients::run(args),
        Task::Aws(args) => aws::run(args),
        Task::Html(args) => html::run(args),
        Task::Differential(args) => differential::run(args),
        Task::Docs(args) => docs::run(args),
        Task::Pictures(args) => pictures::run(args),
        Task::Release(args) => release::run(args),
        Task::ValidateFixes(args) => fixes::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
