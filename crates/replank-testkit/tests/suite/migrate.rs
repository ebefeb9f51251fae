//! Migrations on random cases: never a Service without a ready endpoint, nothing left; and what is not so careful is caught.

use std::collections::BTreeMap;

use replank_core::migrate::Path;
use replank_oracle::sched_random::setting;
use replank_oracle::tell::tell;
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::{MigrationEnd, WaitingOn};
use replank_testkit::migrate::{Case, Races, Restarts, Way, judged, naive, play, without_endpoints};

/// Seeds of the long test.
const SEEDS: u64 = 300;

#[test]
fn both_ways_keep_every_service_served_whatever_happens_meanwhile() {
    play_all(Case::of);
}

#[test]
fn a_rollout_takes_over_without_a_gap_whatever_happens_meanwhile() {
    play_all(Case::rollout);
}

#[test]
fn kinds_that_own_their_pods_keep_them_whatever_happens_meanwhile() {
    play_all(Case::pods);
}

#[test]
fn a_migration_of_such_a_kind_that_is_called_off_goes_back_or_is_finished() {
    call_all_off(Case::pods);
}

fn play_all(case_of: fn(u64) -> Case) {
    let seeds = match setting("REPLANK_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("REPLANK_MIGRATIONS").unwrap_or(SEEDS),
    };
    let count = seeds.end - seeds.start;
    let (mut refused, mut restarts, mut commands) = (0, 0, 0);
    let mut effects: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds {
        let case = case_of(seed);
        let played = play(&case, None);
        assert_eq!(played.breaches, [], "REPLANK_SEED={seed}: {case:?}, {played:?}");
        assert_eq!(played.end, Some(End::Done), "REPLANK_SEED={seed}");
        refused += played.refused;
        restarts += played.restarts;
        commands += played.commands;
        played.done.into_iter().for_each(|effect| *effects.entry(effect).or_default() += 1);
    }
    tell(format!(
        "{count} migrations: {commands} commands, {refused} refused, {restarts} restarts; carried out {effects:?}"
    ));
    if count >= SEEDS {
        assert!(refused >= 100, "hardly anybody got in before");
        assert!(restarts >= 200, "the process hardly ever started anew");
    }
}

#[test]
fn each_way_is_taken_where_it_ought_to_be() {
    for case in (0..12).map(Case::of).chain((0..6).map(Case::rollout)).chain((0..6).map(Case::pods)) {
        let path = match case.way {
            Way::Keep => Path::Keep,
            Way::Twin => Path::Twin,
            Way::Rollout(_) => Path::Rollout,
        };
        assert_eq!(judged(&case), Ok(path), "{case:?}");
    }
}

#[test]
fn a_naive_delete_and_recreate_is_caught() {
    for case in (0..40).map(Case::of).chain((0..40).map(Case::rollout)).chain((0..40).map(Case::pods)) {
        let breaches = naive(&case);
        assert!(
            breaches.iter().any(|breach| breach.what.contains("no ready endpoint")),
            "nothing was noticed of {case:?}"
        );
    }
}

#[test]
fn a_migration_that_is_called_off_goes_back_or_is_finished() {
    call_all_off(Case::of);
}

#[test]
fn a_hand_over_to_a_rollout_that_is_called_off_goes_back_or_is_finished() {
    call_all_off(Case::rollout);
}

fn call_all_off(case_of: fn(u64) -> Case) {
    let mut ends = BTreeMap::new();
    for seed in 0..60 {
        let case = case_of(seed);
        let after = 1 + usize::try_from(seed / 2 % 7).expect("small");
        let intent = if seed % 4 < 2 { Intent::Cancelled } else { Intent::Undo };
        let played = play(&case, Some((after, intent)));
        assert_eq!(played.breaches, [], "REPLANK_SEED={seed}, {intent} after {after}: {case:?}, {played:?}");
        let end = match played.end {
            Some(End::Done) => "done",
            Some(End::Cancelled(_)) => "as before",
            other => panic!("REPLANK_SEED={seed}: {other:?}"),
        };
        *ends.entry((intent, end)).or_insert(0) += 1;
    }
    tell(format!("{ends:?}"));
    assert!(ends.len() >= 3, "{ends:?}");
}

#[test]
fn a_twin_that_finds_no_room_goes_again_and_everything_is_as_before() {
    // Each node has one pod, and no room for another.
    for (seed, case) in (1..13)
        .step_by(2)
        .map(|seed| (seed, Case::of(seed)))
        .chain((0..6).map(|seed| (seed, Case::rollout(seed))))
    {
        let case = Case { cpu_milli: 1_500, races: Races::None, restarts: Restarts::Never, ..case };
        let nodes = u64::try_from(case.replicas).expect("a few");
        let case = Case { nodes, scaled_by_hand: false, has_history: false, ..case };
        let played = play(&case, None);
        assert!(matches!(played.end, Some(End::RolledBack(_))), "seed {seed}: {played:?}");
        assert_eq!(played.breaches, [], "seed {seed}: {played:?}");
    }
}

#[test]
fn a_service_that_is_seen_without_endpoints_stops_it_until_a_person_decides() {
    for seed in (1..17).step_by(2) {
        // Slow enough that it is seen before the twin serves.
        let case = Case { races: Races::None, restarts: Restarts::Never, ready_ms: 30_000, ..Case::of(seed) };
        let (stopped, is_there, end) = without_endpoints(&case);
        let Some(End::Blocked(waiting)) = stopped else { panic!("seed {seed}: {stopped:?}") };
        assert!(
            matches!(&waiting[0].on, WaitingOn::MigrationEnd(MigrationEnd::NoEndpoints { service, .. }) if service.name.as_str() == "web"),
            "seed {seed}: {waiting:?}"
        );
        assert!(is_there, "seed {seed}: the Deployment was deleted though nobody served");
        assert!(matches!(end, Some(End::Cancelled(_))), "seed {seed}: {end:?}");
    }
}
