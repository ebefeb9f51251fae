//! What was rendered, and what stands in the files: the same use is told once, where it can be changed.

use std::collections::BTreeSet;

use replank_lifecycle::finding::{Branch, Confidence, Evidence, Finding};
use replank_lifecycle::scan::{Report, Unrendered, VERSION_PUT_IN};
use replank_lifecycle::source::Place;

use super::{AllRendered, Of, Rendered, head_of, name_of};

/// Why rendering does not show an object.
const OWN_VALUES_LEAVE_IT_OUT: &str = "the chart's own values leave it out";

/// Adds what was rendered to what was found in the files.
pub(in super::super) fn join(report: &mut Report, rendered: AllRendered) {
    let mut seen = BTreeSet::new();
    for mut one in rendered.all {
        match one.of {
            Of::Chart => chart(report, &mut one),
            Of::Kustomization => kustomization(report, &mut one, &mut seen),
        }
        report.append(one.report);
    }
}

/// A finding gets the place at which its template says the same. What a template says and was not rendered depends on values
/// of which the chart's own are others: it is worth a look.
fn chart(report: &mut Report, one: &mut Rendered) {
    let root = name_of(&one.directory);
    let head = head_of(&one.directory, Of::Chart);
    if one.is_whole {
        let (put_in, others): (Vec<Unrendered>, Vec<Unrendered>) = std::mem::take(&mut report.unrendered)
            .into_iter()
            .partition(|of| of.why == VERSION_PUT_IN && within(&root, &of.place.source).is_some());
        report.unrendered = others;
        // What comes of the others has been seen.
        let is_left_out = |of: &Unrendered| {
            let kind = of.what.split([' ', ':']).next().unwrap_or_default();
            within(&root, &of.place.source).is_some_and(|template| !one.has(&template, kind))
        };
        report.left_out.extend(
            put_in
                .into_iter()
                .filter(is_left_out)
                .map(|of| Unrendered { why: OWN_VALUES_LEAVE_IT_OUT, ..of }),
        );
    }
    let (of_templates, others): (Vec<Finding>, Vec<Finding>) =
        std::mem::take(&mut report.findings).into_iter().partition(|finding| is_of_template(finding, &root));
    report.findings = others;
    let mut confirmed = vec![false; of_templates.len()];
    let mut findings = std::mem::take(&mut one.report.findings);
    for finding in &mut findings {
        let template = one.source_at(finding.place.line).and_then(|template| template.split_once('/'));
        let file = template.map(|(_, file)| file.to_owned());
        let of_file = |place: &Place| within(&root, &place.source) == file;
        let is_same =
            |of: &Finding| of.used == finding.used && of.holder.is_some() == finding.holder.is_some();
        let same = of_templates.iter().position(|of| is_same(of) && of_file(&of.place));
        let first = of_templates.iter().position(|of| of_file(&of.place));
        finding.place = match (same, first, &file) {
            (Some(at), ..) => {
                confirmed[at] = true;
                of_templates[at].place.clone()
            }
            (None, Some(at), _) => begin_of(&of_templates[at].place.source),
            (None, None, Some(file)) if one.directory.join(file).exists() => {
                begin_of(&name_of(&one.directory.join(file)))
            }
            // What is packed has no lines.
            (None, None, _) => begin_of(&head),
        };
    }
    one.report.findings = findings;
    let unconfirmed = of_templates.into_iter().zip(confirmed).filter(|(_, confirmed)| !confirmed);
    report.findings.extend(unconfirmed.filter_map(|(finding, _)| match one.is_whole {
        true => left_out(finding),
        false => Some(finding),
    }));
}

/// What a template says that came to nothing, or to something else.
fn left_out(finding: Finding) -> Option<Finding> {
    match finding.evidence {
        Evidence::Template { branch: Branch::Only | Branch::LeftOut } => Some(Finding {
            evidence: Evidence::Template { branch: Branch::LeftOut },
            confidence: finding.confidence.min(Confidence::Low),
            ..finding
        }),
        // Another branch was taken: that is what branches are for.
        Evidence::Template { branch: Branch::ByCapability | Branch::OneOf } => None,
        // Its object was left out, or has another version.
        Evidence::Reference { .. } => {
            Some(Finding { confidence: finding.confidence.min(Confidence::Low), ..finding })
        }
        // It is not a template, but a manifest among them.
        Evidence::Manifest
        | Evidence::Rendered { .. }
        | Evidence::HelmRelease { .. }
        | Evidence::Terraform { .. }
        | Evidence::Live
        | Evidence::LastApplied { .. }
        | Evidence::Manager { .. }
        | Evidence::Rule { .. }
        | Evidence::Webhook { .. }
        | Evidence::Requested
        | Evidence::Called { .. } => Some(finding),
    }
}

/// Whether a finding is one of the templates of a chart, or of the charts within it.
fn is_of_template(finding: &Finding, root: &str) -> bool {
    let is_among = || {
        let path = within(root, &finding.place.source);
        path.is_some_and(|path| path.split('/').any(|part| part == "templates"))
    };
    matches!(finding.evidence, Evidence::Template { .. } | Evidence::Manifest | Evidence::Reference { .. })
        && is_among()
}

/// The path within a directory, as if what is packed were unpacked.
fn within(root: &str, source: &str) -> Option<String> {
    let path = if root.is_empty() { source } else { source.strip_prefix(root)?.strip_prefix('/')? };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.ends_with(".tgz")).collect();
    Some(parts.join("/"))
}

fn begin_of(source: &str) -> Place {
    Place { source: source.into(), line: 1, column: 1 }
}

/// A base is rendered again by everything that is built upon it, and counts once: in its file, where it can be changed, if
/// there is one. What it was built from has been fetched.
fn kustomization(report: &mut Report, one: &mut Rendered, seen: &mut BTreeSet<Key>) {
    let head = head_of(&one.directory, Of::Kustomization);
    let is_known = |finding: &Finding| {
        report.findings.iter().any(|of| {
            of.used == finding.used
                && of.holder.is_some() == finding.holder.is_some()
                // With what was put before and behind its name.
                && finding.name.contains(&*of.name)
                && finding.holder.as_deref().unwrap_or_default().contains(of.holder.as_deref().unwrap_or_default())
        })
    };
    one.report.findings.retain(|finding| !is_known(finding) && seen.insert(key(finding)));
    for finding in &mut one.report.findings {
        finding.place = begin_of(&head);
    }
    if one.is_whole {
        report.unrendered.retain(|of| *of.place.source != *head);
    }
}

/// What makes two findings the same one.
type Key = (String, Option<String>, String, Option<String>);

fn key(finding: &Finding) -> Key {
    (finding.used.to_string(), finding.namespace.clone(), finding.name.clone(), finding.holder.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_has_the_path_that_it_has_unpacked() {
        assert_eq!(within("a", "a/templates/x.yaml").as_deref(), Some("templates/x.yaml"));
        assert_eq!(
            within("", "charts/db-1.tgz/db/templates/x.yaml").as_deref(),
            Some("charts/db/templates/x.yaml")
        );
        assert_eq!(within("a", "ab/templates/x.yaml"), None);
    }
}
