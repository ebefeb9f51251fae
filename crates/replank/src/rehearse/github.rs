//! `-o github`: what a rehearsal came to, and its findings, as annotations of a GitHub workflow.
//!
//! The verdict and what blocks come first: GitHub shows ten annotations of a level for each step.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use replank_rehearse::{Blocker, FindingEntry, RehearsalResult, Verdict};

use crate::github::{data, finding, findings, missing};
use crate::report::words::{count, grouped};
use crate::report::{self, About, Summary};
use crate::snapshot::Places;

const TITLE: &str = "title=replank rehearse";

/// One rehearsal.
pub(super) fn one(result: &RehearsalResult, about: &About<'_>, places: &Places) -> String {
    let (word, sentence, _) = report::in_words(result, about);
    let mut text = verdict(result.verdict, &format!("{word}: {}", sentence.trim_end_matches(':')));
    text.push_str(&blocked(result.verdict, &result.blockers, ""));
    text.push_str(&findings(&result.findings, places));
    text.push_str(&missing(&result.coverage, "rehearse"));
    text
}

/// What many rehearsals found, each finding once. It grows with what differs between them.
#[derive(Default)]
pub(super) struct Found {
    seeds: usize,
    findings: Vec<Common>,
    /// Where each is, by its rule, its object, and which of those of one rehearsal it is.
    known: BTreeMap<(&'static str, String, usize), usize>,
}

/// A finding as the first of the rehearsals says it in which it is most severe, and in how many it is: what is a warning in one may stop the roll in another.
struct Common {
    entry: FindingEntry,
    seeds: usize,
}

impl Found {
    /// Takes one in, in the order of seeds.
    pub(super) fn add(&mut self, result: &RehearsalResult) {
        self.seeds += 1;
        let mut met: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for entry in &result.findings {
            let number = met.entry((entry.id, &entry.object)).or_default();
            let at =
                *self.known.entry((entry.id, entry.object.clone(), *number)).or_insert(self.findings.len());
            *number += 1;
            let Some(common) = self.findings.get_mut(at) else {
                self.findings.push(Common { entry: entry.clone(), seeds: 1 });
                continue;
            };
            match entry.severity.cmp(&common.entry.severity) {
                Ordering::Less => *common = Common { entry: entry.clone(), seeds: 1 },
                Ordering::Equal => common.seeds += 1,
                Ordering::Greater => {}
            }
        }
    }
}

/// Many rehearsals, and what blocks the worst of them.
pub(super) fn many(
    summary: &Summary,
    mut found: Found,
    worst: Option<&RehearsalResult>,
    places: &Places,
) -> String {
    let is_worst = worst.map_or_else(String::new, |worst| format!("; the worst is seed {}", worst.seed));
    let seeds = count(summary.seeds, "seed");
    let mut text = verdict(summary.verdict, &format!("{seeds}: {}{is_worst}", summary.verdicts()));
    let Some(worst) = worst else { return text };
    text.push_str(&blocked(worst.verdict, &worst.blockers, &format!("seed {}: ", worst.seed)));
    found.findings.sort_by_key(|one| one.entry.severity);
    for Common { entry, seeds } in &found.findings {
        let among = match *seeds == found.seeds {
            true => String::new(),
            false => format!("in {} of {}: ", grouped(*seeds), count(found.seeds, "seed")),
        };
        text.push_str(&finding(entry, places, &among));
    }
    text.push_str(&missing(&worst.coverage, "rehearse"));
    text
}

fn verdict(verdict: Verdict, text: &str) -> String {
    format!("::{} {TITLE}::{}\n", level(verdict), data(text))
}

/// What blocks, each after the same words.
fn blocked(verdict: Verdict, blockers: &[Blocker], before: &str) -> String {
    let line = |blocker: &Blocker| {
        let what = data(&format!("{before}{}: {}", blocker.what, blocker.reason));
        format!("::{} {TITLE}::{what}\n", level(verdict))
    };
    blockers.iter().map(line).collect()
}

fn level(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passes | Verdict::Findings => "notice",
        Verdict::Partial => "warning",
        Verdict::Incomplete | Verdict::Blocked | Verdict::Refused => "error",
    }
}

#[cfg(test)]
mod tests {
    use replank_facts::finding::Severity;
    use replank_rehearse::Verdict;

    use super::*;
    use crate::report::Tally;
    use crate::report::sample::{blocked, with_findings};

    #[test]
    fn many_seeds_have_each_finding_once_and_the_blockers_of_the_worst() {
        let whole = with_findings();
        let mut extra = whole.findings[0].clone();
        (extra.id, extra.severity, extra.object) =
            ("outage", Severity::Warning, "Deployment shop/only-then".to_owned());
        let mut stops = whole.findings.clone();
        let turned =
            stops.iter_mut().find(|one| one.severity == Severity::Warning).expect("there is a warning");
        turned.severity = Severity::Blocking;
        turned.reason.push_str("; the rehearsed roll stops at it");
        let turned = turned.object.clone();
        stops.push(extra);
        let bad = RehearsalResult { seed: 2, verdict: Verdict::Blocked, findings: stops, ..blocked() };
        let all =
            [RehearsalResult { seed: 1, ..whole.clone() }, bad, RehearsalResult { seed: 3, ..whole.clone() }];
        let (mut tally, mut found) = (Tally::default(), Found::default());
        for result in &all {
            tally.add(result);
            found.add(result);
        }
        let text = many(&tally.summary(), found, Some(&all[1]), &Places::new());
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("::error title=replank rehearse::3 seeds: ")
                && lines[0].ends_with("; the worst is seed 2"),
            "{text}"
        );
        let blockers =
            lines.iter().filter(|line| line.starts_with("::error title=replank rehearse::seed 2: "));
        assert_eq!(blockers.count(), all[1].blockers.len());
        assert!(!all[1].blockers.is_empty());
        let of = |object: &str| {
            lines
                .iter()
                .filter(|line| line.contains(&format!("title={}", crate::github::property(object))))
                .count()
        };
        assert_eq!(of("outage: Deployment shop/only-then"), 1, "{text}");
        assert!(text.contains("only-then::in 1 of 3 seeds: "), "{text}");
        let turned = lines.iter().find(|line| line.contains(&turned)).expect("it is there");
        assert!(turned.starts_with("::error ") && turned.contains("::in 1 of 3 seeds: "), "{turned}");
        let findings = lines.iter().filter(|line| line.contains("%0AWhat to do:%0A")).count();
        assert_eq!(findings, whole.findings.len() + 1, "each once: {text}");
        let of_all = lines
            .iter()
            .filter(|line| line.contains("%0AWhat to do:%0A") && !line.contains("of 3 seeds: "))
            .count();
        assert_eq!(of_all, whole.findings.len() - 1, "{text}");
    }
}
