//! What is asked about placing, and what was found.

use replank_advice::place::{Answer, Copies, DaemonRow, Outcome, Remedy, Wanted};
use replank_facts::groups::GroupBy;
use replank_schedule::Verdict;

use crate::cli::PlaceArgs;

/// What was asked about one pod or workload, and what came out.
#[derive(Debug)]
pub(crate) struct Question {
    /// `Pod engine/analyst`, `Deployment shop/web`.
    pub(crate) object: String,
    /// As `kubectl` takes it, where there is a workload whose template would be changed.
    pub(crate) editable: Option<String>,
    /// What was done before asking, where that is not plain.
    pub(crate) notes: Vec<String>,
    /// What came out.
    pub(crate) result: Found,
}

/// What came out.
#[derive(Debug)]
pub(crate) enum Found {
    /// Of one pod, and of copies of it.
    Pod {
        /// Every node's answer to the first.
        answer: Box<Answer>,
        /// The numbers behind the objections, of the nodes that are shown one by one.
        why: Why,
        /// The copies, if more than one was asked about, or some.
        copies: Option<Copies>,
        /// What to change for the one that does not fit.
        remedies: Vec<Remedy>,
    },
    /// Of a DaemonSet.
    PerNode {
        /// Every node's.
        rows: Vec<DaemonRow>,
        /// The numbers behind the objections.
        why: Why,
    },
}

/// Objections in words, by node.
pub(crate) type Why = std::collections::BTreeMap<replank_model::text::NodeName, Vec<String>>;

impl Found {
    /// Whether everything that was asked about fits.
    pub(crate) fn fits(&self) -> bool {
        match self {
            Self::Pod { answer, copies, .. } => {
                let first = match &answer.outcome {
                    Outcome::Fits(_) => true,
                    Outcome::Gated { .. } | Outcome::DoesNotFit(_) | Outcome::Error(_) => false,
                };
                first && copies.as_ref().is_none_or(|copies| copies.stopped.is_none())
            }
            Self::PerNode { rows, .. } => rows.iter().all(|row| match (row.wanted, &row.row.verdict) {
                (Wanted::No, _) | (Wanted::Yes, Verdict::Fits(_)) => true,
                (Wanted::Yes, Verdict::Fails { .. }) => false,
            }),
        }
    }
}

pub(super) fn group_by(args: &PlaceArgs) -> GroupBy {
    GroupBy::Label(args.read.group_label.clone())
}
