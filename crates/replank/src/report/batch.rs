//! What the roll, and others, did to batch pods, and what became of their work.

use std::collections::BTreeMap;

use replank_rehearse::{BatchFigures, EndedBatch};

use super::page::Page;
use super::words::{count, grouped};

/// Pods that are named; the others are in `-o json`.
const ROWS_MAX: usize = 12;

/// The line of figures, and one for each pod that was ended.
pub(super) fn write(page: &mut Page, at: usize, batch: &BatchFigures) {
    page.labelled(at, "batch", &figures(batch));
    let rows: Vec<String> =
        rows(batch).map(|(by, one)| format!("{}, {by}: {}", one.pod, one.what_became())).collect();
    for row in rows.iter().take(ROWS_MAX) {
        page.labelled(at, "", row);
    }
    if rows.len() > ROWS_MAX {
        let more = count(rows.len() - ROWS_MAX, "more pod");
        page.labelled(at, "", &format!("and {more}: `-o json` has them all"));
    }
}

/// The pods that were ended, and by whom; work that failed comes first.
pub(super) fn rows(batch: &BatchFigures) -> impl Iterator<Item = (&'static str, &EndedBatch)> {
    let all = batch.ended_by_run.iter().chain(&batch.ended_by_others);
    let mut all: Vec<_> = all.map(|one| (one.by.as_str(), one)).collect();
    all.sort_by_key(|(_, one)| !one.outcome.is_failure());
    all.into_iter()
}

fn figures(batch: &BatchFigures) -> String {
    let by_us = if batch.ended_by_others.is_empty() { "" } else { " by the run" };
    let by_run = match batch.ended_by_run.as_slice() {
        [] => format!("none terminated{by_us} before it finished"),
        [_] => format!("1 pod TERMINATED{by_us} before it finished"),
        many => format!("{} TERMINATED{by_us} before they finished", count(many.len(), "pod")),
    };
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &batch.ended_by_others {
        *others.entry(one.by.as_str()).or_default() += 1;
    }
    let by_others: String =
        others.into_iter().map(|(by, pods)| format!("; {} {by}", count(pods, "pod"))).collect();
    let failed = rows(batch).filter(|(_, one)| one.outcome.is_failure()).count();
    let failed = if failed > 0 { format!("; the work of {} FAILED", grouped(failed)) } else { String::new() };
    format!("{} waited for, {by_run}{by_others}{failed}", count(batch.waited, "pod"))
}
