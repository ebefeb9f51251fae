//! `replank explain`: what a finding means. The page docs/findings.md is the only source of it.

mod page;

use replank_advice::{audit, check};
use replank_facts::plan::nearest;
use serde_json::{Value, json};

use crate::cli::ExplainArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::DocumentFormat;
use crate::printer::Printer;
use crate::report::{Look, Page, Tone};

pub(crate) use page::{Section, section};

/// The version of the JSON.
const VERSION: &str = "replank.dev/explanations/v1alpha1";

/// Explains.
///
/// # Errors
/// Where there is no such finding, or standard output cannot be written.
pub(crate) fn run(args: &ExplainArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let sections: Vec<Section> = match &args.id {
        Some(id) => vec![section(id).ok_or_else(|| unknown(id))?],
        None => page::sections(),
    };
    let text = match (args.output, &args.id) {
        (DocumentFormat::Text, Some(_)) => one(&sections[0], printer.look()),
        (DocumentFormat::Text, None) => list(printer.look()),
        (DocumentFormat::Json, _) => json(&sections)?,
        (DocumentFormat::Markdown, _) => {
            sections.iter().map(Section::markdown).collect::<Vec<_>>().join("\n")
        }
    };
    printer.data(&text)?;
    Ok(Exit::Passes)
}

fn unknown(id: &str) -> Failure {
    let ids: Vec<&str> = known().map(|(id, _)| id).collect();
    let meant = nearest(id, ids.iter().copied());
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    Failure::usage_message(format!("unknown finding {id:?}"))
        .next(format!("{meant}replank explain lists all findings"))
}

/// Ids and titles of all findings: those of `check`, then those of the audit.
fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    of_check().chain(of_audit())
}

fn of_check() -> impl Iterator<Item = (&'static str, &'static str)> {
    check::Rule::ALL.iter().map(|rule| (rule.id(), rule.title()))
}

fn of_audit() -> impl Iterator<Item = (&'static str, &'static str)> {
    audit::Rule::ALL.iter().map(|rule| (rule.id(), rule.title()))
}

fn one(section: &Section, look: Look) -> String {
    let mut page = Page::new(look);
    page.heading(section.id(), "");
    section.write(&mut page);
    page.into_text()
}

fn list(look: Look) -> String {
    let mut page = Page::new(look);
    let all: [(&str, &str, Vec<_>); 2] = [
        ("Before a roll", "replank check, replank rehearse", of_check().collect()),
        ("Placement", "replank place --audit", of_audit().collect()),
    ];
    for (title, command, rules) in all {
        let command = page.paint(command, Tone::Faint);
        page.heading(title, &command);
        let at = rules.iter().map(|(id, _)| id.len()).max().unwrap_or(0) + 4;
        for (id, title) in rules {
            page.labelled(at, id, title);
        }
    }
    page.into_text()
}

fn json(sections: &[Section]) -> Result<String, Failure> {
    let one = |section: &Section| -> Value {
        let is_of = |mut rules: Box<dyn Iterator<Item = (&'static str, &'static str)>>| {
            rules.any(|(id, _)| id == section.id())
        };
        let mut commands = Vec::new();
        if is_of(Box::new(of_check())) {
            commands.extend(["check", "rehearse"]);
        }
        if is_of(Box::new(of_audit())) {
            commands.push("place --audit");
        }
        let title = known().find(|(id, _)| *id == section.id()).map_or("", |(_, title)| title);
        json!({"id": section.id(), "title": title, "foundBy": commands, "text": section.text(), "markdown": section.markdown()})
    };
    let all = json!({"version": VERSION, "findings": sections.iter().map(one).collect::<Vec<_>>()});
    let text = serde_json::to_string_pretty(&all).map_err(Failure::internal)?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that every explanation has, beside its title and what it means.
    const PARTS: [&str; 2] = ["**What to do:** ", "**Source:** "];

    #[test]
    fn the_page_explains_every_finding_in_order_and_no_other() {
        let mut expected: Vec<&str> = Vec::new();
        for (id, _) in known() {
            if !expected.contains(&id) {
                expected.push(id);
            }
        }
        let sections = page::sections();
        let found: Vec<&str> = sections.iter().map(Section::id).collect();
        assert_eq!(found, expected, "docs/findings.md differs from the rules");
    }

    #[test]
    fn every_explanation_begins_with_the_title_and_has_its_parts() {
        for (id, title) in known() {
            let section = section(id).expect("the page has it");
            let markdown = section.markdown();
            let paragraphs: Vec<&str> = markdown.split("\n\n").collect();
            let mut first = title.chars();
            let title: String =
                first.next().expect("a title").to_uppercase().chain(first).chain(['.']).collect();
            assert_eq!(paragraphs[1].replace('\n', " "), title, "{id}");
            assert!(paragraphs[2].len() > 60, "{id}: it does not say what it means");
            for part in PARTS {
                assert!(paragraphs.iter().any(|one| one.starts_with(part)), "{id}: {part}");
            }
            assert!(!section.text().contains(['`', '*']), "{id}: {}", section.text());
            let has_severity = paragraphs.iter().any(|one| one.starts_with("**Severity:** "));
            assert_eq!(has_severity, check::Rule::ALL.iter().any(|rule| rule.id() == id), "{id}");
        }
    }

    #[test]
    fn the_page_of_the_json_lists_every_finding_of_a_rehearsal() {
        let page = include_str!("../../../../docs/rehearsal-json.md");
        let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("- `")).collect();
        let expected: Vec<String> = of_check().map(|(id, title)| format!("- `{id}`: {title}")).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn every_explanation_names_the_kinds_that_its_rule_reads() {
        let of_check = check::Rule::ALL.iter().map(|rule| (rule.id(), rule.reads()));
        let ids: Vec<&str> = check::Rule::ALL.iter().map(|rule| rule.id()).collect();
        let of_audit = audit::Rule::ALL.iter().map(|rule| (rule.id(), rule.reads()));
        for (id, reads) in of_check.chain(of_audit.filter(|(id, _)| !ids.contains(id))) {
            let markdown = section(id).expect("the page has it").markdown();
            let told = markdown
                .split("\n\n")
                .find(|one| one.starts_with("**Reads:**"))
                .map(|one| one.replace('\n', " "));
            let kinds: Vec<&str> = reads.iter().map(|kind| kind.as_str()).collect();
            let expected = (!kinds.is_empty()).then(|| format!("**Reads:** {}.", kinds.join(", ")));
            assert_eq!(told, expected, "{id}");
        }
    }

    #[test]
    fn a_misspelt_id_is_met_with_the_right_one() {
        let failure = unknown("pdb-never-alows");
        assert!(failure.next.is_some_and(|next| next.contains("did you mean pdb-never-allows?")));
    }
}
