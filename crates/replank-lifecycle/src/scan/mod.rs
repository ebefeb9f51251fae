//! From texts to findings.
//!
//! ```text
//! text ──► source ──► documents ──► objects ──► by what they are ──► uses ──► judged by the table ──► findings
//!                        │                       manifest, live object, role, webhook, reference,
//!                        └► template             Helm release (whose text is scanned again), audit event, Terraform
//! ```

mod annotation;
mod applied;
mod audit;
mod calls;
mod entry;
mod hint;
mod kustomize;
mod managed;
mod metric;
pub(crate) mod policy;
pub(crate) mod reference;
pub(crate) mod release;
mod report;
mod template;
mod terraform;
#[cfg(test)]
pub(crate) mod tests;
mod values;
use std::sync::Arc;

pub use audit::Caller;
pub use entry::Hint;
pub(crate) use entry::{TEMPLATE_ENDINGS, is_of_manifests};

use crate::finding::{Confidence, Evidence, Finding};
use crate::judge::{Judged, Measure};
use crate::object::{self, Object};
use crate::source;
use crate::source::{At, Document, Found, Place};

pub use report::{Counts, Report, Unrendered};
use report::{Lines, Origin, Scan, Use, finding};
pub use template::VERSION_PUT_IN;
pub use values::Values;

impl Report {
    /// Turns what was gathered over all texts into findings, and puts these in order: the gravest first, then by place.
    pub fn finish(mut self, measure: &Measure) -> Self {
        for (caller, calls) in std::mem::take(&mut self.callers) {
            self.findings.extend(audit::finding(measure, caller, calls));
        }
        self.findings.sort_by(|a, b| {
            let key = |finding: &Finding| {
                (
                    std::cmp::Reverse(finding.severity),
                    finding.place.clone(),
                    finding.used.clone(),
                    finding.evidence.clone(),
                )
            };
            key(a).cmp(&key(b))
        });
        self.findings.dedup();
        self
    }
}

/// Scans one text.
pub fn scan(measure: &Measure, name: &Arc<str>, text: &str, hint: &Hint) -> Report {
    let mut report = Report::default();
    report.counts.texts = 1;
    report.counts.bytes = text.len() as u64;
    entry::scan(&mut Scan { measure, report: &mut report }, name, text, hint);
    report
}

/// Scans one part of a text of manifests that was read already; the text itself is not counted.
pub(crate) fn scan_found(
    measure: &Measure,
    name: &Arc<str>,
    text: &str,
    found: &Found<'_>,
    hint: &Hint,
) -> Report {
    let mut report = Report::default();
    Scan { measure, report: &mut report }.found(name, text, found, &Origin::Plain, hint);
    report
}

impl Scan<'_> {
    /// Everything in a text that is YAML or JSON.
    fn text(&mut self, name: &Arc<str>, text: &str, origin: &Origin, hint: &Hint) {
        source::read(name, text, &mut |found| self.found(name, text, &found, origin, hint));
    }

    fn found(&mut self, name: &Arc<str>, text: &str, found: &Found<'_>, origin: &Origin, hint: &Hint) {
        match found {
            Found::Document(document) => self.document(name, text, document, origin, hint),
            Found::Unread(unread) => self.report.unread.push(unread.clone()),
            Found::Template { range, line, unread } => {
                template::scan(self, name, &text[range.clone()], *line, unread.clone(), hint);
            }
        }
    }

    fn document(
        &mut self,
        name: &Arc<str>,
        text: &str,
        document: &Document<'_>,
        origin: &Origin,
        hint: &Hint,
    ) {
        if terraform::scan(self, name, &document.root) || audit::scan(self, name, &document.root) {
            return;
        }
        let template = template_of(&text[document.range.clone()]);
        let place_of = |at: At| Place { source: name.clone(), line: at.line, column: at.column };
        object::visit(&document.root, &mut |object| {
            self.report.counts.objects += 1;
            match origin {
                Origin::Plain => self.plain(name, &object, place_of(object.at), template, hint),
                Origin::Within { evidence, confidence, place } => {
                    let evidence = with_template(evidence, template);
                    self.object(&object, place.clone(), Lines::Holder, evidence, *confidence);
                }
            }
        });
        if *origin == Origin::Plain {
            kustomize::scan(self, name, &document.root);
        }
    }

    /// An object of a file: a manifest, or one that a cluster has shown.
    fn plain(
        &mut self,
        name: &Arc<str>,
        object: &Object<'_, '_>,
        place: Place,
        template: Option<&str>,
        hint: &Hint,
    ) {
        if release::scan(self, name, object) {
            return;
        }
        if managed::is_live(object) {
            managed::scan(self, object, &place);
            applied::scan(self, name, object, &place);
            if !managed::is_reconciled(object) {
                self.object(object, place, Lines::Own, Evidence::Live, Confidence::Low);
            }
        } else {
            let evidence = match &hint.rendered_by {
                Some(by) => Evidence::Rendered { by: by.clone(), template: template.map(str::to_owned) },
                None => Evidence::Manifest,
            };
            self.object(object, place, Lines::Own, evidence, Confidence::High);
        }
    }

    /// What any object says: its own version, those of others that it refers to, and what it grants or watches.
    fn object(
        &mut self,
        object: &Object<'_, '_>,
        place: Place,
        lines: Lines,
        evidence: Evidence,
        confidence: Confidence,
    ) {
        reference::scan(self, object, &place, lines, confidence);
        policy::scan(self, object, &place, lines, confidence);
        // What has no successor ends with its version, however it is written.
        let confidence = match (&evidence, self.measure.judge(object.api_version, object.kind)) {
            (Evidence::Live, Some(Judged { row, .. })) if row.replacement.is_none() => Confidence::High,
            (_, _) => confidence,
        };
        self.used(Use {
            api_version: object.api_version,
            kind: object.kind,
            name: object.name,
            namespace: object.namespace,
            holder: None,
            place,
            evidence,
            confidence,
        });
    }
}

/// Helm writes above each document which template it comes from.
fn template_of(document: &str) -> Option<&str> {
    let mut lines = document.lines().filter(|line| !line.trim().is_empty() && line.trim_end() != "---");
    lines.next()?.strip_prefix("# Source: ").map(str::trim)
}

fn with_template(evidence: &Evidence, of: Option<&str>) -> Evidence {
    let mut evidence = evidence.clone();
    match &mut evidence {
        Evidence::Rendered { template, .. } | Evidence::HelmRelease { template, .. } => {
            *template = of.map(str::to_owned);
        }
        Evidence::Manifest
        | Evidence::Template { .. }
        | Evidence::Terraform { .. }
        | Evidence::Live
        | Evidence::LastApplied { .. }
        | Evidence::Manager { .. }
        | Evidence::Reference { .. }
        | Evidence::Rule { .. }
        | Evidence::Webhook { .. }
        | Evidence::Requested
        | Evidence::Called { .. } => {}
    }
    evidence
}
