//! Reading schedules, with the words of github.com/robfig/cron/v3 (`parser.go`) for what cannot be read.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::schedule::{Clock, Field, Schedule};
use crate::go::{Quoted, parse_int};
use crate::time::{Span, SpanError};

/// `time.LoadLocation`, with the case of letters as the database has it.
///
/// Which zones exist is a matter of the server's database; here it is the one that comes with this program. `Local` is that of the
/// controllers' machine, which on EKS is UTC.
///
/// # Errors
///
/// What is wrong with the name, in Go's words.
pub fn zone(name: &str) -> Result<TimeZone, String> {
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(TimeZone::UTC);
    }
    if name.contains("..") || name.starts_with(['/', '\\']) {
        return Err("time: invalid location name".to_owned());
    }
    match TimeZoneDatabase::bundled().get(name) {
        Ok(zone) if zone.iana_name() == Some(name) => Ok(zone),
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

impl Schedule {
    /// Reads a schedule. A zone named in the text counts more than the one given.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in upstream's words.
    pub fn parse(text: &str, zone: &TimeZone) -> Result<Self, String> {
        let (mut text, mut zone) = (text, zone.clone());
        if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
            let Some((named, rest)) = text.split_once(' ') else {
                return Err(
                    "invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned()
                );
            };
            let name = named.split_once('=').map_or("", |(_, name)| name);
            zone = self::zone(name).map_err(|error| format!("provided bad location {name}: {error}"))?;
            text = rest.trim();
        }
        match text.strip_prefix("@every ") {
            Some(span) => match span.parse::<Span>() {
                Ok(span) => Ok(Self::Every(span.as_secs().max(1))),
                Err(error) => {
                    Err(format!("failed to parse duration {text}: {}", duration_error(span, &error)))
                }
            },
            None => clock(descriptor(text)?, zone).map(|clock| Self::Clock(Box::new(clock))),
        }
    }
}

/// The five fields that a word stands for; any other text stands for itself.
fn descriptor(text: &str) -> Result<&str, String> {
    Ok(match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        other if other.starts_with('@') => return Err(format!("unrecognized descriptor: {text}")),
        other => other,
    })
}

fn clock(text: &str, zone: TimeZone) -> Result<Clock, String> {
    let texts: Vec<&str> = text.split_whitespace().collect();
    let [minutes, hours, days, months, weekdays] = texts.as_slice() else {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", texts.len(), texts.join(" ")));
    };
    Ok(Clock {
        minutes: field(minutes, &FIELDS[0])?,
        hours: field(hours, &FIELDS[1])?,
        days: field(days, &FIELDS[2])?,
        months: field(months, &FIELDS[3])?,
        weekdays: field(weekdays, &FIELDS[4])?,
        zone,
    })
}

/// One field: ranges, steps and names, separated by commas.
fn field(text: &str, bounds: &Bounds) -> Result<Field, String> {
    let mut field = Field::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let part = range(part, bounds)?;
        field.bits |= part.bits;
        field.is_star |= part.is_star;
    }
    Ok(field)
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

fn range(text: &str, bounds: &Bounds) -> Result<Field, String> {
    let steps: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let (mut first, mut last) = (bounds.least, bounds.greatest);
    let is_star = matches!(ends[0], "*" | "?");
    if !is_star {
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
    let Some(stride) = usize::try_from(step).ok().filter(|step| *step > 0) else {
        return Err(format!("step of range should be a positive number: {text}"));
    };
    let bits = (first..=last).step_by(stride).fold(0, |bits, value| bits | 1 << value);
    Ok(Field { bits, is_star: is_star && step == 1 })
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
