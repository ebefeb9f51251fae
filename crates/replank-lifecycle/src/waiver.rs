//! Findings that somebody has looked at and lets be, each with a reason and a day on which that ends.

use std::path::Path;

use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read;
use replank_intake::source::Source;
use serde::Deserialize;

use crate::files::glob;
use crate::finding::Finding;

/// Why a file of exceptions cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum WaiverError {
    /// It is no YAML or JSON.
    #[error("{0}")]
    Text(String),
    /// It has another form.
    #[error(
        "expected a list of exceptions (`ignore:`, each with `reason`, `expires` and at least one of path, kind, namespace, name, version, evidence): {0}"
    )]
    Form(#[from] serde_json::Error),
    /// One of them names nothing: it would let everything be.
    #[error(
        "the exception {number} (\"{reason}\") names no path, kind, namespace, name, version or evidence"
    )]
    Everything {
        /// Which, from 1.
        number: usize,
        /// Its reason.
        reason: String,
    },
    /// One of them has no reason.
    #[error("the exception {number} has an empty reason")]
    Reason {
        /// Which, from 1.
        number: usize,
    },
    /// A day that is none.
    #[error("the exception {number} expires on \"{day}\": expected a day such as 2026-12-31")]
    Day {
        /// Which, from 1.
        number: usize,
        /// What stands there.
        day: String,
    },
}

/// One exception.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Why.
    pub reason: String,
    /// The last day on which it holds, such as 2026-12-31.
    pub expires: String,
    /// Paths, as in `.gitignore`.
    path: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    /// An `apiVersion`.
    version: Option<String>,
    /// A kind of evidence, in its word.
    evidence: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ignore: Vec<Waiver>,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waivers {
    list: Vec<Waiver>,
}

/// Their outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waived {
    /// Findings that none lets be.
    pub left: Vec<Finding>,
    /// Findings that one lets be, with its reason.
    pub waived: Vec<(Finding, String)>,
    /// Exceptions that have ended and would let something be.
    pub expired: Vec<Waiver>,
    /// Exceptions that let nothing be.
    pub unused: Vec<Waiver>,
}

impl Waivers {
    /// Reads them, YAML or JSON.
    ///
    /// # Errors
    /// Where the text is not such a list.
    pub fn read(text: &str) -> Result<Self, WaiverError> {
        let mut values = Vec::new();
        let mut wrong = Vec::new();
        let source = Source::bytes("exceptions", text.as_bytes());
        read::read(vec![source], &Limits::default(), &mut |found| match found {
            Found::Document(document) => values.push(document.value),
            Found::List { .. } => {}
            Found::Problem(problem) => wrong.push(problem.to_string()),
        })
        .map_err(|fatal| WaiverError::Text(fatal.to_string()))?;
        if let Some(wrong) = wrong.into_iter().next() {
            return Err(WaiverError::Text(wrong));
        }
        let mut list = Vec::new();
        for value in values {
            list.extend(serde_json::from_value::<Written>(value)?.ignore);
        }
        for (waiver, number) in list.iter().zip(1..) {
            waiver.check(number)?;
        }
        Ok(Self { list })
    }

    /// Takes out what they let be on a day, such as 2026-11-22.
    pub fn apply(&self, findings: Vec<Finding>, today: &str) -> Waived {
        let mut waived = Waived::default();
        let mut used = vec![false; self.list.len()];
        for finding in findings {
            let mut reason = None;
            for (waiver, used) in self.list.iter().zip(&mut used) {
                if waiver.is_about(&finding) {
                    *used = true;
                    if waiver.holds(today) && reason.is_none() {
                        reason = Some(waiver.reason.clone());
                    }
                }
            }
            match reason {
                Some(reason) => waived.waived.push((finding, reason)),
                None => waived.left.push(finding),
            }
        }
        for (waiver, used) in self.list.iter().zip(used) {
            match (used, waiver.holds(today)) {
                (false, _) => waived.unused.push(waiver.clone()),
                (true, false) => waived.expired.push(waiver.clone()),
                (true, true) => {}
            }
        }
        waived
    }
}

/// Whether a text is a day, such as 2026-12-31: days in this form are in order as texts.
pub fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

impl Waiver {
    fn check(&self, number: usize) -> Result<(), WaiverError> {
        let fields = [&self.path, &self.kind, &self.namespace, &self.name, &self.version, &self.evidence];
        if self.reason.trim().is_empty() {
            return Err(WaiverError::Reason { number });
        }
        if fields.iter().all(|field| field.is_none()) {
            return Err(WaiverError::Everything { number, reason: self.reason.clone() });
        }
        if is_day(&self.expires) {
            Ok(())
        } else {
            Err(WaiverError::Day { number, day: self.expires.clone() })
        }
    }

    /// Days in this form are in order as texts.
    fn holds(&self, today: &str) -> bool {
        *today <= *self.expires
    }

    fn is_about(&self, finding: &Finding) -> bool {
        let is =
            |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|wanted| glob(wanted, text));
        is(&self.kind, &finding.used.kind)
            && is(&self.namespace, finding.namespace.as_deref().unwrap_or_default())
            && is(&self.name, &finding.name)
            && self.version.as_ref().is_none_or(|version| *version == finding.used.api_version())
            && self.evidence.as_ref().is_none_or(|evidence| *evidence == finding.evidence.word())
            && self.path.as_ref().is_none_or(|path| {
                let source = finding.place.source.trim_start_matches("./");
                crate::files::is_below(path, Path::new(source))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Hint, scan, tests::measure};

    fn findings() -> Vec<Finding> {
        let text = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a, namespace: shop}\n---\napiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: b-1}\n";
        scan(&measure("1.30"), &"./apps/old/x.yaml".into(), text, &Hint::default()).findings
    }

    fn applied(fields: &str, today: &str) -> (usize, usize, usize, usize) {
        let text = format!("ignore:\n- reason: it goes\n  expires: 2026-12-31\n{fields}");
        let waived = Waivers::read(&text).unwrap().apply(findings(), today);
        (waived.left.len(), waived.waived.len(), waived.expired.len(), waived.unused.len())
    }

    #[test]
    fn exceptions_hold_until_their_day() {
        assert_eq!(applied("  kind: CronJob\n", "2026-12-31"), (0, 2, 0, 0));
        assert_eq!(applied("  kind: CronJob\n", "2027-01-01"), (2, 0, 1, 0));
        assert_eq!(applied("  kind: Ingress\n", "2026-01-01"), (2, 0, 0, 1));
    }

    #[test]
    fn every_field_must_fit() {
        let count = |fields: &str| applied(fields, "2026-11-22").1;
        assert_eq!(count("  name: b-*\n"), 1);
        assert_eq!(count("  namespace: shop\n  name: a\n"), 1);
        assert_eq!(count("  namespace: shop\n  name: b-1\n"), 0);
        assert_eq!(count("  version: batch/v1beta1\n  evidence: manifest\n"), 2);
        assert_eq!(count("  path: apps/old/\n"), 2);
        assert_eq!(count("  path: apps/*.yaml\n"), 0);
    }

    #[test]
    fn what_would_let_everything_be_is_refused() {
        let error = |text: &str| Waivers::read(text).unwrap_err().to_string();
        assert!(error("ignore: [{reason: x, expires: 2026-12-31}]").contains("names no path"));
        assert!(error("ignore: [{reason: ' ', expires: 2026-12-31, kind: A}]").contains("empty reason"));
        assert!(error("ignore: [{reason: x, expires: soon, kind: A}]").contains("soon"));
        assert!(error("ignore: [{reason: x, kind: A}]").contains("expires"));
        assert!(error("ignore: [{reason: x, expires: 2026-12-31, knd: A}]").contains("knd"));
        assert!(error("ignore: [").contains("YAML"));
    }
}
