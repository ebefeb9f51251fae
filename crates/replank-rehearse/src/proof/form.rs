//! What is proved, and what is asked for it.

use std::collections::BTreeSet;

use replank_facts::remedy::{Remedy, Way};

use super::ground::Ground;

/// What stops a roll: the objects that a rehearsal names as causes.
pub type Stops<'f> = &'f dyn Fn(&Ground) -> BTreeSet<String>;

/// What was proved of one remedy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proofs {
    /// For each of its ways.
    pub ways: Vec<Verdict>,
    /// Whether the roll was rehearsed with each way that is proposed.
    pub rehearsed: bool,
}

/// What became of one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is proposed.
    Proved,
    /// It is about a plan, and there is none: words for whoever writes one.
    ForAPlan,
    /// It is not proposed, and why.
    Withheld(String),
}

impl Proofs {
    /// The first way that is proved.
    #[must_use]
    pub fn way<'r>(&self, remedy: &'r Remedy) -> Option<&'r Way> {
        let mut ways = remedy.ways.iter().zip(&self.ways);
        ways.find(|(_, verdict)| **verdict == Verdict::Proved).map(|(way, _)| way)
    }
}
