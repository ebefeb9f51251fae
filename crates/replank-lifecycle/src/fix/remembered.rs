//! Documents that were fixed a moment ago. What is shipped with every version of a product stands in many files, word for word: it is read, converted
//! and checked once.
//!
//! What becomes of a document follows from the document alone; where it stands moves the places. Files that have the same mostly lie near each other,
//! so that few documents are enough.

use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxBuildHasher;

use super::made::Made;
use super::shift::Shift;
use crate::source::{Document, Node};

/// Bytes of the texts and edits that are remembered.
const BYTES_MAX: usize = 4 << 20;

/// What became of the latest documents.
#[derive(Default)]
pub(super) struct Remembered {
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    /// The latest last.
    all: VecDeque<Arc<Known>>,
    bytes: usize,
}

/// A document, and what became of it.
pub(super) struct Known {
    hash: u64,
    text: Box<str>,
    /// Its first byte and its first line where it was met.
    start: usize,
    line: u32,
    root: Node<'static>,
    made: Made,
}

impl Remembered {
    /// A document that is the same, word for word.
    pub(super) fn known(&self, text: &str) -> Option<Arc<Known>> {
        let hash = FxBuildHasher.hash_one(text);
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let at = latest.all.iter().rposition(|known| known.hash == hash && *known.text == *text)?;
        let known = latest.all.remove(at)?;
        latest.all.push_back(Arc::clone(&known));
        Some(known)
    }

    /// Remembers what became of a document.
    pub(super) fn remember(&self, text: &str, document: &Document<'_>, made: &Made) {
        let known = Known {
            hash: FxBuildHasher.hash_one(text),
            text: text.into(),
            start: document.range.start,
            line: document.line,
            root: document.root.clone().moved(&|at| at, &|line| line),
            made: made.clone(),
        };
        if known.bytes() > BYTES_MAX / 2 {
            return;
        }
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.bytes += known.bytes();
        latest.all.push_back(Arc::new(known));
        while latest.bytes > BYTES_MAX {
            let Some(oldest) = latest.all.pop_front() else { break };
            latest.bytes -= oldest.bytes();
        }
    }
}

#[cfg(test)]
impl Remembered {
    fn len(&self) -> usize {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).all.len()
    }
}

impl Known {
    fn bytes(&self) -> usize {
        self.text.len() + self.made.edits.iter().map(|edit| edit.text.len()).sum::<usize>()
    }

    fn shift(&self, start: usize, line: u32) -> Shift {
        Shift::new((self.start, self.line), (start, line))
    }

    /// What a scan asks of it, where it begins at a byte and on a line.
    pub(super) fn root(&self, start: usize, line: u32) -> Node<'static> {
        let shift = self.shift(start, line);
        self.root.clone().moved(&|at| shift.byte(at), &|line| shift.line(line))
    }

    /// What becomes of it there, in a text of a name.
    pub(super) fn made(&self, document: &Document<'_>, name: &Arc<str>) -> Made {
        self.made.clone().moved(self.shift(document.range.start, document.line), name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::measure;
    use super::super::{Fixed, Scanner, fix};
    use super::*;
    use crate::finding::Finding;
    use crate::scan::{self, Hint};
    use crate::schema::Schema;

    const SCHEMA: &str = "      type: object\n      properties:\n        spec: {type: object, description: \"what is wanted\"}\n";

    fn definition(note: &str) -> String {
        format!(
            "# {note}\napiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata:\n  name: sites.example.com\nspec:\n  group: example.com\n  names: {{plural: sites, kind: Site}}\n  scope: Namespaced\n  version: v1\n  validation:\n    openAPIV3Schema:\n{SCHEMA}"
        )
    }

    /// What a scanner makes of a text has to be what is made of it by one that has seen nothing before.
    fn as_if_new(scanner: &Scanner<'_>, schema: &Schema, name: &str, text: &str, let_be: &[u32]) -> Fixed {
        let (measure, name, hint) = (measure(), Arc::from(name), Hint::default());
        let lets_be = |finding: &Finding| let_be.contains(&finding.place.line);
        let scanned = scanner.text(&name, text, &hint, &lets_be);
        let fixed = scanned.fixed.expect("there is something to fix");
        assert_eq!(fixed, fix(&measure, schema, &name, text, &hint, &|line| let_be.contains(&line)));
        let findings = |text: &str| scan::scan(&measure, &name, text, &hint).findings;
        assert_eq!(scanned.report.findings, findings(text));
        if let Some(after) = scanned.after {
            assert_eq!(after.findings, findings(&fixed.text));
        }
        fixed
    }

    #[test]
    fn what_was_met_before_comes_out_as_if_it_had_not_been() {
        let (measure, schema) = (measure(), Schema::embedded());
        let scanner = Scanner::new(&measure, &schema);
        let (own, other) = (definition("first"), definition("second"));
        let left = "---\napiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: p}\n";
        let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n";
        let met = as_if_new(&scanner, &schema, "a.yaml", &own, &[]);
        assert_eq!(scanner.remembered().len(), 1);
        for (name, text) in [
            ("b.yaml", own.clone()),
            ("c.yaml", format!("{pods}{own}{left}")),
            ("d.yaml", format!("{own}{left}{}", own.replace("# first", "---\n# first"))),
            ("e.yaml", format!("{pods}{other}{left}")),
            ("f.yaml", format!("\u{feff}{own}")),
            ("g.yaml", own.trim_end().to_owned()),
            ("h.yaml", own.replace('\n', "\r\n")),
        ] {
            assert!(as_if_new(&scanner, &schema, name, &text, &[]).changes.len() >= met.changes.len());
        }
        let known = scanner.remembered().known(&own).expect("it was met");
        let (start, line) = (known.start + 7, known.line + 3);
        let version = |root: &Node<'_>| root.get("apiVersion").expect("it has one").at;
        let (before, moved) = (version(&known.root), version(&known.root(start, line)));
        assert_eq!(
            (moved.start, moved.line, moved.column),
            (before.start + 7, before.line + 3, before.column)
        );
    }

    #[test]
    fn an_exception_counts_in_the_text_that_has_it_alone() {
        let (measure, schema) = (measure(), Schema::embedded());
        let scanner = Scanner::new(&measure, &schema);
        let text = format!(
            "{}---\n{}",
            definition("one"),
            "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: i}\nspec: {backend: {serviceName: s, servicePort: 80}}\n"
        );
        for let_be in [&[2][..], &[], &[2], &[]] {
            let fixed = as_if_new(&scanner, &schema, "x.yaml", &text, let_be);
            assert_eq!(fixed.changes.len(), 2 - let_be.len());
        }
    }

    #[test]
    fn few_are_remembered_and_those_that_come_again_stay() {
        let (measure, schema) = (measure(), Schema::embedded());
        let scanner = Scanner::new(&measure, &schema);
        let long = |number: usize| definition(&format!("{number} {}", "x".repeat(BYTES_MAX / 8)));
        let name = Arc::from("x.yaml");
        let fixes = |text: &str| drop(scanner.text(&name, text, &Hint::default(), &|_| false));
        for number in 0..20 {
            fixes(&long(number));
            fixes(&long(0));
        }
        assert!(scanner.remembered().len() < 8, "{}", scanner.remembered().len());
        assert!(scanner.remembered().known(&long(0)).is_some());
        assert!(scanner.remembered().known(&long(1)).is_none());
    }
}
