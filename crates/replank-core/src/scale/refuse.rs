//! Why pods go on waiting: what every group says to them.

use replank_model::object::meta::Key;
use replank_model::text::{GroupName, Zone};

use super::limits::Totals;
use super::ownership::RollOwnership;
use super::up::Given;
use super::what_if::WhatIf;
use replank_facts::why::words;
use replank_protocol::scaling::GroupWhy;

/// Pods that ask the same and go on waiting.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The pods, in the order of the queue.
    pub pods: Vec<Key>,
    /// What each group says.
    pub groups: Vec<(GroupName, GroupWhy)>,
}

/// What groups say to the pods that are left.
pub(super) fn refusals(given: Given<'_>, what_if: &mut WhatIf<'_>, totals: &Totals) -> Vec<Refusal> {
    let left: Vec<usize> =
        (0..what_if.classes.all.len()).filter(|at| what_if.classes.all[*at].left() > 0).collect();
    let mut refusals: Vec<Refusal> = Vec::new();
    for class in left {
        let groups = (0..what_if.groups.len())
            .map(|group| (what_if.groups[group].name.clone(), why(given, what_if, totals, class, group)));
        let groups: Vec<_> = groups.collect();
        let of = &what_if.classes.all[class];
        let pods = of.pods[of.placed..].iter().map(|pod| pod.meta.key()).collect();
        refusals.push(Refusal { pods, groups });
    }
    refusals
}

fn why(given: Given<'_>, what_if: &mut WhatIf<'_>, totals: &Totals, class: usize, group: usize) -> GroupWhy {
    let takes = what_if.probes[group].iter().any(|probe| probe.takes(&what_if.classes.all[class]));
    if !takes {
        return objects(what_if, class, group);
    }
    let own = &what_if.groups[group];
    let backed_off = own.zones.iter().filter_map(|zone| given.state.backed_off(own, zone, given.now));
    let backed_off: Vec<_> = backed_off.collect();
    if own.is_suspended {
        return GroupWhy::Suspended;
    }
    if own.is_empty() && own.size.desired == 0 && !given.options.from_zero {
        return GroupWhy::Empty;
    }
    if let RollOwnership::Newer { version } = own.ownership {
        return GroupWhy::NewerVersion { version };
    }
    if own.ownership == RollOwnership::Closed {
        return GroupWhy::Rolling;
    }
    if what_if.stocks[group].is_full(own) {
        return GroupWhy::AtMaximum { max: own.max() };
    }
    if let (0, Some(limit)) = totals.room(what_if.templates[group].any(), given.options) {
        return GroupWhy::AtLimit(limit);
    }
    if let Some((scope, backoff)) = backed_off.first().filter(|_| backed_off.len() == own.zones.len()) {
        let (scope, until, why) = ((*scope).clone(), backoff.until(), backoff.why.clone());
        return GroupWhy::BackedOff { scope, until, why };
    }
    let words = between(what_if, class, group);
    if words.is_empty() {
        return GroupWhy::EnoughAtOnce { most: given.options.per_scale_up_max };
    }
    GroupWhy::BetweenPods { words }
}

fn objects(what_if: &mut WhatIf<'_>, class: usize, group: usize) -> GroupWhy {
    let pod = what_if.classes.all[class].first().clone();
    let mut zones: Vec<(Vec<Zone>, Vec<String>)> = Vec::new();
    for at in 0..what_if.groups[group].zones.len() {
        let zone = what_if.groups[group].zones[at].clone();
        let Some((detail, fresh)) = what_if.objections(group, at, &pod) else { continue };
        let said = words(&pod, &fresh.node, &detail);
        match zones.iter_mut().find(|(_, known)| *known == said) {
            Some((names, _)) => names.push(zone),
            None => zones.push((vec![zone], said)),
        }
    }
    GroupWhy::Objects { zones }
}

/// What a new node objects to once all others are placed; empty if it would take the pod in some zone.
fn between(what_if: &mut WhatIf<'_>, class: usize, group: usize) -> Vec<String> {
    let pod = what_if.classes.all[class].first().clone();
    let mut first = Vec::new();
    for at in 0..what_if.groups[group].zones.len() {
        let Some((detail, fresh)) = what_if.objections(group, at, &pod) else { continue };
        if detail.first.is_none() && detail.rejected.is_none() {
            return Vec::new();
        }
        if first.is_empty() {
            first = words(&pod, &fresh.node, &detail);
        }
    }
    first
}
