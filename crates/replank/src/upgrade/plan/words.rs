//! Steps in words, for every form of the plan.

use super::Planned;
use replank_advice::upgrade::controllers::{Controller, Goes};
use replank_advice::upgrade::finding::Finding;
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::plan::{Back, Step, Takes, WayBack, What};
use replank_advice::upgrade::routes::Route;
use replank_advice::upgrade::survey::KnownBy;
use replank_facts::coverage::not_seen as not_seen_of;
use replank_lifecycle::calendar::{Calendar, Day};
use replank_lifecycle::release::Release;

use crate::report::words::{count, span};
use crate::upgrade::calendar::in_words;

/// What a finding could not see of the kinds that it rests on.
pub(crate) fn not_seen(finding: &Finding, planned: &Planned) -> Option<String> {
    not_seen_of(&planned.coverage.unseen(finding.rule.reads()))
}

/// What is done: `control plane 1.33 to 1.34`.
pub(crate) fn title(what: &What) -> String {
    match what {
        What::ControlPlane(hop) => format!("control plane {hop}"),
        What::Bake { after } => format!("watch the cluster for {} first", after.to),
        What::Roll { group, from, to, nodes, pods } => {
            format!("roll {group} {from} to {to}: {}, {} move", count(*nodes, "node"), count(*pods, "pod"))
        }
        What::LeftTo { name, provisioner, from, to, nodes } => {
            let whose = if provisioner.to_string().contains(&**name) {
                String::new()
            } else {
                format!(" ({provisioner})")
            };
            format!("{name}{whose} {from} to {to}: {}", count(*nodes, "node"))
        }
        What::KubeProxy { from, to } => format!("kube-proxy {from} to {to}"),
        What::Addon { name, from, to } => {
            let steps: Vec<String> = to.iter().map(ToString::to_string).collect();
            format!("add-on {name} {from} to {}", steps.join(", then "))
        }
    }
}

/// The same of a step that was carried out: what moved is told beside it, and is more where add-ons were restarted meanwhile.
pub(crate) fn title_done(what: &What) -> String {
    match what {
        What::Roll { group, from, to, nodes: _, pods: _ } => format!("roll {group} {from} to {to}"),
        What::ControlPlane(_)
        | What::Bake { .. }
        | What::LeftTo { .. }
        | What::KubeProxy { .. }
        | What::Addon { .. } => title(what),
    }
}

/// One word, for a program.
pub(crate) const fn kind(what: &What) -> &'static str {
    match what {
        What::ControlPlane(_) => "controlPlane",
        What::Bake { .. } => "bake",
        What::Roll { .. } => "roll",
        What::LeftTo { .. } => "leftToProvisioner",
        What::KubeProxy { .. } => "kubeProxy",
        What::Addon { .. } => "addon",
    }
}

/// How long: `15m, assumed`.
pub(crate) fn takes(takes: Takes) -> String {
    match takes {
        Takes::Rehearsed(time) => format!("{}, rehearsed", span(time)),
        Takes::Assumed(time) => format!("{}, assumed", span(time)),
        Takes::Unknown => "duration unknown".to_owned(),
    }
}

/// The rollback.
pub(crate) fn back(back: &Back) -> Option<String> {
    match back {
        Back::ControlPlane { to, within } => Some(format!(
            "to {to} within {} days, as long as no node is newer than {to} and no further step is taken",
            within.as_secs() / (24 * 60 * 60)
        )),
        Back::Nodes { group } => Some(format!(
            "{group} gets its previous launch template back (undo); the control plane can be rolled back only after that"
        )),
        Back::Addon { to } => Some(format!("reinstall {to}")),
        Back::Nothing => None,
        Back::None { why } => Some(format!("none: {why}")),
    }
}

/// What to run: nothing where the input does not name the cluster, and the command must.
pub(crate) fn command(what: &What, planned: &Planned) -> Option<String> {
    let cluster = planned.cluster.as_deref();
    match what {
        What::ControlPlane(hop) => {
            let cluster = cluster?;
            Some(format!("aws eks update-cluster-version --name {cluster} --kubernetes-version {}", hop.to))
        }
        What::Roll { group, to, .. } => {
            Some(format!("replank rehearse {} --roll {group} --to-version {to}", planned.snapshots))
        }
        What::LeftTo { provisioner, .. } => Some(provisioner.way().to_owned()),
        What::KubeProxy { to, .. } => Some(format!(
            "aws eks describe-addon-versions --addon-name kube-proxy --kubernetes-version {to}   # and take its default"
        )),
        What::Addon { name, to, .. } => {
            let cluster = cluster?;
            let update = |version: &dyn std::fmt::Display| {
                format!(
                    "aws eks update-addon --cluster-name {cluster} --addon-name {name} --addon-version {version}"
                )
            };
            Some(to.iter().map(|version| update(version)).collect::<Vec<_>>().join("\n"))
        }
        What::Bake { .. } => None,
    }
}

/// How long EKS supports what a step leads to: `standard, 10 days left`.
pub(crate) fn support(calendar: &Calendar, version: Minor, today: Day) -> Option<String> {
    let row = calendar.row(Release::minor(1, version.0))?;
    Some(in_words(row.support(today), today))
}

/// How the version of the control plane is known.
pub(crate) const fn known_by(known: KnownBy) -> &'static str {
    match known {
        KnownBy::Eks => "reported by EKS",
        KnownBy::Servers => "reported by its API servers",
        KnownBy::Given => "as given",
        KnownBy::NewestKubelet => "assumed from the newest kubelet",
    }
}

/// The same for a program.
pub(crate) const fn known_by_in_a_word(known: KnownBy) -> &'static str {
    match known {
        KnownBy::Eks => "eks",
        KnownBy::Servers => "apiServers",
        KnownBy::Given => "given",
        KnownBy::NewestKubelet => "newestKubelet",
    }
}

/// Whether a controller goes with a version.
pub(crate) fn goes(controller: &Controller, with: Minor) -> String {
    match controller.goes(with) {
        Goes::Yes => format!("compatible with {with}"),
        Goes::NotMadeFor { least: Some((major, minor)) } => {
            format!("not compatible with {with}: update to {major}.{minor}")
        }
        Goes::NotMadeFor { least: None } => format!("not compatible with {with}"),
        Goes::BestEffort { client, built: _ } => {
            format!("best effort with {with}: its client-go is that of {client}")
        }
        Goes::TooNew { oldest } => format!("not compatible with {with}: it is for {oldest} and later"),
        Goes::Stops { least: (major, minor) } => {
            format!("stops working at {with}: update to {major}.{minor} or later first")
        }
        Goes::Unknown => format!("unknown: {}", controller.known.look),
    }
}

/// The rollback that is possible before the first step.
pub(crate) fn way_back(open: &WayBack) -> String {
    let first = match open.in_the_way.as_slice() {
        [] => String::new(),
        some => {
            let names: Vec<&str> = some.iter().map(|name| &**name).collect();
            format!(", after the nodes of {} are rolled back", names.join(", "))
        }
    };
    format!(
        "the control plane can still be rolled back to {} for {}{first}; its next upgrade step ends that",
        open.to,
        span(open.left)
    )
}

/// A route's figures: rolls, pods, time.
pub(crate) fn figures(route: &Route) -> [String; 3] {
    let time = match route.takes {
        Some(_) if route.rolls.is_empty() => "-".to_owned(),
        Some(time) => span(time),
        None => "not known".to_owned(),
    };
    [count(route.rolls.len(), "roll"), format!("{} move", count(route.pods(), "pod")), time]
}

/// The number of a step, as it is referred to.
pub(crate) fn blocked_steps(steps: &[Step]) -> Vec<usize> {
    let blocked = steps.iter().enumerate().filter(|(_, step)| step.blockers().next().is_some());
    blocked.map(|(index, _)| index + 1).collect()
}
