//! Five hundred instances are interrupted at one moment; the queue delivers late, twice and what cannot be read, and in the middle another
//! process takes over.

use replank_model::time::Span;
use replank_oracle::tell::tell;
use replank_testkit::interruptions::account::Fate;
use replank_testkit::interruptions::stage::{Counts, Kind, Stage};
use replank_testkit::interruptions::{Played, play, table};

const FIVE_HUNDRED: Counts =
    Counts { spot: 200, hook: 120, health: 80, rebalance: 60, state: 40, poison: 25, foreign: 10 };

#[test]
fn five_hundred_interruptions_at_once() {
    let stage = Stage::of([240, 200, 160], FIVE_HUNDRED, 7)
        .after("queue delivers one message in 10 twice")
        .after("queue delivers one message in 10 late by 20s");
    let Played { mut account, world, told, decision_ms_max } = play(&stage, Some(Span::from_secs(25)));
    account.finish(world.now(), &world.dead_letters());
    let twice = account.letters.values().filter(|letter| letter.deliveries > 1).count();
    tell(table::markdown(&account));
    tell(format!(
        "{} messages told and {} seen, {twice} delivered more than once, {} overtaken, {} dead letters",
        stage.messages(),
        account.letters.len(),
        account.overtaken(),
        world.dead_letters().len(),
    ));
    tell(format!(
        "{} sent again after the restart, {} evictions refused, {} pods deleted in the end; longest decision {decision_ms_max} ms, {} events, all done after {}",
        account.repeated,
        account.refused,
        account.deleted,
        world.events(),
        world.now() - told,
    ));
    assert_eq!(account.fates.len(), 500);
    assert_eq!(world.dead_letters().len(), FIVE_HUNDRED.poison);
    assert_eq!(world.messages_left(), 0);
    let is_late = |fate: &&Fate| fate.drained.is_none_or(|at| at - fate.told > Span::from_secs(115));
    let spot = || account.fates.values().filter(|fate| fate.kind == Kind::Spot);
    assert_eq!(spot().filter(is_late).count(), 0, "spot instances have two minutes");
    let shown: Vec<String> = account.findings.iter().take(20).map(ToString::to_string).collect();
    assert!(account.findings.is_empty(), "{} findings: {shown:#?}", account.findings.len());
}
