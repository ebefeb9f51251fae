//! `replank report`: what happened, when and why.

use std::path::Path;

use replank_html::{Rehearsal, SeedRun};
use replank_journal::{Fate, NodeTale, PodTale, Tale, WaitTale, word};
use replank_model::time::{Span, Time};
use replank_protocol::decision::End;

use super::args::ReportArgs;
use super::source::{Told, either, title};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::rehearse::html::save;
use crate::report::words::{count, span};
use crate::report::{Badness, Cell, Lean, Page, Tone};

/// Waits that are told: the longest. The rest is in the JSON.
const WAITS_MAX: usize = 20;
/// Waits that are shorter are how things go.
const WAIT_MIN: Span = Span::from_secs(10);

/// Tells a journal.
///
/// # Errors
/// Where the file is no journal.
pub(crate) fn run(args: &ReportArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let journal = match (either(&args.journal, printer)?, &args.html) {
        (Told::Journal(journal), _) => journal,
        (Told::Rehearsed(rehearsal), Some(path)) => {
            save(path, &replank_html::rehearsal(&rehearsal, None), printer)?;
            return Ok(Exit::Passes);
        }
        (Told::Seeds(rehearsals), Some(path)) => {
            save(path, &of_seeds(&args.journal, &rehearsals)?, printer)?;
            return Ok(Exit::Passes);
        }
        (Told::Rehearsed(_) | Told::Seeds(_), None) => {
            let name = args.journal.display();
            return Err(Failure::usage_message(format!(
                "{name} is the JSON of a rehearsal: report makes a page of it, and prints only journals"
            ))
            .next("pass --html FILE for the page; replank rehearse prints the report as text"));
        }
    };
    let tale = Tale::of(&journal);
    if let Some(path) = &args.html {
        save(path, &replank_html::journal(&tale), printer)?;
        return Ok(Exit::Passes);
    }
    match args.output {
        AnswerFormat::Text => {
            let page = printer.page();
            printer.data(&text(&tale, page))?;
        }
        AnswerFormat::Json => {
            let json = serde_json::to_string_pretty(&tale).map_err(Failure::internal)?;
            printer.data(&format!("{json}\n"))?;
        }
    }
    Ok(Exit::Passes)
}

/// The page of many rehearsals: the worst of them in full.
fn of_seeds(path: &Path, rehearsals: &[Rehearsal]) -> Result<String, Failure> {
    let mut sorted = Vec::new();
    for rehearsal in rehearsals {
        let row = rehearsal.in_short();
        let badness = Badness::of_row(&row).ok_or_else(|| {
            Failure::usage_message(format!(
                "{}: the rehearsal with seed {} has the unknown verdict {}",
                path.display(),
                row.seed,
                row.verdict
            ))
            .next("make the page with the version of replank that wrote the file")
        })?;
        sorted.push((badness, row, rehearsal));
    }
    sorted.sort_by_key(|(badness, _, _)| std::cmp::Reverse(*badness));
    let Some((_, _, worst)) = sorted.first() else {
        return Err(Failure::usage_message(format!("{} has no rehearsal", path.display())));
    };
    let worst = *worst;
    let rows: Vec<SeedRun> = sorted.into_iter().map(|(_, row, _)| row).collect();
    Ok(replank_html::rehearsals(worst, &rows, None))
}

fn text(tale: &Tale, mut page: Page) -> String {
    let (end, tone) = match &tale.end {
        Some(end @ End::Done) => (word(end), Tone::Good),
        Some(end @ (End::RolledBack(_) | End::Blocked(_) | End::Cancelled(_) | End::Refused(_))) => {
            (word(end), Tone::Warning)
        }
        None => ("not ended", Tone::Warning),
    };
    let end = page.paint(end, tone);
    page.heading(&title(tale), &end);
    let how_long = format!("{} to {}, {}", tale.from, tale.to, span(tale.took()));
    page.wrapped(2, &how_long, Tone::Faint);
    page.wrapped(2, &figures(tale), Tone::Plain);
    if !tale.nodes.is_empty() {
        page.gap();
        page.table(&LEANS, &rows(tale));
    }
    let mut waits: Vec<&WaitTale> = tale.waits.iter().filter(|wait| lasted(tale, wait) >= WAIT_MIN).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(lasted(tale, wait)));
    if !waits.is_empty() {
        page.gap();
        page.heading("What it waited for", "");
        for wait in waits.iter().take(WAITS_MAX) {
            let long = format!("{:>7}", span(lasted(tale, wait)));
            page.labelled(11, &long, &wait.waiting.to_string());
        }
        if waits.len() > WAITS_MAX {
            let more = format!("{} more: -o json has them all", count(waits.len() - WAITS_MAX, "wait"));
            page.wrapped(2, &more, Tone::Faint);
        }
    }
    page.into_text()
}

/// `12 nodes, 181 pods evicted, 4 evictions refused by budgets`
fn figures(tale: &Tale) -> String {
    let by = |fate: Fate| tale.pods().filter(|pod| pod.granted.is_some() && pod.fate == fate).count();
    let mut parts = vec![
        count(tale.nodes.len(), "node"),
        format!("{} evicted", count(by(Fate::Evicted), "pod")),
        format!("{} refused by budgets", count(tale.refused(), "eviction")),
    ];
    let rarely = [
        (by(Fate::Deleted), "deleted without asking budgets"),
        (by(Fate::ForceDeleted), "deleted without grace"),
        (tale.pods().filter(|pod| pod.granted.is_none()).count(), "not moved"),
        (tale.unknown, "answers lost"),
        (tale.anew, "times taken over by another process"),
    ];
    parts.extend(
        rarely.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!("{number} {what}")),
    );
    parts.join(", ")
}

const LEANS: [Lean; 7] =
    [Lean::Left, Lean::Left, Lean::Left, Lean::Right, Lean::Right, Lean::Right, Lean::Left];

fn rows(tale: &Tale) -> Vec<Vec<Cell>> {
    let head = ["NODE", "CORDONED", "DRAIN", "TOOK", "PODS", "REFUSED", "THEN"];
    let mut rows = vec![head.map(|word| (word.to_owned(), Tone::Faint)).to_vec()];
    rows.extend(tale.nodes.iter().map(|node| row(tale, node)));
    rows
}

fn row(tale: &Tale, node: &NodeTale) -> Vec<Cell> {
    let moment =
        |at: Option<Time>| at.map_or_else(|| "-".to_owned(), |at| format!("+{}", span(at - tale.from)));
    let refused: usize = node.pods.iter().map(|pod| pod.refused).sum();
    let left = node.pods.iter().filter(|pod| pod.gone.is_none()).count();
    let plain = |text: String| (text, Tone::Plain);
    vec![
        (node.name.to_string(), Tone::Strong),
        plain(moment(node.cordoned)),
        plain(moment(node.drained_from)),
        plain(node.took().map_or_else(|| "-".to_owned(), span)),
        plain(node.pods.len().to_string()),
        (refused.to_string(), if refused == 0 { Tone::Plain } else { Tone::Warning }),
        if left > 0 { (stays(node), Tone::Warning) } else { plain(then(tale, node)) },
    ]
}

/// What became of a node whose pods all left.
fn then(tale: &Tale, node: &NodeTale) -> String {
    match (node.gone, node.uncordoned) {
        (Some(gone), _) => format!("gone at +{}", span(gone - tale.from)),
        (None, Some(at)) => format!("uncordoned at +{}", span(at - tale.from)),
        (None, None) => String::new(),
    }
}

/// `2 pods left: shop/web-1, …`
fn stays(node: &NodeTale) -> String {
    let mut left = node.pods.iter().filter(|pod| pod.gone.is_none()).map(|PodTale { pod, .. }| &pod.key);
    let first = left.next().map(ToString::to_string).unwrap_or_default();
    match left.count() {
        0 => format!("1 pod left: {first}"),
        more => format!("{} left: {first} and {more} more", count(more + 1, "pod")),
    }
}

fn lasted(tale: &Tale, wait: &WaitTale) -> Span {
    wait.until.unwrap_or(tale.to) - wait.from
}
