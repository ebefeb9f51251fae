//! Interruptions at a rate, in a few words: `spot=5%/h,rebalance=10%/h,zone:eu-west-1a=20%/h`.
//!
//! Each is one line of a script, said shorter: the share of spot instances that an hour takes. docs/load.md describes it for people who write it.

use replank_model::text::Zone;

use super::time::When;
use super::what::What;
use super::{Origin, ScriptEvent};
use crate::cloud::{Hazard, Rate, SpotEvent};

/// What is wrong with one of the rates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part:?}, number {number}: {message}")]
pub struct RateError {
    /// Which, from 1.
    pub number: usize,
    /// As it stands there.
    pub part: String,
    /// What was expected, what was found.
    pub message: String,
}

/// What a rate is of.
const KNOWN: &str = "spot, rebalance or zone:ZONE, such as zone:eu-west-1a";

/// Reads rates with commas between them. `zones` are those of the cluster.
///
/// # Errors
/// The first that is wrong.
pub fn rates(text: &str, zones: &[Zone]) -> Result<Vec<ScriptEvent>, RateError> {
    let mut all: Vec<ScriptEvent> = Vec::new();
    for (number, part) in text.split(',').map(str::trim).enumerate().map(|(at, part)| (at + 1, part)) {
        let wrong = |message: String| RateError { number, part: part.to_owned(), message };
        let hazard = one(part, zones).map_err(wrong)?;
        let text = words(&hazard);
        let what = What::Hazard(hazard);
        if let Some(twice) = all.iter().find(|known| is_about_the_same(&known.what, &what)) {
            return Err(wrong(format!("number {} has the same name", twice.line)));
        }
        all.push(ScriptEvent { origin: Origin::Rates, line: number, when: When::Before, text, what });
    }
    Ok(all)
}

fn one(part: &str, zones: &[Zone]) -> Result<Hazard, String> {
    let Some((name, share)) = part.split_once('=') else {
        return Err(format!("expected NAME=RATE, such as spot=5%/h; names are {KNOWN}"));
    };
    let (name, share) = (name.trim(), share.trim());
    let (event, zone) = match name.strip_prefix("zone:") {
        Some(zone) => (SpotEvent::Interruption, Some(known_zone(zone, zones)?)),
        None if name == "spot" => (SpotEvent::Interruption, None),
        None if name == "rebalance" => (SpotEvent::Rebalance, None),
        None => return Err(format!("unknown rate {name:?}: expected {KNOWN}")),
    };
    let Some((percent, unit)) = share.split_once('/') else {
        return Err(format!("rates are per hour: expected {name}={share}/h"));
    };
    if unit != "h" {
        return Err(format!("unknown unit {unit:?}: expected h (hour), such as {name}={percent}/h"));
    }
    let rate = Rate::read(percent).ok_or_else(|| {
        format!("{percent:?} is not a percentage: expected 0% to 100%, such as 5% or 0.25%")
    })?;
    Ok(Hazard::Spot { event, instance_type: None, zone, rate })
}

fn known_zone(name: &str, zones: &[Zone]) -> Result<Zone, String> {
    zones.iter().find(|zone| zone.as_str() == name).cloned().ok_or_else(|| {
        let known: Vec<&str> = zones.iter().map(Zone::as_str).collect();
        match known[..] {
            [] => {
                format!("unknown zone {name:?}: the nodes have no zone label (topology.kubernetes.io/zone)")
            }
            _ => format!("unknown zone {name:?}: the cluster's zones are {}", known.join(", ")),
        }
    })
}

fn is_about_the_same(a: &What, b: &What) -> bool {
    match (a, b) {
        (
            What::Hazard(Hazard::Spot { event: own_event, zone: own_zone, .. }),
            What::Hazard(Hazard::Spot { event, zone, .. }),
        ) => own_event == event && own_zone == zone,
        (_, _) => false,
    }
}

/// The line of a script that says the same.
fn words(hazard: &Hazard) -> String {
    match hazard {
        Hazard::Spot { event, instance_type, zone, rate } => {
            let instance_type = instance_type.as_deref().unwrap_or("any");
            let zone = zone.as_ref().map_or("any", Zone::as_str);
            let does = match event {
                SpotEvent::Interruption => "are taken back",
                SpotEvent::Rebalance => "may be taken back",
            };
            format!("spot instances of {instance_type} in {zone} {does} at {rate} an hour")
        }
        Hazard::Retirement { group, notice, rate } => {
            format!("instances of group {group} are retired at {rate} a day with {notice} notice")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Script;
    use super::*;

    #[test]
    fn each_says_what_a_line_of_a_script_says() {
        let zones = ["eu-west-1a", "eu-west-1b"].map(Zone::from);
        let all =
            rates("spot=5%/h, rebalance=10%/h,zone:eu-west-1a=0.25%/h", &zones).expect("they are right");
        let told: Vec<(usize, &str)> = all.iter().map(|one| (one.line, one.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (1, "spot instances of any in any are taken back at 5% an hour"),
                (2, "spot instances of any in any may be taken back at 10% an hour"),
                (3, "spot instances of any in eu-west-1a are taken back at 0.25% an hour"),
            ]
        );
        for one in &all {
            let script = Script::read(&format!("before: {}", one.text)).expect("a line of a script");
            assert_eq!((&script.events[0].what, script.events[0].when), (&one.what, one.when));
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let told = |text: &str| rates(text, &[Zone::from("z1")]).expect_err("it is wrong").to_string();
        for (text, why) in [
            ("spot", "\"spot\", number 1: expected NAME=RATE, such as spot=5%/h"),
            ("spot=5%/h,", "\"\", number 2: expected NAME=RATE"),
            ("sopt=5%/h", "number 1: unknown rate \"sopt\": expected spot, rebalance or zone:ZONE"),
            ("spot=5%", "rates are per hour: expected spot=5%/h"),
            ("spot=5%/d", "unknown unit \"d\": expected h (hour), such as spot=5%/h"),
            ("spot=5/h", "\"5\" is not a percentage: expected 0% to 100%"),
            ("spot=120%/h", "\"120%\" is not a percentage"),
            ("spot=5%/h,zone:z2=1%/h", "number 2: unknown zone \"z2\": the cluster's zones are z1"),
            ("zone:z1=5%/h,zone:z1=1%/h", "number 2: number 1 has the same name"),
        ] {
            assert!(told(text).contains(why), "{}", told(text));
        }
        assert!(
            rates("zone:z1=5%/h", &[])
                .expect_err("no zones")
                .to_string()
                .contains("the nodes have no zone label")
        );
    }
}
