//! Findings for a person: by the version that removes, then by what is used.

use std::collections::BTreeMap;

use replank_lifecycle::finding::{Confidence, Evidence, Finding, Severity};
use replank_lifecycle::release::Release;
use replank_lifecycle::table::Product;

use super::found::Scanned;
use crate::report::words::{count, grouped};
use crate::report::{Look, Page, Tone};

/// What findings are put together by: what removes them, and when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Chapter {
    /// The gravest first.
    severity: std::cmp::Reverse<Severity>,
    product: Product,
    removed: Option<Release>,
}

impl Chapter {
    pub(super) fn of(finding: &Finding) -> Self {
        Self {
            severity: std::cmp::Reverse(finding.severity),
            product: finding.product.clone(),
            removed: finding.removed,
        }
    }

    /// As a heading.
    pub(super) fn title(&self) -> String {
        let by = match (&self.product, self.removed) {
            (Product::Kubernetes, Some(removed)) => format!("removed in {removed}"),
            (Product::Named(name), Some(removed)) => format!("removed in {name} {removed}"),
            (_, None) => "no removal is planned".to_owned(),
        };
        match self.severity.0 {
            Severity::Gone => format!("Already removed: {by}"),
            Severity::Removed => format!("{}{}", by[..1].to_uppercase(), &by[1..]),
            Severity::Deprecated => format!("Deprecated: {by}"),
        }
    }

    fn tone(&self) -> Tone {
        match self.severity.0 {
            Severity::Gone | Severity::Removed => Tone::Bad,
            Severity::Deprecated => Tone::Warning,
        }
    }
}

/// Findings by chapter, and in it by what is used.
pub(super) type Chapters<'f> = BTreeMap<Chapter, BTreeMap<String, Vec<&'f Finding>>>;

pub(super) fn chapters(findings: &[Finding]) -> Chapters<'_> {
    let mut chapters: Chapters<'_> = BTreeMap::new();
    for finding in findings {
        let of = chapters.entry(Chapter::of(finding)).or_default();
        of.entry(step(finding)).or_default().push(finding);
    }
    chapters
}

/// `extensions/v1beta1 Ingress → networking.k8s.io/v1`
pub(super) fn step(finding: &Finding) -> String {
    let to = match &finding.replacement {
        Some(gvk) if gvk.kind == finding.used.kind => format!(" → {}", gvk.api_version()),
        Some(gvk) => format!(" → {gvk}"),
        None => ": no replacement".to_owned(),
    };
    let from = match finding.replacement_from {
        Some(from) => format!(" (served since {from}: change it on the way)"),
        None => String::new(),
    };
    format!("{}{to}{from}", finding.used)
}

/// Who it is: the object, or what holds it.
pub(super) fn who(finding: &Finding) -> String {
    match (&finding.holder, finding.name.is_empty()) {
        (Some(holder), true) => holder.clone(),
        (Some(holder), false) => format!("{holder} → {}", finding.full_name()),
        (None, _) => finding.full_name(),
    }
}

/// How it was seen, unless it is as plain as can be.
pub(super) fn how(finding: &Finding) -> String {
    let mut how = if matches!(finding.evidence, Evidence::Manifest) {
        String::new()
    } else {
        finding.evidence.to_string()
    };
    if finding.confidence == Confidence::Low {
        how.push_str(if how.is_empty() { "worth a look" } else { "; worth a look" });
    }
    how
}

pub(super) fn table(scanned: &Scanned, all: bool, look: Look) -> String {
    let mut page = Page::new(look);
    page.heading("Scan", &scanned.summary());
    page.wrapped(2, &scanned.scope(), Tone::Plain);
    for (chapter, of) in chapters(&scanned.findings) {
        let number: usize = of.values().map(Vec::len).sum();
        page.gap();
        let title = page.paint(&chapter.title(), chapter.tone());
        page.line(&format!("{title}  {}", count(number, "finding")));
        for (step, findings) in of {
            entry(&mut page, &step, &findings, all);
        }
    }
    if !scanned.waived.is_empty() {
        page.heading("Ignored", &count(scanned.waived.len(), "finding"));
        for (finding, reason) in &scanned.waived {
            let place = format!("{}:{}", finding.place.source, finding.place.line);
            page.wrapped(2, &format!("{place}  {}: {reason}", finding.used), Tone::Faint);
        }
    }
    page.into_text()
}

/// Places shown of one step; of more, the files that have the most.
const PLACES_MAX: usize = 20;
/// Files shown of one step with more places than that.
const FILES_MAX: usize = 10;

fn entry(page: &mut Page, step: &str, findings: &[&Finding], all: bool) {
    page.gap();
    page.wrapped(2, step, Tone::Strong);
    for change in &findings[0].changes {
        page.wrapped(4, &format!("also: {change}"), Tone::Faint);
    }
    if !all && findings.len() > PLACES_MAX {
        return worst_files(page, findings);
    }
    for finding in findings {
        let place = format!("{}:{}", finding.place.source, finding.place.line);
        page.beside(4, &[(&place, Tone::Note), (&who(finding), Tone::Plain)]);
        let how = how(finding);
        if !how.is_empty() {
            page.wrapped(6, &how, Tone::Faint);
        }
    }
}

/// How many findings there are, how they were seen, and where most of them are.
fn worst_files(page: &mut Page, findings: &[&Finding]) {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    let mut evidence: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        *files.entry(&finding.place.source).or_default() += 1;
        *evidence.entry(finding.evidence.word()).or_default() += 1;
    }
    let seen: Vec<String> =
        evidence.iter().map(|(word, number)| format!("{} {word}", grouped(*number))).collect();
    let number = count(findings.len(), "finding");
    page.wrapped(4, &format!("{number} in {}: {}", count(files.len(), "file"), seen.join(", ")), Tone::Plain);
    let mut worst: Vec<(&str, usize)> = files.into_iter().collect();
    worst.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    for (file, number) in worst.iter().take(FILES_MAX) {
        page.beside(4, &[(file, Tone::Note), (&count(*number, "finding"), Tone::Plain)]);
    }
    if worst.len() > FILES_MAX {
        let more = count(worst.len() - FILES_MAX, "more file");
        page.wrapped(4, &format!("and {more}: --all shows every place"), Tone::Faint);
    } else {
        page.wrapped(4, "--all shows every place", Tone::Faint);
    }
}
