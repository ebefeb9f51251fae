//! From texts to findings.
//!
//! ```text
//! text ──► source ──► documents ──► objects ──► by what they are ──► uses ──► judged by the table ──► findings
//!                        │                       manifest, live object, role, webhook, reference,
//!                        └► template             Helm release (whose text is scanned again), audit event, Terraform
//! ```

mod applied;
mod audit;
mod entry;
mod kustomize;
mod managed;
mod metric;
pub(crate) mod policy;
pub(crate) mod reference;
pub(crate) mod release;
mod template;
mod terraform;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use audit::Caller;
pub use entry::Hint;
pub(crate) use entry::{TEMPLATE_ENDINGS, is_of_manifests};

use crate::finding::{Confidence, Evidence, Finding};
use crate::judge::{Judged, Measure};
use crate::object::{self, Object};
use crate::source::{self, At, Document, Found, Place, Unread};
use crate::{changes, judge};

/// Something that would be applied and could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unrendered {
    /// Where it is named.
    pub place: Place,
    /// What it is, such as a remote base with its ref.
    pub what: String,
    /// Why it was not looked at.
    pub why: &'static str,
}

/// What was looked at, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Texts: files and standard input.
    pub texts: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Objects with a kind and a version.
    pub objects: u64,
    /// Documents that were read as templates.
    pub templates: u64,
    /// Helm releases that were looked into.
    pub releases: u64,
    /// Helm releases that are superseded or uninstalled.
    pub releases_past: u64,
    /// Requests of audit logs.
    pub requests: u64,
}

impl Counts {
    fn add(&mut self, more: Counts) {
        let Counts { texts, bytes, objects, templates, releases, releases_past, requests } = more;
        self.texts += texts;
        self.bytes += bytes;
        self.objects += objects;
        self.templates += templates;
        self.releases += releases;
        self.releases_past += releases_past;
        self.requests += requests;
    }
}

/// What came of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Uses, in the order of the input.
    pub findings: Vec<Finding>,
    /// What cannot be read.
    pub unread: Vec<Unread>,
    /// What would be applied and was not looked at.
    pub unrendered: Vec<Unrendered>,
    /// Numbers.
    pub counts: Counts,
    /// Requests of audit logs, by who made them for what.
    callers: BTreeMap<Caller, audit::Calls>,
}

impl Report {
    /// Of a text that cannot be read at all.
    pub fn of_unread(unread: Unread) -> Self {
        Self { unread: vec![unread], ..Self::default() }
    }

    /// Puts another one behind it.
    pub fn append(&mut self, mut other: Report) {
        self.findings.append(&mut other.findings);
        self.unread.append(&mut other.unread);
        self.unrendered.append(&mut other.unrendered);
        self.counts.add(other.counts);
        for (caller, calls) in other.callers {
            self.callers.entry(caller).or_default().add(calls);
        }
    }

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

/// What a text is, apart from what stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    /// It was written, or dumped.
    Plain,
    /// It comes out of a release or a renderer: all that is in it is evidence of this kind. The place is where that is kept.
    Within { evidence: Evidence, confidence: Confidence, place: Place },
}

/// Whose lines the places of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// Its own: fields within it have theirs.
    Own,
    /// Those of what keeps it, such as the Secret of a release.
    Holder,
}

impl Lines {
    /// The place of a field within an object.
    fn place(self, of_object: &Place, field: At) -> Place {
        match self {
            Self::Own => Place { source: of_object.source.clone(), line: field.line, column: field.column },
            Self::Holder => of_object.clone(),
        }
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

/// A scan that is under way.
struct Scan<'s> {
    measure: &'s Measure,
    report: &'s mut Report,
}

/// A use that is to be judged.
struct Use<'u> {
    api_version: &'u str,
    kind: &'u str,
    name: &'u str,
    namespace: Option<&'u str>,
    holder: Option<String>,
    place: Place,
    evidence: Evidence,
    confidence: Confidence,
}

impl Scan<'_> {
    /// Everything in a text that is YAML or JSON.
    fn text(&mut self, name: &Arc<str>, text: &str, origin: &Origin, hint: &Hint) {
        source::read(name, text, &mut |found| self.found(name, text, found, origin, hint));
    }

    fn found(&mut self, name: &Arc<str>, text: &str, found: Found<'_>, origin: &Origin, hint: &Hint) {
        match found {
            Found::Document(document) => self.document(name, text, &document, origin, hint),
            Found::Unread(unread) => self.report.unread.push(unread),
            Found::Template { range, line, unread } => template::scan(self, name, &text[range], line, unread),
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
            self.object(object, place, Lines::Own, Evidence::Live, Confidence::Low);
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

    /// Judges a use, and keeps it if something is to be said.
    fn used(&mut self, used: Use<'_>) {
        let Some(judged) = self.measure.judge(used.api_version, used.kind) else { return };
        let finding = finding(self.measure, judged, used);
        self.report.findings.push(finding);
    }
}

fn finding(measure: &Measure, judged: judge::Judged<'_>, used: Use<'_>) -> Finding {
    let Judged { row, severity, confidence } = judged;
    let replacement = measure.table.replacement(row, measure.range.target).cloned();
    let introduced = replacement.as_ref().and_then(|gvk| measure.table.lookup_gvk(gvk)?.introduced);
    let current = measure.range.current.filter(|_| row.product == crate::table::Product::Kubernetes);
    // Who only names a kind has none of its fields.
    let changes = match used.holder {
        Some(_) => Vec::new(),
        None => changes::changes(&row.gvk, replacement.as_ref()),
    };
    Finding {
        severity,
        place: used.place,
        namespace: used.namespace.map(str::to_owned),
        name: used.name.to_owned(),
        holder: used.holder,
        used: row.gvk.clone(),
        product: row.product.clone(),
        deprecated: row.deprecated,
        removed: row.removed,
        replacement_from: introduced
            .filter(|introduced| current.is_some_and(|current| *introduced > current)),
        replacement,
        changes,
        evidence: used.evidence,
        confidence: used.confidence.min(confidence),
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
