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

use crate::live::LiveArgs;
use crate::output::AnswerFormat;
use crate::snapshot::ReadArgs;

/// Arguments of `migrate`.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct MigrateArgs {
    /// The object: deployment/web, statefulset/db, daemonset/agent or replicaset/web.
    #[arg(value_name = "KIND/NAME")]
    pub(crate) object: String,

    /// Files or directories of Kubernetes objects: YAML, JSON or lists, optionally gzipped; `-` is standard input.
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshots: Vec<OsString>,

    /// Namespace of the object.
    #[arg(short = 'n', long, value_name = "NAMESPACE", default_value = "default")]
    pub(crate) namespace: Namespace,

    /// The labels of the new selector, such as app=web,tier=front. Labels missing from the template are added to it.
    #[arg(long, value_name = "LABELS", value_parser = selector, conflicts_with = "manifest", required_unless_present_any = ["manifest", "to_rollout"])]
    pub(crate) selector: Option<LabelSelector>,

    /// A file with the new object; `-` is standard input. The current number of replicas is kept.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,

    /// Hand the Deployment over to an Argo Rollout of the same name that references its template (workloadRef).
    #[arg(long, conflicts_with_all = ["selector", "manifest", "path"])]
    pub(crate) to_rollout: bool,

    /// Who scales the Deployment to zero when the Rollout serves.
    #[arg(long, value_enum, value_name = "WHO", conflicts_with_all = ["selector", "manifest"], default_value_t = WhoScales::Never)]
    pub(crate) scale_down: WhoScales,

    /// Which path to take.
    #[arg(long, value_enum, value_name = "WAY", default_value_t = Way::Auto)]
    pub(crate) path: Way,

    /// How long a twin, a Rollout or the new Deployment may take until it serves.
    #[arg(long, value_name = "SPAN", default_value = "30m")]
    pub(crate) patience: Span,

    /// Carries the migration out on the live cluster, if the rehearsal has no downtime. What was begun is gone on with.
    #[arg(long, conflicts_with = "output")]
    pub(crate) apply: bool,

    /// Takes back a migration that was begun on the live cluster: what serves goes on serving, and the object is as it was.
    #[arg(long, conflicts_with_all = ["apply", "output"])]
    pub(crate) cancel: bool,

    /// With --apply or --cancel: does not ask before the cluster is changed.
    #[arg(long)]
    pub(crate) yes: bool,

    /// With --apply or --cancel: writes each decision, its reasons and what came of it to a new file, as lines of JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Seed of all random draws.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Time of the snapshot, such as 2026-11-20T09:52:00Z. By default it is taken from the snapshot.
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<Time>,

    /// The live cluster that is read where no snapshot is given.
    #[command(flatten)]
    pub(crate) live: LiveArgs,

    /// How the snapshot is read.
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Output format; docs/migrate.md describes the JSON.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,
}

/// Which way is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// Keep the pods if possible, otherwise use a twin.
    Auto,
    /// Keep the pods, or do nothing.
    Keep,
    /// A temporary copy serves meanwhile.
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
            return Err(format!("{pair:?} is not a label: write key=value, separated by commas"));
        };
        if labels.insert(Arc::from(key), Arc::from(value.trim_start_matches('='))).is_some() {
            return Err(format!("label {key} is given twice"));
        }
    }
    let selector = LabelSelector { match_labels: labels.into(), ..LabelSelector::default() };
    let problems = selector.validate("selector");
    match problems.first() {
        None => Ok(selector),
        Some(problem) => Err(problem.to_string()),
    }
}
