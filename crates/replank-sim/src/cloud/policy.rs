//! Which instance a group ends when it wants fewer ("Control which Auto Scaling instances terminate during scale in" in the EC2 Auto
//! Scaling guide).
//!
//! First the zone: the one that has most, as far as it has an instance that is not protected. Then each policy of the group
//! leaves those that it likes best, and chance decides among what is left.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cloud::{Instance, NodeGroup, TerminationPolicy};
use replank_model::text::Zone;
use replank_model::time::{Span, Time};

use replank_apiserver::draw::Draw;

/// The position of the instance that goes; `None` if all are protected.
pub(super) fn scale_in_choice(
    group: &NodeGroup,
    alive: &[Arc<Instance>],
    now: Time,
    draw: Draw,
) -> Option<usize> {
    let mut by_zone: BTreeMap<&Zone, usize> = BTreeMap::new();
    alive.iter().for_each(|instance| *by_zone.entry(&instance.zone).or_default() += 1);
    let free: Vec<usize> = (0..alive.len()).filter(|at| !alive[*at].is_protected).collect();
    let count = |at: &usize| by_zone.get(&alive[*at].zone).copied().unwrap_or(0);
    let fullest = free.iter().map(count).max()?;
    let mut left: Vec<usize> = free.into_iter().filter(|at| count(at) == fullest).collect();
    let policies = match group.ways.policies.as_slice() {
        [] => &[TerminationPolicy::Default][..],
        named => named,
    };
    for policy in policies {
        left = best(*policy, alive, left, now);
    }
    let at = usize::try_from(draw.below(left.len() as u64)).expect("a position");
    left.get(at).copied()
}

fn best(policy: TerminationPolicy, alive: &[Arc<Instance>], of: Vec<usize>, now: Time) -> Vec<usize> {
    match policy {
        TerminationPolicy::Default => {
            let oldest = best(TerminationPolicy::OldestLaunchTemplate, alive, of, now);
            best(TerminationPolicy::ClosestToNextInstanceHour, alive, oldest, now)
        }
        TerminationPolicy::OldestLaunchTemplate => least(of, |at| &alive[at].template),
        // Prices are not simulated, and launch configurations are none of ours: all fit alike.
        TerminationPolicy::AllocationStrategy | TerminationPolicy::OldestLaunchConfiguration => of,
        TerminationPolicy::ClosestToNextInstanceHour => {
            // Of what is older than the snapshot nobody knows the hour.
            let is_known = of.iter().all(|at| alive[*at].launched.is_some());
            if is_known { least(of, |at| to_next_hour(&alive[at], now)) } else { of }
        }
        // What is older than the snapshot is older than what was launched since.
        TerminationPolicy::OldestInstance => least(of, |at| alive[at].launched),
        TerminationPolicy::NewestInstance => least(of, |at| std::cmp::Reverse(alive[at].launched)),
    }
}

fn least<K: Ord>(of: Vec<usize>, key: impl Fn(usize) -> K) -> Vec<usize> {
    let least = of.iter().map(|at| key(*at)).min();
    of.into_iter().filter(|at| Some(key(*at)) == least).collect()
}

fn to_next_hour(instance: &Instance, now: Time) -> Option<Span> {
    let hour = Span::from_minutes(60).as_millis();
    let age = (now - instance.launched?).as_millis().max(0);
    Some(Span::from_millis(hour - age % hour))
}

#[cfg(test)]
mod tests {
    use replank_model::object::cloud::{
        GroupSize, HealthStatus, InstanceState, LaunchTemplate, LaunchTemplateRef, Lifecycle, Market, Ways,
    };

    use super::*;

    fn at(minutes: i64) -> Time {
        Time::from_millis(0) + Span::from_minutes(minutes)
    }

    fn instance(id: &str, zone: &str, template: u64, launched: i64) -> Arc<Instance> {
        Arc::new(Instance {
            id: id.into(),
            group: "web".into(),
            zone: zone.into(),
            state: InstanceState::Running,
            template: LaunchTemplateRef::invented(&"web".into()).at(template),
            launched: Some(at(launched)),
            node: None,
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        })
    }

    fn group(policies: &[TerminationPolicy]) -> NodeGroup {
        let size = GroupSize { min: 0, max: 9, desired: 3 };
        NodeGroup {
            ways: Ways { policies: policies.to_vec(), ..Ways::default() },
            ..NodeGroup::new("web".into(), size, vec!["a".into(), "b".into()], LaunchTemplate::default())
        }
    }

    fn chosen(policies: &[TerminationPolicy], alive: &[Arc<Instance>]) -> Option<String> {
        let at = scale_in_choice(&group(policies), alive, at(130), Draw(0))?;
        Some(alive[at].id.to_string())
    }

    #[test]
    fn each_policy_chooses_within_the_fullest_zone() {
        use TerminationPolicy as By;
        let alive = [
            instance("i-oldest", "b", 1, 0),
            instance("i-first", "a", 1, 10),
            instance("i-hour", "a", 1, 12),
            instance("i-template", "a", 0, 40),
            instance("i-last", "a", 1, 60),
        ];
        let of = |policies: &[By]| chosen(policies, &alive).expect("one goes");
        assert_eq!(of(&[By::OldestInstance]), "i-first", "the oldest of all is in the other zone");
        assert_eq!(of(&[By::NewestInstance]), "i-last");
        assert_eq!(of(&[By::OldestLaunchTemplate]), "i-template");
        // 130 min: the hours of 10 and of 12 are over in 60 and 2 minutes.
        assert_eq!(of(&[By::ClosestToNextInstanceHour]), "i-hour");
        assert_eq!(of(&[]), "i-template", "the default: the oldest template first");
        let same = [alive[1].clone(), alive[2].clone()];
        assert_eq!(chosen(&[], &same).expect("one goes"), "i-hour", "then the hour");
        assert_eq!(
            chosen(&[By::AllocationStrategy, By::OldestInstance], &same).expect("one goes"),
            "i-first",
            "in the order of the list"
        );
    }

    #[test]
    fn what_is_protected_stays_and_so_does_a_zone_of_which_all_is() {
        let protect = |one: &Arc<Instance>| Arc::new(Instance { is_protected: true, ..Instance::clone(one) });
        let (a, b, c) = (instance("i-a", "a", 0, 0), instance("i-b", "a", 0, 9), instance("i-c", "b", 1, 9));
        let policies = [TerminationPolicy::OldestInstance];
        assert_eq!(chosen(&policies, &[protect(&a), b.clone(), c.clone()]).as_deref(), Some("i-b"));
        assert_eq!(chosen(&policies, &[protect(&a), protect(&b), c.clone()]).as_deref(), Some("i-c"));
        assert_eq!(chosen(&policies, &[protect(&a), protect(&b), protect(&c)]), None);
    }
}
