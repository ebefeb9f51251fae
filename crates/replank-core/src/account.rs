//! What the modules of a decision share: what one uses, the others see at once.
//!
//! Interruptions are decided first, then the run, then how many nodes there are to be. Each goes by the same observations and the same rules of disruption budgets
//! ([`replank_facts::budget`]); what it has asked for and nobody can see yet is here, and charged to the modules that decide after it.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::{GroupName, NodeName};

use crate::sent::Sent;

/// See the module's page. A cache: without it, commands are sent once more under the same keys.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// What was sent and is not seen yet.
    pub(crate) sent: Sent,
    /// Nodes that an interruption takes away, as of this decision.
    pub(crate) interrupted: BTreeSet<NodeName>,
    /// Those of them that are released: a run may take one over, still cordoned; otherwise it is uncordoned.
    pub(crate) released: BTreeSet<NodeName>,
    /// Nodes that the run wants its mark on, as of this decision.
    pub(crate) marked: BTreeSet<NodeName>,
    /// Whether the number of nodes is kept to what is needed.
    pub(crate) is_scaled: bool,
    /// What groups in the run's hands are to want in the end, where the autoscaler has added to them and has yet to write that down.
    pub(crate) owed: BTreeMap<GroupName, u32>,
    /// Groups in the run's hands that the autoscaler may have raised: nobody knows yet. Their sizes are not changed meanwhile.
    pub(crate) raising: BTreeSet<GroupName>,
    /// How many nodes more than before it groups may want for the run's sake, as far as it is by now.
    pub(crate) extra: BTreeMap<GroupName, u32>,
    /// Groups that the run is rolling, as of this decision: their tags may not say so yet.
    pub(crate) rolled: BTreeSet<GroupName>,
}
