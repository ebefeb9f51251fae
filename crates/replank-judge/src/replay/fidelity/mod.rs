//! Fidelity: the program rehearses a roll from its own snapshot of a real control plane, then rolls it there. Somebody else replaces the drained nodes, in
//! times that both know. What came of it is compared with the rehearsal, and with what people do by hand on a cluster like it: `kubectl drain`, node by node, which
//! is rehearsed (`rehearse --as kubectl`) from a snapshot of that cluster, too.

mod audit;
mod by_hand;
mod case;
mod compare;
mod journal;
mod karpenter;
mod live;
mod outcome;
mod person;
mod program;
mod proof;

use anyhow::{Context, Result};

use super::means::Means;
use super::stage;

pub use audit::{Asked, Floor, log_of};
pub use case::{Case, cases};
pub use outcome::Outcome;
pub use proof::{Proof, Row, Size, prove};

/// Compares one case; with kubectl, too, if it is to be tried `by_hand`.
///
/// # Errors
/// The cluster cannot be built, or the program fails.
pub fn compare(means: &Means, case: &Case, by_hand: bool) -> Result<Outcome> {
    let folder = means.folder.join(&case.scene.name);
    let (mut rehearsed, real) = {
        let stage = stage::build_audited(&means.assets, &folder, &case.scene)
            .with_context(|| format!("building {}", case.scene.name))?;
        live::rolled(means, case, &stage, &folder)?
    };
    let all = compare::parts(&rehearsed.journal, &real);
    let agrees = |journal: &journal::Journal| compare::alike(journal, &real) == all;
    if !agrees(&rehearsed.journal) {
        rehearsed.others = live::other_seeds(means, case, &folder, agrees)?;
    }
    let hand = (by_hand && !case.is_pool).then(|| {
        let folder = folder.join("by-hand");
        let stage = stage::build_audited(&means.assets, &folder, &case.scene)
            .with_context(|| format!("building {} once more", case.scene.name))?;
        by_hand::drained(means, case, &stage, &folder)
    });
    Ok(compare::outcome(case, &rehearsed, &real, hand.transpose()?.as_ref()))
}
