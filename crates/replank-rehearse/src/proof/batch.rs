//! Which ways can be tried together.

use std::collections::BTreeMap;

use replank_facts::finding::Finding;
use replank_facts::remedy::{Edit, Target, Way};

use super::ground::Ground;

/// One way of one finding's remedy.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) finding: usize,
    pub(super) way: &'a Way,
}

/// Ways that can be made together: no two of them touch one object, or one member of the plan, unless they say the same.
pub(super) fn batches<'f, R>(
    ground: &Ground,
    findings: &'f [Finding<R>],
    number: usize,
) -> Vec<Vec<Candidate<'f>>> {
    let mut batches: Vec<(Touched, Vec<Candidate<'f>>)> = Vec::new();
    for (finding, way) in
        findings.iter().enumerate().filter_map(|(at, finding)| Some((at, finding.remedy.ways.get(number)?)))
    {
        let is_for_a_plan = |edit: &Edit| edit.of_plan().is_some();
        if ground.plan.is_none() && way.edits.iter().any(is_for_a_plan) {
            continue;
        }
        let touched = touched(way);
        let at = batches.iter().position(|(taken, _)| go_together(taken, &touched)).unwrap_or_else(|| {
            batches.push((Touched::new(), Vec::new()));
            batches.len() - 1
        });
        batches[at].0.extend(touched);
        batches[at].1.push(Candidate { finding, way });
    }
    batches.into_iter().map(|(_, batch)| batch).collect()
}

/// What is touched, and the change that does so.
pub(super) type Touched = BTreeMap<String, String>;

pub(super) fn go_together(taken: &Touched, more: &Touched) -> bool {
    more.iter().all(|(what, edit)| taken.get(what).is_none_or(|known| known == edit))
}

pub(super) fn touched(way: &Way) -> Touched {
    let of = |edit: &Edit| -> Vec<String> {
        match edit {
            Edit::Plan { members } => members.iter().map(|(path, _)| (*path).to_owned()).collect(),
            Edit::ResumeProcess { .. } => vec![edit.to_string()],
            Edit::Patch { .. }
            | Edit::Merge { .. }
            | Edit::Configure { .. }
            | Edit::Scale { .. }
            | Edit::CreateBudget { .. }
            | Edit::Delete { .. }
            | Edit::Annotate { .. }
            | Edit::Untaint { .. }
            | Edit::Uncordon { .. } => edit.targets().iter().map(Target::to_string).collect(),
        }
    };
    way.edits.iter().flat_map(|edit| of(edit).into_iter().map(|what| (what, edit.to_string()))).collect()
}
