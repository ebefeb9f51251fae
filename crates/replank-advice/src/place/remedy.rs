//! The smallest changes with which a pod fits, each tried out.
//!
//! Every node's objections are known, all of them, so that what a node would need is the union of what lifts each. Equal
//! needs of many nodes are one proposal. Proposals are tried in the order of their size: how many changes, how
//! intrusive, how much; one with which the scheduler does not place the pod is never shown.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PreemptionPolicy};
use replank_model::text::{GroupName, Name, NodeName, Zone};
use replank_model::view::View;

use super::change::{Change, Weight};
use super::propose::{Case, Standing, weight};
use super::query::{DRAW, PlacementQuery, Settled};
use super::{claims, edit};
use replank_facts::fresh::{self, Fresh};
use replank_facts::groups::{GroupBy, LearntGroup};
use replank_facts::workload::workload_of;
use replank_schedule::{Detail, Trial};

/// Proposals that are tried at most. Each is one question to the engine, of a pod whose class it may not know yet: on 5,000
/// nodes about 2 ms.
const TRIED_MAX: usize = 48;
/// Nodes on which one proposal is tried, the most promising first.
const NODES_MAX: usize = 2;
/// Remedies of one kind: the third node group that could grow tells nothing more.
const OF_A_KIND_MAX: usize = 2;
/// New nodes that are looked at: groups times zones.
const FRESH_MAX: usize = 64;
/// What a new node would need besides: so many of the smallest sets.
const FRESH_ALTERNATIVES: usize = 3;
/// Copies that are placed again for every proposal.
const PLACED_AGAIN_MAX: usize = 32;
/// Priority classes that are looked at, the lowest first.
const CLASSES_MAX: usize = 4;

/// Changes with which a pod fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// All of them are needed.
    pub changes: Vec<Change>,
    /// Where the pod would go.
    pub node: NodeName,
    /// On how many nodes it would fit.
    pub feasible: usize,
    /// Pods of the same workload that run now and stand in the way as they are: they have to be replaced by changed ones too.
    pub replaced: usize,
}

impl fmt::Display for Remedy {
    /// All changes in one sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_enlarged = self.changes.iter().any(|change| matches!(change, Change::Enlarge { .. }));
        for (number, change) in self.changes.iter().enumerate() {
            if matches!(change, Change::Enlarge { .. }) {
                f.write_str(if number == 1 { ", but " } else { " and " })?;
            } else if number > 0 {
                f.write_str(", and ")?;
            }
            if let Change::AddNode { group, zone, .. } = change
                && is_enlarged
            {
                write!(f, "add a node like those of the group {group}")?;
                if let Some(zone) = zone.as_ref().filter(|zone| !zone.is_empty()) {
                    write!(f, " in {zone}")?;
                }
            } else {
                write!(f, "{change}")?;
            }
        }
        match self.replaced {
            0 => Ok(()),
            1 => f.write_str("; its running pod keeps the old term until it is replaced too"),
            number => {
                write!(f, "; its {number} running pods keep the old term until they are replaced too")
            }
        }
    }
}

/// A set of changes, and the nodes for which it was made up, the most promising first.
#[derive(Debug)]
struct Proposal {
    options: Vec<(Vec<Change>, Option<usize>)>,
}

/// What makes two sets of changes the same proposal: everything but the node and the amounts.
type Signature = Vec<String>;

/// What a pod needs of a new node besides: which node, and the changes.
type Need = (usize, Vec<Change>);

/// A search for remedies for one pod.
struct Search<'a> {
    query: &'a mut PlacementQuery,
    pod: &'a Arc<Pod>,
    /// Copies that were placed before it: a change of its spec is one of theirs.
    copies: Settled,
    /// Pods of its workload that run.
    running: Settled,
    fresh: Vec<Fresh>,
    proposals: BTreeMap<Signature, Proposal>,
}

impl PlacementQuery {
    /// The smallest changes with which a pod would fit, no more than `max`. The pod is one that fits nowhere.
    #[must_use]
    pub fn remedies(&mut self, pod: &Arc<Pod>, max: usize) -> Vec<Remedy> {
        let stopped = self.stopped.as_ref().filter(|(key, _)| *key == pod.meta.key());
        let copies = stopped.map_or(Vec::new(), |(_, placed)| placed.clone());
        let running = self.running_with(pod);
        let (fresh, proposals) = (Vec::new(), BTreeMap::new());
        let mut search = Search { fresh, proposals, copies, running, query: self, pod };
        search.ask_nodes();
        search.ask_fresh_nodes();
        search.ask_classes();
        search.try_out(max)
    }

    /// Pods of a pod's workload that are on nodes.
    fn running_with(&self, pod: &Pod) -> Settled {
        let Some(workload) = workload_of(&self.view, pod) else { return Vec::new() };
        let sorted = self.view.pods.sorted().into_iter();
        let running = sorted.filter(|(_, other)| {
            other.meta.namespace == pod.meta.namespace
                && other.is_active()
                && workload_of(&self.view, other).as_ref() == Some(&workload)
        });
        running.filter_map(|(_, other)| Some((other.clone(), other.node.clone()?))).collect()
    }

    /// Nodes that groups would add: one for each zone, but for those that the question takes away.
    fn fresh_nodes(&self) -> Vec<Fresh> {
        let factories = fresh::daemon_factories(&self.view);
        let places = self
            .groups
            .iter()
            .flat_map(|learnt| learnt.group.zones.iter().map(move |zone| (&learnt.group, zone)));
        let open =
            places.filter(|(group, _)| self.only_group.as_ref().is_none_or(|only| *only == group.name));
        let is_lost = |fresh: &Fresh| {
            self.lost.iter().any(|(key, value)| fresh.node.meta.labels.get(key) == Some(value))
        };
        open.take(FRESH_MAX)
            .filter_map(|(group, zone)| fresh::node_of(&factories, group, zone))
            .filter(|fresh| !is_lost(fresh))
            .collect()
    }
}

impl Search<'_> {
    fn ask_nodes(&mut self) {
        let names: Vec<NodeName> =
            self.query.view.nodes.sorted().iter().map(|(_, node)| node.name()).collect();
        let details = self.query.scheduler.details(&self.query.view, self.pod, &names);
        for (name, detail) in details {
            for set in self.alternatives(&name, &detail) {
                self.propose(set, None);
            }
        }
    }

    fn alternatives(&self, name: &NodeName, detail: &Detail) -> Vec<Vec<Change>> {
        let query = &*self.query;
        let Some(node) = query.view.node(name) else { return Vec::new() };
        self.case(node, Standing::There, GroupName::default()).alternatives(detail)
    }

    fn case<'b>(&'b self, node: &'b Node, standing: Standing, group: GroupName) -> Case<'b> {
        let group_label = match &self.query.group_by {
            GroupBy::Label(key) => Some(&**key),
            GroupBy::Selector(..) => None,
        };
        let (view, closed) = (&self.query.view, &self.query.closed);
        Case { view, pod: self.pod, node, standing, closed, group, group_label }
    }

    /// One more node of each group and zone, with what the pod would have to change besides.
    fn ask_fresh_nodes(&mut self) {
        self.fresh = self.query.fresh_nodes();
        // What it takes besides, by group; the zones in which it does.
        let mut needs: BTreeMap<(GroupName, Signature), Vec<Need>> = BTreeMap::new();
        for at in 0..self.fresh.len() {
            let fresh = self.fresh[at].clone();
            let name = fresh.node.name();
            let pod = self.pod.clone();
            let details = self.query.staged(&[], Some(&fresh), |view, trial| {
                trial.details(view, &pod, std::slice::from_ref(&name))
            });
            let Some((_, detail)) = details.into_iter().next() else { continue };
            let case = self.case(&fresh.node, Standing::Fresh, fresh.group.clone());
            // A change of the pod and a larger node are two ways: the smallest of either.
            let mut sets = case.alternatives(&detail);
            sets.truncate(FRESH_ALTERNATIVES);
            for set in sets {
                let key = (fresh.group.clone(), signature(&set));
                needs.entry(key).or_default().push((at, set));
            }
        }
        for found in needs.into_values() {
            let fresh = &self.fresh[found[0].0];
            // Zones that the question takes away count: a node of the group could come up there.
            let of_group = |learnt: &&LearntGroup| learnt.group.name == fresh.group;
            let zones = self.query.groups.iter().find(of_group).map(|learnt| learnt.group.zones.len());
            let every = zones == Some(found.len());
            for (at, set) in if every { &found[..1] } else { &found[..] } {
                let fresh = &self.fresh[*at];
                let zone: Option<Zone> = (!every).then(|| fresh.zone.clone());
                let (group, instance_type) = (fresh.group.clone(), fresh.instance_type.clone());
                let add = Change::AddNode { group, zone, instance_type };
                let (larger, besides): (Vec<Change>, Vec<Change>) =
                    set.iter().cloned().partition(|change| matches!(change, Change::Enlarge { .. }));
                self.propose([vec![add], larger, besides].concat(), Some(*at));
            }
        }
    }

    /// The lowest priority class by which the pod could push others out.
    fn ask_classes(&mut self) {
        let own = self.pod.spec.priority.unwrap_or(0);
        let sorted = self.query.view.priority_classes.sorted();
        let mut classes: Vec<(i32, Name)> = sorted
            .iter()
            .filter(|(_, class)| {
                class.value > own && class.preemption_policy != Some(PreemptionPolicy::Never)
            })
            .filter(|(_, class)| !class.meta.name.as_str().starts_with("system-"))
            .map(|(_, class)| (class.value, class.meta.name.clone()))
            .collect();
        classes.sort();
        for (value, class) in classes.into_iter().take(CLASSES_MAX) {
            let change = |node, victims| Change::Prioritize { class: class.clone(), value, node, victims };
            let Some(pod) = edit::pod(self.pod, &[change(NodeName::default(), Vec::new())]) else { return };
            let preemption = self.query.scheduler.preempt(&self.query.view, &pod, DRAW);
            if let Some(nominated) = preemption.nominated {
                self.propose(vec![change(nominated.node, nominated.victims)], None);
                return;
            }
        }
    }

    fn propose(&mut self, set: Vec<Change>, fresh: Option<usize>) {
        if set.is_empty() {
            return;
        }
        let proposal =
            self.proposals.entry(signature(&set)).or_insert_with(|| Proposal { options: Vec::new() });
        let at = proposal.options.partition_point(|(known, _)| weight(known) <= weight(&set));
        proposal.options.insert(at, (set, fresh));
        proposal.options.truncate(NODES_MAX);
    }

    fn try_out(mut self, max: usize) -> Vec<Remedy> {
        let mut sorted: Vec<(Signature, Proposal)> =
            std::mem::take(&mut self.proposals).into_iter().collect();
        let least = |proposal: &Proposal| -> (usize, Weight) { weight(&proposal.options[0].0) };
        sorted.sort_by(|(a_name, a), (b_name, b)| (least(a), a_name).cmp(&(least(b), b_name)));
        let mut found: Vec<(Signature, Remedy)> = Vec::new();
        let mut of_kind: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut tried = 0;
        for (signature, proposal) in sorted {
            let kind: Vec<usize> = proposal.options[0].0.iter().map(kind).collect();
            // What contains a remedy is none: a part of it would do.
            let is_more = found.iter().any(|(known, _)| known.iter().all(|part| signature.contains(part)));
            if is_more || of_kind.get(&kind).is_some_and(|count| *count >= OF_A_KIND_MAX) {
                continue;
            }
            for (changes, fresh) in proposal.options {
                tried += 1;
                if let Some((node, feasible, replaced)) = self.holds(&changes, fresh) {
                    *of_kind.entry(kind).or_default() += 1;
                    found.push((signature, Remedy { changes, node, feasible, replaced }));
                    break;
                }
            }
            if found.len() >= max || tried >= TRIED_MAX {
                break;
            }
        }
        found.into_iter().map(|(_, remedy)| remedy).collect()
    }

    /// Where the scheduler places the pod once the changes are made, how many nodes it fits on, and how many running pods
    /// have to be replaced for that.
    fn holds(&mut self, changes: &[Change], fresh: Option<usize>) -> Option<(NodeName, usize, usize)> {
        if let Some((node, feasible)) = self.holds_with(changes, fresh, &[]) {
            return Some((node, feasible, 0));
        }
        // A term of anti-affinity keeps others away from the pods that carry it.
        let is_mutual = changes.iter().any(|change| matches!(change, Change::PreferApart { .. }));
        if !is_mutual || self.running.is_empty() {
            return None;
        }
        let running = self.running.clone();
        let (node, feasible) = self.holds_with(changes, fresh, &running)?;
        Some((node, feasible, running.len()))
    }

    fn holds_with(
        &mut self,
        changes: &[Change],
        fresh: Option<usize>,
        replaced: &[(Arc<Pod>, NodeName)],
    ) -> Option<(NodeName, usize)> {
        let pod = edit::pod(self.pod, changes)?;
        let fresh = fresh.map(|at| self.fresh[at].clone());
        let is_by_force = changes.iter().any(|change| matches!(change, Change::Prioritize { .. }));
        let is_changed = !Arc::ptr_eq(&pod, self.pod);
        let copies: &[_] = if is_changed { &self.copies } else { &[] };
        self.query.staged(changes, fresh.as_ref(), |view, trial| {
            for (other, node) in replaced {
                trial.take_away(view, &other.meta.key());
                trial.assume(view, &edit::pod(other, changes)?, node, &Default::default());
            }
            place_again(view, trial, copies, changes)?;
            if is_by_force {
                return trial.preempt(view, &pod, DRAW).nominated.map(|nominated| (nominated.node, 1));
            }
            let placed = trial.place(view, &pod, DRAW).ok()?;
            Some((placed.node, placed.feasible))
        })
    }
}

/// Places copies anew, one after the other, with the changes; many of them stay where they are.
fn place_again(
    view: &View,
    trial: &mut Trial<'_>,
    copies: &[(Arc<Pod>, NodeName)],
    changes: &[Change],
) -> Option<()> {
    for (copy, _) in copies {
        trial.take_away(view, &copy.meta.key());
    }
    for (copy, node) in copies {
        let copy = edit::pod(copy, changes)?;
        if copies.len() > PLACED_AGAIN_MAX {
            trial.assume(view, &copy, node, &Default::default());
            continue;
        }
        let placed = trial.place(view, &copy, DRAW).ok()?;
        trial.assume(view, &copy, &placed.node, &placed.volumes);
    }
    Some(())
}

impl PlacementQuery {
    /// Asks with changes made and a node added, and undoes both.
    fn staged<T>(
        &mut self,
        changes: &[Change],
        fresh: Option<&Fresh>,
        ask: impl FnOnce(&View, &mut Trial<'_>) -> T,
    ) -> T {
        let claims = changes.iter().filter_map(|change| claims::changed(&self.view, change));
        let csi = fresh.and_then(|fresh| fresh.csi.clone()).map(Object::from);
        let objects: Vec<Object> = claims.chain(csi).collect();
        let undo: Vec<Delta> = objects
            .iter()
            .map(|object| match self.view.object(object.kind(), &object.meta().key()) {
                Some(known) => Delta::Put(known),
                None => Delta::Gone(object.reference()),
            })
            .collect();
        for object in objects {
            self.apply(Delta::Put(object));
        }
        let mut trial = self.scheduler.trial();
        for node in changes.iter().filter_map(Change::node) {
            let changed = self.view.node(node).and_then(|node| edit::node(node, changes));
            changed.into_iter().for_each(|node| trial.put_node(node));
        }
        if let Some(fresh) = fresh {
            trial.put_node(edit::enlarged(&fresh.node, changes));
            let name = fresh.node.name();
            for pod in &fresh.daemons {
                trial.assume(&self.view, pod, &name, &Default::default());
            }
        }
        let answer = ask(&self.view, &mut trial);
        drop(trial);
        for delta in undo {
            self.apply(delta);
        }
        answer
    }
}

fn signature(changes: &[Change]) -> Signature {
    let mut parts: Vec<String> = changes
        .iter()
        .map(|change| match change {
            Change::Request { resource, .. } => format!("request {resource}"),
            Change::Free { resource, .. } => format!("free {resource}"),
            Change::Skew { constraint, .. } => format!("skew {constraint}"),
            Change::Label { key, from, to, .. } => format!("label {key}={to} {}", from.is_some()),
            Change::Unlabel { key, .. } => format!("unlabel {key}"),
            Change::Uncordon { .. } => "uncordon".to_owned(),
            Change::Untaint { taint, .. } => format!("untaint {}", replank_facts::why::Shown(taint)),
            Change::AddNode { group, zone, .. } => format!("add {group} {zone:?}"),
            Change::Enlarge { group, resource, .. } => format!("enlarge {group} {resource}"),
            Change::Prioritize { .. } => "prioritize".to_owned(),
            Change::Tolerate(_)
            | Change::Select { .. }
            | Change::Unselect { .. }
            | Change::Admit { .. }
            | Change::Unrequire { .. }
            | Change::UnrequireAll
            | Change::ReleasePort { .. }
            | Change::SpreadAnyway { .. }
            | Change::PreferApart { .. }
            | Change::PreferNear
            | Change::MakeClaim { .. }
            | Change::Reclass { .. }
            | Change::RenewClaim { .. } => change.to_string(),
        })
        .collect();
    parts.sort();
    parts
}

/// A number for each kind of change.
fn kind(change: &Change) -> usize {
    match change {
        Change::Tolerate(_) => 0,
        Change::Select { .. } => 1,
        Change::Unselect { .. } => 2,
        Change::Admit { .. } => 3,
        Change::Unrequire { .. } => 4,
        Change::UnrequireAll => 5,
        Change::Request { .. } => 6,
        Change::ReleasePort { .. } => 7,
        Change::Skew { .. } => 8,
        Change::SpreadAnyway { .. } => 9,
        Change::PreferApart { .. } => 10,
        Change::PreferNear => 11,
        Change::MakeClaim { .. } => 12,
        Change::Reclass { .. } => 13,
        Change::RenewClaim { .. } => 14,
        Change::Prioritize { .. } => 15,
        Change::Label { .. } => 16,
        Change::Unlabel { .. } => 17,
        Change::Uncordon { .. } => 18,
        Change::Untaint { .. } => 19,
        Change::Free { .. } => 20,
        Change::AddNode { .. } => 21,
        Change::Enlarge { .. } => 22,
    }
}
