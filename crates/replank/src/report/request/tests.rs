//! The page as a whole, and what each part depends on.

use crate::report::About;
use replank_facts::plan::{Care, OnFailure, Plan, Retain, Retained, Spread, Target};
use replank_model::time::Span;
use replank_rehearse::RehearsalResult;
use replank_rehearse::Verdict;

use super::super::{Timeline, sample};
use super::*;

fn about(plan: &str) -> About<'_> {
    About { plan, snapshot: "cluster.json", stop: Stop::Ended, timeline: Timeline::Left, spread: None }
}

fn plan() -> Plan {
    Plan::of_groups("web-to-1-36", vec!["web".into()], Target::default())
}

fn page(plan: &Plan, result: &RehearsalResult) -> String {
    request(&Request { result, plan, groups: &[], about: about(&plan.name) })
}

#[test]
fn a_roll_with_findings_as_a_change_request() {
    insta::assert_snapshot!(page(&plan(), &sample::with_findings()));
}

#[test]
fn every_section_is_there_whatever_came_out() {
    let mut blocked = sample::with_findings();
    blocked.verdict = Verdict::Blocked;
    for result in [sample::with_findings(), blocked] {
        let page = page(&plan(), &result);
        for title in [
            "What changes",
            "When, and how long",
            "Impact",
            "Risks",
            "Before the change",
            "Steps",
            "How to stop",
            "How to roll back",
            "Evidence",
        ] {
            assert!(page.contains(&format!("\n## {title}\n\n")), "{title}: {page}");
        }
    }
}

#[test]
fn what_is_blocked_is_not_to_be_approved() {
    let mut result = sample::with_findings();
    result.verdict = Verdict::Blocked;
    assert!(page(&plan(), &result).contains("**Do not approve as is: blocked.**"));
    let plan = plan();
    let mut stopped = about(&plan.name);
    stopped.stop = Stop::Interrupted;
    let page = request(&Request { result: &result, plan: &plan, groups: &[], about: stopped });
    assert!(page.contains("the rehearsal was interrupted"), "{page}");
}

#[test]
fn that_the_last_pods_of_a_spread_are_pending_for_a_while_is_said() {
    let with = |spread| {
        let mut plan = plan();
        plan.care.spread = spread;
        page(&plan, &sample::with_findings())
    };
    let said = "The last pods that a topology spread keeps on a node are evicted all the same, and are Pending until the node is gone.";
    assert!(with(Spread::LastPending).contains(said), "{}", with(Spread::LastPending));
    assert!(!with(Spread::Honour).contains(said), "they stay");
}

#[test]
fn the_way_back_is_what_the_plan_keeps() {
    let with = |capacity| {
        let mut plan = plan();
        plan.care = Care { retain: Retain { capacity, span: Span::from_minutes(60) }, ..Care::default() };
        page(&plan, &sample::with_findings())
    };
    assert!(with(Retained::Cordoned).contains("The old nodes are kept, empty and cordoned, for 1h"));
    assert!(with(Retained::Template).contains("The old launch template is remembered for 1h"));
    assert!(with(Retained::None).contains("Once done, nothing of the old nodes is kept"));
    assert!(
        with(Retained::Cordoned)
            .contains("An empty node is kept and cordoned. 1h after the last one is empty")
    );
    let mut back = plan();
    back.on_failure = OnFailure::Rollback;
    assert!(
        page(&back, &sample::with_findings())
            .contains("If the run cannot continue, it rolls back by itself.")
    );
}

#[test]
fn steps_say_what_the_plan_says() {
    let steps = |spec: serde_json::Value| {
        let plan = serde_json::json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"}, "spec": spec});
        page(&Plan::read(&plan).expect("the plan is right"), &sample::with_findings())
    };
    let plain = steps(serde_json::json!({"groups": ["web"]}));
    assert!(plain.contains("At no time does a group have fewer nodes in use than before.\n"), "{plain}");
    assert!(!plain.contains("stands still") && !plain.contains("whole cluster"), "{plain}");
    let careful = steps(
        serde_json::json!({"groups": ["web", "batch"], "canary": {"nodes": "10%", "soak": "30m"}, "health": {"maxNotReady": 2},
        "budget": {"surge": "10%", "maxUnavailable": "20%", "minReadyPerZone": 1}}),
    );
    assert!(careful.contains("After 10% of the nodes of each group (canary) the run pauses for 30m. Until then it halts with more than 0 pods that crash, 0 that keep restarting"), "{careful}");
    assert!(
        careful.contains("more than 20% fewer nodes in use than before (`maxUnavailable`)")
            && careful.contains("At least 1 node stays Ready"),
        "{careful}"
    );
    assert!(
        careful.contains("2 that are not Ready in the whole cluster, counted over those at the start"),
        "{careful}"
    );
    let moved = steps(
        serde_json::json!({"groups": ["web"], "target": {"group": "new"}, "waves": [1, "50%", "100%"], "bake": "1h"}),
    );
    assert!(
        moved.contains("After each wave but the last (1, 50% of the nodes of all groups together)"),
        "{moved}"
    );
    assert!(
        moved
            .contains("the desired size of `new` has grown by as many nodes as the other groups have shrunk"),
        "{moved}"
    );
    assert!(moved.contains("a second plan moves the pods back"), "{moved}");
}

#[test]
fn what_somebody_ends_is_said_to_be_so_and_blocks_nothing() {
    let mut result = sample::with_findings();
    (result.verdict, result.ending) = (Verdict::Findings, Ending::Cancelled);
    result.findings.clear();
    assert!(page(&plan(), &result).contains("**Rehearsed: the operator cancels it.**"));
    result.blockers =
        vec![replank_rehearse::Blocker { what: "run".into(), reason: "it was cancelled".into() }];
    let page = page(&plan(), &result);
    assert!(page.contains("What is left:") && !page.contains("What blocks"), "{page}");
}
