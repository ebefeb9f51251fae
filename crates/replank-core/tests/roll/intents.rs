//! What the operator may ask of a run at any moment: each ends in a stated, safe condition.

use replank_model::object::cloud::GroupSize;
use replank_model::time::Span;
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use serde_json::json;

use crate::basics::shop;
use crate::stage::{Stage, plan};

const DAY: Span = Span::from_minutes(24 * 60);
/// Before anything, while the surge boots, while the first node is drained, while the last but one is.
const MOMENTS: [i64; 6] = [0, 3, 30, 70, 150, 200];

fn stage_at(seconds: i64) -> Stage {
    let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), shop());
    for _ in 0..seconds {
        assert_eq!(stage.tick(), None, "{}", stage.story());
    }
    stage
}

fn is_clean(stage: &Stage) {
    for (_, node) in stage.truth.nodes.sorted() {
        assert_eq!(mark::of(node), None, "{}", stage.story());
        assert!(!node.spec.unschedulable, "{}", stage.story());
    }
    assert_eq!(
        stage.truth.groups()["web"].size,
        GroupSize { min: 0, max: 3, desired: 3 },
        "{}",
        stage.story()
    );
}

#[test]
fn a_run_that_is_cancelled_leaves_no_cordon_and_no_raised_group() {
    for seconds in MOMENTS {
        let mut stage = stage_at(seconds);
        stage.core.intend(Intent::Cancelled);
        let end = stage.run(DAY);
        let End::Cancelled(why) = end else { panic!("{seconds}: {end:?}\n{}", stage.story()) };
        assert!(why.iter().any(|waiting| waiting.on.kind() == "cancelled"), "{why:?}");
        is_clean(&stage);
        let begun = stage.truth.groups()["web"].tags.value(mark::BEGUN).is_some();
        assert!(!begun, "{}", stage.story());
    }
}

#[test]
fn a_run_that_is_undone_puts_every_node_back() {
    for seconds in MOMENTS {
        let mut stage = stage_at(seconds);
        stage.core.intend(Intent::Undo);
        let end = stage.run(DAY);
        assert!(matches!(end, End::RolledBack(_)), "{seconds}: {end:?}\n{}", stage.story());
        is_clean(&stage);
        for (_, node) in stage.truth.nodes.sorted() {
            assert_eq!(&*node.status.node_info.kubelet_version, "v1.34.2", "{}", stage.story());
        }
        // What tells a process that is started again that the run is over.
        let tags = &stage.truth.groups()["web"].tags;
        assert!(
            tags.iter().all(|(key, _)| [mark::HALTED, mark::ORIGINAL_TEMPLATE].contains(&key)),
            "{tags:?}"
        );
    }
}

#[test]
fn a_run_that_was_cancelled_can_still_be_undone() {
    let mut stage = stage_at(150);
    stage.core.intend(Intent::Cancelled);
    assert!(matches!(stage.run(DAY), End::Cancelled(_)));
    stage.core.intend(Intent::Undo);
    assert!(matches!(stage.run(DAY), End::RolledBack(_)), "{}", stage.story());
    for (_, node) in stage.truth.nodes.sorted() {
        assert_eq!(&*node.status.node_info.kubelet_version, "v1.34.2", "{}", stage.story());
    }
    is_clean(&stage);
}

#[test]
fn an_intent_that_is_given_again_after_a_restart_leads_to_the_same_end() {
    for intent in [Intent::Cancelled, Intent::Undo] {
        let mut stage = stage_at(150);
        stage.core.intend(intent);
        for _ in 0..8 {
            stage.tick();
        }
        stage.restart();
        stage.core.intend(intent);
        let end = stage.run(DAY);
        match intent {
            Intent::Cancelled => assert!(matches!(end, End::Cancelled(_)), "{end:?}"),
            Intent::Run | Intent::Paused | Intent::Undo => {
                assert!(matches!(end, End::RolledBack(_)), "{end:?}");
            }
        }
        is_clean(&stage);
    }
}
