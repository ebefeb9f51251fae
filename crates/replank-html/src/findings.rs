//! What was found before the start, each with a remedy to copy. What is found of several objects in the same words is one entry, as in the report's text.

use std::collections::BTreeMap;

use crate::document::{Block, Finding, Proof, Rehearsal, Severity, Sort};
use crate::markup::Markup;
use crate::page;
use crate::words::{capital, count, grouped};

/// Entries of one rule and severity that are told in full; the others are one line each. What blocks has to be known whole before anything can go on.
const ENTRIES_MAX: usize = 10;
const BLOCKING_MAX: usize = 40;
/// Objects that are named at once, and remedies that are shown.
const OBJECTS_MAX: usize = 12;
/// Objects that are named when somebody asks for them, of one entry.
const NAMED_MAX: usize = 500;
/// Remedies that are shown when somebody asks for them, of one entry.
const REMEDIES_MAX: usize = 200;
/// Lines of the others.
const LINES_MAX: usize = 1_000;

pub(crate) fn write(rehearsal: &Rehearsal, out: &mut Markup) {
    let findings = &rehearsal.findings;
    page::section("findings", "Findings", &in_numbers(findings), out);
    if findings.is_empty() {
        out.raw("<p>Nothing was found.</p>");
    }
    let mut shown: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    let mut others: Vec<&Finding> = Vec::new();
    for entry in entries(findings) {
        let first = entry[0];
        let max = if first.severity == Severity::Blocking { BLOCKING_MAX } else { ENTRIES_MAX };
        let shown = shown.entry((first.severity, &first.id)).or_default();
        if *shown < max {
            *shown += 1;
            write_entry(&entry, out);
        } else {
            others.extend(entry);
        }
    }
    write_others(&others, out);
    page::end_section(out);
}

/// `9 blocking, 1 warning, 2,250 for information`
fn in_numbers(findings: &[Finding]) -> String {
    let of = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    format!(
        "{} blocking, {}, {} for information",
        grouped(of(Severity::Blocking)),
        count(of(Severity::Warning), "warning"),
        grouped(of(Severity::Info))
    )
}

/// Findings that differ in their objects only, the most severe first.
fn entries(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    let mut entries: Vec<Vec<&Finding>> = Vec::new();
    let mut known: BTreeMap<(Severity, &str, &str, bool), usize> = BTreeMap::new();
    for finding in sorted {
        let key = (finding.severity, &*finding.id, &*finding.reason, finding.withheld.is_some());
        let at = *known.entry(key).or_insert(entries.len());
        if at == entries.len() {
            entries.push(Vec::new());
        }
        entries[at].push(finding);
    }
    entries
}

fn write_entry(entry: &[&Finding], out: &mut Markup) {
    let finding = entry[0];
    let class = match finding.severity {
        Severity::Blocking => "finding bad",
        Severity::Warning => "finding some",
        Severity::Info => "finding",
    };
    out.open("article", &[("class", class)]);
    out.raw("<h3>");
    out.leaf("span", &[("class", "severity")], &capital(finding.severity.as_str()));
    out.raw(" ");
    match entry {
        [only] => out.text(&only.object),
        many => out.text(&count(many.len(), "object")),
    }
    out.raw("</h3>");
    objects(entry, out);
    out.leaf("p", &[], &format!("{}.", capital(finding.reason.trim_end_matches('.'))));
    if !finding.unseen.is_empty() {
        let unseen: Vec<String> = finding.unseen.iter().map(ToString::to_string).collect();
        let unseen = format!("Not seen, and it rests on it: {}.", unseen.join("; "));
        out.leaf("p", &[("class", "quiet")], &unseen);
    }
    remedies(entry, out);
    let withheld = finding.withheld.as_deref().map_or_else(String::new, |why| format!(": {why}"));
    let proof = proof(entry);
    out.leaf("p", &[("class", "quiet")], &format!("{proof}{withheld}. Rule {}.", finding.id));
    out.raw("</article>\n");
}

/// The names of several objects.
fn objects(entry: &[&Finding], out: &mut Markup) {
    if entry.len() < 2 {
        return;
    }
    let names = |findings: &[&Finding]| -> String {
        findings.iter().map(|finding| &*finding.object).collect::<Vec<_>>().join(", ")
    };
    let (first, rest) = entry.split_at(entry.len().min(OBJECTS_MAX));
    out.leaf("p", &[("class", "objects")], &names(first));
    if rest.is_empty() {
        return;
    }
    let (named, beyond) = rest.split_at(rest.len().min(NAMED_MAX));
    out.raw("<details class=\"named\"><summary>");
    out.text(&format!("and {}", count(rest.len(), "more object")));
    out.raw("</summary>");
    out.leaf("p", &[("class", "objects")], &names(named));
    beyond_json(beyond.len(), out);
    out.raw("</details>");
}

fn beyond_json(number: usize, out: &mut Markup) {
    if number > 0 {
        out.leaf("p", &[("class", "quiet")], &format!("and {} more: the JSON has them all", grouped(number)));
    }
}

/// What is known of the remedies.
fn proof(entry: &[&Finding]) -> &'static str {
    let proof = entry[0].proof;
    if entry.iter().any(|finding| finding.proof != proof) {
        return "Some of the remedies were tried; the JSON says of each what is known";
    }
    let one = entry.len() == 1;
    match proof {
        Proof::Rehearsed if one => {
            "The remedy was rehearsed: with it the finding is gone, and nothing else is worse"
        }
        Proof::Rehearsed => {
            "The remedies were rehearsed: with them the findings are gone, and nothing else is worse"
        }
        Proof::Checked if one => "The remedy was checked: with it the finding is gone",
        Proof::Checked => "The remedies were checked: with them the findings are gone",
        Proof::Advice => "Advice: what to look at",
        Proof::Withheld => "A change was tried and is not shown",
        Proof::Untried if one => "The remedy was not tried",
        Proof::Untried => "The remedies were not tried",
    }
}

fn remedies(entry: &[&Finding], out: &mut Markup) {
    let (first, rest) = entry.split_at(entry.len().min(OBJECTS_MAX));
    let shown = blocks(first);
    shown.iter().for_each(|block| write_block(block, out));
    let (more, beyond) = rest.split_at(rest.len().min(REMEDIES_MAX));
    let others: Vec<Block> = blocks(more).into_iter().filter(|block| !shown.contains(block)).collect();
    if others.iter().all(|block| block.sort == Sort::Lead) {
        return;
    }
    out.raw("<details class=\"named\"><summary>");
    out.text(&format!("What to do for the other {}", grouped(rest.len())));
    out.raw("</summary>");
    others.iter().for_each(|block| write_block(block, out));
    beyond_json(beyond.len(), out);
    out.raw("</details>");
}

/// What to do for several objects: what is said again and again is said once, and commands of several objects are one block to copy. Where one of them has more than commands,
/// it stands alone: of what is said `or:` before, or below a line that leads to it, nobody else's command is part.
fn blocks(findings: &[&Finding]) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let mut is_open = false;
    for finding in findings {
        let of_one = match finding.remedy_blocks.as_slice() {
            // A document of an older version has the text alone.
            [] if finding.remedy.is_empty() => Vec::new(),
            [] => vec![Block { sort: Sort::Words, text: finding.remedy.trim_end().to_owned() }],
            blocks => blocks.to_vec(),
        };
        if all.ends_with(&of_one) {
            continue;
        }
        let was_open =
            std::mem::replace(&mut is_open, matches!(&*of_one, [only] if only.sort == Sort::Command));
        if was_open
            && is_open
            && let (Some(last), [only]) = (all.last_mut(), of_one.as_slice())
        {
            last.text.push('\n');
            last.text.push_str(&only.text);
        } else {
            all.extend(of_one);
        }
    }
    all
}

/// What is pasted can be copied: without the script a click into it selects all of it. What is to be read is plain text.
fn write_block(block: &Block, out: &mut Markup) {
    match block.sort {
        Sort::Lead => out.leaf("p", &[("class", "lead")], &capital(&block.text)),
        Sort::Words => out.leaf("p", &[("class", "words")], &block.text),
        Sort::Command | Sort::Yaml | Sort::Hcl => {
            out.raw("<div class=\"remedy\"><button type=\"button\" class=\"copy\" hidden>Copy</button><pre>");
            match block.sort {
                Sort::Command => write_command(&block.text, out),
                Sort::Lead | Sort::Words | Sort::Yaml | Sort::Hcl => out.text(&block.text),
            }
            out.raw("</pre></div>");
        }
    }
}

/// A command whose lines break between its words only: an option torn after its hyphens is read as two. What is copied is the same text.
fn write_command(text: &str, out: &mut Markup) {
    for piece in text.split_inclusive([' ', '\n']) {
        let word = piece.trim_end_matches([' ', '\n']);
        match word.contains(['-', '/']) {
            true => out.leaf("span", &[], word),
            false => out.text(word),
        }
        out.text(&piece[word.len()..]);
    }
}

/// One line each.
fn write_others(others: &[&Finding], out: &mut Markup) {
    if others.is_empty() {
        return;
    }
    out.raw("<details class=\"named\"><summary>");
    out.text(&count(others.len(), "more finding"));
    out.raw("</summary><ul>");
    for finding in others.iter().take(LINES_MAX) {
        let Finding { severity, id, object, reason, .. } = finding;
        out.leaf("li", &[], &format!("{}: {id}, {object}: {reason}", severity.as_str()));
    }
    if others.len() > LINES_MAX {
        let more = format!("and {} more: the JSON has them all", grouped(others.len() - LINES_MAX));
        out.leaf("li", &[], &more);
    }
    out.raw("</ul></details>");
}
