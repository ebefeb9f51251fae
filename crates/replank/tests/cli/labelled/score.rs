//! Precision and recall.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::case::{Case, Found, Label};

/// What was counted.
#[derive(Default)]
pub(crate) struct Score {
    cases: usize,
    differing: usize,
    may: usize,
    rules: BTreeMap<String, Counts>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    right: usize,
    wrong: usize,
    missed: usize,
}

impl Counts {
    fn line(self, name: &str) -> String {
        let share = |of: usize| {
            if of == 0 { "-".to_owned() } else { format!("{:.1}%", percent(self.right, of)) }
        };
        let (found, labelled) = (self.right + self.wrong, self.right + self.missed);
        format!(
            "{name:<26} {:>6} {:>6} {:>6}  {:>9} {:>9}",
            self.right,
            self.wrong,
            self.missed,
            share(found),
            share(labelled)
        )
    }
}

fn percent(part: usize, of: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).expect("not that many findings"));
    100.0 * number(part) / number(of)
}

impl Score {
    /// Counts a case; what differs, if anything does. A finding with another severity is both wrong and missed.
    pub(crate) fn take(&mut self, case: &Case, found: &[Found]) -> Option<String> {
        let mut must = BTreeSet::new();
        let mut may = BTreeSet::new();
        for label in &case.labels {
            match label {
                Label::Must(finding) => {
                    must.insert(finding.clone());
                }
                Label::May { rule, object } => {
                    may.insert((rule.clone(), object.clone()));
                }
            }
        }
        self.cases += 1;
        self.may += may.len();
        let mut lines = BTreeSet::new();
        let mut seen = BTreeSet::new();
        // As in a baseline, findings of one rule about one object are one.
        for finding in found.iter().collect::<BTreeSet<_>>() {
            let counts = self.rules.entry(finding.rule.clone()).or_default();
            if must.contains(finding) && seen.insert(finding.clone()) {
                counts.right += 1;
            } else if !may.contains(&(finding.rule.clone(), finding.object.clone())) {
                counts.wrong += 1;
                lines.insert(format!("  found, not expected: {finding}\n"));
            }
        }
        for finding in must.difference(&seen) {
            self.rules.entry(finding.rule.clone()).or_default().missed += 1;
            lines.insert(format!("  expected, not found: {finding}\n"));
        }
        if lines.is_empty() {
            return None;
        }
        self.differing += 1;
        Some(lines.into_iter().collect())
    }

    /// Overall, then rule by rule.
    pub(crate) fn table(&self) -> String {
        let mut all = Counts::default();
        for counts in self.rules.values() {
            all.right += counts.right;
            all.wrong += counts.wrong;
            all.missed += counts.missed;
        }
        let mut table = format!(
            "{} cases, {} as labelled, {} labels that count neither way\n\n{:<26} {:>6} {:>6} {:>6}  {:>9} {:>9}\n",
            self.cases,
            self.cases - self.differing,
            self.may,
            "rule",
            "right",
            "wrong",
            "missed",
            "precision",
            "recall"
        );
        for (name, counts) in &self.rules {
            writeln!(table, "{}", counts.line(name)).expect("text can be written");
        }
        writeln!(table, "{}", all.line("all")).expect("text can be written");
        table
    }
}
