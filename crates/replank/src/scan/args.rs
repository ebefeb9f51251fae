//! Arguments of `scan`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use replank_facts::coverage::Allowed;
use replank_lifecycle::release::Release;
use replank_model::time::Span;

use crate::cli::limit;
use crate::live::LiveArgs;
use crate::output::ScanFormat;

/// Arguments of `scan`.
#[derive(Args, Debug)]
pub(crate) struct ScanArgs {
    /// Files or directories: manifests, charts, kustomizations, dumps of a cluster, `terraform show -json`, metrics of the
    /// API server, audit logs; optionally gzipped. `-` is standard input. Default: the current directory.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Scans the cluster of the current kubeconfig context: its objects, who writes them at which version, and what its API server counts. --context and
    /// --kubeconfig do so, too, with another cluster.
    #[arg(long, conflicts_with_all = ["fix", "diff"])]
    pub(crate) cluster: bool,

    /// The live cluster that is scanned.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// With a live cluster: also reads the Secrets in which Helm keeps its releases. They are not kept.
    #[arg(long)]
    pub(crate) helm_releases: bool,

    /// The target Kubernetes version, such as 1.36. By default the newest in the built-in data.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(crate) target_version: Option<Release>,

    /// The Kubernetes version that the cluster runs: separates APIs that are already removed from those removed on the way.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(crate) current: Option<Release>,

    /// Version of a product installed in the cluster, such as cert-manager=1.12; without it, APIs that its newest version
    /// has removed count as removed.
    #[arg(long, value_name = "NAME=VERSION", value_delimiter = ',', value_parser = installed)]
    pub(crate) installed: Vec<(String, Release)>,

    /// Which findings cause exit code 3; those of low confidence never do.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FailOn::Removed)]
    pub(crate) fail_on: FailOn,

    /// Accepts that something is missing: `read` for input that cannot be read, or `data` for a target beyond the built-in data.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) allow_incomplete: Vec<Allowed>,

    /// Findings to ignore: a file with reasons and expiry dates (docs/scan.md). By default .replank-ignore.yaml in
    /// the current directory, if it exists.
    #[arg(long, value_name = "FILE")]
    pub(crate) ignore_file: Option<PathBuf>,

    /// Rows that replace or extend the lifecycle data, in the format of `replank data -o json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) lifecycle: Vec<PathBuf>,

    /// Also scans files that .gitignore excludes.
    #[arg(long)]
    pub(crate) no_gitignore: bool,

    /// Renders charts with `helm template` and kustomizations with `kustomize build` or `kubectl kustomize`, if these
    /// programs are installed. They may download what the charts and kustomizations reference.
    #[arg(long)]
    pub(crate) render: bool,

    /// Time limit of a program for one chart or kustomization. After that it is killed and the files are scanned as they are.
    #[arg(long, value_name = "DURATION", requires = "render", default_value = "2m", value_parser = limit)]
    pub(crate) render_timeout: Span,

    /// Rewrites findings in place; comments, order, quotes, line endings and unaffected lines are kept. What a
    /// person has to decide is left and reported. Standard input is printed fixed.
    #[arg(long, conflicts_with = "render")]
    pub(crate) fix: bool,

    /// Prints what --fix would change as a unified diff, and writes nothing.
    #[arg(long, conflicts_with = "render", conflicts_with = "output")]
    pub(crate) diff: bool,

    /// With --fix or --diff: rewrites the Helm 3 releases stored in a dump instead of manifests. The original dump is kept as
    /// FILE.bak.
    #[arg(long, conflicts_with = "render")]
    pub(crate) helm_release: bool,

    /// Shows all places, where the text has only the worst files of many.
    #[arg(long)]
    pub(crate) all: bool,

    /// Number of threads. By default the number of CPU cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,

    /// Output format; docs/scan.md describes them.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = ScanFormat::Text)]
    pub(crate) output: ScanFormat,
}

impl ScanArgs {
    /// Whether a live cluster is scanned.
    pub(super) fn is_live(&self) -> bool {
        self.cluster || self.live.is_asked_for()
    }

    /// In wall-clock time.
    pub(super) fn render_timeout(&self) -> Duration {
        Duration::from_millis(self.render_timeout.as_millis().unsigned_abs())
    }
}

/// Which findings fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Versions that the target does not serve.
    Removed,
    /// Also versions that the target deprecates.
    Deprecated,
    /// None.
    Never,
}

/// A version of Kubernetes or of a product.
pub(super) fn release(text: &str) -> Result<Release, String> {
    text.parse().map_err(|_| "expected a version such as 1.36".to_owned())
}

fn installed(text: &str) -> Result<(String, Release), String> {
    let (name, version) = text.split_once('=').ok_or("expected NAME=VERSION, such as cert-manager=1.12")?;
    Ok((name.to_owned(), release(version)?))
}
