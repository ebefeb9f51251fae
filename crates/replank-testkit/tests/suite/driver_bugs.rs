//! Planted bugs of a driver are caught, and without them the same run breaks no promise.

use std::cell::Cell;
use std::rc::Rc;

use replank_oracle::tell::tell;
use replank_sim::{DriverBug, Network};
use replank_testkit::check::Promise;
use replank_testkit::clusters::Cluster;
use replank_testkit::trial::bug::Bug;
use replank_testkit::trial::bugs::Buggy;
use replank_testkit::trial::{self, Trial};

/// Seeds from here on, so that these are not the clusters of other tests.
const FIRST: u64 = 2_000_000;

/// A network that gives a bug its chance.
fn network(bug: DriverBug) -> Network {
    match bug {
        DriverBug::NoUid | DriverBug::ResendAfterTimeout => {
            Network { lost_answers: 250, ..Network::default() }
        }
        DriverBug::PartialPollIsDeletion => Network { partial_polls: 250, ..Network::default() },
        DriverBug::StaleEmptiness | DriverBug::AbsentIsTerminated | DriverBug::TemplateByIndex => {
            Network::default()
        }
    }
}

/// Rolls a cluster; core itself has a bug, too, where the driver's alone does no harm.
fn run(cluster: &Cluster, driver: DriverBug) -> Trial {
    if driver == DriverBug::AbsentIsTerminated {
        let fired = Rc::new(Cell::new(0));
        return trial::run_with(cluster, |cores, core| {
            Box::new(Buggy::plant(cores, core, Bug::EarlyForce, fired))
        });
    }
    trial::run(cluster)
}

/// The bug is caught by the checker of a promise, in so many clusters at least, and without it nothing is broken.
fn is_caught(bug: DriverBug, breaks: &[Promise], clusters: u64, at_least: usize) {
    let (mut acted, mut caught) = (0, 0);
    let mut broken = Vec::new();
    for seed in FIRST..FIRST + clusters {
        let mut cluster = match bug {
            DriverBug::AbsentIsTerminated => Bug::EarlyForce.cluster(seed),
            // The way back is to the version that was current before the run, and others have been deleted since it was made.
            DriverBug::TemplateByIndex => Bug::HalfBack.cluster(seed),
            DriverBug::NoUid
            | DriverBug::ResendAfterTimeout
            | DriverBug::PartialPollIsDeletion
            | DriverBug::StaleEmptiness => Cluster::of(seed),
        };
        cluster.network = Some(network(bug));
        cluster.has_intruder = bug == DriverBug::StaleEmptiness;
        let sound = run(&cluster, bug);
        broken.extend(
            sound.violations.first().map(|violation| format!("seed {seed}, without the bug: {violation}")),
        );
        cluster.driver_bug = Some(bug);
        let trial = run(&cluster, bug);
        acted += usize::from(trial.wrongs > 0);
        let found = trial.violations.iter().find(|violation| breaks.contains(&violation.promise));
        if let Some(violation) = found {
            caught += 1;
            tell(format!("seed {seed}: {violation}"));
        } else if let Some(other) = trial.violations.first() {
            tell(format!("seed {seed}: another promise: {other}"));
        }
    }
    tell(format!("{bug:?}: {clusters} clusters, seen to act in {acted}, caught by {breaks:?} in {caught}"));
    assert_eq!(broken, Vec::<String>::new());
    assert!(caught >= at_least, "{bug:?} was caught in {caught} of {clusters} clusters");
}

#[test]
fn an_eviction_without_a_uid_is_caught() {
    is_caught(DriverBug::NoUid, &[Promise::S5], 25, 3);
}

#[test]
fn a_command_that_is_sent_again_after_a_timeout_is_caught() {
    is_caught(DriverBug::ResendAfterTimeout, &[Promise::S4, Promise::S5], 25, 3);
}

#[test]
fn a_partial_poll_that_is_taken_for_deletion_is_caught() {
    is_caught(DriverBug::PartialPollIsDeletion, &[Promise::D1], 12, 3);
}

#[test]
fn emptiness_that_is_read_off_an_old_list_is_caught() {
    is_caught(DriverBug::StaleEmptiness, &[Promise::S5], 16, 3);
}

#[test]
fn an_instance_that_is_not_listed_and_taken_for_terminated_is_caught() {
    is_caught(DriverBug::AbsentIsTerminated, &[Promise::S5], 12, 3);
}

#[test]
fn a_template_version_that_is_taken_by_its_index_is_caught() {
    is_caught(DriverBug::TemplateByIndex, &[Promise::D2], 12, 3);
}
