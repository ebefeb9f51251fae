//! From arguments to what a plan is made of.

use replank_advice::upgrade::facts::Facts;
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{ADDON, BAKE, HOP, Options};
use replank_facts::cluster_name::ClusterName;
use replank_facts::coverage::{Coverage, Question};
use replank_lifecycle::release::Release;
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::view::View;
use replank_rehearse::count_budgets;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Taken;
use super::user_data::user_data;
use crate::coverage;
use crate::failure::Failure;
use crate::moment;
use crate::printer::Printer;
use crate::snapshot::{self, Cluster, HOW_TO_SNAPSHOT, Origin, ReadArgs};
use crate::upgrade::args::{RouteWord, WayArgs};
use crate::upgrade::calendar;

pub(crate) use super::facts::facts;
use super::facts::text;

/// Reads everything that was named: a snapshot or the live cluster, or what EKS says, or both.
pub(crate) fn take(
    origin: Option<Origin<'_>>,
    now: Option<Time>,
    read: &ReadArgs,
    way: &WayArgs,
    to: Release,
    printer: &mut Printer,
) -> Result<Taken, Failure> {
    if origin.is_none() && way.eks.is_empty() {
        return Err(Failure::usage_message(
            "neither a snapshot nor EKS output (--eks) given, and no kubeconfig leads to a live cluster",
        )
        .next(HOW_TO_SNAPSHOT));
    }
    // Small files first: their mistakes are found in no time, and a large snapshot takes a while.
    let mut facts = facts(&way.eks)?;
    let kubelets = kubelets(&way.kubelet)?;
    let calendar = calendar::read(&way.calendar)?;
    let (name, view, now, older, seen) = match origin {
        None => {
            let name = "EKS output without a snapshot".to_owned();
            (name, View::default(), now.unwrap_or_else(moment::now), None, Coverage::default())
        }
        Some(origin) => {
            let snapshot::Input { sources, name, server, .. } = origin.read(printer)?;
            let Cluster { mut view, now, older, coverage } =
                snapshot::read_at(sources, read, now, Question::Roll, printer)?;
            count_budgets(&mut view, now);
            if let Some((1, minor)) = server {
                facts.server = Some(Minor(minor.into()));
                is_one_cluster(&view, &facts, &name)?;
            }
            (name, view, now, older, coverage)
        }
    };
    let label = read.group_label.clone();
    let seen = seen.beyond(coverage::data_end(to), &read.allowed());
    Ok(Taken {
        name,
        view,
        now,
        older,
        coverage: seen,
        label,
        facts,
        kubelets,
        calendar,
        options: options(to, way),
    })
}

/// The live cluster and what EKS says may be of two clusters: nobody has named the live one, where it is that of the current context.
fn is_one_cluster(view: &View, facts: &Facts, name: &str) -> Result<(), Failure> {
    let told = facts.cluster.as_ref().map(|cluster| &cluster.name);
    let live = ClusterName::of(view);
    match (live.as_ref().and_then(ClusterName::in_eks), told) {
        (Some(live), Some(told)) if live != told => Err(Failure::usage_message(format!(
            "the nodes of {name} belong to cluster {live}, and --eks describes {told}"
        ))
        .next(format!(
            "pass the context of {told} (--context NAME), or a snapshot of it; to plan its control plane alone: KUBECONFIG=/dev/null"
        ))),
        (_, _) => Ok(()),
    }
}

/// Arguments that name the cluster, for commands that are shown.
pub(crate) fn arguments(origin: Option<Origin<'_>>, name: &str) -> String {
    match origin {
        None => String::new(),
        Some(Origin::Files(files)) => {
            files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>().join(" ")
        }
        Some(Origin::Live(live)) => {
            let context = format!("--context {}", name.strip_prefix("context ").unwrap_or(name));
            match &live.kubeconfig {
                Some(file) => format!("--kubeconfig {} {context}", file.display()),
                None => context,
            }
        }
    }
}

/// How it is to be done.
fn options(to: Release, way: &WayArgs) -> Options {
    Options {
        to: Minor(to.minor),
        from: way.from.map(|from| Minor(from.minor)),
        way: way.route.map(RouteWord::way),
        hop: way.hop_takes.unwrap_or(HOP),
        addon: way.addon_takes.unwrap_or(ADDON),
        bake: way.bake.unwrap_or(BAKE),
    }
}

/// Arguments of kubelets, by group.
pub(crate) fn kubelets(given: &[(String, PathBuf)]) -> Result<BTreeMap<Text, String>, Failure> {
    let one = |(group, path): &(String, PathBuf)| {
        let given = user_data(&text(path)?).map_err(|why| {
            Failure::usage_message(format!("{}: {why}", path.display()))
                .next("aws ec2 describe-launch-template-versions --launch-template-id ID --versions N > FILE")
        })?;
        Ok((Text::from(group.as_str()), given))
    };
    given.iter().map(one).collect()
}
