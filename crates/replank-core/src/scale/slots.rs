//! New nodes while they are filled: the first of them that still has room for a pod.
//!
//! Nodes come by the thousand and classes of pods by the hundred, for each group anew. So nodes are looked at in blocks, of which the
//! most that any of their nodes has left is known, and of nodes that are shared with so many at most those are counted that are
//! used up from the first on. What is found is what a look at every node would find.

use replank_model::text::NodeName;

use super::amounts::{Amounts, fits, take, times};
use super::classes::{Class, Share};
use super::source::Next;

/// Nodes of a block: a block that is full costs one look instead of so many.
const BLOCK: usize = 64;

/// A new node while it is filled.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) next: Next,
    pub(super) free: Amounts,
    /// Its name in the engine, where it is put there.
    pub(super) name: Option<NodeName>,
}

/// New nodes, in the order in which they come.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    all: Vec<Slot>,
    blocks: Vec<Block>,
    shares: Vec<Shared>,
}

/// What the nodes of a block have left.
#[derive(Clone, Debug)]
struct Block {
    /// None of them has more of anything.
    most: Amounts,
    /// Whether they may all have less by now.
    is_loose: bool,
}

/// How many of those that share nodes are on each.
#[derive(Clone, Debug)]
struct Shared {
    /// As many as any class allows itself.
    most: i64,
    /// By position; nodes that come later have none.
    used: Vec<i64>,
    /// So many of the first nodes have all that any class allows itself.
    closed: usize,
}

impl Slots {
    /// None yet. `shares` has for each number of [`Share`] the most that a class with it allows itself on a node.
    pub(super) fn new(shares: &[i64]) -> Self {
        let shares = shares.iter().map(|most| Shared { most: *most, used: Vec::new(), closed: 0 });
        Self { all: Vec::new(), blocks: Vec::new(), shares: shares.collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, at: usize) -> &Slot {
        &self.all[at]
    }

    /// Where they come, in their order.
    pub(super) fn added(&self) -> Vec<Next> {
        self.all.iter().map(|slot| slot.next).collect()
    }

    pub(super) fn push(&mut self, slot: Slot) {
        match self.blocks.get_mut(self.all.len() / BLOCK) {
            Some(block) => raise(&mut block.most, &slot.free),
            None => self.blocks.push(Block { most: slot.free.clone(), is_loose: false }),
        }
        self.all.push(slot);
    }

    /// Takes back all but the first, on which nothing was put.
    pub(super) fn truncate(&mut self, len: usize) {
        assert!(self.shares.iter().all(|shared| shared.used.len() <= len), "nothing is on those taken back");
        self.all.truncate(len);
        self.blocks.truncate(len.div_ceil(BLOCK));
        if let Some(last) = self.blocks.last_mut() {
            last.is_loose = true;
        }
    }

    /// The first node from a position on that has room for a pod of a class.
    pub(super) fn first_with_room(&mut self, from: usize, class: &Class) -> Option<usize> {
        let closed = class.shares.iter().map(|(share, _)| self.shares[*share as usize].closed).max();
        let mut at = from.max(closed.unwrap_or(0));
        while at < self.all.len() {
            let block = at / BLOCK;
            let end = ((block + 1) * BLOCK).min(self.all.len());
            if fits(&self.blocks[block].most, &class.request) {
                if let Some(found) = (at..end).find(|at| self.has_room(*at, class)) {
                    return Some(found);
                }
                self.tighten(block);
            }
            at = end;
        }
        None
    }

    fn has_room(&self, at: usize, class: &Class) -> bool {
        class.shares.iter().all(|share| self.unshared(at, share) > 0)
            && fits(&self.all[at].free, &class.request)
    }

    /// How many more of those that share a node it takes.
    fn unshared(&self, at: usize, (share, most): &Share) -> i64 {
        most - self.shares[*share as usize].used.get(at).copied().unwrap_or(0)
    }

    fn tighten(&mut self, block: usize) {
        let Block { most, is_loose } = &mut self.blocks[block];
        if !std::mem::take(is_loose) {
            return;
        }
        most.fill(i64::MIN);
        for slot in self.all[block * BLOCK..].iter().take(BLOCK) {
            raise(most, &slot.free);
        }
    }

    /// How many pods of a class a node takes.
    pub(super) fn room(&self, at: usize, class: &Class) -> i64 {
        if !self.has_room(at, class) {
            return 0;
        }
        let shared = class.shares.iter().map(|share| self.unshared(at, share)).min().unwrap_or(i64::MAX);
        shared.min(times(&self.all[at].free, &class.request))
    }

    /// Puts so many pods of a class onto a node.
    pub(super) fn put(&mut self, at: usize, class: &Class, count: i64) {
        take(&mut self.all[at].free, &class.request, count);
        self.blocks[at / BLOCK].is_loose = true;
        for (share, _) in &class.shares {
            let Shared { most, used, closed } = &mut self.shares[*share as usize];
            if used.len() <= at {
                used.resize(at + 1, 0);
            }
            used[at] += count;
            while used.get(*closed).is_some_and(|used| used >= most) {
                *closed += 1;
            }
        }
    }
}

/// Raises what is known of several to what one has.
fn raise(most: &mut Amounts, free: &Amounts) {
    for (most, free) in most.iter_mut().zip(free) {
        *most = (*most).max(*free);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::super::classes::Kind;
    use super::*;

    fn class((cpu, memory): (i64, i64), shares: &[Share]) -> Class {
        Class {
            pods: Vec::new(),
            placed: 0,
            request: smallvec![1, cpu, memory],
            kind: Kind::Bound,
            shares: shares.iter().copied().collect(),
            asks: 0,
        }
    }

    fn slot((cpu, memory, pods): (i64, i64, i64)) -> Slot {
        let next = Next { group: 0, zone: 0, number: 0 };
        Slot { next, free: smallvec![pods, cpu, memory], name: None }
    }

    /// The long way: every node by itself.
    #[derive(Default)]
    struct Plain(Vec<(Amounts, [i64; 2])>);

    impl Plain {
        fn room(&self, at: usize, class: &Class) -> i64 {
            let (free, used) = &self.0[at];
            let shared = class.shares.iter().map(|(share, most)| most - used[*share as usize]);
            shared.min().unwrap_or(i64::MAX).min(times(free, &class.request)).max(0)
        }

        fn first_with_room(&self, from: usize, class: &Class) -> Option<usize> {
            (from..self.0.len()).find(|at| self.room(*at, class) > 0)
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push((i64, i64, i64), usize),
        Fill(usize, usize),
        TakeBack(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            ((0i64..9, 0i64..9, 0i64..5), 1usize..90).prop_map(|(free, often)| Step::Push(free, often)),
            (0usize..5, 1usize..150).prop_map(|(class, pods)| Step::Fill(class, pods)),
            (1usize..70).prop_map(Step::TakeBack),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
        #[test]
        fn blocks_find_what_every_node_says(steps in prop::collection::vec(step(), 1..30)) {
            let classes = [
                class((1, 1), &[]), class((3, 0), &[]), class((0, 2), &[(0, 1)]), class((2, 2), &[(0, 2), (1, 1)]),
                class((0, 0), &[(1, 3)]),
            ];
            let (mut slots, mut plain) = (Slots::new(&[2, 3]), Plain::default());
            // So many of the first have something on them, and cannot be taken back.
            let mut held = 0;
            for step in steps {
                match step {
                    Step::Push(free, often) => for _ in 0..often {
                        slots.push(slot(free));
                        plain.0.push((slot(free).free, [0; 2]));
                    },
                    Step::Fill(class, mut left) => {
                        let (class, mut from) = (&classes[class], 0);
                        while left > 0 {
                            let found = slots.first_with_room(from, class);
                            prop_assert_eq!(found, plain.first_with_room(from, class));
                            let Some(at) = found else { break };
                            let room = slots.room(at, class);
                            prop_assert_eq!(room, plain.room(at, class));
                            let count = room.min(i64::try_from(left).expect("few"));
                            slots.put(at, class, count);
                            take(&mut plain.0[at].0, &class.request, count);
                            class.shares.iter().for_each(|(share, _)| plain.0[at].1[*share as usize] += count);
                            left -= usize::try_from(count).expect("few");
                            (from, held) = (at + 1, held.max(at + 1));
                        }
                    }
                    Step::TakeBack(count) => {
                        let len = slots.len().saturating_sub(count).max(held);
                        slots.truncate(len);
                        plain.0.truncate(len);
                    }
                }
            }
        }
    }
}
