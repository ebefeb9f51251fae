//! Many rehearsals of one plan: how often each verdict, how long, and which was the worst.

use crate::axis::UNITS;
use crate::document::Rehearsal;
use crate::markup::Markup;
use crate::page;
use crate::tables::table;
use crate::words::{grouped, millis};

/// Rows of the table, the worst first.
const ROWS_MAX: usize = 100;
/// Columns of the histogram.
const COLUMNS: usize = 40;

/// One rehearsal of many, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedRun {
    /// Its seed.
    pub seed: u64,
    /// Its verdict.
    pub verdict: String,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// Nodes replaced.
    pub replaced: usize,
    /// Pods moved.
    pub moved: usize,
    /// Evictions refused.
    pub refused: usize,
    /// Batch pods killed.
    pub killed: usize,
}

impl SeedRun {
    pub(crate) fn of(rehearsal: &Rehearsal) -> Self {
        Self {
            seed: rehearsal.seed,
            verdict: rehearsal.verdict.clone(),
            duration_ms: rehearsal.virtual_duration_ms,
            replaced: rehearsal.nodes.replaced,
            moved: rehearsal.pods.moved,
            refused: rehearsal.pods.evictions_refused,
            killed: rehearsal.batch.killed,
        }
    }
}

/// The duration that so many percent of the rehearsals do not exceed: the nearest rank.
pub(crate) fn percentile(sorted: &[i64], percent: usize) -> i64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(rank).copied().unwrap_or_default()
}

/// Of runs, the worst first.
pub(crate) fn write(runs: &[SeedRun], worst: u64, out: &mut Markup) {
    let beside = format!("{} rehearsals that differ in all random draws", grouped(runs.len()));
    page::section("seeds", "Seeds", &beside, out);
    let mut durations: Vec<i64> = runs.iter().map(|run| run.duration_ms).collect();
    durations.sort_unstable();
    let percentiles: Vec<Vec<String>> =
        [("shortest", 1), ("median", 50), ("90 %", 90), ("95 %", 95), ("99 %", 99), ("longest", 100)]
            .into_iter()
            .map(|(name, percent)| {
                let at = if name == "shortest" {
                    durations.first().copied().unwrap_or_default()
                } else {
                    percentile(&durations, percent)
                };
                vec![name.to_owned(), millis(at)]
            })
            .collect();
    histogram(&durations, out);
    out.raw("<div class=\"beside\">");
    table("Durations", &["Duration", "At most "], &percentiles, out);
    let mut verdicts: Vec<Vec<String>> = Vec::new();
    for verdict in ["passes", "findings", "partial", "incomplete", "blocked", "refused"] {
        let number = runs.iter().filter(|run| run.verdict == verdict).count();
        if number > 0 {
            verdicts.push(vec![verdict.to_owned(), grouped(number)]);
        }
    }
    table("Verdicts", &["Verdict", "Seeds "], &verdicts, out);
    out.raw("</div>");
    out.leaf(
        "p",
        &[],
        &format!(
            "What follows is the worst of them, seed {worst}. To rehearse it alone, pass --seed {worst}."
        ),
    );
    let rows: Vec<Vec<String>> = runs
        .iter()
        .take(ROWS_MAX)
        .map(|run| {
            vec![
                run.seed.to_string(),
                run.verdict.clone(),
                millis(run.duration_ms),
                grouped(run.replaced),
                grouped(run.moved),
                grouped(run.refused),
                grouped(run.killed),
            ]
        })
        .collect();
    out.raw("<details class=\"named\"><summary>");
    out.text(&format!("The {} worst, one by one", grouped(rows.len())));
    out.raw("</summary>");
    let head = [
        "Seed ",
        "Verdict",
        "Duration ",
        "Nodes replaced ",
        "Pods moved ",
        "Evictions refused ",
        "Batch pods killed ",
    ];
    table("Seeds, the worst first", &head, &rows, out);
    out.raw("</details>");
    page::end_section(out);
}

/// How many took how long.
fn histogram(sorted: &[i64], out: &mut Markup) {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return };
    let wide = ((last - first) / i64::try_from(COLUMNS).unwrap_or(1) + 1).max(1);
    let mut columns = [0_i64; COLUMNS];
    for duration in sorted {
        let column = usize::try_from((duration - first) / wide).unwrap_or(0).min(COLUMNS - 1);
        columns[column] += 1;
    }
    let most = columns.iter().copied().max().unwrap_or(1).max(1);
    let step = UNITS / i64::try_from(COLUMNS).unwrap_or(1);
    let path: String = columns
        .iter()
        .zip(0_i64..)
        .filter(|(number, _)| **number > 0)
        .map(|(number, column)| {
            let high = (number * 94 / most).max(3);
            format!("M{} {}h{}v{high}h-{}z", column * step + 3, 100 - high, step - 6, step - 6)
        })
        .collect();
    out.raw("<figure><svg class=\"chart histogram\" viewBox=\"0 0 2000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\">");
    out.open("path", &[("class", "bars"), ("d", &path)]);
    out.raw("</path></svg><figcaption>");
    out.leaf("span", &[], &millis(*first));
    out.leaf("span", &[], "durations of all seeds");
    out.leaf("span", &[], &millis(*last));
    out.raw("</figcaption></figure>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let sorted: Vec<i64> = (1..=20).collect();
        assert_eq!([50, 90, 95, 99, 100].map(|percent| percentile(&sorted, percent)), [10, 18, 19, 20, 20]);
        assert_eq!(percentile(&[7], 50), 7);
    }
}
