//! Rolls of groups that somebody makes larger meanwhile, and says so where the run reads how large they are to be in the end.

use replank_model::delta::Delta;
use replank_model::object::cloud::{GroupSize, Instance, InstanceState};
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{RollEnd, Subject, WaitingOn};
use serde_json::json;

use crate::basics::shop;
use crate::stage::{Stage, object, plan, replica_set};

const HOUR: Span = Span::from_minutes(60);
const DAY: Span = Span::from_minutes(24 * 60);

/// A group of three that may have six.
fn stage() -> Stage {
    stage_up_to(6)
}

/// A group of three that may have so many.
fn stage_up_to(max: u32) -> Stage {
    let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), shop());
    stage.group(&"web".into(), |group| group.size.max = max);
    stage.original.max = max;
    stage
}

#[test]
fn the_run_takes_its_surge_back_and_nothing_that_was_added_and_written_down() {
    let mut stage = stage();
    stage.run_until("the first drain", HOUR, |stage| {
        stage.done.iter().any(|(_, command, _)| command.key.0.contains("/drain/"))
    });
    stage.group(&"web".into(), |group| {
        assert_eq!(group.size.desired, 4, "raised by the surge");
        group.size.desired = 6;
        group.tags = group.tags.with(mark::ORIGINAL_SIZE, "0/6/5");
    });
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let group = &stage.truth.groups()["web"];
    assert_eq!(group.size, GroupSize { min: 0, max: 6, desired: 5 }, "{}", stage.story());
    assert!(group.tags.is_empty(), "{:?}", group.tags);
    for (_, node) in stage.truth.nodes.sorted() {
        assert_eq!(&*node.status.node_info.kubelet_version, "v1.36.0");
    }
    assert_eq!(stage.truth.nodes.len(), 5);
}

/// A surge that is a share would grow with what is added, and the run's own surge might count as added.
#[test]
fn the_surge_stays_what_it_was_when_the_run_began() {
    let spec = json!({"target": {"kubernetesVersion": "1.36"}, "budget": {"surge": "34%"}});
    let mut stage = Stage::new(plan(&["web"], spec), shop());
    stage.group(&"web".into(), |group| group.size.max = 30);
    stage.original.max = 30;
    stage.run_until("the first drain", HOUR, |stage| {
        stage.done.iter().any(|(_, command, _)| command.key.0.contains("/drain/"))
    });
    let before = stage.truth.groups()["web"].size.desired;
    stage.group(&"web".into(), |group| {
        group.size.desired += 17;
        group.tags = group.tags.with(mark::ORIGINAL_SIZE, "0/30/20");
    });
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let raised = stage.done.iter().filter_map(|(_, command, _)| match &command.effect {
        Effect::Group(GroupEffect::Resize { to, .. }) => Some(to.desired),
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    });
    assert!(raised.max().is_none_or(|most| most <= before + 17), "{}", stage.story());
    assert_eq!(stage.truth.groups()["web"].size.desired, 20);
}

/// What is added is left to whoever added it, and a raise that is lost is not known to be lost.
#[test]
fn the_size_is_not_given_back_while_nobody_knows_whether_somebody_has_raised_it() {
    let mut stage = stage().with_autoscaler();
    stage.loses = Some("autoscaler/raise/");
    stage.run_until("the last drain", HOUR, |stage| stage.when("/drain/n2").is_some());
    stage.put(object(replica_set("big", 2, "4")));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let raises: Vec<Time> = stage
        .done
        .iter()
        .filter_map(|(at, command, _)| command.key.0.starts_with("autoscaler/raise/").then_some(*at))
        .collect();
    let settled = Span::from_minutes(2);
    assert_eq!(raises.len(), 2, "{}", stage.story());
    assert!(
        stage.when("/terminate/i-n2") > Some(raises[0] + settled),
        "without replacement: {}",
        stage.story()
    );
    assert!(
        stage.when("/untag/web/replank.dev/original-size") > Some(raises[1] + settled),
        "{}",
        stage.story()
    );
    assert_eq!(stage.truth.groups()["web"].size, GroupSize { min: 0, max: 6, desired: 3 });
}

/// New nodes that are in use when a run ends early stay beside the old ones. An autoscaler takes away what is no longer needed, which it does not while tags
/// say that a run is at work on the group; where there is none, they tell what the group's size was.
#[test]
fn a_run_that_halts_leaves_what_is_in_use_to_the_autoscaler_and_no_tags() {
    let tagged = |stage: &Stage| {
        let tags = &stage.truth.groups()["web"].tags;
        [mark::ORIGINAL_SIZE, mark::BEGUN].map(|key| tags.contains_key(key))
    };
    let is_bounds = |on: &WaitingOn| matches!(on, WaitingOn::RollEnd(RollEnd::Bounds { .. }));
    let mut larger = [0; 4];
    for seconds in (60..200).step_by(10) {
        for (number, (max, is_scaled)) in
            [(6, false), (6, true), (3, false), (3, true)].into_iter().enumerate()
        {
            let mut stage = stage_up_to(max);
            if is_scaled {
                stage = stage.with_autoscaler();
            }
            for _ in 0..seconds {
                assert_eq!(stage.tick(), None, "{}", stage.story());
            }
            stage.core.intend(Intent::Cancelled);
            let End::Cancelled(why) = stage.run(DAY) else { panic!("{seconds}: {}", stage.story()) };
            let size = stage.truth.groups()["web"].size;
            let is_larger = size.desired > 3;
            larger[number] += u32::from(is_larger);
            assert_eq!(tagged(&stage), [is_larger && !is_scaled; 2], "{seconds}: {}", stage.story());
            assert_eq!(size.max, max.max(size.desired), "{seconds}: {}", stage.story());
            // The autoscaler lowers no maximum: that this one is still raised is told.
            let is_told = is_larger && !is_scaled || size.max > max;
            assert_eq!(why.iter().any(|waiting| is_bounds(&waiting.on)), is_told, "{seconds}: {why:?}");
        }
    }
    assert!(larger.iter().all(|count| *count > 0), "{larger:?}");
}

/// Whether the end of a run tells of bounds that are still raised.
fn is_told(waiting: &WaitList) -> bool {
    waiting.iter().any(|waiting| matches!(waiting.on, WaitingOn::RollEnd(RollEnd::Bounds { .. })))
}

/// What a person has made larger during the run is no rest of it: nobody is told to take it back.
#[test]
fn a_maximum_that_somebody_else_has_raised_is_not_told_as_the_runs() {
    for max in [8, 12] {
        let mut stage = stage().with_autoscaler();
        stage.run_until("the first drain", HOUR, |stage| stage.when("/drain/").is_some());
        stage.original.max = max;
        stage.group(&"web".into(), |group| group.size = GroupSize { max, desired: 8, ..group.size });
        assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
        let size = stage.truth.groups()["web"].size;
        assert!(size.max > 6, "{size}: {}", stage.story());
        assert!(!is_told(&stage.last.waiting), "{size}: {:?}", stage.last.waiting);
    }
}

/// The group becomes smaller once its tags are gone: the maximum stays as it is, and somebody has to lower it.
#[test]
fn a_maximum_that_stays_raised_is_told_also_if_the_group_wants_less_by_then() {
    let mut seen = 0;
    for seconds in (60..200).step_by(10) {
        let mut stage = stage_up_to(3).with_autoscaler();
        for _ in 0..seconds {
            assert_eq!(stage.tick(), None, "{}", stage.story());
        }
        stage.core.intend(Intent::Cancelled);
        let is_over = |stage: &Stage| stage.last.end.is_some();
        let is_untagged = |stage: &Stage| stage.when("/untag/web/replank.dev/original-size").is_some();
        while !is_over(&stage) && !is_untagged(&stage) {
            stage.tick();
        }
        let size = stage.truth.groups()["web"].size;
        if is_over(&stage) || size.max == 3 {
            continue;
        }
        seen += 1;
        // A person ends an instance, without replacement.
        let instance =
            stage.truth.instances().values().find(|one| one.state.is_alive()).expect("one is left");
        let ended = Instance {
            state: InstanceState::ShuttingDown,
            launched: Some(stage.now),
            ..Instance::clone(instance)
        };
        stage.group(&"web".into(), |group| group.size.desired -= 1);
        stage.change(Delta::Instance(ended.into()));
        let end = stage.run(DAY);
        assert!(matches!(end, End::Cancelled(_)), "{end:?}: {}", stage.story());
        assert_eq!(stage.truth.groups()["web"].size, GroupSize { desired: size.desired - 1, ..size });
        assert!(is_told(&stage.last.waiting), "{seconds}: {:?}", stage.last.waiting);
    }
    assert!(seen > 0);
}

/// Where a record is kept, what was read off tags that are gone by now is not needed: a process that was started anew tells the same, also where the record is behind.
#[test]
fn what_is_told_of_bounds_at_the_end_does_not_depend_on_when_the_process_was_started() {
    let told = |drops: bool| {
        let mut stage = stage_up_to(3).with_record().with_autoscaler();
        stage.run_until("the first drain", HOUR, |stage| stage.when("/drain/").is_some());
        stage.refuses_replace = true;
        stage.group(&"web".into(), |group| group.tags = group.tags.with(mark::ORIGINAL_SIZE, "1/3/3"));
        stage.run_until("a new node in use", HOUR, |stage| stage.when("/evict/").is_some());
        for _ in 0..4 {
            assert_eq!(stage.tick(), None, "{}", stage.story());
        }
        stage.core.intend(Intent::Cancelled);
        stage.run_until("its tags are gone", HOUR, |stage| {
            stage.when("/untag/web/replank.dev/begun").is_some()
        });
        if drops {
            stage.core.drop_caches();
        }
        let End::Cancelled(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
        assert!(stage.truth.groups()["web"].size.max > 3, "{}", stage.story());
        why.into_iter().filter(|waiting| waiting.what == Subject::Bounds("web".into())).collect::<Vec<_>>()
    };
    let (kept, dropped) = (told(false), told(true));
    assert_eq!(kept.len(), 1);
    assert_eq!(kept, dropped);
}

/// A process that starts between an autoscaler's raise and its record cannot tell what was added from the run's surge, where the run had used no more than a part of that.
/// What it ends then is not what pods wait for.
#[test]
fn what_the_autoscaler_added_and_has_yet_to_record_stays_for_the_pods_that_wait_for_it() {
    let spec = json!({"target": {"kubernetesVersion": "1.36"}, "budget": {"surge": 2}, "pace": {"betweenNodes": "10m"}});
    let mut stage = Stage::new(plan(&["web"], spec), shop());
    stage.group(&"web".into(), |group| group.size.max = 6);
    stage.original.max = 6;
    let mut stage = stage.with_autoscaler();
    stage.run_until("the end of the second node", HOUR, |stage| stage.when("/terminate/i-n1").is_some());
    assert_eq!(
        stage.truth.groups()["web"].size.desired,
        4,
        "one of the surge is given up: {}",
        stage.story()
    );
    stage.put(object(replica_set("big", 2, "4")));
    stage.run_until("a raise", HOUR, |stage| stage.when("autoscaler/raise/").is_some());
    assert_eq!(stage.when("autoscaler/adopt/"), None, "{}", stage.story());
    let raised = stage.truth.groups()["web"].size;
    assert!(raised.desired > 4, "{raised}");
    let before = stage.done.len();
    stage.restart();
    let mut stage = stage.with_autoscaler();
    stage.core.intend(Intent::Cancelled);
    let end = stage.run(DAY);
    assert!(matches!(end, End::Cancelled(_)), "{end:?}: {}", stage.story());
    let ended = stage.done[before..].iter().any(|(_, command, _)| command.key.0.contains("/terminate/"));
    assert!(!ended, "{}", stage.story());
    assert_eq!(stage.truth.groups()["web"].size, raised, "{}", stage.story());
    assert!(!stage.truth.groups()["web"].tags.contains_key(mark::ORIGINAL_SIZE), "{}", stage.story());
    let waits = |pod: &Pod| pod.node.is_none() && pod.is_active();
    assert!(!stage.truth.pods.sorted().iter().any(|(_, pod)| waits(pod)), "{}", stage.story());
}

/// While the run goes on, too: a node that is not needed in its zone may be one that pods wait for. What was awaited long ago does not count against what is launched now.
#[test]
fn what_is_added_is_awaited_anew_each_time() {
    let budget = json!({"surge": 3, "minReadyPerZone": 1});
    let spec =
        json!({"target": {"kubernetesVersion": "1.36"}, "budget": budget, "pace": {"betweenNodes": "40m"}});
    let mut stage = Stage::new(plan(&["web"], spec), shop());
    stage.group(&"web".into(), |group| group.size.max = 8);
    stage.original.max = 8;
    let mut stage = stage.with_autoscaler();
    stage.run_until("the end of the second node", DAY, |stage| stage.when("/terminate/i-n1").is_some());
    // No node can take it: it waits all the time, and the autoscaler adds none for it.
    stage.put(object(replica_set("huge", 1, "40")));
    let wait = |stage: &mut Stage, seconds| {
        for _ in 0..seconds {
            assert_eq!(stage.tick(), None, "{}", stage.story());
        }
    };
    wait(&mut stage, 300);
    let ended =
        |stage: &Stage| stage.done.iter().filter(|(_, one, _)| one.key.0.contains("/terminate/")).count();
    let before = ended(&stage);
    let desired = stage.truth.groups()["web"].size.desired;
    // Another process adds one, and has it on record before it is up.
    stage.group(&"web".into(), |group| group.size.desired += 1);
    wait(&mut stage, 10);
    stage.group(&"web".into(), |group| {
        group.tags = group.tags.with(mark::ORIGINAL_SIZE, "0/8/4");
    });
    wait(&mut stage, 20 * 60);
    assert_eq!(
        (ended(&stage), stage.truth.groups()["web"].size.desired),
        (before, desired + 1),
        "{}",
        stage.story()
    );
    // It adds another one.
    stage.group(&"web".into(), |group| group.size.desired += 1);
    wait(&mut stage, 40);
    assert_eq!(ended(&stage), before, "{}", stage.story());
    // Nothing can be done with it.
    wait(&mut stage, 60);
    assert_eq!(ended(&stage), before + 1, "{}", stage.story());
}
