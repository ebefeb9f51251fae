//! What capacity there is, and how often instances are taken back or retired.
//!
//! Nothing of it is known of any real market: a script says it. A shortage makes launches fail ("InsufficientInstanceCapacity" in EC2's
//! list of error codes). A hazard takes instances away at a rate, drawn for each instance and period, so that one that is
//! added does not move the draws of the others.

use std::fmt;

use replank_model::object::cloud::Market;
use replank_model::text::{GroupName, InstanceId, Text, Zone};
use replank_model::time::{Span, Time};

use replank_apiserver::draw::{Draws, Purpose};
use serde::{Deserialize, Serialize};

/// Periods for which a hazard is drawn beforehand: a month of hours. No rehearsal lasts longer.
const PERIODS_MAX: u64 = 31 * 24;
/// From a rebalance recommendation to the warning, where one comes before it: EC2 promises neither.
const RECOMMENDED_BEFORE: (Span, Span) = (Span::from_secs(60), Span::from_secs(15 * 60));
/// One interruption in so many is recommended beforehand.
const RECOMMENDED_IN: u64 = 2;

/// Capacity of a type, in a zone, on a market; what is not named is any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Market.
    pub market: Option<Market>,
    /// Instance type.
    pub instance_type: Option<Text>,
    /// Zone.
    pub zone: Option<Zone>,
}

impl Capacity {
    fn has(&self, market: Market, instance_type: &str, zone: &Zone) -> bool {
        self.market.is_none_or(|own| own == market)
            && self.instance_type.as_ref().is_none_or(|own| **own == *instance_type)
            && self.zone.as_ref().is_none_or(|own| own == zone)
    }

    /// Whether everything that the other names is of this.
    fn covers(&self, other: &Self) -> bool {
        let within = |is_any: bool, is_same: bool| is_any || is_same;
        within(self.market.is_none(), self.market == other.market)
            && within(self.instance_type.is_none(), self.instance_type == other.instance_type)
            && within(self.zone.is_none(), self.zone == other.zone)
    }
}

/// A share, in hundredths of a percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rate(u32);

impl Rate {
    /// From `5%` or `0.25%`; at most 100%.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (whole, part) = match text.strip_suffix('%')?.split_once('.') {
            Some((whole, part)) => (whole, part),
            None => (text.strip_suffix('%')?, ""),
        };
        let is_number = |text: &str| text.chars().all(|digit| digit.is_ascii_digit());
        if whole.is_empty() || part.len() > 2 || !is_number(whole) || !is_number(part) {
            return None;
        }
        let hundredths: u32 = format!("{part:0<2}").parse().ok()?;
        let rate = whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(hundredths)?;
        (rate <= 10_000).then_some(Self(rate))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / 100)?;
        match self.0 % 100 {
            0 => {}
            part => write!(f, ".{part:02}")?,
        }
        f.write_str("%")
    }
}

/// What takes instances away at a rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hazard {
    /// Something befalls spot instances, so many an hour. What is said of a type or a zone holds there in place of what is said of any.
    Spot {
        /// What.
        event: SpotEvent,
        /// Of this type; of any.
        instance_type: Option<Text>,
        /// In this zone; in any.
        zone: Option<Zone>,
        /// How many.
        rate: Rate,
    },
    /// Instances of a group are retired, so many a day.
    Retirement {
        /// The group.
        group: GroupName,
        /// How long before it is told.
        notice: Span,
        /// How many.
        rate: Rate,
    },
}

/// What befalls spot instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpotEvent {
    /// They are taken back.
    Interruption,
    /// They may be, soon: a rebalance recommendation, from which nothing follows.
    Rebalance,
}

impl Hazard {
    fn rate(&self) -> Rate {
        match self {
            Self::Spot { rate, .. } | Self::Retirement { rate, .. } => *rate,
        }
    }

    fn period(&self) -> Span {
        match self {
            Self::Spot { .. } => Span::from_minutes(60),
            Self::Retirement { .. } => Span::from_minutes(24 * 60),
        }
    }

    /// Whether it takes the place of another: it is about the same.
    fn replaces(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Spot { event: own_event, instance_type: own_type, zone: own_zone, .. },
                Self::Spot { event, instance_type, zone, .. },
            ) => own_event == event && own_type == instance_type && own_zone == zone,
            (Self::Retirement { group: own, .. }, Self::Retirement { group, .. }) => own == group,
            (Self::Spot { .. }, Self::Retirement { .. }) | (Self::Retirement { .. }, Self::Spot { .. }) => {
                false
            }
        }
    }

    /// Whether it holds, for what both are about, in place of another that says the same of more.
    fn is_narrower(&self, than: &Self) -> bool {
        match (self, than) {
            (
                Self::Spot { event: own_event, instance_type: own_type, zone: own_zone, .. },
                Self::Spot { event, instance_type, zone, .. },
            ) => {
                let same = own_type == instance_type && own_zone == zone;
                let within = (instance_type.is_none() || instance_type == own_type)
                    && (zone.is_none() || zone == own_zone);
                own_event == event && within && !same
            }
            (Self::Spot { .. } | Self::Retirement { .. }, Self::Retirement { .. })
            | (Self::Retirement { .. }, Self::Spot { .. }) => false,
        }
    }

    fn threatens(&self, one: &Threatened<'_>) -> bool {
        match self {
            Self::Spot { instance_type, zone, .. } => {
                let any_of = Capacity {
                    market: Some(Market::Spot),
                    instance_type: instance_type.clone(),
                    zone: zone.clone(),
                };
                any_of.has(one.market, one.instance_type, one.zone)
            }
            Self::Retirement { group, .. } => group == one.group,
        }
    }
}

/// An instance as hazards see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threatened<'a> {
    pub(super) id: &'a InstanceId,
    pub(super) group: &'a GroupName,
    pub(super) instance_type: &'a str,
    pub(super) zone: &'a Zone,
    pub(super) market: Market,
}

/// What a hazard does to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Blow {
    /// It may be taken back soon.
    Recommended,
    /// It is taken back.
    Taken,
    /// Its retirement is told, so long before.
    Retired(Span),
}

/// A blow to come: position of the hazard, its target, its kind.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    hazard: usize,
    instance: InstanceId,
    blow: Blow,
}

/// Shortages and hazards, as a script has said so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Markets {
    short: Vec<Capacity>,
    hazards: Vec<Hazarded>,
    plans: Vec<Plan>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Hazarded {
    hazard: Hazard,
    since: Time,
    is_over: bool,
}

impl Markets {
    /// Capacity runs out, or is back: what is back is all that lies within what is named.
    pub(super) fn set(&mut self, capacity: Capacity, is_there: bool) {
        if is_there {
            self.short.retain(|short| !capacity.covers(short));
        } else {
            self.short.push(capacity);
        }
    }

    /// Whether there is none.
    pub(super) fn is_short(&self, market: Market, instance_type: &str, zone: &Zone) -> bool {
        self.short.iter().any(|short| short.has(market, instance_type, zone))
    }

    /// A hazard begins, in place of what was said of the same before.
    pub(super) fn begin(&mut self, hazard: Hazard, now: Time) {
        for known in &mut self.hazards {
            known.is_over |= hazard.replaces(&known.hazard);
        }
        self.hazards.push(Hazarded { hazard, since: now, is_over: false });
    }

    /// The blows that an instance is to meet that is there from now on: when, and the number by which [`Markets::due`] knows it. `first` is
    /// the first hazard that is asked.
    pub(super) fn plan(
        &mut self,
        draws: &Draws,
        one: &Threatened<'_>,
        now: Time,
        first: usize,
    ) -> Vec<(Time, u32)> {
        let mut blows = Vec::new();
        for (number, known) in self.hazards.iter().enumerate().skip(first) {
            if known.is_over || !known.hazard.threatens(one) {
                continue;
            }
            let Some(at) = strikes(draws, one.id, (number, known), now) else { continue };
            match &known.hazard {
                Hazard::Spot { event: SpotEvent::Rebalance, .. } => {
                    blows.push((at, number, Blow::Recommended));
                }
                Hazard::Spot { event: SpotEvent::Interruption, .. } => {
                    let key = format!("{}/{number}/early", one.id);
                    let draw = |count| draws.draw(&key, Purpose::Hazard, count);
                    let early = at - draw(1).between(RECOMMENDED_BEFORE.0, RECOMMENDED_BEFORE.1);
                    if draw(0).below(RECOMMENDED_IN) == 0 && early > now {
                        blows.push((early, number, Blow::Recommended));
                    }
                    blows.push((at, number, Blow::Taken));
                }
                Hazard::Retirement { notice, .. } => blows.push((at, number, Blow::Retired(*notice))),
            }
        }
        let planned = blows.into_iter().map(|(at, hazard, blow)| {
            self.plans.push(Plan { hazard, instance: one.id.clone(), blow });
            (at, u32::try_from(self.plans.len() - 1).expect("few"))
        });
        planned.collect()
    }

    /// The position of the hazard that began last.
    pub(super) fn last(&self) -> usize {
        self.hazards.len().saturating_sub(1)
    }

    /// The instance that a blow is to meet.
    pub(super) fn target(&self, number: u32) -> &InstanceId {
        &self.plans[number as usize].instance
    }

    /// A blow that is due on its target, unless its hazard is over, or another holds in its place.
    pub(super) fn due(&self, number: u32, one: &Threatened<'_>) -> Option<Blow> {
        let plan = &self.plans[number as usize];
        let known = &self.hazards[plan.hazard];
        let is_narrower = |other: &Hazarded| {
            !other.is_over && other.hazard.is_narrower(&known.hazard) && other.hazard.threatens(one)
        };
        let holds = !known.is_over && !self.hazards.iter().any(is_narrower);
        holds.then_some(plan.blow)
    }
}

/// When a hazard meets an instance first.
fn strikes(
    draws: &Draws,
    instance: &InstanceId,
    (number, known): (usize, &Hazarded),
    now: Time,
) -> Option<Time> {
    let key = format!("{instance}/{number}");
    let period = known.hazard.period();
    let draw = |count: u64| draws.draw(&key, Purpose::Hazard, count);
    let is_met = |count: &u64| draw(count * 2).below(10_000) < u64::from(known.hazard.rate().0);
    let count = (0..PERIODS_MAX).find(is_met)?;
    let from = known.since.max(now) + period * i64::try_from(count).expect("a few hundred");
    Some(from + draw(count * 2 + 1).between(Span::ZERO, period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_percents_with_two_digits_behind_the_point() {
        for (text, rate) in [("0%", Some(0)), ("5%", Some(500)), ("0.25%", Some(25)), ("2.5%", Some(250))] {
            assert_eq!(Rate::read(text), rate.map(Rate), "{text}");
        }
        for text in ["5", "%", "-1%", "101%", "0.001%", "a%", ".5%", "1.x%"] {
            assert_eq!(Rate::read(text), None, "{text}");
        }
        assert_eq!(Rate(25).to_string(), "0.25%");
        assert_eq!(Rate(500).to_string(), "5%");
    }

    fn threatened<'a>(id: &'a InstanceId, group: &'a GroupName, zone: &'a Zone) -> Threatened<'a> {
        Threatened { id, group, instance_type: "m6i.large", zone, market: Market::Spot }
    }

    #[test]
    fn so_many_are_taken_an_hour_as_the_rate_says_and_none_once_it_is_over() {
        let (draws, group, zone) = (Draws::new(3), GroupName::from("web"), Zone::from("a"));
        let now = Time::from_millis(0);
        let mut markets = Markets::default();
        let rate = |text: &str| Rate::read(text).expect("a rate");
        let spot = |text: &str| Hazard::Spot {
            event: SpotEvent::Interruption,
            instance_type: None,
            zone: None,
            rate: rate(text),
        };
        markets.begin(spot("10%"), now);
        let mut within_an_hour = 0;
        let mut planned = Vec::new();
        for number in 0..2_000 {
            let id = InstanceId::from(format!("i-{number}"));
            for (at, plan) in markets.plan(&draws, &threatened(&id, &group, &zone), now, 0) {
                let blow = markets.due(plan, &threatened(&id, &group, &zone));
                let is_taken = blow.expect("it is not over") == Blow::Taken;
                within_an_hour += usize::from(is_taken && at - now <= Span::from_minutes(60));
                planned.push(plan);
            }
        }
        assert!((160..240).contains(&within_an_hour), "{within_an_hour} of 2000 at 10% an hour");
        markets.begin(spot("0%"), now + Span::from_minutes(1));
        let id = InstanceId::from("i-new");
        let any = threatened(&id, &group, &zone);
        assert!(planned.iter().all(|plan| markets.due(*plan, &any).is_none()), "another rate holds");
        assert_eq!(markets.plan(&draws, &threatened(&id, &group, &zone), now, 0), []);
    }

    #[test]
    fn what_is_said_of_a_zone_holds_there_in_place_of_what_is_said_of_any() {
        let (draws, group, now) = (Draws::new(3), GroupName::from("web"), Time::from_millis(0));
        let spot = |event, zone: Option<&str>, rate: &str| Hazard::Spot {
            event,
            instance_type: None,
            zone: zone.map(Zone::from),
            rate: Rate::read(rate).expect("a rate"),
        };
        let mut markets = Markets::default();
        markets.begin(spot(SpotEvent::Interruption, None, "100%"), now);
        markets.begin(spot(SpotEvent::Rebalance, None, "100%"), now);
        markets.begin(spot(SpotEvent::Interruption, Some("a"), "0%"), now);
        let blows = |zone: &str, markets: &mut Markets| {
            let (id, zone) = (InstanceId::from(format!("i-{zone}")), Zone::from(zone));
            let one = threatened(&id, &group, &zone);
            let planned = markets.plan(&draws, &one, now, 0);
            let mut due: Vec<Blow> =
                planned.iter().filter_map(|(_, number)| markets.due(*number, &one)).collect();
            due.dedup();
            (due.contains(&Blow::Taken), due.contains(&Blow::Recommended))
        };
        assert_eq!(blows("a", &mut markets), (false, true), "none is taken there, and recommendations go on");
        assert_eq!(blows("b", &mut markets), (true, true));
    }

    #[test]
    fn what_is_back_ends_every_shortage_within_it() {
        let any = Capacity { market: None, instance_type: None, zone: Some("a".into()) };
        let spot = Capacity { market: Some(Market::Spot), ..any.clone() };
        let mut markets = Markets::default();
        let zone = Zone::from("a");
        markets.set(spot.clone(), false);
        assert!(markets.is_short(Market::Spot, "m6i.large", &zone));
        assert!(!markets.is_short(Market::OnDemand, "m6i.large", &zone));
        assert!(!markets.is_short(Market::Spot, "m6i.large", &"b".into()));
        markets.set(any.clone(), true);
        assert!(!markets.is_short(Market::Spot, "m6i.large", &zone));
        markets.set(any, false);
        markets.set(spot, true);
        assert!(markets.is_short(Market::Spot, "m6i.large", &zone), "on demand there is none, spot neither");
    }
}
