//! `rehearse --with-remedies`: the proved changes of findings are made first, and the roll is rehearsed after them.

use replank_advice::check::Rule;
use replank_facts::remedy::Way;
use replank_rehearse::proof::{Changed, Ground, apply};

use super::run::stops;
use super::scene::Scene;
use crate::check::{Asked, Found};
use crate::failure::Failure;
use crate::printer::Printer;

/// The scene after the changes that were asked for.
///
/// # Errors
/// Where nothing of a rule was proved.
pub(super) fn made(scene: Scene, asked: &[Asked], printer: &mut Printer) -> Result<Scene, Failure> {
    if asked.is_empty() {
        return Ok(scene);
    }
    let is_all = asked.contains(&Asked::All);
    let is_asked = |rule: Rule| is_all || asked.contains(&Asked::Of(rule));
    let found = Found::proved(scene.ground(), &scene.group_by, &|ground: &Ground| stops(&scene, ground));
    let pairs = || found.findings.iter().zip(&found.proofs).filter(|(finding, _)| is_asked(finding.rule));
    let ways: Vec<&Way> = pairs().filter_map(|(finding, proofs)| proofs.way(&finding.remedy)).collect();
    if ways.is_empty() && is_all {
        printer.story("no change was proved: rehearsed as it is");
        return Ok(scene);
    }
    if ways.is_empty() {
        let number = pairs().count();
        let why = if number == 0 { "nothing was found of it" } else { "no change of it could be proved" };
        let ids: Vec<&str> = asked.iter().map(|one| one.told()).collect();
        return Err(Failure::usage_message(format!("--with-remedies {}: {why}", ids.join(",")))
            .next("replank check shows the findings, and which of them have proved changes"));
    }
    let Changed { ground, made, refused } = apply(&found.ground, &ways);
    for edit in &made {
        let way = ways.iter().find(|way| way.edits.first() == Some(edit));
        let note = way.map(|way| &way.note).filter(|note| !note.is_empty());
        let note = note.map_or_else(String::new, |note| format!("   # {note}"));
        printer.story(&format!("changed first: {edit}{note}"));
    }
    for (edit, why) in &refused {
        printer.warning(&format!("not changed after those before it: {edit}: {why}"));
    }
    let plan = ground.plan.unwrap_or_else(|| scene.plan.clone());
    let remedies = made.iter().map(ToString::to_string).collect();
    Ok(Scene { view: ground.view, now: ground.now, facts: ground.facts, plan, remedies, ..scene })
}
