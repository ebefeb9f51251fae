//! Findings of a scan that somebody has looked at and lets be.

use std::path::Path;

use serde::Deserialize;

use crate::exception::{Exception, Exceptions, Sorted};
use crate::files::glob;
use crate::finding::Finding;

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

/// All of them.
pub type Waivers = Exceptions<Waiver>;

/// Their outcome.
pub type Waived = Sorted<Finding, Waiver>;

impl Exception for Waiver {
    type Finding = Finding;
    const FIELDS: &'static str = "path, kind, namespace, name, version, evidence";

    fn reason(&self) -> &str {
        &self.reason
    }

    fn expires(&self) -> &str {
        &self.expires
    }

    fn names_nothing(&self) -> bool {
        let fields = [&self.path, &self.kind, &self.namespace, &self.name, &self.version, &self.evidence];
        fields.iter().all(|field| field.is_none())
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
        assert!(error("ignore: [{reason: x, expires: 2026-12-31}]").contains("names none of path"));
        assert!(error("ignore: [{reason: ' ', expires: 2026-12-31, kind: A}]").contains("empty reason"));
        assert!(error("ignore: [{reason: x, expires: soon, kind: A}]").contains("soon"));
        assert!(error("ignore: [{reason: x, kind: A}]").contains("expires"));
        assert!(error("ignore: [{reason: x, expires: 2026-12-31, knd: A}]").contains("knd"));
        assert!(error("ignore: [").contains("YAML"));
    }
}
