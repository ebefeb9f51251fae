//! What must be remembered between two looks: groups that failed, what was asked for, since when nodes have not been needed.
//!
//! A capacity error concerns more than the group that met it: other groups of the same instance types, zone and market would meet it
//! too. So the error is remembered by these where it names them.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::{self, LaunchFailure};
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::scaling::Market;
use replank_protocol::scaling::Scope;

use super::group::{Group, Groups};
use super::options::Options;

/// How long something is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// When it failed last.
    pub failed: Time,
    /// For how long it is left alone then.
    pub span: Span,
    /// What the cloud said.
    pub why: Text,
}

impl Backoff {
    /// Until when it is left alone.
    #[must_use]
    pub fn until(&self) -> Time {
        self.failed + self.span
    }
}

/// Nodes that were asked for and are not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When.
    pub at: Time,
    /// How many.
    pub count: u32,
}

/// What is remembered. A process that starts anew finds what is on its way on the cluster ([`State::found`]); how long nodes have not been needed, and
/// what failed, it finds out anew, as Cluster Autoscaler does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// What failed, and until when it is left alone.
    pub backoffs: BTreeMap<Scope, Backoff>,
    /// What was asked for, by group.
    pub requests: BTreeMap<GroupName, Request>,
    /// Since when nodes have not been needed.
    pub unneeded: BTreeMap<NodeName, Time>,
    /// What groups in a run's hands are to want in the end, where that is not written on them yet.
    pub owed: BTreeMap<GroupName, u32>,
    /// Groups whose last raise has not been answered: what they are to want in the end is not known yet.
    pub unanswered: BTreeSet<GroupName>,
    /// When a node was added last.
    pub added: Option<Time>,
    /// When a node was taken away last.
    pub deleted: Option<Time>,
    /// When taking one away failed last.
    pub failed: Option<Time>,
}

impl State {
    /// What a process that has just started can know: nodes that were asked for before it, and when the last one was.
    #[must_use]
    pub fn found(view: &View, groups: &Groups, now: Time) -> Self {
        let mut state = Self::default();
        for group in &groups.all {
            let launched =
                || view.instances().values().filter(|one| one.group == group.name && one.is_counted());
            state.added = state.added.max(launched().filter_map(|one| one.launched).max());
            if missing(group) > 0 {
                let loose = launched().filter(|one| one.node.is_none());
                let at = loose.filter_map(|one| one.launched).min().unwrap_or(now);
                state.requests.insert(group.name.clone(), Request { at, count: missing(group) });
            }
        }
        state
    }

    /// Remembers a failure: left alone for twice as long as the last time, unless that is long ago.
    pub fn fail(&mut self, scope: Scope, why: impl Into<Text>, now: Time, options: &Options) {
        let known = self.backoffs.get(&scope).filter(|known| now - known.failed <= options.backoff_reset);
        let span = match known {
            // Several instances of one request fail at once: that is one failure.
            Some(known) if now < known.until() => known.span,
            Some(known) => (known.span * 2).min(options.backoff_max),
            None => options.backoff_initial,
        };
        self.backoffs.insert(scope, Backoff { failed: now, span, why: why.into() });
    }

    /// Takes note of launches that failed, each once. A lack of capacity concerns every group that would launch the same; anything else only
    /// the group.
    pub(super) fn learn(&mut self, view: &View, options: &Options) {
        for (name, failure) in view
            .groups()
            .iter()
            .flat_map(|(name, group)| group.failures.iter().map(move |failure| (name, failure)))
        {
            let scope = match &*failure.code {
                LaunchFailure::NO_CAPACITY => Scope::Capacity {
                    instance_type: failure.instance_type.clone(),
                    zone: failure.zone.clone(),
                    market: match failure.market {
                        cloud::Market::Spot => Market::Spot,
                        cloud::Market::OnDemand => Market::OnDemand,
                    },
                },
                _ => Scope::Group(name.clone()),
            };
            if self.backoffs.get(&scope).is_none_or(|known| known.failed < failure.at) {
                self.fail(scope, failure.to_string(), failure.at, options);
            }
        }
    }

    /// What keeps a group from being tried in a zone.
    #[must_use]
    pub fn backed_off<'a>(
        &'a self,
        group: &Group,
        zone: &Zone,
        now: Time,
    ) -> Option<(&'a Scope, &'a Backoff)> {
        let active =
            |scope: &Scope| self.backoffs.get_key_value(scope).filter(|(_, backoff)| now < backoff.until());
        if let Some(whole) = active(&Scope::Group(group.name.clone())) {
            return Some(whole);
        }
        // A group of several types goes on with those that are left.
        let of_type = |instance_type: &Text| {
            active(&Scope::Capacity {
                instance_type: instance_type.clone(),
                zone: zone.clone(),
                market: group.market,
            })
        };
        let all: Option<Vec<_>> = group.types.iter().map(of_type).collect();
        all?.into_iter().min_by_key(|(_, backoff)| backoff.until())
    }

    /// Records nodes that groups request and lack, regardless of who requested them, and since when.
    pub(super) fn wait_for(&mut self, groups: &[Group], now: Time) {
        for group in groups.iter().filter(|group| missing(group) > 0) {
            let failed = self.backoffs.get(&Scope::Group(group.name.clone()));
            if failed.is_none_or(|failed| failed.until() <= now) {
                let fresh = Request { at: now, count: 0 };
                self.requests.entry(group.name.clone()).or_insert(fresh).count = missing(group);
            }
        }
    }

    /// Takes note of requests that have taken too long: the group has failed, and what it lacks is not waited for any more.
    pub fn time_out(&mut self, groups: &[Group], now: Time, options: &Options) {
        let late = |(name, request): (&GroupName, &Request)| {
            let group = groups.iter().find(|group| group.name == *name)?;
            let limit = group.own.provision_max.unwrap_or(options.provision_max);
            (now - request.at >= limit && missing(group) > 0).then(|| (name.clone(), missing(group), limit))
        };
        let late: Vec<_> = self.requests.iter().filter_map(late).collect();
        for (name, count, limit) in late {
            self.requests.remove(&name);
            self.fail(
                Scope::Group(name),
                format!("{count} did not become Ready nodes within {limit}"),
                now,
                options,
            );
        }
        let done = |name: &GroupName| groups.iter().any(|group| group.name == *name && missing(group) == 0);
        self.requests.retain(|name, _| !done(name));
    }
}

/// Nodes that a group wants and has not.
pub(super) fn missing(group: &Group) -> u32 {
    group.size.desired.saturating_sub(group.len())
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;

    use super::*;

    fn at(minutes: i64) -> Time {
        Time::from_millis(0) + Span::from_minutes(minutes)
    }

    #[test]
    fn failures_double_up_to_the_longest_and_are_forgotten_after_a_while() {
        let (mut state, options) = (State::default(), Options::default());
        let scope = || Scope::Group("web".into());
        let mut spans = Vec::new();
        let mut now = at(0);
        for _ in 0..5 {
            state.fail(scope(), "no capacity", now, &options);
            state.fail(scope(), "no capacity", now, &options);
            spans.push(state.backoffs[&scope()].span);
            now = state.backoffs[&scope()].until();
        }
        assert_eq!(spans, [5, 10, 20, 30, 30].map(Span::from_minutes));
        state.fail(scope(), "no capacity", now + Span::from_minutes(181), &options);
        assert_eq!(state.backoffs[&scope()].span, Span::from_minutes(5));
    }

    #[test]
    fn a_lack_of_capacity_that_a_group_shows_is_learnt_once_and_holds_for_every_group_of_its_kind() {
        let failure = |code: &str, minute| LaunchFailure {
            at: at(minute),
            code: code.into(),
            instance_type: "m6i.large".into(),
            zone: "a".into(),
            market: cloud::Market::Spot,
        };
        let size = cloud::GroupSize { min: 0, max: 9, desired: 3 };
        let group = |failures: Vec<LaunchFailure>| cloud::NodeGroup {
            failures,
            ..cloud::NodeGroup::new("web".into(), size, vec!["a".into()], cloud::LaunchTemplate::default())
        };
        let (mut view, mut state, options) = (View::default(), State::default(), Options::default());
        let mut show = |state: &mut State, failures: Vec<LaunchFailure>| {
            view.apply(Delta::Group(group(failures).into()));
            state.learn(&view, &options);
        };
        let short =
            || Scope::Capacity { instance_type: "m6i.large".into(), zone: "a".into(), market: Market::Spot };
        show(&mut state, vec![failure(LaunchFailure::NO_CAPACITY, 1)]);
        assert_eq!(state.backoffs[&short()].until(), at(6));
        assert_eq!(&*state.backoffs[&short()].why, "InsufficientInstanceCapacity: spot m6i.large in a");
        show(&mut state, vec![failure(LaunchFailure::NO_CAPACITY, 1)]);
        assert_eq!(state.backoffs[&short()].until(), at(6), "it was the same one");
        show(&mut state, vec![failure(LaunchFailure::NO_CAPACITY, 7)]);
        assert_eq!(state.backoffs[&short()].until(), at(17), "twice as long");
        show(&mut state, vec![failure("VcpuLimitExceeded", 8)]);
        assert!(state.backoffs.contains_key(&Scope::Group("web".into())), "a quota is the group's");
    }
}
