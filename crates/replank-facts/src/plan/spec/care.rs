//! From JSON to what a plan says of health, waves, windows and the like.

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::time::Span;
use replank_protocol::policy::StuckAction;

use super::super::care::{
    AtEnd, BlockingFindings, Care, DeadAction, DeadNodes, Health, LoadBalancer, Retain, Retained, Singletons,
    Spread, StuckTerminating, Waves,
};
use super::super::error::PlanError;
use super::super::read::{At, Errors, Fields, count, items, parsed, text, word};
use super::super::windows::{self, Start, Window, Windows};
use super::{is_zero, nodes_or_percent, positive_span, span};

const WAVES: &str =
    "a list of nodes or percentages that grows up to \"100%\", such as [1, \"10%\", \"50%\", \"100%\"]";
const START: &str = "days and a time, such as \"Mon-Fri 01:00\", \"Sat,Sun 23:30\" or \"02:00\"";
const ZONE: &str = "a time zone such as \"Asia/Tokyo\" or \"UTC\"";
/// Each wave is written down in a tag of its group, and a group has 50 tags at most (Auto Scaling quotas).
const WAVES_MAX: usize = 10;

/// The fields of a spec that this page is about.
pub(super) fn care(fields: &mut Fields<'_>, errors: &mut Errors) -> Care {
    let default = Care::default();
    let health = fields.read("health", errors, health);
    let waves = fields.read("waves", errors, waves);
    let bake = fields.read("bake", errors, span);
    let retain = fields.read("retain", errors, retain);
    let stuck = fields.read("stuckTerminating", errors, stuck);
    let dead_nodes = fields.read("deadNodes", errors, dead_nodes);
    let spread = fields.read("spread", errors, |at, errors| {
        word(at, &[("honour", Spread::Honour), ("lastPending", Spread::LastPending)], errors)
    });
    let singletons = fields.read("singletons", errors, |at, errors| {
        let words = [("evict", Singletons::Evict), ("surge", Singletons::Surge), ("skip", Singletons::Skip)];
        word(at, &words, errors)
    });
    let windows = fields.read("windows", errors, |at, errors| {
        items(at, "a list of windows, such as [{start: \"Mon-Fri 01:00\", duration: 4h}]", errors, window)
    });
    let load_balancer = fields.read("loadBalancer", errors, load_balancer);
    let blocking_findings = fields.read("blockingFindings", errors, |at, errors| {
        let words = [("proceed", BlockingFindings::Proceed), ("refuse", BlockingFindings::Refuse)];
        word(at, &words, errors)
    });
    let at_end = fields.read("atEnd", errors, |at, errors| {
        let words = [("keepBegun", AtEnd::KeepBegun), ("uncordon", AtEnd::Uncordon), ("keep", AtEnd::Keep)];
        word(at, &words, errors)
    });
    if fields.get("bake").is_some() && fields.get("waves").is_none() {
        errors.0.push(PlanError {
            path: fields.path_of("bake"),
            found: "a bake time without waves".to_owned(),
            expected: "waves together with it".to_owned(),
            remedy: Some("add waves: [1, \"50%\", \"100%\"], or remove it".to_owned()),
        });
    }
    if fields.get("waves").is_some() && fields.get("canary").is_some() {
        errors.0.push(PlanError {
            path: fields.path_of("waves"),
            found: "waves together with a canary".to_owned(),
            expected: "only one of them: the first wave is the canary".to_owned(),
            remedy: Some("remove canary and make its number of nodes the first wave".to_owned()),
        });
    }
    Care {
        health: health.or(default.health),
        waves: waves.map(|nodes| Waves { nodes, bake: bake.unwrap_or(BAKE) }),
        retain: retain.unwrap_or(default.retain),
        stuck: stuck.unwrap_or(default.stuck),
        dead_nodes: dead_nodes.unwrap_or(default.dead_nodes),
        singletons: singletons.unwrap_or(default.singletons),
        spread: spread.unwrap_or(default.spread),
        windows: windows.map_or(default.windows, Windows),
        load_balancer: load_balancer.unwrap_or(default.load_balancer),
        blocking_findings: blocking_findings.unwrap_or(default.blocking_findings),
        at_end: at_end.unwrap_or(default.at_end),
    }
}

/// Long enough for a day's load to pass over a wave.
const BAKE: Span = Span::from_minutes(24 * 60);

fn health(at: At<'_>, errors: &mut Errors) -> Option<Health> {
    let mut fields = Fields::of(at, errors)?;
    let mut read = |name| fields.read(name, errors, |at, errors| count(at, 0, errors)).unwrap_or(0);
    let health = Health {
        crash_looping_max: read("maxCrashLooping"),
        restarting_max: read("maxRestarting"),
        stuck_terminating_max: read("maxStuckTerminating"),
        not_ready_max: read("maxNotReady"),
        bad_nodes_max: read("maxBadNodes"),
    };
    fields.finish(errors);
    Some(health)
}

/// Percentages and counts grow each by themselves; which of a count and a percentage is more depends on the group.
fn waves(at: At<'_>, errors: &mut Errors) -> Option<Vec<IntOrString>> {
    let waves = items(at, WAVES, errors, |at, errors| {
        let wave = nodes_or_percent(at, errors)?;
        if is_zero(&wave) {
            errors.add(at, "1 node or more", None);
        }
        Some(wave)
    })?;
    let percent = |wave: &IntOrString| match wave {
        IntOrString::Int(_) => None,
        IntOrString::String(_) => wave.scaled(100, Rounding::Up).ok(),
    };
    let plain = |wave: &IntOrString| match wave {
        IntOrString::Int(count) => Some(i64::from(*count)),
        IntOrString::String(_) => None,
    };
    let grows = |numbers: Vec<i64>| numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let is_grown =
        grows(waves.iter().filter_map(percent).collect()) && grows(waves.iter().filter_map(plain).collect());
    let is_whole = waves.last().and_then(percent) == Some(100);
    if !is_grown || !is_whole {
        let remedy =
            if is_grown { "end it with \"100%\"" } else { "list them in ascending order, each once" };
        errors.add(at, WAVES, Some(remedy.to_owned()));
        return None;
    }
    if waves.len() > WAVES_MAX {
        errors.add(at, &format!("at most {WAVES_MAX} waves"), Some("remove some of them".to_owned()));
        return None;
    }
    Some(waves)
}

fn retain(at: At<'_>, errors: &mut Errors) -> Option<Retain> {
    let mut fields = Fields::of(at, errors)?;
    let capacity = fields.read("capacity", errors, |at, errors| {
        let words =
            [("cordoned", Retained::Cordoned), ("template", Retained::Template), ("none", Retained::None)];
        word(at, &words, errors)
    });
    let span = fields.read("for", errors, positive_span);
    fields.finish(errors);
    let default = Care::default().retain;
    // A retention time implies that something is retained.
    let capacity = capacity.unwrap_or(Retained::Template);
    Some(Retain { capacity, span: span.unwrap_or(default.span) })
}

fn dead_nodes(at: At<'_>, errors: &mut Errors) -> Option<DeadNodes> {
    let mut fields = Fields::of(at, errors)?;
    let after = fields.read("after", errors, span);
    let action = fields.read("action", errors, |at, errors| {
        word(at, &[("replace", DeadAction::Replace), ("leave", DeadAction::Leave)], errors)
    });
    fields.finish(errors);
    let default = Care::default().dead_nodes;
    Some(DeadNodes { after: after.unwrap_or(default.after), action: action.unwrap_or(default.action) })
}

fn stuck(at: At<'_>, errors: &mut Errors) -> Option<StuckTerminating> {
    let mut fields = Fields::of(at, errors)?;
    let after = fields.read("after", errors, span);
    let action = fields.read("action", errors, |at, errors| {
        let words = [
            ("report", StuckAction::Report),
            ("replaceNode", StuckAction::ReplaceNode),
            ("forceDelete", StuckAction::ForceDelete),
        ];
        word(at, &words, errors)
    });
    fields.finish(errors);
    let default = Care::default().stuck;
    Some(StuckTerminating { after: after.unwrap_or(default.after), action: action.unwrap_or(default.action) })
}

fn window(at: At<'_>, errors: &mut Errors) -> Option<Window> {
    let mut fields = Fields::of(at, errors)?;
    let start = fields.require("start", START, errors, |at, errors| parsed::<Start>(at, START, errors));
    let duration = fields.require("duration", "a duration such as \"4h\"", errors, |at, errors| {
        let duration = positive_span(at, errors)?;
        if duration > windows::LONGEST {
            errors.add(at, "a week at most", Some("omit windows to allow all times".to_owned()));
        }
        Some(duration)
    });
    let zone = fields.read("timeZone", errors, |at, errors| {
        let name = text(at, ZONE, errors)?;
        let zone = windows::zone(&name);
        if zone.is_none() {
            errors.add(at, ZONE, Some("names are those of the IANA time zone database".to_owned()));
        }
        zone
    });
    let has_zone = fields.get("timeZone").is_some();
    fields.finish(errors);
    let utc = || windows::zone("UTC");
    let zone = if has_zone { zone } else { utc() };
    Some(Window { start: start?, duration: duration?, zone: zone? })
}

fn load_balancer(at: At<'_>, errors: &mut Errors) -> Option<LoadBalancer> {
    let mut fields = Fields::of(at, errors)?;
    let exclude = fields.read("exclude", errors, |at, errors| {
        let value = at.value.as_bool();
        if value.is_none() {
            errors.add(at, "true or false", None);
        }
        value
    });
    let delay = fields.read("deregistrationDelay", errors, span);
    fields.finish(errors);
    let default = Care::default().load_balancer;
    Some(LoadBalancer {
        // A delay implies that the run waits for it.
        exclude: exclude.unwrap_or(true),
        deregistration_delay: delay.unwrap_or(default.deregistration_delay),
    })
}
