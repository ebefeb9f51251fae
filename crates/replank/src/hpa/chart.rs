//! A chart of a replay for the terminal: pods that did the work, pods that were asked for, pods that it would have taken.

use super::figures::Bucket;

/// Lines of a chart.
const HEIGHT: usize = 10;

/// What stands in a cell of the chart.
const READY: char = '█';
const ASKED: char = '░';
const NEEDED: char = '•';

/// The legend.
pub(super) const LEGEND: &str = "█ ready  ░ requested, not ready  • needed to meet the target";

/// A column for each stretch, the least number of pods below; `labels` stand below its ends.
pub(super) fn chart(buckets: &[Bucket], top: f64, labels: (&str, &str)) -> Vec<String> {
    let top = top.max(1.0);
    let scale = top.ceil().to_string();
    let margin = scale.len().max(2);
    let mut lines = Vec::new();
    for line in (0..HEIGHT).rev() {
        let (low, high) = (top * line as f64 / HEIGHT as f64, top * (line + 1) as f64 / HEIGHT as f64);
        let label = if line + 1 == HEIGHT {
            scale.clone()
        } else if line == 0 {
            "0".to_owned()
        } else {
            String::new()
        };
        let cells: String = buckets.iter().map(|bucket| cell(bucket, low, high)).collect();
        lines.push(format!("{label:>margin$} │{}", cells.trim_end()));
    }
    let width = buckets.len();
    let (begin, end) = labels;
    lines.push(format!("{:margin$} └{}", "", "─".repeat(width)));
    let gap = width.saturating_sub(begin.chars().count() + end.chars().count());
    lines.push(format!("{:margin$}  {begin}{}{end}", "", " ".repeat(gap)));
    lines
}

fn cell(bucket: &Bucket, low: f64, high: f64) -> char {
    let is_at = |needed: f64| needed > low && (needed <= high || needed.is_infinite());
    let middle = f64::midpoint(low, high);
    if bucket.needed.is_some_and(is_at) {
        NEEDED
    } else if bucket.ready as f64 >= middle {
        READY
    } else if f64::from(bucket.replicas) >= middle {
        ASKED
    } else {
        ' '
    }
}

/// The most that a chart of these has to show.
pub(super) fn top(buckets: &[Bucket]) -> f64 {
    let each = buckets.iter().map(|bucket| {
        let needed = bucket.needed.filter(|needed| needed.is_finite()).unwrap_or(0.0);
        needed.max(f64::from(bucket.replicas))
    });
    each.fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use replank_model::time::Span;

    use super::*;

    fn bucket(replicas: i32, ready: usize, needed: f64) -> Bucket {
        Bucket {
            since: Span::ZERO,
            loads: Vec::new(),
            replicas,
            ready,
            pending: 0,
            needed: Some(needed),
            pressure: None,
            over: Span::ZERO,
            nodes: 1,
        }
    }

    #[test]
    fn what_is_missing_stands_above_what_is_ready() {
        let buckets = [bucket(5, 5, 2.0), bucket(10, 5, 9.5), bucket(10, 10, 10.0)];
        let lines = chart(&buckets, top(&buckets), ("0s", "1h"));
        assert_eq!(
            lines.join("\n"),
            "10 │ ••\n   │ ░█\n   │ ░█\n   │ ░█\n   │ ░█\n   │███\n   │███\n   │███\n   │•██\n 0 │███\n   └───\n    0s1h"
        );
    }
}
