//! CronJobs (`validateCronJobSpec`) and what their schedules may be (github.com/robfig/cron/v3, `parser.go`).
//!
//! Which time zones exist is a matter of the server's database; here it is the one that comes with this program.

use jiff::tz::TimeZoneDatabase;

use super::error::{Causes, Shown};
use super::field::Field;
use super::workload::not_negative;
use super::{job, pod, selectors};
use crate::go::{Quoted, parse_int};
use crate::time::{Span, SpanError};

/// A CronJob, after its metadata.
pub(super) fn cron_job(object: &Field<'_>, causes: &mut Causes) {
    let spec = object.child("spec");
    let schedule = spec.child("schedule");
    if schedule.is_empty() {
        causes.required(&schedule.path, "");
    } else {
        let text = schedule.text();
        if let Err(error) = parse(text) {
            causes.invalid(&schedule.path, Shown::text(text), error);
        }
        if text.contains("TZ") {
            let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            causes.invalid(&schedule.path, Shown::text(text), why);
        }
    }
    not_negative(&spec, "startingDeadlineSeconds", causes);
    time_zone(&spec.child("timeZone"), causes);
    pod::one_of(&spec.child("concurrencyPolicy"), &["Allow", "Forbid", "Replace"], causes);
    template(&spec.child("jobTemplate").child("spec"), causes);
    not_negative(&spec, "successfulJobsHistoryLimit", causes);
    not_negative(&spec, "failedJobsHistoryLimit", causes);
    let name = object.child("metadata").child("name");
    // A Job's name is the CronJob's with 11 characters more, and may have 63.
    if name.len() > 52 {
        causes.invalid(&name.path, Shown::text(name.text()), "must be no more than 52 characters");
    }
}

fn template(spec: &Field<'_>, causes: &mut Causes) {
    job::spec(spec, causes);
    let selector = spec.child("selector");
    if selector.is_set() {
        let why = "`selector` will be auto-generated";
        causes.invalid(&selector.path, selectors::shown(&selector), why);
    }
    let manual = spec.child("manualSelector");
    if manual.is_true() {
        causes.not_supported(manual.path, Shown::plain(true), &["nil", "false"]);
    }
}

fn time_zone(zone: &Field<'_>, causes: &mut Causes) {
    if !zone.is_set() {
        return;
    }
    let text = zone.text();
    if text.is_empty() {
        let why = "timeZone must be nil or non-empty string";
        return causes.invalid(&zone.path, Shown::word(text), why);
    }
    let is_part = |part: &str| {
        let within = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
        (1..=14).contains(&part.len())
            && part.bytes().all(within)
            && !part.starts_with('-')
            && !matches!(part, "." | "..")
    };
    if !text.split('/').all(is_part) {
        return causes.invalid(&zone.path, Shown::word(text), format!("unknown time zone {text}"));
    }
    if text.eq_ignore_ascii_case("local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        causes.invalid(&zone.path, Shown::word(text), why);
    }
    if let Err(error) = zone_exists(text) {
        causes.invalid(&zone.path, Shown::word(text), error);
    }
}

/// `time.LoadLocation`, with the case of letters as the database has it.
fn zone_exists(name: &str) -> Result<(), String> {
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(());
    }
    if name.contains("..") || name.starts_with(['/', '\\']) {
        return Err("time: invalid location name".to_owned());
    }
    match TimeZoneDatabase::bundled().get(name) {
        Ok(zone) if zone.iana_name() == Some(name) => Ok(()),
        Ok(_) | Err(_) => Err(format!("unknown time zone {name}")),
    }
}

/// Bounds of a field, and names of its values from the least on.
struct Bounds {
    least: i64,
    greatest: i64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { least: 0, greatest: 59, names: &[] },
    Bounds { least: 0, greatest: 23, names: &[] },
    Bounds { least: 1, greatest: 31, names: &[] },
    Bounds {
        least: 1,
        greatest: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Bounds { least: 0, greatest: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/// What is wrong with a schedule.
fn parse(text: &str) -> Result<(), String> {
    let mut text = text;
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        match text.split_once(' ') {
            Some((zone, rest)) => {
                let name = zone.split_once('=').map_or("", |(_, name)| name);
                zone_exists(name).map_err(|error| format!("provided bad location {name}: {error}"))?;
                text = rest.trim();
            }
            None => {
                return Err(
                    "invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned()
                );
            }
        }
    }
    if text.starts_with('@') {
        return descriptor(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != 5 {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            self::range(range, bounds)?;
        }
    }
    Ok(())
}

fn descriptor(text: &str) -> Result<(), String> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => match text.strip_prefix("@every ") {
            Some(span) => match span.parse::<Span>() {
                Ok(_) => Ok(()),
                Err(error) => {
                    Err(format!("failed to parse duration {text}: {}", duration_error(span, &error)))
                }
            },
            None => Err(format!("unrecognized descriptor: {text}")),
        },
    }
}

/// Go's words for a duration that it cannot read (`time.ParseDuration`).
fn duration_error(span: &str, error: &SpanError) -> String {
    let span = Quoted(span);
    match error {
        SpanError::Form { .. } | SpanError::TooLong { .. } => format!("time: invalid duration {span}"),
        SpanError::NoUnit { .. } => format!("time: missing unit in duration {span}"),
        SpanError::Unit { unit, .. } => format!("time: unknown unit {} in duration {span}", Quoted(unit)),
    }
}

fn range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let steps: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let (mut first, mut last) = (bounds.least, bounds.greatest);
    if !matches!(ends[0], "*" | "?") {
        first = number(ends[0], bounds)?;
        last = match ends.as_slice() {
            [_] => first,
            [_, end] => number(end, bounds)?,
            _ => return Err(format!("too many hyphens: {text}")),
        };
    }
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                last = bounds.greatest;
            }
            plain_number(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    let Bounds { least, greatest, names: _ } = bounds;
    if first < *least {
        return Err(format!("beginning of range ({first}) below minimum ({least}): {text}"));
    }
    if last > *greatest {
        return Err(format!("end of range ({last}) above maximum ({greatest}): {text}"));
    }
    if first > last {
        return Err(format!("beginning of range ({first}) beyond end of range ({last}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number(text: &str, bounds: &Bounds) -> Result<i64, String> {
    let lower = text.to_lowercase();
    let named = bounds.names.iter().position(|name| *name == lower);
    match named.and_then(|place| i64::try_from(place).ok()) {
        Some(place) => Ok(bounds.least + place),
        None => plain_number(text),
    }
}

fn plain_number(text: &str) -> Result<i64, String> {
    match parse_int(text.as_bytes()) {
        Err(error) => {
            Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {error}", Quoted(text)))
        }
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(number),
    }
}
