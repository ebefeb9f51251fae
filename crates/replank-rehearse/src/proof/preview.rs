//! The objects that changes touch, before and after.

use replank_facts::plan::Plan;
use replank_facts::remedy::{Edit, Target, Way};
use serde_json::Value;

use super::copy::Copy;
use super::ground::Ground;
use crate::by_hand::applied;

/// One object, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// What it is; the plan where it is none.
    pub object: String,
    /// As it was; none where it is new.
    pub before: Option<Value>,
    /// As it is then; none where it is deleted.
    pub after: Option<Value>,
}

/// Makes changes on one copy, one way after the other, and shows what each touches; or with what words it is refused after those before it.
#[must_use]
pub fn preview(ground: &Ground, ways: &[&Way]) -> Vec<Result<Vec<Preview>, String>> {
    let mut copy = Copy::of(ground);
    ways.iter().map(|way| one(&mut copy, &way.edits)).collect()
}

fn one(copy: &mut Copy, edits: &[Edit]) -> Result<Vec<Preview>, String> {
    let mut targets: Vec<Target> = Vec::new();
    for target in edits.iter().flat_map(Edit::targets) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let before: Vec<Option<Value>> =
        targets.iter().map(|target| copy.defaulted(target).map(applied)).collect();
    let plan = |copy: &Copy| copy.plan().map(Plan::to_json);
    let plan_before = plan(copy);
    for edit in edits {
        copy.make(edit)?;
    }
    let plan_after = plan(copy);
    let mut previews = Vec::new();
    if plan_before != plan_after {
        previews.push(Preview { object: "plan".to_owned(), before: plan_before, after: plan_after });
    }
    for (target, before) in targets.iter().zip(before) {
        let after = copy.object(target).map(applied);
        previews.push(Preview { object: target.to_string(), before, after });
    }
    Ok(previews)
}
