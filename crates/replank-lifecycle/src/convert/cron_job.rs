//! CronJobs: the fields are the same, but a time zone within the schedule, which `v1` refuses, has a field of its own.

use super::{Hold, Work};
use crate::release::Release;
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

/// From here on `spec.timeZone` is on by default (KEP-3140, beta).
const TIME_ZONE_FROM: Release = Release::minor(1, 25);

pub(super) fn up(object: &mut Tree, work: &Work<'_>) -> Result<(), Hold> {
    if work.target < TIME_ZONE_FROM {
        return Ok(());
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let Some((zone, schedule)) = spec.text_at(&["schedule"]).and_then(zoned) else { return Ok(()) };
    let (zone, schedule) = (zone.to_owned(), schedule.to_owned());
    if spec.get("timeZone").is_some() || zone.is_empty() || zone == "Local" {
        return Err(Hold::NoCounterpart {
            path: "spec.schedule".to_owned(),
            says: format!("in the zone `{zone}`"),
            needed: "set spec.timeZone and remove the zone from the schedule",
        });
    }
    spec.set("schedule", Tree::text(&schedule));
    spec.insert_behind(Entry::new("timeZone", Tree::text(&zone)), &["schedule"]);
    Ok(())
}

/// The older versions, at clusters that have no field for the zone, have it in the schedule.
pub(super) fn down(object: &mut Tree, to: &Gvk, work: &Work<'_>) -> Result<(), Hold> {
    if to.version == "v1" || work.target >= TIME_ZONE_FROM {
        return Ok(());
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let Some(zone) = spec.text_at(&["timeZone"]).map(str::to_owned) else { return Ok(()) };
    let Some(schedule) = spec.text_at(&["schedule"]).map(str::to_owned) else { return Ok(()) };
    spec.set("schedule", Tree::text(&format!("CRON_TZ={zone} {schedule}")));
    drop(spec.take("timeZone"));
    Ok(())
}

/// `TZ=` and `CRON_TZ=` before a schedule (robfig/cron, parser.go).
fn zoned(schedule: &str) -> Option<(&str, &str)> {
    let rest = schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ="))?;
    let (zone, schedule) = rest.split_once(' ')?;
    Some((zone, schedule.trim_start()))
}
