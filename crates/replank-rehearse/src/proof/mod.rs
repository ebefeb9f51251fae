//! Proof of remedies: each is made on a copy of the cluster, and what is found then is compared with what was found before.
//!
//! A way is proved if the API server takes its changes, its finding is gone or weaker, no other finding of equal or greater weight has come,
//! and every pod has a place that had one. Where something stops a roll, the roll is rehearsed on the copy too.
//!
//! Ways that touch different objects are tried together, so that most reports take one copy. Where something has come, another copy without the
//! changes tells what has come by itself. Only where something is amiss are they tried in halves, and at last one by one.

mod batch;
mod change;
mod copy;
mod form;
mod ground;
mod judge;
mod preview;
#[cfg(test)]
mod tests;
mod trial;

use replank_facts::finding::{Finding, Severity};

pub use change::{Changed, apply};
pub use form::{Proofs, Stops, Verdict};
pub use ground::Ground;
pub use judge::Trials;
pub use preview::{Preview, preview};
pub use trial::Find;

use batch::{Candidate, batches};
use judge::Judge;

/// Proves the remedies of findings; for each finding what was proved of its ways.
pub fn prove<R: Ord + Clone>(
    ground: &Ground,
    findings: &[Finding<R>],
    find: Find<'_, R>,
    stops: Option<Stops<'_>>,
    trials: Trials,
) -> Vec<Proofs> {
    let mut proofs: Vec<Proofs> = findings
        .iter()
        .map(|finding| Proofs { ways: vec![Verdict::ForAPlan; finding.remedy.ways.len()], rehearsed: false })
        .collect();
    let mut judge = Judge::new(ground, findings, find, trials);
    let most = findings.iter().map(|finding| finding.remedy.ways.len()).max().unwrap_or(0);
    for number in 0..most {
        for batch in batches(ground, findings, number) {
            for (candidate, proof) in judge.try_all(batch) {
                proofs[candidate.finding].ways[number] = proof;
            }
        }
    }
    let Some(stops) = stops else { return proofs };
    for number in 0..most {
        let is_proved = |at: usize| proofs[at].ways.get(number) == Some(&Verdict::Proved);
        let blocking = findings.iter().enumerate().filter(|(_, one)| one.severity == Severity::Blocking);
        let blocking: Vec<Candidate<'_>> = blocking
            .filter(|(at, _)| is_proved(*at))
            .map(|(at, one)| Candidate { finding: at, way: &one.remedy.ways[number] })
            .collect();
        for (at, verdict) in judge.rehearse(&blocking, stops) {
            proofs[at].rehearsed |= verdict == Verdict::Proved;
            proofs[at].ways[number] = verdict;
        }
    }
    proofs
}
