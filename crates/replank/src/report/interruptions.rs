//! Instances that others took away.

use std::collections::BTreeMap;

use replank_model::time::{Span, Time};
use replank_rehearse::InterruptionFigures;

use super::page::{Cell, Lean, Page, Tone};
use super::words::{count, span};

/// Rows of a table that a person reads; the others are counted, and are all in `-o json`.
const ROWS_MAX: usize = 15;

pub(super) fn write(page: &mut Page, all: &[InterruptionFigures], start: Time) {
    if all.is_empty() {
        return;
    }
    page.heading("Interruptions", &kinds(all));
    page.wrapped(2, &lost(all), if all.iter().all(|of| of.pods_lost == 0) { Tone::Good } else { Tone::Bad });
    let plain = |text: &str| (text.to_owned(), Tone::Faint);
    let head = ["node", "kind", "at", "cordon", "empty", "gone", "lost"];
    let mut rows: Vec<Vec<Cell>> = vec![head.map(plain).to_vec()];
    rows.extend(all.iter().take(ROWS_MAX).map(|of| row(of, start)));
    let lean = [Lean::Left, Lean::Left, Lean::Right, Lean::Right, Lean::Right, Lean::Right, Lean::Right];
    page.table(&lean, &rows);
    if all.len() > ROWS_MAX {
        let more = count(all.len() - ROWS_MAX, "interruption");
        page.wrapped(2, &format!("and {more} more: -o json has them all"), Tone::Faint);
    }
}

/// `2 spot, 1 ended`
pub(super) fn kinds(all: &[InterruptionFigures]) -> String {
    let mut kinds: BTreeMap<_, usize> = BTreeMap::new();
    for of in all {
        *kinds.entry(of.kind).or_default() += 1;
    }
    let kinds: Vec<String> =
        kinds.into_iter().map(|(kind, number)| format!("{number} {}", kind.as_str())).collect();
    kinds.join(", ")
}

/// `4 pods lost, 1 of batch work`
pub(super) fn lost(all: &[InterruptionFigures]) -> String {
    let lost = match all.iter().map(|of| of.pods_lost).sum() {
        0 => return "no pod lost".to_owned(),
        number => format!("{} lost", count(number, "pod")),
    };
    match all.iter().map(|of| of.batch_lost).sum::<usize>() {
        0 => lost,
        batch => format!("{lost}, {batch} of batch work"),
    }
}

fn row(of: &InterruptionFigures, start: Time) -> Vec<Cell> {
    let after = |time: Option<Span>| (time.map_or("–".to_owned(), span), Tone::Plain);
    let lost = match of.pods_lost {
        0 => "–".to_owned(),
        lost => format!("{lost}/{}", of.pods),
    };
    let tone = if of.pods_lost == 0 { Tone::Plain } else { Tone::Bad };
    vec![
        (of.node.to_string(), Tone::Note),
        (of.kind.as_str().to_owned(), Tone::Plain),
        (span(of.at - start), Tone::Plain),
        after(of.cordoned),
        after(of.drained),
        after(of.ended),
        (lost, tone),
    ]
}
