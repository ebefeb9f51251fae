//! The command line of `migrate`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use replank_core::migrate::{Choice, Path};
use replank_model::selector::LabelSelector;
use replank_model::text::Namespace;
use replank_model::time::{Span, Time};
use replank_protocol::hindrance::ScaleDown;

use crate::snapshot::ReadArgs;

/// Arguments of `migrate`.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct MigrateArgs {
    /// The object: deployment/web, statefulset/db, daemonset/agent or replicaset/web.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) object: String,

    /// Files or directories of Kubernetes objects: YAML, JSON, lists, each in gzip too; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Namespace of the object.
    #[arg(short = 'n', long, value_name = "NAMESPACE", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// The labels that it is to select, such as app=web,tier=front. Those that its template lacks are added to it.
    #[arg(long, value_name = "LABELS", value_parser = selector, conflicts_with = "manifest", required_unless_present_any = ["manifest", "to_rollout"])]
    pub(crate) selector: Option<LabelSelector>,

    /// The object as it is to be, in a file; `-` is standard input. It gets as many replicas as there are.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,

    /// Hand it over to an Argo Rollout of its name that takes its template from it (workloadRef).
    #[arg(long, conflicts_with_all = ["selector", "manifest", "path"])]
    pub(crate) to_rollout: bool,

    /// Who scales the Deployment to nothing when the Rollout serves.
    #[arg(long, value_enum, value_name = "WHO", conflicts_with_all = ["selector", "manifest"], default_value_t = WhoScales::Never)]
    pub(crate) scale_down: WhoScales,

    /// By which way.
    #[arg(long, value_enum, value_name = "WAY", default_value_t = Way::Auto)]
    pub(crate) path: Way,

    /// How long a twin, a Rollout or the new Deployment may take to serve.
    #[arg(long, value_name = "SPAN", default_value = "30m")]
    pub(crate) patience: Span,

    /// Seed of all that is drawn.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The moment of the snapshot, such as 2026-11-20T09:52:00Z. Otherwise it is found in the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Form of the report; docs/migrate.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    pub(crate) output: Format,
}

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

/// Which way is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// The one that keeps the pods where it is possible, else a twin.
    Auto,
    /// The pods are kept, or nothing is done.
    Keep,
    /// A copy serves meanwhile.
    Twin,
}

/// `spec.workloadRef.scaleDown` of the Rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhoScales {
    /// Replank does, when every Service has the Rollout's pods.
    Never,
    /// Argo Rollouts does, when the Rollout is healthy.
    Onsuccess,
    /// Argo Rollouts does, as pods of the Rollout get ready.
    Progressively,
}

impl WhoScales {
    pub(super) fn scale_down(self) -> ScaleDown {
        match self {
            Self::Never => ScaleDown::Never,
            Self::Onsuccess => ScaleDown::OnSuccess,
            Self::Progressively => ScaleDown::Progressively,
        }
    }
}

impl Way {
    pub(super) fn choice(self) -> Choice {
        match self {
            Self::Auto => Choice::Auto,
            Self::Keep => Choice::Only(Path::Keep),
            Self::Twin => Choice::Only(Path::Twin),
        }
    }
}

/// `app=web,tier=front`
fn selector(text: &str) -> Result<LabelSelector, String> {
    let mut labels: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
    for pair in text.split(',').map(str::trim) {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(format!("{pair:?} is no label: write key=value, several with commas between them"));
        };
        if labels.insert(Arc::from(key), Arc::from(value.trim_start_matches('='))).is_some() {
            return Err(format!("label {key} is there twice"));
        }
    }
    let selector = LabelSelector { match_labels: labels, ..LabelSelector::default() };
    let problems = selector.validate("selector");
    match problems.first() {
        None => Ok(selector),
        Some(problem) => Err(problem.to_string()),
    }
}
