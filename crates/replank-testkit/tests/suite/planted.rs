//! Planted bugs are caught, caches do not matter, and neither does the order of what is read.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use replank_oracle::sched_random::Random;
use replank_oracle::tell::tell;
use replank_protocol::decision::End;
use replank_testkit::clusters::Cluster;
use replank_testkit::trial::bug::Bug;
use replank_testkit::trial::bugs::Buggy;
use replank_testkit::trial::forget::{Forgetful, Forgotten};
use replank_testkit::trial::{self, Trial};

/// Seeds from here on, so that these are not the clusters of the long test.
const FIRST: u64 = 1_000_000;

/// Rolls a cluster with a bug; how often it had its chance.
fn with_bug(cluster: &Cluster, bug: Bug) -> (Trial, usize) {
    let fired = Rc::new(Cell::new(0));
    let counter = fired.clone();
    let trial = trial::run_with(cluster, |cores, core| Box::new(Buggy::plant(cores, core, bug, counter)));
    (trial, fired.get())
}

/// In how many clusters a bug acts before it is done with: more would tell the same.
const ENOUGH: usize = 8;

/// The bug is caught by the checker of the promise that it breaks, and without it nothing is broken. So many clusters are tried at the most.
fn is_caught(bug: Bug, clusters: u64) {
    let (mut fired, mut caught, mut tried) = (0, 0, 0);
    while tried < clusters && fired < ENOUGH {
        let seed = FIRST + tried;
        tried += 1;
        let cluster = bug.cluster(seed);
        let (trial, times) = with_bug(&cluster, bug);
        if times == 0 {
            continue;
        }
        fired += 1;
        caught += usize::from(trial.violations.iter().any(|violation| violation.promise == bug.breaks()));
        let sound = trial::run(&cluster);
        assert_eq!(sound.violations, [], "seed {seed}, without the bug");
    }
    tell(format!("{bug:?}: {tried} clusters, acted in {fired}, caught by {:?} in {caught}", bug.breaks()));
    assert!(fired >= 5, "{bug:?} acted in {fired} clusters only");
    // A bug that acts does not always do harm: pods may have found a place on a new node all the same.
    assert!(caught * 3 >= fired, "{bug:?} was caught in {caught} of {fired} clusters");
}

#[test]
fn a_plain_delete_after_a_refused_eviction_is_caught() {
    is_caught(Bug::PlainDelete, 40);
}

#[test]
fn an_instance_that_ends_before_it_is_empty_is_caught() {
    is_caught(Bug::EarlyEnd, 20);
}

#[test]
fn a_node_that_is_given_up_as_soon_as_it_is_begun_is_caught() {
    is_caught(Bug::EarlyPostpone, 20);
}

#[test]
fn a_batch_pod_that_is_evicted_early_is_caught() {
    is_caught(Bug::EarlyBatch, 30);
}

#[test]
fn a_drain_before_the_replacement_is_ready_is_caught() {
    is_caught(Bug::EarlyDrain, 40);
}

#[test]
fn a_drain_onto_nodes_that_will_go_is_caught() {
    is_caught(Bug::OpenNodes, 30);
}

/// A driver that asks for positive proof stops this one: an instance that is not listed is none.
#[test]
fn a_deletion_by_force_without_proof_is_refused() {
    let mut fired = 0;
    for seed in FIRST..FIRST + 20 {
        let cluster = Bug::EarlyForce.cluster(seed);
        let (trial, times) = with_bug(&cluster, Bug::EarlyForce);
        fired += usize::from(times > 0);
        assert_eq!(trial.violations, [], "seed {seed}");
    }
    assert!(fired >= 5, "it was tried in {fired} clusters only");
}

#[test]
fn an_instance_that_ends_with_pods_that_are_not_stuck_is_caught() {
    is_caught(Bug::EarlyStuck, 20);
}

#[test]
fn an_instance_that_ends_before_its_deregistration_is_caught() {
    is_caught(Bug::EarlyTarget, 20);
}

#[test]
fn a_group_that_is_raised_by_too_much_is_caught() {
    is_caught(Bug::OverSurge, 12);
}

#[test]
fn a_managed_group_that_is_changed_behind_eks_is_caught() {
    is_caught(Bug::BehindEks, 20);
}

#[test]
fn a_size_that_is_struck_out_is_caught() {
    is_caught(Bug::LostSize, 12);
}

#[test]
fn a_group_whose_desired_size_is_lowered_is_caught() {
    is_caught(Bug::WantsLess, 12);
}

#[test]
fn an_instance_that_is_ended_in_place_of_another_is_caught() {
    is_caught(Bug::WrongInstance, 12);
}

#[test]
fn a_cordon_without_an_expiry_to_come_is_caught() {
    is_caught(Bug::NoExpiry, 12);
}

#[test]
fn a_second_restart_is_caught() {
    is_caught(Bug::Twice, 40);
}

#[test]
fn a_gate_that_nobody_looks_at_is_caught() {
    is_caught(Bug::Heedless, 30);
}

#[test]
fn restarts_that_nobody_counts_are_caught() {
    is_caught(Bug::Forbearing, 20);
}

#[test]
fn conditions_of_nodes_that_nobody_sees_are_caught() {
    is_caught(Bug::Unfeeling, 20);
}

#[test]
fn a_way_back_that_ends_half_way_is_caught() {
    is_caught(Bug::HalfBack, 20);
}

#[test]
fn an_effect_of_a_run_that_is_refused_is_caught() {
    is_caught(Bug::Meddling, 12);
}

#[test]
fn a_run_that_begins_with_what_blocks_is_caught() {
    is_caught(Bug::Rash, 12);
}

#[test]
fn a_run_that_does_not_end_is_caught() {
    is_caught(Bug::Endless, 8);
}

#[test]
fn tags_that_are_left_with_nothing_in_the_way_are_caught() {
    is_caught(Bug::KeptTags, 30);
}

#[test]
fn an_instance_whose_hook_is_completed_with_pods_on_it_is_caught() {
    is_caught(Bug::EarlyRelease, 24);
}

#[test]
fn the_completion_of_a_hook_of_eks_is_caught() {
    is_caught(Bug::ForeignHook, 16);
}

#[test]
fn a_pod_that_is_deleted_while_it_could_be_moved_off_an_interrupted_instance_is_caught() {
    is_caught(Bug::EarlyRescue, 11);
}

#[test]
fn a_node_that_is_uncordoned_before_its_interruption_is_over_is_caught() {
    is_caught(Bug::EarlyUncordon, 10);
}

#[test]
fn a_node_that_stays_cordoned_after_its_interruption_is_caught() {
    is_caught(Bug::KeptMarks, 16);
}

#[test]
fn an_autoscaler_that_touches_a_rolling_group_is_caught() {
    is_caught(Bug::Meddler, 10);
}

#[test]
fn an_autoscaler_that_evicts_a_batch_pod_is_caught() {
    is_caught(Bug::Thrift, 11);
}

/// Two runs did the same at the same times; else where they part.
fn assert_same(one: &Trial, other: &Trial, what: &str) {
    let pairs = one.commands.iter().zip(&other.commands);
    if let Some((ours, theirs)) = pairs.clone().find(|(ours, theirs)| ours != theirs) {
        panic!("seed {}, {what}: {ours:?}\nis not {theirs:?}", one.seed);
    }
    let more = |a: &Trial, b: &Trial| a.commands.get(b.commands.len()..).unwrap_or_default().to_vec();
    assert_eq!(more(one, other), more(other, one), "seed {}, {what}", one.seed);
    assert_eq!(one.trace, other.trace, "seed {}, {what}: all commands are equal", one.seed);
}

#[test]
fn caches_may_be_dropped_at_any_time() {
    let mut sum = Forgotten::default();
    for seed in FIRST + 1_000..FIRST + 1_060 {
        let cluster = Cluster::of(seed);
        let sound = trial::run(&cluster);
        let found = Rc::new(RefCell::new(Forgotten::default()));
        let shared = found.clone();
        let forgetful = trial::run_with(&cluster, |cores, core| {
            Box::new(Forgetful::new(core, cores, Random::new(seed), shared))
        });
        assert_same(&sound, &forgetful, "forgetting");
        let found = found.borrow();
        assert!(found.differences.is_empty(), "seed {seed}: {:#?}", found.differences);
        sum.replaced += found.replaced;
        sum.asked += found.asked;
    }
    tell(format!("60 clusters: replaced {} times, asked beside {} times", sum.replaced, sum.asked));
    assert!(sum.replaced > 1_000 && sum.asked > 1_000, "too seldom to tell anything");
}

#[test]
fn the_order_of_what_is_read_does_not_matter() {
    let mut begun = 0;
    for seed in FIRST + 2_000..FIRST + 2_040 {
        let mut random = Random::new(seed);
        let cluster = Cluster::of(seed);
        let mut shuffled = cluster.clone();
        shuffled.shuffle(&mut random);
        assert_eq!(
            trial::run(&cluster).trace,
            trial::run(&shuffled).trace,
            "seed {seed}: from the beginning"
        );
        let plain = trial::run_from_snapshot(&cluster, |_| {});
        let mixed = trial::run_from_snapshot(&cluster, |deltas| {
            for left in (1..deltas.len()).rev() {
                let at = usize::try_from(random.below(left as u64 + 1)).expect("a position");
                deltas.swap(left, at);
            }
        });
        assert_same(&plain, &mixed, "from a snapshot");
        let other = Cluster { seed: seed + 1, ..cluster };
        // In a run that is refused nothing is drawn.
        let is_refused = matches!(plain.end, Some(End::Refused(_)));
        let same = plain.trace == trial::run_from_snapshot(&other, |_| {}).trace;
        assert!(is_refused || !same, "seed {seed}: another seed, another trace");
        begun += usize::from(!is_refused);
    }
    assert!(begun >= 30, "too few to tell anything: {begun}");
}
