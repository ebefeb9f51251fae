//! Which groups grow, by how much, and why what still waits goes on waiting.
//!
//! Cluster Autoscaler extends one group, looks again ten seconds later, and so on. Here all of these looks are taken at once: each
//! *round* chooses a group, takes its nodes to be there, and goes on with the pods that are left, until no group helps. What is
//! chosen is the same, in the same order; one group that cannot grow never keeps the others waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::resources::{CPU, MEMORY};
use replank_model::quantity::Quantity;
use replank_model::text::{GroupName, NodeName, Zone};

use super::amounts::{AT_CPU, AT_MEMORY};
use super::balance::are_similar;
use super::classes::{Class, Classes, repels};
use super::estimate::{Estimate, Mode, On, fill};
use super::expander::{Choice, Decided, choose};
use super::group::Group;
use super::limits::Totals;
use super::pending::{NotAsked, Pending};
use super::prices::Prices;
use super::refuse::{Refusal, refusals};
use super::source::Stock;
use super::template::{Template, is_startup};
use super::what_if::WhatIf;
use replank_facts::fresh::DaemonFactories;
use replank_schedule::{Scheduler, Trial};

pub use super::given::Given;

/// Pods placed one by one, times groups, up to which every group is counted by the engine. Above, division ranks the groups, and the
/// engine counts the one that is chosen: at 20 µs a pod this is under a second.
const EXACT_MAX: usize = 20_000;

/// What is to be added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Up {
    /// In the order in which groups are chosen.
    pub rounds: Vec<Round>,
    /// Pods that find a place on nodes that are there, or on their way.
    pub fits: Vec<(Key, NodeName)>,
    /// Pods that go on waiting, by what they ask for.
    pub refusals: Vec<Refusal>,
    /// Pods for which no node is added, whatever groups there are.
    pub not_asked: Vec<(Key, NotAsked)>,
    /// Instances that are on their way already, by group.
    pub upcoming: Vec<(GroupName, u32)>,
}

/// One choice of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// What was to be chosen from.
    pub choices: Vec<Choice>,
    /// Position of what was chosen.
    pub chosen: usize,
    /// Who decided.
    pub decided: Decided,
    /// The new nodes; of several groups where similar ones are balanced.
    pub nodes: Vec<NewNode>,
    /// Pods that find a place on nodes that were there, because the new ones are.
    pub opened: Vec<(Key, NodeName)>,
}

/// A node that is to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct NewNode {
    /// Its group.
    pub group: GroupName,
    /// The zone in which it is expected.
    pub zone: Zone,
    /// The pods that it is for.
    pub pods: Vec<Key>,
}

impl Up {
    /// How many nodes each group gets, by zone.
    #[must_use]
    pub fn additions(&self) -> BTreeMap<GroupName, BTreeMap<Zone, u32>> {
        let mut additions: BTreeMap<GroupName, BTreeMap<Zone, u32>> = BTreeMap::new();
        for node in self.rounds.iter().flat_map(|round| &round.nodes) {
            *additions.entry(node.group.clone()).or_default().entry(node.zone.clone()).or_default() += 1;
        }
        additions
    }

    /// How many pods go on waiting for a node.
    #[must_use]
    pub fn stay_pending(&self) -> usize {
        self.refusals.iter().map(|refusal| refusal.pods.len()).sum()
    }
}

/// Which groups grow. The scheduler knows what the View knows, and is as before afterwards.
#[must_use]
pub fn up(given: Given<'_>, scheduler: &mut Scheduler) -> Up {
    let Given { view, groups, options, now, .. } = given;
    let mut pending = Pending::of(view, &given.in_flight.coming, options, now);
    let mut up = Up { not_asked: std::mem::take(&mut pending.others), ..Up::default() };
    if pending.asking.is_empty() {
        return up;
    }
    let labels_matter = scheduler.knows_repelling()
        && view.pods.unordered().any(|(_, pod)| pod.node.is_some() && pod.is_active() && repels(pod));
    let factories = Arc::new(DaemonFactories::of(view));
    let templates = groups.all.iter().map(|group| Template::of(group, options, &factories)).collect();
    let mut trial = scheduler.trial();
    for pod in &given.in_flight.coming {
        trial.take_away(view, &pod.meta.key());
    }
    wake(given, &mut trial);
    let classes = Classes::of(&pending.asking, labels_matter);
    let (stocks, upcoming) = stocks(given);
    let mut what_if = WhatIf::new(view, trial, &groups.all, templates, classes, stocks);
    up.upcoming = what_if.put_upcoming(&upcoming);
    up.fits = what_if.fill_what_is_there();
    let mut totals = Totals::of(view, options);
    for (group, zones) in upcoming.iter().enumerate() {
        totals.add(what_if.templates[group].any(), options, i64::try_from(zones.len()).unwrap_or(i64::MAX));
    }
    while let Some(round) = round(given, &mut what_if, &mut totals) {
        up.rounds.push(round);
    }
    up.refusals = refusals(given, &mut what_if, &totals);
    up
}

/// New nodes count with their future capacity.
fn wake(given: Given<'_>, trial: &mut Trial<'_>) {
    for (_, node) in given.view.nodes.sorted() {
        if is_starting(node, given) {
            let mut ready = Node::clone(node);
            ready.spec.taints.retain(|taint| !is_startup(taint, given.options));
            trial.put_node(Arc::new(ready));
        }
    }
}

/// Whether a node is on its way to be ready: young, and not cordoned.
pub(super) fn is_starting(node: &Node, given: Given<'_>) -> bool {
    let age = node.meta.creation_timestamp.map(|created| given.now - created);
    let is_young = age.is_some_and(|age| age < given.options.provision_max);
    let has_startup_taint = node.spec.taints.iter().any(|taint| is_startup(taint, given.options));
    is_young && !node.spec.unschedulable && (!node.is_ready() || has_startup_taint)
}

/// What each group may still add, and in which zones its instances come that are on their way.
fn stocks(given: Given<'_>) -> (Vec<Stock>, Vec<Vec<usize>>) {
    let of = |group: &Group| {
        let is_open = |zone: &Zone| given.state.backed_off(group, zone, given.now).is_none();
        let open: Vec<bool> = group.zones.iter().map(is_open).collect();
        let is_empty = group.is_empty() && group.size.desired == 0;
        let may_grow = !group.is_suspended && (given.options.from_zero || !is_empty);
        Stock::of(group, if may_grow { group.room() } else { 0 }, &open)
    };
    given.groups.all.iter().map(of).unzip()
}

/// Chooses a group and takes its nodes to be there; `None` if no group helps.
fn round(given: Given<'_>, what_if: &mut WhatIf<'_>, totals: &mut Totals) -> Option<Round> {
    let waiting = what_if.classes.all.iter().map(Class::left).sum::<usize>();
    if waiting == 0 {
        return None;
    }
    let candidates: Vec<usize> = (0..what_if.groups.len()).filter(|at| what_if.could_help(*at)).collect();
    let is_plain = what_if.classes.are_plain();
    let ranked = match is_plain || what_if.classes.one_by_one() * candidates.len() > EXACT_MAX {
        true => Mode::Division,
        false => Mode::Engine,
    };
    let mut choices = Vec::new();
    let mut sets = Vec::new();
    for group in candidates {
        let set = similar(given, what_if, group);
        let most = most(given, what_if, totals, group);
        let mark = what_if.trial.mark();
        let filled = fill(what_if, &set, ranked, most);
        what_if.trial.revert_to(mark);
        if filled.estimate.pods() > 0 && !filled.estimate.added.is_empty() {
            choices.push(choice(given, what_if, group, &filled.estimate));
            sets.push((set, most));
        }
    }
    let (chosen, decided) = choose(&choices, &given.options.expanders, given.options.draw)?;
    let (set, most) = &sets[chosen];
    let filled = fill(what_if, set, if is_plain { Mode::Division } else { Mode::Engine }, *most);
    if filled.estimate.added.is_empty() {
        // Division saw more than the engine: this group does not help after all.
        let group = what_if.groups.iter().position(|group| group.name == choices[chosen].group)?;
        what_if.stocks[group].room = 0;
        return round(given, what_if, totals);
    }
    let (nodes, opened) = described(what_if, &filled.estimate);
    for next in &filled.estimate.added {
        totals.add(what_if.templates[next.group].any(), given.options, 1);
    }
    what_if.keep(filled);
    Some(Round { choices, chosen, decided, nodes, opened })
}

/// The most nodes that one choice adds.
fn most(given: Given<'_>, what_if: &WhatIf<'_>, totals: &Totals, group: usize) -> usize {
    let (room, _) = totals.room(what_if.templates[group].any(), given.options);
    room.min(given.options.per_scale_up_max) as usize
}

/// A group and those that are kept at its size.
fn similar(given: Given<'_>, what_if: &WhatIf<'_>, group: usize) -> Vec<usize> {
    if !given.options.balances {
        return vec![group];
    }
    let of = |at: usize| (what_if.templates[at].any(), &what_if.probes[at][0].free);
    let is_alike = |at: &usize| {
        *at == group || (what_if.could_help(*at) && are_similar(of(group), of(*at), given.options))
    };
    (0..what_if.groups.len()).filter(is_alike).collect()
}

fn choice(given: Given<'_>, what_if: &WhatIf<'_>, group: usize, estimate: &Estimate) -> Choice {
    let of = |at: usize| what_if.templates[at].any();
    let mut capacity = [0i128; 2];
    let mut wanted = [0i128; 2];
    let mut price: Option<i64> = Some(0);
    for next in &estimate.added {
        let node = of(next.group);
        let value = |name: &str| node.status.capacity.get(name);
        capacity[0] += i128::from(value(CPU).map_or(0, Quantity::milli_value));
        capacity[1] += i128::from(value(MEMORY).map_or(0, Quantity::value));
        let own = dearest(given.prices, &what_if.groups[next.group]);
        price = price.zip(own).map(|(sum, own)| sum.saturating_add(own));
    }
    for put in &estimate.puts {
        if let On::Slot(_) = put.on {
            let request = &what_if.classes.all[put.class].request;
            let pods = i128::try_from(put.pods).unwrap_or(i128::MAX);
            wanted[0] += i128::from(request[AT_CPU]) * pods;
            wanted[1] += i128::from(request[AT_MEMORY]) * pods;
        }
    }
    let idle = |at: usize| match capacity[at] {
        0 => 0,
        all => (all - wanted[at]) * 1_000_000 / all,
    };
    let own = &what_if.groups[group];
    Choice {
        group: own.name.clone(),
        nodes: u32::try_from(estimate.added.len()).unwrap_or(u32::MAX),
        pods: estimate.pods(),
        waste: i64::try_from(idle(0) + idle(1)).unwrap_or(i64::MAX),
        price,
        priority: given.priorities.of(own.auto_scaling.as_deref().unwrap_or(own.name.as_str())),
    }
}

/// Which type comes is not known: the dearest counts.
fn dearest(prices: &Prices, group: &Group) -> Option<i64> {
    let all: Option<Vec<i64>> = group.types.iter().map(|name| prices.of(name, group.market)).collect();
    all?.into_iter().max()
}

/// New nodes with their pods, and pods that went to nodes that were there.
fn described(what_if: &WhatIf<'_>, estimate: &Estimate) -> (Vec<NewNode>, Vec<(Key, NodeName)>) {
    let mut nodes: Vec<NewNode> = estimate
        .added
        .iter()
        .map(|next| {
            let group = &what_if.groups[next.group];
            NewNode { group: group.name.clone(), zone: group.zones[next.zone].clone(), pods: Vec::new() }
        })
        .collect();
    let mut opened = Vec::new();
    let mut from: Vec<usize> = what_if.classes.all.iter().map(|class| class.placed).collect();
    for put in &estimate.puts {
        let pods = &what_if.classes.all[put.class].pods[from[put.class]..][..put.pods];
        from[put.class] += put.pods;
        let keys = pods.iter().map(|pod| pod.meta.key());
        match &put.on {
            On::Slot(at) => nodes[*at].pods.extend(keys),
            On::Node(name) => opened.extend(keys.map(|key| (key, name.clone()))),
        }
    }
    (nodes, opened)
}
