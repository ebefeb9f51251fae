//! The page as a whole, and what each part depends on.

use replank_core::plan::{Care, OnFailure, Plan, Retain, Retained, Target};
use replank_model::time::Span;
use replank_sim::rehearse::Verdict;

use super::super::{Timeline, sample};
use super::*;

fn about(plan: &str) -> About<'_> {
    About { plan, snapshot: "cluster.json", stop: Stop::Ended, timeline: Timeline::Left }
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
            "Who notices",
            "Risks",
            "Before the change",
            "Steps",
            "How to stop",
            "How to go back",
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
    assert!(page(&plan(), &result).contains("**Not to be approved as it is: blocked.**"));
    let plan = plan();
    let mut stopped = about(&plan.name);
    stopped.stop = Stop::Interrupted;
    let page = request(&Request { result: &result, plan: &plan, groups: &[], about: stopped });
    assert!(page.contains("the rehearsal was interrupted"), "{page}");
}

#[test]
fn the_way_back_is_what_the_plan_keeps() {
    let with = |capacity| {
        let mut plan = plan();
        plan.care = Care { retain: Retain { capacity, span: Span::from_minutes(60) }, ..Care::default() };
        page(&plan, &sample::with_findings())
    };
    assert!(with(Retained::Cordoned).contains("The old nodes are kept, empty and cordoned, for 1h00m"));
    assert!(with(Retained::Template).contains("The old launch template is kept in mind for 1h00m"));
    assert!(with(Retained::None).contains("Nothing of the old nodes is kept"));
    let mut back = plan();
    back.on_failure = OnFailure::Rollback;
    assert!(
        page(&back, &sample::with_findings()).contains("If the run cannot go on, it goes back by itself.")
    );
}
