//! What an estimate comes to.

use replank_model::text::NodeName;
use smallvec::SmallVec;

use super::source::{Next, Stock};

/// So many pods of a class on a new node, or on one that was there before.
#[derive(Clone, Debug)]
pub(super) struct Put {
    pub(super) class: usize,
    pub(super) pods: usize,
    pub(super) on: On,
}

/// Where pods go.
#[derive(Clone, Debug)]
pub(super) enum On {
    /// A new node, by position.
    Slot(usize),
    /// One that was there.
    Node(NodeName),
}

/// The outcome of adding nodes of some groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Estimate {
    /// New nodes, in the order in which they come.
    pub(super) added: Vec<Next>,
    /// What goes where.
    pub(super) puts: Vec<Put>,
}

impl Estimate {
    /// How many pods it helps.
    pub(super) fn pods(&self) -> usize {
        self.puts.iter().map(|put| put.pods).sum()
    }
}

/// What a choice comes to, and how the bench is once it is made.
pub(super) struct Filled {
    pub(super) estimate: Estimate,
    /// What is left of the groups of the choice.
    pub(super) stocks: SmallVec<[(usize, Stock); 1]>,
}
