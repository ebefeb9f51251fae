//! `--all-pending`: every pending pod and its placement.

use std::collections::BTreeMap;

use replank_advice::place::{Fate, PlacementQuery, Queued};

use replank_facts::coverage::Coverage;

use super::{PlaceArgs, json, table, text};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::PlaceFormat;
use crate::printer::Printer;
use crate::report::words::count;
use crate::report::{Look, Page, Tone};

pub(super) use super::stuck::Stuck;

/// Kinds of pods for which a remedy is looked for: one takes up to a tenth of a second on a large cluster.
const REMEDIED_MAX: usize = 20;

/// Reports where each pending pod would go, or why it goes nowhere.
pub(super) fn report(
    args: &PlaceArgs,
    query: &mut PlacementQuery,
    queued: &[Queued],
    coverage: &Coverage,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let stuck = stuck(query, queued);
    let data = match args.output {
        PlaceFormat::Text | PlaceFormat::Wide => {
            page(queued, &stuck, printer.look()) + &coverage::section(coverage, printer.look())
        }
        PlaceFormat::Json => json::pending(args, query, queued, &stuck, coverage)?,
        PlaceFormat::Name => names(queued),
    };
    printer.data(&data)?;
    let is_placed = |queued: &Queued| match queued.fate {
        Fate::Placed(_) => true,
        Fate::Gated(_) | Fate::DoesNotFit(_) | Fate::Lost => false,
    };
    let exit = if queued.iter().all(is_placed) { Exit::Passes } else { Exit::Findings };
    Ok(coverage::end(coverage, exit))
}

pub(super) fn stuck<'a>(query: &mut PlacementQuery, queued: &'a [Queued]) -> Vec<Stuck<'a>> {
    let mut kinds: BTreeMap<(String, &str), (usize, Stuck<'a>)> = BTreeMap::new();
    for (at, one) in queued.iter().enumerate() {
        let Fate::DoesNotFit(misfit) = &one.fate else { continue };
        let kind = (made_by(one), misfit.message.as_str());
        let new = || (at, Stuck { first: one, pods: 0, remedy: None });
        kinds.entry(kind).or_insert_with(new).1.pods += 1;
    }
    let mut stuck: Vec<(usize, Stuck<'a>)> = kinds.into_values().collect();
    stuck.sort_by_key(|(at, _)| *at);
    let mut stuck: Vec<Stuck<'a>> = stuck.into_iter().map(|(_, stuck)| stuck).collect();
    for one in stuck.iter_mut().take(REMEDIED_MAX) {
        one.remedy = query.remedies(&one.first.pod, 1).into_iter().next();
    }
    stuck
}

fn made_by(queued: &Queued) -> String {
    match &queued.workload {
        Some(workload) => workload.to_string(),
        None => format!("Pod {}", queued.pod.meta.key()),
    }
}

/// Names of the pods that fit, with the nodes that they go to.
fn names(queued: &[Queued]) -> String {
    let mut text = String::new();
    for one in queued {
        if let Fate::Placed(_) = one.fate {
            text.push_str(&format!("pod/{}\n", one.pod.meta.name));
        }
    }
    text
}

fn page(queued: &[Queued], stuck: &[Stuck<'_>], look: Look) -> String {
    let mut page = Page::new(look);
    if queued.is_empty() {
        page.line("No pod is pending.");
        return page.into_text();
    }
    let placed = queued.iter().filter(|one| matches!(one.fate, Fate::Placed(_))).count();
    let tone = if placed == queued.len() { Tone::Good } else { Tone::Bad };
    let summary = page.paint(&format!("{placed} of {} fit", count(queued.len(), "pod")), tone);
    page.heading("Pending pods", &summary);
    page.wrapped(0, "in the order of the scheduler's queue; each is placed before the next", Tone::Faint);
    page.gap();
    table::write(&mut page, &lines(queued));
    for one in stuck {
        let Fate::DoesNotFit(misfit) = &one.first.fate else { continue };
        let pods = if one.pods == 1 { String::new() } else { count(one.pods, "pod") };
        page.heading(&made_by(one.first), &pods);
        page.line(&format!("  {}", misfit.message));
        if let Some(nomination) = &misfit.preemption {
            page.wrapped(2, &text::preemption(nomination), Tone::Warning);
        }
        if let Some(remedy) = &one.remedy {
            // The remedy was tried out on one pod; what it leaves for the others was not.
            let remedy_of = match one.pods {
                1 => remedy.to_string(),
                _ => format!("{remedy} (tested for the first of them)"),
            };
            page.labelled(10, "to fit:", &remedy_of);
            remedy.paste(&one.first.pod.spec).iter().for_each(|line| page.verbatim(10, line, Tone::Note));
        }
    }
    page.into_text()
}

fn lines(queued: &[Queued]) -> Vec<Vec<(String, Tone)>> {
    let is_moved = queued.iter().any(|one| one.from.is_some());
    let mut titles = vec!["NAMESPACE", "POD", "PRIORITY"];
    titles.extend(is_moved.then_some("FROM"));
    titles.push("NODE");
    let mut lines: Vec<Vec<(String, Tone)>> =
        vec![titles.into_iter().map(|title| (title.to_owned(), Tone::Faint)).collect()];
    for one in queued {
        let meta = &one.pod.meta;
        let mut line = vec![
            (meta.namespace.to_string(), Tone::Plain),
            (meta.name.to_string(), Tone::Plain),
            (one.pod.spec.priority.unwrap_or(0).to_string(), Tone::Plain),
        ];
        if is_moved {
            let from = one.from.as_ref().map_or("-".to_owned(), ToString::to_string);
            line.push((from, Tone::Faint));
        }
        line.push(match &one.fate {
            Fate::Placed(node) => (node.to_string(), Tone::Good),
            Fate::Gated(gates) => {
                let gates: Vec<&str> = gates.iter().map(|gate| &**gate).collect();
                (format!("waits for the gate {}", gates.join(", ")), Tone::Warning)
            }
            Fate::DoesNotFit(_) => ("fits nowhere".to_owned(), Tone::Bad),
            Fate::Lost => ("gone with its node: no controller recreates it".to_owned(), Tone::Bad),
        });
        lines.push(line);
    }
    lines
}
