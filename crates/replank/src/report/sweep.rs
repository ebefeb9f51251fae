//! When to begin: a plot with a row a day, and the best and worst starts.

use replank_advice::sweep::{Start, Stretch, Sweep};
use replank_model::time::{Span, Time};

use super::page::{Cell, Lean, Look, Page, Tone};
use super::words::span;

/// Starts in one column of the plot: half an hour.
const IN_COLUMN: i64 = 30 * 60 * 1_000;
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// From hardly at all to as long as it gets.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(crate) fn sweep(
    sweep: &Sweep,
    best: &[Stretch],
    worst: &[Stretch],
    wait: Span,
    plan: &str,
    look: Look,
) -> String {
    let mut page = Page::new(look);
    page.heading("When to start", &format!("{plan}, {} starts, times in UTC", sweep.starts.len()));
    page.wrapped(
        2,
        &format!(
            "Calculated from schedules and past durations, not rehearsed. Old nodes are cordoned {} after the start; runs that have started by then block their nodes until they finish.",
            span(sweep.until_cordon)
        ),
        Tone::Plain,
    );
    plot(&mut page, sweep);
    stretches(&mut page, "Best", best, wait);
    stretches(&mut page, "Worst", worst, wait);
    series(&mut page, sweep);
    page.into_text()
}

fn plot(page: &mut Page, sweep: &Sweep) {
    let most = sweep.starts.iter().map(|start| start.held).max().unwrap_or(Span::ZERO);
    page.gap();
    page.line(&format!("  {:12}00          06          12          18          24", ""));
    let (Some(first), Some(last)) = (sweep.starts.first(), sweep.starts.last()) else { return };
    let mut day = first.at.as_millis().div_euclid(DAY) * DAY;
    while day <= last.at.as_millis() {
        let columns = (0..DAY / IN_COLUMN).map(|column| {
            let from = day + column * IN_COLUMN;
            let within = |start: &&Start| (from..from + IN_COLUMN).contains(&start.at.as_millis());
            let starts: Vec<&Start> = sweep.starts.iter().filter(within).collect();
            mark(&starts, most)
        });
        let plotted: String = columns.collect();
        page.line(&format!("  {:12}{}", day_of(Time::from_millis(day)), plotted));
        day += DAY;
    }
    page.wrapped(
        2,
        &format!(
            "· nothing is blocked, ▁ to █ up to {}, ! longer than the plan waits, blank: closed, or not calculated",
            span(most)
        ),
        Tone::Faint,
    );
}

fn mark(starts: &[&Start], most: Span) -> char {
    let open: Vec<&&Start> = starts.iter().filter(|start| start.is_open).collect();
    if open.is_empty() {
        return ' ';
    }
    if open.iter().any(|start| start.over > 0) {
        return '!';
    }
    let held = open.iter().map(|start| start.held).max().unwrap_or(Span::ZERO).as_millis();
    let level = (held * 8 - 1).div_euclid(most.as_millis().max(1)).clamp(0, 7);
    match held {
        0 => '·',
        _ => BARS[usize::try_from(level).unwrap_or(0)],
    }
}

/// `Fri 20 Nov` by the calendar of UTC.
fn day_of(at: Time) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let weekday = usize::try_from(at.as_millis().div_euclid(DAY).rem_euclid(7)).unwrap_or(0);
    let text = at.to_string();
    format!("{} {}", DAYS[weekday], text.get(5..10).unwrap_or(&text))
}

fn moment(at: Time) -> String {
    let text = at.to_string();
    format!("{} {}", day_of(at), text.get(11..16).unwrap_or(&text))
}

fn stretches(page: &mut Page, title: &str, stretches: &[Stretch], wait: Span) {
    page.gap();
    if stretches.is_empty() {
        page.line(&format!("  {title}: none, all starts are equal"));
        return;
    }
    let head = ["start from", "until", "nodes blocked for", "runs that block", "outlive the wait"];
    let mut rows: Vec<Vec<Cell>> = vec![head.iter().map(|cell| ((*cell).to_owned(), Tone::Faint)).collect()];
    rows.extend(stretches.iter().map(|stretch| {
        let over =
            if stretch.over == 0 { "none".to_owned() } else { format!("{} of {}", stretch.over, span(wait)) };
        let tone = if stretch.over == 0 { Tone::Plain } else { Tone::Bad };
        vec![
            (moment(stretch.from), Tone::Plain),
            (moment(stretch.until), Tone::Plain),
            (held(stretch.held), Tone::Plain),
            (stretch.runs.to_string(), Tone::Plain),
            (over, tone),
        ]
    }));
    page.heading(title, "");
    page.table(&[Lean::Left, Lean::Left, Lean::Right, Lean::Right, Lean::Left], &rows);
}

fn held(held: Span) -> String {
    match held {
        Span::ZERO => "not at all".to_owned(),
        held => format!("at most {}", span(held)),
    }
}

fn series(page: &mut Page, sweep: &Sweep) {
    page.heading("Scheduled runs", "that may land on the nodes");
    if sweep.series.is_empty() {
        page.line("  none");
    }
    let rows: Vec<Vec<Cell>> = sweep
        .series
        .iter()
        .map(|series| {
            let seen = match series.seen {
                0 => "assumed".to_owned(),
                1 => "1 earlier run".to_owned(),
                seen => format!("longest of {seen}"),
            };
            vec![
                (series.workload.to_string(), Tone::Plain),
                (series.written.clone(), Tone::Plain),
                (span(series.length), Tone::Plain),
                (seen, Tone::Faint),
            ]
        })
        .collect();
    page.table(&[Lean::Left, Lean::Left, Lean::Right, Lean::Left], &rows);
    if !sweep.endless.is_empty() {
        let names: Vec<String> = sweep.endless.iter().map(ToString::to_string).collect();
        page.wrapped(
            2,
            &format!("Not counted: {}, running now with unknown end.", names.join(", ")),
            Tone::Warning,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_names() {
        let day = |text: &str| day_of(text.parse().expect("a time"));
        assert_eq!(day("2026-11-20T09:52:00Z"), "Fri 11-20");
        assert_eq!(day("1970-01-01T00:00:00Z"), "Thu 01-01");
    }

    #[test]
    fn a_column_shows_its_worst_start() {
        let start = |minutes, over| Start {
            at: Time::from_millis(0),
            is_open: true,
            held: Span::from_minutes(minutes),
            runs: 1,
            over,
        };
        let most = Span::from_minutes(80);
        let of = |starts: &[Start]| mark(&starts.iter().collect::<Vec<_>>(), most);
        assert_eq!(of(&[start(0, 0)]), '·');
        assert_eq!(of(&[start(1, 0), start(0, 0)]), '▁');
        assert_eq!(of(&[start(10, 0)]), '▁');
        assert_eq!(of(&[start(80, 0), start(10, 0)]), '█');
        assert_eq!(of(&[start(80, 0), start(10, 1)]), '!');
        assert_eq!(of(&[Start { is_open: false, ..start(80, 1) }]), ' ');
        assert_eq!(of(&[]), ' ');
    }
}
