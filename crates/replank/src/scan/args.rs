//! Arguments of `scan`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use replank_lifecycle::release::Release;
use replank_model::time::Span;

use crate::cli::limit;

/// Arguments of `scan`.
#[derive(Args, Debug)]
pub(crate) struct ScanArgs {
    /// Files or directories: manifests, charts, kustomizations, dumps of a cluster, `terraform show -json`, metrics of the
    /// API server, audit logs; each in gzip too. `-` is standard input. Without any: the directory one is in.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// The Kubernetes version that the cluster is to run, such as 1.36. Otherwise the newest that the data knows.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(crate) target_version: Option<Release>,

    /// The Kubernetes version that the cluster runs: tells what is gone already from what goes on the way.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(crate) current: Option<Release>,

    /// Version of something that is installed into the cluster, such as cert-manager=1.12; without it what its newest version
    /// has dropped is taken for gone.
    #[arg(long, value_name = "NAME=VERSION", value_delimiter = ',', value_parser = installed)]
    pub(crate) installed: Vec<(String, Release)>,

    /// Which findings end with exit code 3; those of low confidence never do.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FailOn::Removed)]
    pub(crate) fail_on: FailOn,

    /// Findings to let be: a file with reasons and days on which they end (docs/scan.md). Otherwise .replank-ignore.yaml in
    /// the directory one is in, where there is one.
    #[arg(long, value_name = "FILE")]
    pub(crate) ignore_file: Option<PathBuf>,

    /// Rows that replace or add to the lifecycle data, in its form (`replank data -o json`).
    #[arg(long, value_name = "FILE")]
    pub(crate) lifecycle: Vec<PathBuf>,

    /// Scans what .gitignore leaves out, too.
    #[arg(long)]
    pub(crate) no_gitignore: bool,

    /// Renders charts with `helm template` and kustomizations with `kustomize build` or `kubectl kustomize`, where these
    /// programs are there. They may fetch what these name.
    #[arg(long)]
    pub(crate) render: bool,

    /// How long a program may take over one chart or kustomization. Then it is ended, and the files are scanned as they are.
    #[arg(long, value_name = "DURATION", requires = "render", default_value = "2m", value_parser = limit)]
    pub(crate) render_timeout: Span,

    /// Writes what was found anew, in place: comments, order, quotes and line ends stay, and lines that need not change. What a
    /// person has to decide is left, and told. Standard input comes out fixed.
    #[arg(long, conflicts_with = "render")]
    pub(crate) fix: bool,

    /// Prints what --fix would change as a unified diff, and writes nothing.
    #[arg(long, conflicts_with = "render", conflicts_with = "output")]
    pub(crate) diff: bool,

    /// With --fix or --diff: what Helm 3 has stored of releases in a dump, instead of manifests. The dump as it was is kept as
    /// FILE.bak.
    #[arg(long, conflicts_with = "render")]
    pub(crate) helm_release: bool,

    /// Threads; otherwise as many as the machine has cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,

    /// Form of the findings; docs/scan.md describes them.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = ScanFormat::Table)]
    pub(crate) output: ScanFormat,
}

impl ScanArgs {
    /// As the clock of the machine counts.
    pub(super) fn render_timeout(&self) -> Duration {
        Duration::from_millis(self.render_timeout.as_millis().unsigned_abs())
    }
}

/// Which findings fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Versions that the target does not serve.
    Removed,
    /// Versions that the target warns of, too.
    Deprecated,
    /// None.
    Never,
}

/// Form of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanFormat {
    /// For a person: by the version that removes.
    Table,
    /// For a program.
    Json,
    /// For a spreadsheet.
    Csv,
    /// For a ticket or a pull request.
    Markdown,
    /// For code scanning: SARIF 2.1.0.
    Sarif,
    /// For the log of a GitHub workflow: annotations of files and lines.
    Github,
}

/// A version of Kubernetes or of a product.
pub(super) fn release(text: &str) -> Result<Release, String> {
    text.parse().map_err(|_| "expected a version such as 1.36".to_owned())
}

fn installed(text: &str) -> Result<(String, Release), String> {
    let (name, version) = text.split_once('=').ok_or("expected NAME=VERSION, such as cert-manager=1.12")?;
    Ok((name.to_owned(), release(version)?))
}
