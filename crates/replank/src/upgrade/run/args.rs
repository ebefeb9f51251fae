//! The command line of `upgrade run`, `resume`, `status` and `cancel`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use replank_facts::coverage::Allowed;
use replank_lifecycle::release::Release;
use replank_model::text::Namespace;
use replank_model::time::Span;
use replank_protocol::record::NAMESPACE;

use crate::args::limit;
use crate::live::LiveArgs;
use crate::output::EventsFormat;
use crate::roll::AwsArgs;
use crate::snapshot::ReadArgs;
use crate::upgrade::values::{RouteWord, ahead, kubelet, release};

/// Arguments of `upgrade run`.
#[derive(Args, Debug)]
pub(crate) struct UpgradeRunArgs {
    /// The Kubernetes version to go to, such as 1.36.
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub(super) to: Release,

    /// The cluster's name in EKS. By default the one that its nodes name.
    #[arg(long, value_name = "NAME")]
    pub(super) cluster: Option<String>,

    /// Begins without asking. Needed where there is no terminal.
    #[arg(long)]
    pub(super) yes: bool,

    /// Shows the plan, with what blocks it, and changes nothing.
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Manifests, charts and other input of `replank scan`, to find API versions that are removed on the way.
    #[arg(long, value_name = "PATH")]
    pub(super) scan: Vec<PathBuf>,

    /// Arguments of a group's kubelets: its user data or a NodeConfig, also in base64 or as `aws ec2
    /// describe-launch-template-versions` prints it.
    #[arg(long, value_name = "GROUP=FILE", value_parser = kubelet)]
    pub(super) kubelet: Vec<(String, PathBuf)>,

    /// When to roll nodes. By default as rarely as the version skew policy allows.
    #[arg(long, value_enum, value_name = "WAY")]
    pub(super) route: Option<RouteWord>,

    /// How long the control plane is watched after each of its steps. Default 1d; 0d skips this.
    #[arg(long, value_name = "SPAN", value_parser = ahead)]
    pub(super) bake: Option<Span>,

    /// Skips the rehearsals of the rolls in the plan. Each roll is still rehearsed before it begins.
    #[arg(long)]
    pub(super) no_rehearsal: bool,

    /// How far to go, and what to do on the way.
    #[command(flatten)]
    pub(super) how: HowArgs,

    /// How it is told, and where.
    #[command(flatten)]
    pub(super) place: PlaceArgs,

    /// The account.
    #[command(flatten)]
    pub(super) aws: AwsArgs,

    /// How the cluster is read.
    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// How steps are carried out.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(crate) struct HowArgs {
    /// What EKS does with add-on fields that somebody has changed: NONE (the update fails), OVERWRITE (EKS's values) or PRESERVE (yours stay). Without ADDON=, it applies
    /// to all add-ons. May be given several times. Default NONE.
    #[arg(long, value_name = "[ADDON=]WHAT", value_parser = conflicts, value_delimiter = ',')]
    pub(super) conflicts: Vec<(Option<String>, Conflicts)>,

    /// Continues although EKS's insights report an error, and sends `force` with the update. Some insights report a problem for 30 days after it is resolved.
    #[arg(long)]
    pub(super) ignore_insights: bool,

    /// Stops after this step; `replank upgrade resume` goes on.
    #[arg(long, value_name = "N", conflicts_with = "step")]
    pub(super) until_step: Option<usize>,

    /// Carries out one step, then stops; `replank upgrade resume --step` carries out the next one.
    #[arg(long)]
    pub(super) step: bool,

    /// How much longer than twice the rehearsed time a node may take, before its roll is paused.
    #[arg(long, value_name = "SPAN", value_parser = limit, default_value = "15m")]
    pub(super) tolerance: Span,
}

impl HowArgs {
    /// As far as it goes, without anything to resolve.
    pub(super) fn whole() -> Self {
        Self {
            conflicts: Vec::new(),
            ignore_insights: false,
            until_step: None,
            step: false,
            tolerance: Span::from_minutes(15),
        }
    }
}

/// Where an upgrade is recorded, and how it is told.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(crate) struct PlaceArgs {
    /// The namespace of its record.
    #[arg(short = 'n', long, value_name = "NAME", default_value = NAMESPACE)]
    pub(super) namespace: Namespace,

    /// The Kubernetes API.
    #[command(flatten)]
    pub(super) live: LiveArgs,

    /// Output format: json is one object per line.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = EventsFormat::Text)]
    pub(super) output: EventsFormat,
}

/// Arguments of `upgrade resume`.
#[derive(Args, Debug)]
pub(crate) struct UpgradeResumeArgs {
    /// The cluster's name in EKS. It can be left out where one upgrade is recorded.
    #[arg(long, value_name = "NAME")]
    pub(super) cluster: Option<String>,

    /// Manifests, charts and other input of `replank scan`, to find API versions that are removed on the way.
    /// Needed if `upgrade run` had it.
    #[arg(long, value_name = "PATH")]
    pub(super) scan: Vec<PathBuf>,

    /// Arguments of a group's kubelets, as for `upgrade run`. Needed if that had them.
    #[arg(long, value_name = "GROUP=FILE", value_parser = kubelet)]
    pub(super) kubelet: Vec<(String, PathBuf)>,

    /// Accepts that something is missing, as `upgrade run` does.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) allow_incomplete: Vec<Allowed>,

    /// How far to go, and what to do on the way.
    #[command(flatten)]
    pub(super) how: HowArgs,

    /// How it is told, and where.
    #[command(flatten)]
    pub(super) place: PlaceArgs,

    /// The account.
    #[command(flatten)]
    pub(super) aws: AwsArgs,
}

/// Arguments of `upgrade rollback`.
#[derive(Args, Debug)]
pub(crate) struct UpgradeRollbackArgs {
    /// The cluster's name in EKS. By default the one that its nodes name.
    #[arg(long, value_name = "NAME")]
    pub(super) cluster: Option<String>,

    /// Begins without asking. Needed where there is no terminal.
    #[arg(long)]
    pub(super) yes: bool,

    /// Says whether EKS takes the control plane back, and changes nothing.
    #[arg(long)]
    pub(super) dry_run: bool,

    /// How it is told, and where.
    #[command(flatten)]
    pub(super) place: PlaceArgs,

    /// The account.
    #[command(flatten)]
    pub(super) aws: AwsArgs,

    /// How the cluster is read.
    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// Arguments of `upgrade status` and `cancel`.
#[derive(Args, Debug)]
pub(crate) struct UpgradeStateArgs {
    /// The cluster's name in EKS. It can be left out where one upgrade is recorded.
    #[arg(long, value_name = "NAME")]
    pub(super) cluster: Option<String>,

    /// How it is told, and where.
    #[command(flatten)]
    pub(super) place: PlaceArgs,
}

/// What EKS does about fields of an add-on that somebody has changed (`resolveConflicts`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Conflicts {
    /// Nothing is changed, and the update fails.
    None,
    /// They get EKS's values.
    Overwrite,
    /// They keep their values.
    Preserve,
}

impl Conflicts {
    /// As EKS writes it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Overwrite => "OVERWRITE",
            Self::Preserve => "PRESERVE",
        }
    }

    /// As it is read, in capitals or not.
    pub(super) fn read(text: &str) -> Option<Self> {
        [Self::None, Self::Overwrite, Self::Preserve]
            .into_iter()
            .find(|one| one.as_str().eq_ignore_ascii_case(text))
    }
}

/// `PRESERVE`, or `vpc-cni=PRESERVE`.
fn conflicts(text: &str) -> Result<(Option<String>, Conflicts), String> {
    let (addon, word) = match text.split_once('=') {
        Some((addon, word)) if !addon.is_empty() => (Some(addon.to_owned()), word),
        Some(_) => return Err("expected ADDON=WHAT, such as vpc-cni=PRESERVE".to_owned()),
        None => (None, text),
    };
    let what =
        Conflicts::read(word).ok_or("expected NONE, OVERWRITE or PRESERVE, such as vpc-cni=PRESERVE")?;
    Ok((addon, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_of_one_add_on_or_of_all() {
        assert_eq!(conflicts("vpc-cni=preserve"), Ok((Some("vpc-cni".to_owned()), Conflicts::Preserve)));
        assert_eq!(conflicts("OVERWRITE"), Ok((None, Conflicts::Overwrite)));
        for wrong in ["", "keep", "=NONE", "vpc-cni=", "vpc-cni=KEEP"] {
            assert!(conflicts(wrong).is_err_and(|why| why.contains("vpc-cni=PRESERVE")), "{wrong}");
        }
    }
}
