//! Bugs in the handling of interruptions are caught by the account that is kept of them.

use std::cell::Cell;
use std::rc::Rc;

use replank_oracle::tell::tell;
use replank_testkit::interruptions::account::Account;
use replank_testkit::interruptions::bugs::{Bug, Buggy};
use replank_testkit::interruptions::{Played, play, play_with};

const SEEDS: u64 = 4;

fn account(played: Played) -> Account {
    let Played { mut account, world, .. } = played;
    account.finish(world.now(), &world.dead_letters());
    account
}

/// The bug acts and is caught whenever it does, and without it nothing is found.
fn is_caught(bug: Bug) {
    let (mut acted, mut caught) = (0, 0);
    for seed in 0..SEEDS {
        let stage = bug.stage(seed);
        let sound = account(play(&stage, None));
        assert_eq!(sound.findings, [], "seed {seed}, without the bug");
        let fired = Rc::new(Cell::new(0));
        let counter = fired.clone();
        let buggy = play_with(&stage, None, |core| Box::new(Buggy::plant(&stage, core, bug, counter)));
        let found = account(buggy).findings;
        acted += usize::from(fired.get() > 0);
        caught += usize::from(found.iter().any(|finding| finding.fault == bug.is_found_as()));
        let first = found.iter().find(|finding| finding.fault == bug.is_found_as());
        tell(format!("{bug:?}, seed {seed}: acted {} times; {first:?}", fired.get()));
    }
    assert_eq!((acted, caught), (SEEDS as usize, SEEDS as usize), "{bug:?}");
}

#[test]
fn a_health_event_of_which_only_the_first_instance_is_looked_at_is_caught() {
    is_caught(Bug::FirstEntity);
}

#[test]
fn a_message_that_is_deleted_before_its_action_is_completed_is_caught() {
    is_caught(Bug::EarlyDelete);
}

#[test]
fn heartbeats_that_outlive_the_drain_are_caught() {
    is_caught(Bug::BeatsOn);
}

#[test]
fn a_slot_of_a_budget_that_two_spend_is_caught() {
    is_caught(Bug::TwoPurses);
}

#[test]
fn an_old_event_for_a_name_that_is_used_again_is_caught() {
    is_caught(Bug::OldName);
}
