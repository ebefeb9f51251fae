//! How long it took, by kind, for people to read.

use std::collections::BTreeMap;

use replank_model::time::Span;

use super::account::{Account, Fate};
use super::stage::Kind;

/// The table in Markdown: seconds from the event to the cordon and to the moment at which the last pod had left.
#[must_use]
pub fn markdown(account: &Account) -> String {
    let mut text = "| what | instances | to cordon: p50 | p90 | p99 | max | to drained: p50 | p90 | p99 | max | with pods at the end |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut by_kind: BTreeMap<Kind, Vec<&Fate>> = BTreeMap::new();
    for fate in account.fates.values() {
        by_kind.entry(fate.kind).or_default().push(fate);
    }
    for (kind, fates) in &by_kind {
        text += &row(kind.as_str(), fates);
    }
    text + &row("all", &account.fates.values().collect::<Vec<_>>())
}

fn row(what: &str, fates: &[&Fate]) -> String {
    let cut_off = fates.iter().filter(|fate| fate.drained.is_none()).count();
    let cordon = fates.iter().filter_map(|fate| fate.cordoned.map(|at| at - fate.told)).collect();
    let drained = fates.iter().filter_map(|fate| fate.drained.map(|at| at - fate.told)).collect();
    format!("| {what} | {} | {} | {} | {cut_off} |\n", fates.len(), shares(cordon), shares(drained))
}

/// p50, p90, p99 and the longest, as cells of a table.
fn shares(mut spans: Vec<Span>) -> String {
    spans.sort();
    let cells = [50, 90, 99, 100].map(|percent| {
        // The smallest that so many percent do not exceed.
        let rank = (spans.len() * percent).div_ceil(100).max(1);
        let at = spans.get(rank - 1);
        at.map_or("–".to_owned(), |span| format!("{:.1} s", span.as_millis() as f64 / 1000.0))
    });
    cells.join(" | ")
}
