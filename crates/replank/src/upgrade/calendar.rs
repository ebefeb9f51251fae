//! `replank upgrade calendar`: how long EKS supports each version.

use std::path::PathBuf;

use replank_lifecycle::calendar::{Calendar, Day, Policy, Row, Support};
use replank_lifecycle::release::Release;
use replank_lifecycle::table::DATA_DATE;
use replank_model::time::{Span, Time};
use serde::Serialize;

use super::args::CalendarArgs;
use super::plan::input;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::report::words::count;
use crate::report::{Cell, Lean, Look, Page, Tone};

/// The version of the form of the JSON.
const CALENDAR_VERSION: &str = "replank.dev/calendar/v1alpha1";

/// Fewer days than these are shown as a warning where nobody said how many.
const SOON: Span = Span::from_minutes(90 * 24 * 60);

/// Prints it.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(super) fn run(args: &CalendarArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let calendar = read(&args.calendar)?;
    let now = args.now.unwrap_or_else(moment::now);
    let asked = Asked::of(args)?;
    let listed = Listed::of(args, &asked, &calendar, now)?;
    for row in listed.rows.iter().filter(|row| row.support == Support::Unknown) {
        printer.warning(&format!(
            "{}: EKS dates unknown, skipped; pass --calendar with the output of `aws eks describe-cluster-versions`",
            row.row.version
        ));
    }
    let text = match args.output {
        AnswerFormat::Text => text(&listed, printer.look()),
        AnswerFormat::Json => json(&listed)?,
    };
    printer.data(&text)?;
    Ok(if listed.rows.iter().any(|row| row.fails) { Exit::Findings } else { Exit::Passes })
}

/// Which versions, and what becomes of their clusters.
struct Asked {
    of: Vec<Release>,
    policy: Policy,
}

impl Asked {
    /// As somebody says, or as the cluster does.
    fn of(args: &CalendarArgs) -> Result<Self, Failure> {
        let Some(path) = &args.eks else { return Ok(Self { of: args.of.clone(), policy: args.policy }) };
        let facts = input::facts(std::slice::from_ref(path))?;
        let cluster = facts.cluster.ok_or_else(|| {
            Failure::usage_message(format!("{} does not describe a cluster", path.display()))
                .next("save the output of `aws eks describe-cluster --name CLUSTER --output json`")
        })?;
        let policy = cluster.support.as_deref().and_then(Policy::parse).unwrap_or_default();
        Ok(Self { of: vec![Release::minor(1, cluster.version.0)], policy })
    }
}

/// The calendar that is built in, and what files say instead.
///
/// # Errors
/// Where a file cannot be read or taken in.
pub(super) fn read(files: &[PathBuf]) -> Result<Calendar, Failure> {
    let mut calendar = Calendar::embedded();
    for path in files {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", path.display())))
        })?;
        calendar.overlay(&text).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be loaded", path.display())))
        })?;
    }
    Ok(calendar)
}

/// What is shown.
#[derive(Debug)]
struct Listed<'c> {
    today: Day,
    within: Option<Span>,
    policy: Policy,
    rows: Vec<Judged<'c>>,
    /// Versions that are not supported any more and were left out.
    left_out: usize,
}

/// A version, and what is said of it.
#[derive(Debug)]
struct Judged<'c> {
    row: &'c Row,
    support: Support,
    /// Whether it ends with exit code 3.
    fails: bool,
}

impl<'c> Listed<'c> {
    fn of(args: &CalendarArgs, asked: &Asked, calendar: &'c Calendar, now: Time) -> Result<Self, Failure> {
        let today = Day::of(now);
        if let Some(unknown) = asked.of.iter().find(|version| calendar.row(**version).is_none()) {
            return Err(
                Failure::usage_message(format!("unknown Kubernetes version {unknown}")).next(known(calendar))
            );
        }
        let is_named = |row: &Row| asked.of.contains(&row.version);
        let is_over =
            |row: &Row| matches!(row.support(today), Support::Over { .. }) || is_forgotten(row, calendar);
        let wanted = |row: &&Row| match asked.of.is_empty() {
            true => args.all || !is_over(row),
            false => is_named(row),
        };
        let judge = |row: &'c Row| {
            let support = support(row, today, asked.policy);
            let counts = is_named(row) || !is_over(row);
            let fails = counts && args.fail_within.is_some_and(|within| support.ends_before(now + within));
            Judged { row, support, fails }
        };
        let rows: Vec<Judged<'c>> = calendar.rows().filter(wanted).map(judge).collect();
        let left_out = if asked.of.is_empty() { calendar.rows().count() - rows.len() } else { 0 };
        Ok(Self { today, within: args.fail_within, policy: asked.policy, rows, left_out })
    }
}

/// Where nobody pays for extended support, the end of standard support is the end.
pub(super) fn support(row: &Row, today: Day, policy: Policy) -> Support {
    match (row.support(today), policy) {
        (Support::Extended { .. }, Policy::Standard) => match row.standard_end {
            Some(since) => Support::Over { since },
            None => Support::Unknown,
        },
        (support, _) => support,
    }
}

/// A version whose days are not known, and of which a later one is not supported any more.
fn is_forgotten(row: &Row, calendar: &Calendar) -> bool {
    let known_end = |row: &Row| row.standard_end.is_some();
    !known_end(row) && calendar.rows().any(|other| other.version > row.version && known_end(other))
}

fn known(calendar: &Calendar) -> String {
    let versions: Vec<Release> = calendar.rows().map(|row| row.version).collect();
    match (versions.first(), versions.last()) {
        (Some(first), Some(last)) => {
            format!(
                "the calendar covers {first} to {last}; pass --calendar with the output of `aws eks describe-cluster-versions`"
            )
        }
        (None, _) | (_, None) => "the calendar is empty".to_owned(),
    }
}

fn text(listed: &Listed<'_>, look: Look) -> String {
    let mut page = Page::new(look);
    page.heading("Calendar", &format!("Amazon EKS on {}; data as of {DATA_DATE}", listed.today));
    let head = ["version", "Kubernetes", "EKS", "standard until", "extended until", "support"];
    let mut rows: Vec<Vec<Cell>> = vec![head.iter().map(|word| ((*word).to_owned(), Tone::Faint)).collect()];
    rows.extend(listed.rows.iter().map(|judged| cells(judged, listed)));
    page.table(&[Lean::Left; 6], &rows);
    if listed.left_out > 0 {
        page.line(&format!(
            "  {}",
            page.paint(
                &format!("{} no longer supported: --all lists them", count(listed.left_out, "version")),
                Tone::Faint
            )
        ));
    }
    page.gap();
    let then = match listed.policy {
        Policy::Extended => {
            "With upgradePolicy EXTENDED (the default) a cluster costs more after standard support, and EKS upgrades its control plane without further notice when extended support ends."
        }
        Policy::Standard => {
            "With upgradePolicy STANDARD EKS upgrades the control plane when standard support ends."
        }
    };
    page.wrapped(0, &format!("{then} Nodes and add-ons are not upgraded in either case."), Tone::Faint);
    if let Some(within) = listed.within {
        let failing: Vec<String> =
            listed.rows.iter().filter(|row| row.fails).map(|row| row.row.version.to_string()).collect();
        let days = within.as_secs() / (24 * 60 * 60);
        let (text, tone) = match failing.as_slice() {
            [] => (format!("No support ends within {days} days."), Tone::Good),
            some => (format!("Support ends within {days} days or has ended: {}", some.join(", ")), Tone::Bad),
        };
        page.wrapped(0, &text, tone);
    }
    page.into_text()
}

fn cells(judged: &Judged<'_>, listed: &Listed<'_>) -> Vec<Cell> {
    let row = judged.row;
    let day = |day: Option<Day>| (day.map_or("-".to_owned(), |day| day.to_string()), Tone::Plain);
    let soon = listed.today.begin() + listed.within.unwrap_or(SOON);
    let tone = match judged.support {
        Support::Unknown | Support::ToCome { .. } => Tone::Faint,
        Support::Over { .. } => Tone::Bad,
        Support::Standard { .. } | Support::Extended { .. } if judged.support.ends_before(soon) => {
            Tone::Warning
        }
        Support::Standard { .. } => Tone::Good,
        Support::Extended { .. } => Tone::Plain,
    };
    vec![
        (row.version.to_string(), Tone::Strong),
        day(row.upstream_release),
        day(row.release),
        day(row.standard_end),
        day(row.extended_end),
        (in_words(judged.support, listed.today), tone),
    ]
}

/// `extended, 4 days left`
pub(super) fn in_words(support: Support, today: Day) -> String {
    let days = |number: i64| count(usize::try_from(number).unwrap_or(0), "day");
    match support {
        Support::Unknown => "unknown".to_owned(),
        Support::ToCome { from } => format!("from {from}"),
        Support::Standard { until } => format!("standard, {} left", days(until.since(today))),
        Support::Extended { until } => format!("extended, {} left", days(until.since(today))),
        Support::Over { since } => format!("ended {since}"),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    version: &'static str,
    data_date: &'static str,
    today: String,
    policy: &'static str,
    fail_within_days: Option<i64>,
    versions: Vec<PrintedRow>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrintedRow {
    version: String,
    upstream_release: Option<String>,
    upstream_end: Option<String>,
    eks_release: Option<String>,
    standard_support_end: Option<String>,
    extended_support_end: Option<String>,
    support: &'static str,
    /// Of the support that it is in.
    days_left: Option<i64>,
    /// When EKS upgrades the control plane by itself.
    forced_upgrade: Option<String>,
    fails: bool,
    source: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

fn json(listed: &Listed<'_>) -> Result<String, Failure> {
    let day = |day: Option<Day>| day.map(|day| day.to_string());
    let row = |judged: &Judged<'_>| PrintedRow {
        version: judged.row.version.to_string(),
        upstream_release: day(judged.row.upstream_release),
        upstream_end: day(judged.row.upstream_end),
        eks_release: day(judged.row.release),
        standard_support_end: day(judged.row.standard_end),
        extended_support_end: day(judged.row.extended_end),
        support: judged.support.word(),
        days_left: judged.support.next_end().map(|end| end.since(listed.today)),
        forced_upgrade: day(judged.row.forced(listed.policy)),
        fails: judged.fails,
        source: judged.row.source.clone(),
        note: judged.row.note.clone(),
    };
    let printed = Printed {
        version: CALENDAR_VERSION,
        data_date: DATA_DATE,
        today: listed.today.to_string(),
        policy: listed.policy.word(),
        fail_within_days: listed.within.map(|within| within.as_secs() / (24 * 60 * 60)),
        versions: listed.rows.iter().map(row).collect(),
    };
    Ok(serde_json::to_string_pretty(&printed).map_err(Failure::internal)? + "\n")
}
