//! What was found before the start, each with a remedy to copy.

use crate::document::{Finding, Proof, Rehearsal, Severity};
use crate::markup::Markup;
use crate::page;
use crate::words::{capital, count, grouped};

/// Findings that are told in full, the most severe first; the others are one line each.
const FULL_MAX: usize = 150;
/// Lines of the others.
const LINES_MAX: usize = 2_000;

pub(crate) fn write(rehearsal: &Rehearsal, out: &mut Markup) {
    let findings = &rehearsal.findings;
    let of = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let beside = format!(
        "{} blocking, {} warnings, {} for information",
        of(Severity::Blocking),
        of(Severity::Warning),
        of(Severity::Info)
    );
    page::section("findings", "Findings", &beside, out);
    if findings.is_empty() {
        out.raw("<p>Nothing was found.</p>");
    }
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    for finding in sorted.iter().take(FULL_MAX) {
        write_one(finding, out);
    }
    if let Some(rest) = sorted.get(FULL_MAX..).filter(|rest| !rest.is_empty()) {
        out.raw("<details class=\"named\"><summary>");
        out.text(&format!("{} more", count(rest.len(), "finding")));
        out.raw("</summary><ul>");
        for finding in rest.iter().take(LINES_MAX) {
            out.leaf(
                "li",
                &[],
                &format!(
                    "{}: {}, {}: {}",
                    finding.severity.as_str(),
                    finding.id,
                    finding.object,
                    finding.reason
                ),
            );
        }
        if rest.len() > LINES_MAX {
            out.leaf(
                "li",
                &[],
                &format!("and {} more: the JSON has them all", grouped(rest.len() - LINES_MAX)),
            );
        }
        out.raw("</ul></details>");
    }
    page::end_section(out);
}

fn write_one(finding: &Finding, out: &mut Markup) {
    let class = match finding.severity {
        Severity::Blocking => "finding bad",
        Severity::Warning => "finding some",
        Severity::Info => "finding",
    };
    out.open("article", &[("class", class)]);
    out.raw("<h3>");
    out.leaf("span", &[("class", "severity")], &capital(finding.severity.as_str()));
    out.raw(" ");
    out.text(&finding.object);
    out.raw("</h3>");
    out.leaf("p", &[], &format!("{}.", capital(finding.reason.trim_end_matches('.'))));
    if !finding.unseen.is_empty() {
        let unseen: Vec<String> = finding.unseen.iter().map(ToString::to_string).collect();
        let unseen = format!("Not seen, and it rests on it: {}.", unseen.join("; "));
        out.leaf("p", &[("class", "quiet")], &unseen);
    }
    let (class, proof) = match finding.proof {
        Proof::Rehearsed => {
            ("remedy", "The remedy was rehearsed: with it the finding is gone, and nothing else is worse")
        }
        Proof::Checked => ("remedy", "The remedy was checked: with it the finding is gone"),
        Proof::Advice => ("remedy advice", "Advice: what to look at"),
        Proof::Withheld => ("remedy advice", "A change was tried and is not shown"),
        Proof::Untried => ("remedy", "The remedy was not tried"),
    };
    remedy(class, &finding.remedy, out);
    let withheld = finding.withheld.as_deref().map_or_else(String::new, |why| format!(": {why}"));
    out.leaf("p", &[("class", "quiet")], &format!("{proof}{withheld}. Rule {}.", finding.id));
    out.raw("</article>\n");
}

/// Text to copy. Without the script a click into it selects all of it.
fn remedy(class: &str, text: &str, out: &mut Markup) {
    if text.is_empty() {
        return;
    }
    out.open("div", &[("class", class)]);
    out.raw("<button type=\"button\" class=\"copy\" hidden>Copy</button>");
    out.leaf("pre", &[], text.trim_end());
    out.raw("</div>");
}
