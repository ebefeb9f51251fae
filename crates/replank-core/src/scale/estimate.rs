//! How many nodes of a group pods need.
//!
//! Classes are taken the largest first. Those that depend on nothing but the node are packed by division onto the new nodes in
//! their order; all others are placed one by one by the engine, which may put them on nodes that were there before, since a new
//! node can open these (a spread constraint's smallest count rises). A class that a fresh node of no zone takes adds none.

use std::cmp::Reverse;

use replank_model::text::NodeName;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::amounts::{AT_CPU, AT_MEMORY};
use super::classes::{Class, Kind};
use super::slots::{Slot, Slots};
use super::source::{Stock, next};
use super::what_if::WhatIf;
use replank_schedule::{Mark, VolumeDecisions};

pub(super) use super::filled::{Estimate, Filled, On, Put};

/// How exactly pods are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// By division alone; of what pods ask of each other only how many share a node counts. For plain classes it is exact.
    Division,
    /// With the engine where division does not tell.
    Engine,
}

/// A run over the classes.
struct Filling<'b, 'a> {
    what_if: &'b mut WhatIf<'a>,
    choice: &'b [usize],
    mode: Mode,
    /// Of the groups of the choice.
    stocks: SmallVec<[Stock; 1]>,
    slots: Slots,
    by_name: FxHashMap<NodeName, usize>,
    most: usize,
    puts: Vec<Put>,
    placed: Vec<usize>,
}

/// Counts the nodes that groups of a choice would add, at most so many. The bench's engine has them afterwards; the caller takes
/// them back, or keeps them with [`WhatIf::keep`].
pub(super) fn fill(what_if: &mut WhatIf<'_>, choice: &[usize], mode: Mode, most: usize) -> Filled {
    // New nodes of earlier rounds are passed over: what still waits was refused by all of them, and they only got fuller. The engine
    // knows them, for pods to which others open a node.
    let stocks = choice.iter().map(|group| what_if.stocks[*group].clone()).collect();
    let placed = what_if.classes.all.iter().map(|class| class.placed).collect();
    let (slots, by_name) = (Slots::new(&what_if.classes.shares), FxHashMap::default());
    let mut filling =
        Filling { what_if, choice, mode, stocks, slots, by_name, most, puts: Vec::new(), placed };
    for at in filling.order() {
        filling.class(at);
    }
    let Filling { stocks, slots, puts, .. } = filling;
    let stocks = choice.iter().copied().zip(stocks).collect();
    Filled { estimate: Estimate { added: slots.added(), puts }, stocks }
}

/// What there was before nodes came that take nothing.
struct Before {
    slots: usize,
    stocks: SmallVec<[Stock; 1]>,
    mark: Mark,
}

impl Filling<'_, '_> {
    /// Those of higher priority first, then the largest as shares of what a node offers (Cluster Autoscaler's
    /// `DecreasingPodOrderer`).
    fn order(&self) -> Vec<usize> {
        let of = &self.what_if.probes[self.choice[0]][0].offered;
        let share = |class: &Class, at: usize| {
            let (wanted, all) =
                (class.request.get(at).copied().unwrap_or(0), of.get(at).copied().unwrap_or(0));
            i128::from(wanted) * 1_000_000 / i128::from(all.max(1))
        };
        let mut order: Vec<usize> =
            (0..self.what_if.classes.all.len()).filter(|at| self.left(*at) > 0).collect();
        order.sort_by_cached_key(|at| {
            let class = &self.what_if.classes.all[*at];
            let priority = class.pods[0].spec.priority.unwrap_or(0);
            (Reverse(priority), Reverse(share(class, AT_CPU) + share(class, AT_MEMORY)), *at)
        });
        order
    }

    fn left(&self, at: usize) -> usize {
        self.what_if.classes.all[at].pods.len() - self.placed[at]
    }

    fn class(&mut self, at: usize) {
        let class = &self.what_if.classes.all[at];
        let mut probes = self.choice.iter().flat_map(|group| &self.what_if.probes[*group]);
        if !probes.any(|probe| probe.takes(class)) {
            return;
        }
        let one_by_one = self.mode == Mode::Engine && class.kind != Kind::Plain;
        if !one_by_one {
            self.fill_slots(at);
        }
        // Where no node that was there takes it any more, and what came since then.
        let mut fresh: Option<usize> = None;
        let mut dry: Option<Before> = None;
        while self.left(at) > 0 {
            let is_placed = match (one_by_one, fresh) {
                (false, None) => false,
                (false, Some(slot)) => self.fill_slot(at, slot) > 0,
                (true, fresh) => self.place(at, fresh),
            };
            if is_placed {
                dry = None;
                continue;
            }
            let came_in_vain = dry.as_ref().map_or(0, |before| self.slots.len() - before.slots);
            if came_in_vain > self.zones() || self.slots.len() >= self.most {
                break;
            }
            if dry.is_none() {
                let (stocks, mark) = (self.stocks.clone(), self.what_if.trial.mark());
                dry = Some(Before { slots: self.slots.len(), stocks, mark });
            }
            let Some(slot) = self.add() else { break };
            fresh = Some(slot);
        }
        if let Some(before) = dry {
            self.what_if.trial.revert_to(before.mark);
            self.slots.truncate(before.slots);
            self.stocks = before.stocks;
        }
    }

    /// Zones of the choice: so many nodes may come in vain before one comes in the zone that is wanted.
    fn zones(&self) -> usize {
        self.choice.iter().map(|group| self.what_if.groups[*group].zones.len()).sum()
    }

    fn add(&mut self) -> Option<usize> {
        let next = next(self.choice, &mut self.stocks)?;
        let free = self.what_if.probes[next.group][next.zone].free.clone();
        let name = match self.mode {
            Mode::Division => None,
            Mode::Engine => Some(self.what_if.put_node(next)),
        };
        if let Some(name) = &name {
            self.by_name.insert(name.clone(), self.slots.len());
        }
        self.slots.push(Slot { next, free, name });
        Some(self.slots.len() - 1)
    }

    /// Packs pods of a class onto the new nodes that are there, the first of them first.
    fn fill_slots(&mut self, at: usize) {
        let mut from = 0;
        while self.left(at) > 0
            && let Some(slot) = self.slots.first_with_room(from, &self.what_if.classes.all[at])
        {
            self.fill_slot(at, slot);
            from = slot + 1;
        }
    }

    /// Packs as many pods of a class as a new node takes.
    fn fill_slot(&mut self, at: usize, slot: usize) -> usize {
        let class = &self.what_if.classes.all[at];
        let here = self.slots.get(slot);
        let left = self.left(at);
        if left == 0 || !self.what_if.probes[here.next.group][here.next.zone].lets_in(class) {
            return 0;
        }
        let count = usize::try_from(self.slots.room(slot, class)).unwrap_or(0).min(left);
        if count == 0 {
            return 0;
        }
        if let Some(name) = here.name.clone() {
            let pods = self.what_if.classes.all[at].pods[self.placed[at]..][..count].to_vec();
            for pod in pods {
                self.what_if.assume(&pod, &name, &VolumeDecisions::default());
            }
        }
        self.count(at, On::Slot(slot), count);
        count
    }

    /// Places one pod by the engine. Whether it went anywhere. A class that no pod opens a node to is asked of the newest node only,
    /// once all others have refused it.
    fn place(&mut self, at: usize, fresh: Option<usize>) -> bool {
        let class = &self.what_if.classes.all[at];
        let pod = class.pods[self.placed[at]].clone();
        let newest =
            fresh.filter(|_| class.kind == Kind::Apart).and_then(|slot| self.slots.get(slot).name.clone());
        let found = match newest {
            Some(name) => self.what_if.fits_on(&pod, &name).then_some((name, VolumeDecisions::default())),
            None => self.what_if.place(&pod),
        };
        let Some((name, volumes)) = found else { return false };
        self.what_if.assume(&pod, &name, &volumes);
        // A node that came in vain was taken back, and its number given to another.
        let slot = self.by_name.get(&name).copied().filter(|slot| *slot < self.slots.len());
        let on = slot.map_or(On::Node(name), On::Slot);
        self.count(at, on, 1);
        true
    }

    fn count(&mut self, at: usize, on: On, count: usize) {
        if let On::Slot(slot) = &on {
            let number = i64::try_from(count).expect("fewer pods than 2^63 fit in memory");
            self.slots.put(*slot, &self.what_if.classes.all[at], number);
        }
        self.placed[at] += count;
        self.puts.push(Put { class: at, pods: count, on });
    }
}

#[cfg(test)]
mod tests;
