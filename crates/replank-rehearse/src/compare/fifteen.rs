//! The nodes of managed groups beside the 15 minutes that EKS gives each of them: which would make its update fail, and why.
//!
//! Read off an update that goes through all nodes: one that succeeded, or a forced one, in which a node that is not empty in time is told by the pods that were
//! never let go. What a simulation does not show is how long pods may take at worst to stop: it is added up from their grace periods.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::batch::end::End;
use replank_facts::budget::{how_to_give_slack, ignores_budgets, uncounted};
use replank_facts::drain::is_daemon;
use replank_facts::workload::series_of;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};
use replank_sim::ends_by_itself;
use serde::Serialize;

use crate::rehearsal::{By, EvictionEntry};

/// How long EKS drains a node of a managed group (EKS user guide, "Understand each phase of node updates": 15 minutes).
pub const DRAIN_MAX: Span = Span::from_minutes(15);

/// One node, and how long EKS takes to empty it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDrain {
    /// The node.
    pub node: NodeName,
    /// How long its drain took; none where pods were left after 15 minutes.
    #[serde(rename = "tookMs", serialize_with = "millis")]
    pub took: Option<Span>,
    /// Whether the update fails at this node.
    pub gives_up: bool,
    /// How long its pods may take to stop if all of them use their whole grace period, one after the other where a budget lets them go so.
    #[serde(rename = "atWorstMs", serialize_with = "crate::millis::millis")]
    pub at_worst: Span,
    /// What keeps it, or may.
    pub why: Vec<Why>,
}

/// What keeps a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// A pod, with its workload where it has one.
    pub pod: String,
    /// Why it is there for so long.
    pub reason: String,
    /// What to do.
    pub remedy: String,
}

fn millis<S: serde::Serializer>(span: &Option<Span>, to: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => crate::millis::millis(span, to),
        None => to.serialize_none(),
    }
}

impl NodeDrain {
    /// Whether it fails if pods use all of their grace periods, or if batch pods take longer than with this seed.
    #[must_use]
    pub fn may_give_up(&self) -> bool {
        !self.gives_up && !self.why.is_empty()
    }
}

/// Each of these nodes, as `view` shows it at `now`, beside the evictions of an update that went through all of them.
#[must_use]
pub fn drains<'n>(
    (view, now): (&View, Time),
    nodes: impl IntoIterator<Item = &'n NodeName>,
    evictions: &[EvictionEntry],
) -> Vec<NodeDrain> {
    let mut asked: BTreeMap<&str, Vec<&EvictionEntry>> = BTreeMap::new();
    for entry in evictions.iter().filter(|entry| entry.by == By::Eks) {
        if let Some(node) = &entry.node {
            asked.entry(node).or_default().push(entry);
        }
    }
    let of = |node: &NodeName| one((view, now), node, asked.get(node.as_str()).map_or(&[], Vec::as_slice));
    nodes.into_iter().map(of).collect()
}

fn one((view, now): (&View, Time), node: &NodeName, asked: &[&EvictionEntry]) -> NodeDrain {
    let since = asked.iter().map(|entry| entry.at).min();
    let mut last: BTreeMap<(&str, &str), &EvictionEntry> = BTreeMap::new();
    for entry in asked {
        last.insert((&entry.namespace, &entry.pod), entry);
    }
    let mut drain = NodeDrain {
        node: node.clone(),
        took: Some(Span::ZERO),
        gives_up: false,
        at_worst: Span::ZERO,
        why: Vec::new(),
    };
    for entry in last.values() {
        let gone = entry.gone.zip(since).map(|(gone, since)| gone - since);
        match gone.filter(|span| *span <= DRAIN_MAX) {
            Some(span) => drain.took = drain.took.map(|took| took.max(span)),
            None => {
                drain.gives_up = true;
                drain.why.push(kept((view, now), entry, since));
            }
        }
    }
    // One that was on its way out before, and does not get there, is not asked for.
    for pod in leaving(view, node).filter(|pod| pod.is_terminating()) {
        let since = pod.meta.deletion_timestamp.filter(|due| *due + DRAIN_MAX < now);
        if let Some(due) = since {
            drain.gives_up = true;
            drain.why.push(Why {
                pod: named(view, pod),
                reason: format!("has been terminating for {} beyond its grace period", (now - due).rounded()),
                remedy: "find out why it does not stop (replank explain stuck-before); EKS waits for it"
                    .to_owned(),
            });
        }
    }
    if drain.gives_up {
        drain.took = None;
    }
    let (worst, why) = at_worst(view, node);
    drain.at_worst = worst;
    if !drain.gives_up {
        drain.why.extend(why);
        drain.why.extend(in_luck((view, now), node, since));
    }
    drain
}

/// Batch pods that a budget keeps, of a node that was empty in time: they were done, which the seed decides, unless they are over before its drain begins in any case.
fn in_luck((view, now): (&View, Time), node: &NodeName, since: Option<Time>) -> Vec<Why> {
    let mut all = Vec::new();
    for pod in leaving(view, node).filter(|pod| ends_by_itself(pod) && !ignores_budgets(pod)) {
        let budgets = view.pods.find(&pod.meta.key()).map_or(&[][..], |ix| view.budgets_of(ix));
        let [only] = budgets else { continue };
        let budget = &view.pod_disruption_budgets[*only];
        let status = &budget.status;
        if uncounted(budget).is_none() && status.desired_healthy < status.expected_pods {
            continue;
        }
        let end = End::of(view, now, pod);
        if end.comes_by(since.unwrap_or(now)) {
            continue;
        }
        let (reason, remedy) = batch(&budget.meta.key().to_string(), end);
        all.push(Why {
            pod: named(view, pod),
            reason: format!("{reason}; finished in time with this seed"),
            remedy,
        });
    }
    all
}

/// The pods that EKS evicts.
fn leaving<'v>(view: &'v View, node: &NodeName) -> impl Iterator<Item = &'v Pod> {
    let pods = view.sorted_pods_on(node).into_iter();
    pods.map(|pod| &**pod).filter(|pod| !is_daemon(pod) && !pod.is_mirror() && !pod.is_terminal())
}

fn named(view: &View, pod: &Pod) -> String {
    let key = pod.meta.key();
    // As evictions name it: by what makes the Jobs or Workflows, where something does.
    let of = series_of(view, pod).map_or_else(String::new, |one| format!(" of {one}"));
    format!("pod {key}{of}")
}

/// Why a pod was still there after 15 minutes.
fn kept((view, now): (&View, Time), entry: &EvictionEntry, since: Option<Time>) -> Why {
    let key = Key::new(entry.namespace.clone(), &*entry.pod);
    // A successor is like the pods of its workload that the snapshot has.
    let known = view.pods.find(&key).or_else(|| like(view, entry));
    let pod = match known.map(|ix| &view.pods[ix]) {
        Some(found) if found.meta.key() == key => named(view, found),
        Some(_) | None => {
            let of = entry.workload.as_ref().and_then(|workload| workload.split_once(' '));
            let of =
                of.map_or_else(String::new, |(kind, name)| format!(" of {kind} {}/{name}", entry.namespace));
            format!("pod {key}{of}")
        }
    };
    let budgets: Vec<Ix<PodDisruptionBudget>> =
        known.map_or_else(Vec::new, |ix| view.budgets_of(ix).to_vec());
    let names: Vec<String> =
        budgets.iter().map(|ix| view.pod_disruption_budgets[*ix].meta.key().to_string()).collect();
    let (reason, remedy) = match (&entry.refused, names.as_slice()) {
        (None, _) => {
            let waited = since.map_or(Span::ZERO, |since| entry.at - since);
            let grace = known.map_or(Span::ZERO, |ix| Span::from_secs(view.pods[ix].grace_seconds()));
            let grace_words =
                if grace > Span::ZERO { format!(", its grace period is {grace}") } else { String::new() };
            (
                format!("evicted after {}, and still stopping{grace_words}", waited.rounded()),
                "shorten its grace period, or let its budget allow more at a time: EKS waits 15m for a node in all".to_owned(),
            )
        }
        (Some(_), [_, _, ..]) => (
            format!(
                "covered by disruption budgets {}: the API server evicts no such pod",
                names.join(" and ")
            ),
            "leave one budget for it (replank explain pdb-several)".to_owned(),
        ),
        (Some(words), []) => {
            (format!("its eviction is refused: {words}"), "replank check names what refuses it".to_owned())
        }
        (Some(_), [name]) => {
            match known.map(|ix| &view.pods[ix]).filter(|pod| ends_by_itself(pod)) {
                Some(pod) => {
                    let is_own = pod.meta.key() == key;
                    let end = if is_own { End::of(view, now, pod) } else { End::of_later(view, pod) };
                    let (reason, remedy) = batch(name, end);
                    // How long it takes is drawn by the seed, from what is known.
                    let luck = if end.may_come_by(since.unwrap_or(now) + DRAIN_MAX) {
                        "; did not finish in time with this seed"
                    } else {
                        ""
                    };
                    (format!("{reason}{luck}"), remedy)
                }
                None => by_budget(view, name, budgets[0]),
            }
        }
    };
    Why { pod, reason, remedy }
}

fn by_budget(view: &View, name: &str, ix: Ix<PodDisruptionBudget>) -> (String, String) {
    let budget = &view.pod_disruption_budgets[ix];
    let status = &budget.status;
    if let Some(why) = uncounted(budget) {
        return (
            format!("disruption budget {name} allows no eviction ({why})"),
            "set the budget's minAvailable to a number lower than its number of pods (replank explain pdb-not-counted)"
                .to_owned(),
        );
    }
    let slack = status.expected_pods - status.desired_healthy;
    if slack <= 0 {
        return (
            format!(
                "disruption budget {name} never allows an eviction ({} of {} pods must stay)",
                status.desired_healthy, status.expected_pods
            ),
            how_to_give_slack(view, ix, status.expected_pods),
        );
    }
    (
        format!("disruption budget {name} lets {slack} go at a time, and the next when its replacement is Ready: not its turn within 15m"),
        "let more pods go at a time, make pods Ready sooner, or move the nodes with target.group, where Replank waits".to_owned(),
    )
}

/// A batch pod that a budget keeps until it is done.
fn batch(budget: &str, end: End) -> (String, String) {
    (
        format!("a batch pod, which disruption budget {budget} keeps until it has finished; {end}"),
        format!(
            "begin the update {}, or move the nodes with target.group, where Replank waits; a forced update deletes it",
            end.when()
        ),
    )
}

/// A pod of the workload of an entry.
fn like(view: &View, entry: &EvictionEntry) -> Option<Ix<Pod>> {
    let wanted = entry.workload.as_ref()?;
    let pods = view.pods.sorted();
    let found = pods.into_iter().find(|(_, pod)| {
        pod.meta.namespace.text() == &entry.namespace
            && series_of(view, pod).is_some_and(|one| format!("{} {}", one.kind, one.key.name) == **wanted)
    });
    found.map(|(ix, _)| ix)
}

/// How long the pods of a node may take to stop: all at once, but so many after each other as a budget lets go at a time; and what makes it so long.
fn at_worst(view: &View, node: &NodeName) -> (Span, Vec<Why>) {
    let mut by_budget: BTreeMap<Option<Ix<PodDisruptionBudget>>, Vec<(Span, Key)>> = BTreeMap::new();
    for pod in leaving(view, node).filter(|pod| !pod.is_terminating()) {
        let key = pod.meta.key();
        let budget = view.pods.find(&key).and_then(|ix| view.budgets_of(ix).first().copied());
        by_budget.entry(budget).or_default().push((Span::from_secs(pod.grace_seconds()), key));
    }
    let (mut worst, mut why) = (Span::ZERO, BTreeSet::new());
    for (budget, mut pods) in by_budget {
        pods.sort_unstable_by(|a, b| b.cmp(a));
        let budget = budget.map(|ix| &view.pod_disruption_budgets[ix]);
        let at_a_time = budget.map_or(pods.len(), |budget| {
            let slack = budget.status.expected_pods - budget.status.desired_healthy;
            // One that allows nothing is told by what the simulation shows.
            usize::try_from(slack).ok().filter(|slack| *slack > 0).unwrap_or(pods.len())
        });
        let took =
            pods.chunks(at_a_time.max(1)).map(|round| round[0].0).fold(Span::ZERO, |sum, one| sum + one);
        worst = worst.max(took);
        if took <= DRAIN_MAX {
            continue;
        }
        let (longest, key) = &pods[0];
        let reason = match budget {
            Some(budget) if pods.len() > at_a_time => format!(
                "{} pods under disruption budget {}, {at_a_time} at a time, with grace periods of up to {longest}: {took} if all are used",
                pods.len(),
                budget.meta.key()
            ),
            Some(_) | None => format!("a grace period of {longest}, if all of it is used"),
        };
        why.insert(Why {
            pod: view.pods.by_key(key).map_or_else(|| format!("pod {key}"), |pod| named(view, pod)),
            reason,
            remedy: "shorten the grace period if that is more than it needs, or move the nodes with target.group, where Replank waits".to_owned(),
        });
    }
    (worst, why.into_iter().collect())
}
