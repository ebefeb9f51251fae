//! When to begin: a plot with a row a day, and the best and worst starts.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;
use replank_advice::sweep::{Start, Stretch, Sweep};
use replank_model::time::{Span, Time};

use super::page::{Cell, Lean, Look, Page, Tone};
use super::words::span;
use crate::zone::{Zone, chosen};

/// Columns of the plot: half an hour each.
const IN_DAY: i8 = 48;
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
    let zone = chosen();
    let mut page = Page::new(look);
    page.heading("When to start", &format!("{plan}, {} starts, times in {zone}", sweep.starts.len()));
    page.wrapped(
        2,
        &format!(
            "Calculated from schedules and past durations, not rehearsed. Old nodes are cordoned {} after the start; runs that have started by then block their nodes until they finish.",
            span(sweep.until_cordon)
        ),
        Tone::Plain,
    );
    plot(&mut page, sweep, &zone);
    stretches(&mut page, "Best", best, (wait, &zone));
    stretches(&mut page, "Worst", worst, (wait, &zone));
    series(&mut page, sweep);
    page.into_text()
}

fn plot(page: &mut Page, sweep: &Sweep, zone: &Zone) {
    let most = sweep.starts.iter().map(|start| start.held).max().unwrap_or(Span::ZERO);
    page.gap();
    page.line(&format!("  {:12}00          06          12          18          24", ""));
    let columns = columns(&sweep.starts, zone);
    let (Some((first, _)), Some((last, _))) = (columns.keys().next(), columns.keys().next_back()) else {
        return;
    };
    for day in first.series(1.day()).take_while(|day| day <= last) {
        let starts = |column| columns.get(&(day, column)).map_or(&[][..], Vec::as_slice);
        let plotted: String = (0..IN_DAY).map(|column| mark(starts(column), most)).collect();
        page.line(&format!("  {:12}{}", day_of(day), plotted));
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

/// Starts by the day and the half hour that a clock shows: of an hour that comes twice, both are in one column.
fn columns<'s>(starts: &'s [Start], zone: &Zone) -> BTreeMap<(Date, i8), Vec<&'s Start>> {
    let mut columns: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for start in starts {
        if let Some(clock) = zone.clock(start.at) {
            columns.entry((clock.date(), clock.hour() * 2 + clock.minute() / 30)).or_default().push(start);
        }
    }
    columns
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

/// `Fri 11-20`.
fn day_of(day: Date) -> String {
    day.strftime("%a %m-%d").to_string()
}

/// `Fri 11-20 09:30`, and the offset where it is not UTC's.
fn moment(at: Time, zone: &Zone) -> String {
    let form = if zone.is_utc() { "%a %m-%d %H:%M" } else { "%a %m-%d %H:%M%:z" };
    zone.clock(at).map_or_else(|| at.to_string(), |clock| clock.strftime(form).to_string())
}

fn stretches(page: &mut Page, title: &str, stretches: &[Stretch], (wait, zone): (Span, &Zone)) {
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
            (moment(stretch.from, zone), Tone::Plain),
            (moment(stretch.until, zone), Tone::Plain),
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
        let day = |text: &str| day_of(text.parse().expect("a date"));
        assert_eq!(day("2026-11-20"), "Fri 11-20");
        assert_eq!(day("1970-01-01"), "Thu 01-01");
    }

    #[test]
    fn starts_stand_where_the_zone_has_them() {
        let start = |at: &str| Start {
            at: at.parse().expect("a time"),
            is_open: true,
            held: Span::ZERO,
            runs: 0,
            over: 0,
        };
        let starts =
            ["2026-10-24T22:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T23:00:00Z"];
        let starts = starts.map(start);
        let held = |name: &str| -> Vec<(String, i8, usize)> {
            let zone: Zone = name.parse().expect("a zone");
            let columns = columns(&starts, &zone);
            columns.iter().map(|((day, column), of)| (day.to_string(), *column, of.len())).collect()
        };
        let of = |day: &str, column, starts| (day.to_owned(), column, starts);
        assert_eq!(
            held("UTC"),
            [
                of("2026-10-24", 45, 1),
                of("2026-10-25", 1, 1),
                of("2026-10-25", 3, 1),
                of("2026-10-25", 46, 1)
            ]
        );
        // Half past two comes twice on this day.
        assert_eq!(
            held("Europe/Berlin"),
            [of("2026-10-25", 1, 1), of("2026-10-25", 5, 2), of("2026-10-26", 0, 1)]
        );
        let berlin: Zone = "Europe/Berlin".parse().expect("a zone");
        let shown = |zone| starts.iter().map(|start| moment(start.at, zone)).collect::<Vec<_>>();
        assert_eq!(shown(&berlin)[1..3], ["Sun 10-25 02:30+02:00", "Sun 10-25 02:30+01:00"]);
        assert_eq!(shown(&"UTC".parse().expect("a zone"))[0], "Sat 10-24 22:30");
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
