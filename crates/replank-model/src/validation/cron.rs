//! CronJobs (`validateCronJobSpec`).

use jiff::tz::TimeZone;

use super::error::{Causes, Shown};
use super::field::Field;
use super::workload::not_negative;
use super::{job, pod, selectors};
use crate::cron::{self, Schedule};

/// A CronJob, after its metadata.
pub(super) fn cron_job(object: &Field<'_>, causes: &mut Causes) {
    let spec = object.child("spec");
    let schedule = spec.child("schedule");
    if schedule.is_empty() {
        causes.required(&schedule.path, "");
    } else {
        let text = schedule.text();
        if let Err(error) = Schedule::parse(text, &TimeZone::UTC) {
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
    if let Err(error) = cron::zone(text) {
        causes.invalid(&zone.path, Shown::word(text), error);
    }
}
