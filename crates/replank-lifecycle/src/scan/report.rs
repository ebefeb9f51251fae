//! What a scan keeps: uses, what could not be read, and counts.

use std::collections::BTreeMap;

use super::audit;
use super::audit::Caller;
use crate::finding::{Confidence, Evidence, Finding};
use crate::judge::{Judged, Measure};
use crate::source::{At, Place, Unread};
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
    /// Values of a chart without which it would not be there at all, such as `ingress.enabled`.
    pub values: Vec<String>,
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
    pub(super) fn add(&mut self, more: Counts) {
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

/// The outcome of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Uses, in the order of the input.
    pub findings: Vec<Finding>,
    /// What cannot be read.
    pub unread: Vec<Unread>,
    /// What would be applied and was not looked at.
    pub unrendered: Vec<Unrendered>,
    /// Objects of charts that the chart's own values leave out, so that no rendering shows them.
    pub left_out: Vec<Unrendered>,
    /// Numbers.
    pub counts: Counts,
    /// Requests of audit logs, by who made them for what.
    pub(super) callers: BTreeMap<Caller, audit::Calls>,
}

impl Report {
    /// Of a text that cannot be read at all.
    pub fn of_unread(unread: Unread) -> Self {
        Self { unread: vec![unread], ..Self::default() }
    }

    /// Whether there is nothing in it to be told.
    pub(crate) fn is_quiet(&self) -> bool {
        let Self { findings, unread, unrendered, left_out, counts: _, callers } = self;
        findings.is_empty()
            && unread.is_empty()
            && unrendered.is_empty()
            && left_out.is_empty()
            && callers.is_empty()
    }

    /// The same of a text in which so many lines come before it.
    #[must_use]
    pub(crate) fn moved(mut self, lines: i64) -> Self {
        let move_to = |place: &mut Place| {
            place.line = u32::try_from(i64::from(place.line) + lines).unwrap_or(u32::MAX);
        };
        self.findings.iter_mut().for_each(|finding| move_to(&mut finding.place));
        self.unread.iter_mut().for_each(|unread| move_to(&mut unread.place));
        self.unrendered.iter_mut().for_each(|of| move_to(&mut of.place));
        self.left_out.iter_mut().for_each(|of| move_to(&mut of.place));
        self
    }

    /// Puts another one behind it.
    pub fn append(&mut self, mut other: Report) {
        self.findings.append(&mut other.findings);
        self.unread.append(&mut other.unread);
        self.unrendered.append(&mut other.unrendered);
        self.left_out.append(&mut other.left_out);
        self.counts.add(other.counts);
        for (caller, calls) in other.callers {
            self.callers.entry(caller).or_default().add(calls);
        }
    }
}

/// What a text is, apart from what stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was written, or dumped.
    Plain,
    /// It comes out of a release or a renderer: all that is in it is evidence of this kind. The place is where that is kept.
    Within { evidence: Evidence, confidence: Confidence, place: Place },
}

/// Whose lines the places of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// Its own: fields within it have theirs.
    Own,
    /// Those of what keeps it, such as the Secret of a release.
    Holder,
}

impl Lines {
    /// The place of a field within an object.
    pub(super) fn place(self, of_object: &Place, field: At) -> Place {
        match self {
            Self::Own => Place { source: of_object.source.clone(), line: field.line, column: field.column },
            Self::Holder => of_object.clone(),
        }
    }
}

/// A scan that is under way.
pub(super) struct Scan<'s> {
    pub(super) measure: &'s Measure,
    pub(super) report: &'s mut Report,
}

/// A use that is to be judged.
pub(super) struct Use<'u> {
    pub(super) api_version: &'u str,
    pub(super) kind: &'u str,
    pub(super) name: &'u str,
    pub(super) namespace: Option<&'u str>,
    pub(super) holder: Option<String>,
    pub(super) place: Place,
    pub(super) evidence: Evidence,
    pub(super) confidence: Confidence,
}

impl Scan<'_> {
    /// Judges a use, and keeps it if something is to be said.
    pub(super) fn used(&mut self, used: Use<'_>) {
        let Some(judged) = self.measure.judge(used.api_version, used.kind) else { return };
        let finding = finding(self.measure, judged, used);
        self.report.findings.push(finding);
    }
}

pub(super) fn finding(measure: &Measure, judged: judge::Judged<'_>, used: Use<'_>) -> Finding {
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
