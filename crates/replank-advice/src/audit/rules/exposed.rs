//! Workloads that must not be lost, on nodes that may be: what the rules about spot and autoscaled nodes share.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::TaintEffect;
use replank_model::text::GroupName;

use super::super::engine::{Answer, Engine};
use super::super::ground::{Ground, KindId, NodeKind, taint_text};
use super::super::remedy::{keep_off, patch};
use super::super::survey::{Subject, Survey};
use replank_facts::finding::counted;
use replank_facts::remedy::Remedy;
use replank_schedule::{Plugin, Reason};

/// A workload, and its way to such nodes.
pub(super) struct Exposed<'s> {
    pub(super) subject: &'s Subject,
    /// All nodes of the sort in question, whether or not it can land there.
    pub(super) bad: BTreeSet<KindId>,
    /// Those of them on which pods of it can land.
    pub(super) can: BTreeSet<KindId>,
    /// Pods that are there.
    pub(super) sits: usize,
    /// Pods that are on any node.
    pub(super) placed: usize,
}

/// Workloads with one replica, and those that the cluster needs, that are on some kinds of nodes or can land there.
pub(super) fn exposed<'s>(survey: &'s Survey<'_>, is_bad: impl Fn(&NodeKind) -> bool) -> Vec<Exposed<'s>> {
    let bad: BTreeSet<KindId> =
        survey.ground.kinds().filter(|(_, kind)| is_bad(kind)).map(|(id, _)| id).collect();
    let mut all = Vec::new();
    for subject in survey.services().filter(|one| one.replicas == 1 || one.system.is_some()) {
        let sits = subject.sits(&survey.ground);
        let can: BTreeSet<KindId> = subject.lands().intersection(&bad).copied().collect();
        let exposed = Exposed {
            subject,
            bad: bad.clone(),
            can,
            sits: sits.iter().filter(|(kind, _)| bad.contains(kind)).map(|(_, count)| count).sum(),
            placed: sits.values().sum(),
        };
        if exposed.sits > 0 || !exposed.can.is_empty() {
            all.push(exposed);
        }
    }
    all
}

impl Exposed<'_> {
    /// `1 replica: it sits on spot nodes now, in group cheap`, `an add-on with 2 replicas: both can land on …`.
    pub(super) fn told(&self, survey: &Survey<'_>, nodes: &str) -> String {
        let replicas = counted(self.subject.replicas, "replica");
        let who = match &self.subject.system {
            Some(system) => format!("{} with {replicas}", system.sort()),
            None => replicas,
        };
        if self.sits == 0 {
            return format!(
                "{who}: not on {nodes} now, but can be scheduled there when it is recreated, in {}",
                survey.ground.places(&self.can)
            );
        }
        let sits = self.subject.sits(&survey.ground).into_keys();
        let places: BTreeSet<String> = sits
            .filter(|kind| self.bad.contains(kind))
            .map(|kind| match &survey.ground.kind(kind).group {
                Some(group) => format!("in group {group}"),
                None => "in no group".to_owned(),
            })
            .collect();
        let places: Vec<String> = places.into_iter().collect();
        let count = match (self.placed, self.sits) {
            (1, _) => "it runs".to_owned(),
            (placed, sits) if placed == sits => "all of them run".to_owned(),
            (placed, sits) => format!("{sits} of {placed} run"),
        };
        format!("{who}: {count} on {nodes} now, {}", places.join(", "))
    }

    /// Why the way there is open: that there is no other, or that nothing asks for the other.
    pub(super) fn why(&self, survey: &Survey<'_>) -> String {
        let ground = &survey.ground;
        let good: BTreeSet<KindId> = self.subject.lands().difference(&self.bad).copied().collect();
        if good.is_empty() && !self.can.is_empty() {
            let others: Vec<KindId> =
                ground.kinds().map(|(id, _)| id).filter(|id| !self.bad.contains(id)).collect();
            if others.is_empty() {
                return "there are no other nodes".to_owned();
            }
            let untainted = ground.kinds().filter(|(_, kind)| kind.taints().next().is_none());
            let untainted: BTreeSet<KindId> = untainted.map(|(id, _)| id).collect();
            let only_untainted = !untainted.is_empty() && untainted.is_subset(&self.bad);
            let open = if only_untainted { "these are the only nodes without a taint; " } else { "" };
            return format!("{open}it fits on no other node: {}", refusals(ground, self.subject, &others));
        }
        let wishes: BTreeSet<String> = self.can.iter().flat_map(|id| self.wishes(ground, *id)).collect();
        if !wishes.is_empty() {
            let wishes: Vec<String> = wishes.into_iter().collect();
            return format!(
                "the taint {} is only a preference (PreferNoSchedule) and excludes no pod",
                wishes.join(", ")
            );
        }
        if good.is_empty() {
            return "it could not be scheduled again where it is".to_owned();
        }
        format!(
            "nothing in its spec selects the {} that it also fits on",
            counted(ground.nodes_of(&good), "other node")
        )
    }

    /// Taints of a kind that ask this workload to stay away, without keeping it off.
    fn wishes(&self, ground: &Ground, id: KindId) -> Vec<String> {
        let tolerations = &self.subject.spec().tolerations;
        let taints = ground.kind(id).sample.spec.taints.iter();
        let wishes = taints.filter(|taint| {
            taint.effect == TaintEffect::PreferNoSchedule
                && !tolerations.iter().any(|one| one.tolerates(taint, false))
        });
        wishes.map(taint_text).collect()
    }

    /// What to do where there are other nodes that take it, and no label but their group's name tells them from these.
    pub(super) fn without_label(&self) -> Option<Remedy> {
        let lands = self.subject.lands();
        lands.difference(&self.bad).next()?;
        Some("give the nodes that are meant for it a label of their own, and select that: their group's name would keep it from moving to another group".into())
    }

    /// What keeps it off, and off spot nodes in any case, tried on the scheduler; nothing where nothing does.
    pub(super) fn away(&self, survey: &Survey<'_>, engine: &mut Engine) -> Option<Remedy> {
        let spot = survey.ground.kinds().filter(|(_, kind)| kind.is_spot()).map(|(id, _)| id);
        let avoid = self.bad.iter().copied().chain(spot).collect();
        let change = keep_off(survey, engine, self.subject, &avoid)?;
        Some(patch(survey, self.subject, &change.to_json()))
    }
}

/// Why nodes of these kinds do not take a workload, by group: `master (taint role=master:NoSchedule)`.
pub(super) fn refusals(ground: &Ground, subject: &Subject, kinds: &[KindId]) -> String {
    let mut by_group: BTreeMap<Option<&GroupName>, BTreeSet<String>> = BTreeMap::new();
    for id in kinds {
        let kind = ground.kind(*id);
        if let Some(Answer::Fails(failures)) = subject.samples[0].answers.get(id.0) {
            let reasons = by_group.entry(kind.group.as_ref()).or_default();
            for failure in failures {
                if failure.plugin == Plugin::TaintToleration {
                    reasons.extend(untolerated(subject, kind));
                } else {
                    reasons.extend(failure.reasons.iter().map(Reason::to_string));
                }
            }
        }
    }
    let mut by_reasons: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (group, reasons) in by_group {
        let name = group.map_or_else(|| "nodes without a group".to_owned(), ToString::to_string);
        by_reasons.entry(reasons.into_iter().collect()).or_default().push(name);
    }
    let told = by_reasons
        .into_iter()
        .map(|(reasons, groups)| format!("{} ({})", groups.join(", "), reasons.join(" and ")));
    told.collect::<Vec<_>>().join(", ")
}

/// `taint dedicated=db:NoSchedule`: the taints of a kind of nodes that a workload does not tolerate.
pub(super) fn untolerated(subject: &Subject, kind: &NodeKind) -> Vec<String> {
    let tolerations = &subject.spec().tolerations;
    let taints = kind.taints().filter(|taint| !tolerations.iter().any(|one| one.tolerates(taint, false)));
    taints.map(|taint| format!("taint {}", taint_text(taint))).collect()
}
