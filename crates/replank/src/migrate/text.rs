//! The report, for a person.

use replank_core::migrate::Path;
use replank_model::time::Span;
use replank_protocol::decision::End;
use replank_protocol::hindrance::Hindrance;
use replank_rehearse::{MigrationResult, Served};

use super::report::{Report, is_nothing_to_move};
use crate::report::words::{count, span};
use crate::report::{Cell, Lean, Look, Page, Tone};

/// Where texts beside labels begin.
const BESIDE: usize = 16;

pub(super) fn text(report: &Report, look: Look) -> String {
    let mut page = Page::new(look);
    let (verdict, tone) = verdict(report);
    let verdict = page.paint(&verdict, tone);
    page.heading("Migration", &verdict);
    page.wrapped(
        2,
        &format!("{} {} in {} at {}", report.kind.kind(), report.key, report.name, report.now),
        Tone::Faint,
    );
    page.labelled(BESIDE, "selects", &report.before);
    if report.is_handed_over {
        page.labelled(BESIDE, "target", "handed over to a Rollout that references its template");
    } else {
        page.labelled(BESIDE, "new selector", &report.after);
    }
    for writer in &report.writers {
        let what = format!("{} writes it as {}: change what it writes", writer.who, writer.version);
        page.labelled(BESIDE, "written by", &what);
    }
    if is_nothing_to_move(report) {
        page.heading("Paths", "");
        let word = if report.is_handed_over { "rollout" } else { "apply" };
        for why in &report.judgement.both {
            page.labelled(BESIDE, word, &why.to_string());
        }
        return page.into_text();
    }
    ways(&mut page, report);
    if let Some(result) = &report.result {
        steps(&mut page, result);
        services(&mut page, &result.services);
        pods(&mut page, report, result);
        by_hand(&mut page, result);
        assumptions(&mut page, result);
    }
    page.into_text()
}

fn verdict(report: &Report) -> (String, Tone) {
    if is_nothing_to_move(report) {
        return ("nothing to move".to_owned(), Tone::Good);
    }
    let Some(result) = &report.result else { return ("no path is possible".to_owned(), Tone::Bad) };
    let took = span(result.took);
    let without: Vec<&Served> = result.services.iter().filter(|service| service.was_without()).collect();
    match &result.end {
        Some(End::Done) if without.is_empty() => (format!("done in {took}, without downtime"), Tone::Good),
        Some(End::Done) => {
            let names: Vec<String> = without.iter().map(|service| service.service.to_string()).collect();
            (format!("done in {took}, with downtime: no endpoints behind {}", names.join(", ")), Tone::Bad)
        }
        Some(End::RolledBack(_)) => (format!("rolled back after {took}"), Tone::Bad),
        Some(End::Cancelled(_)) => (format!("cancelled after {took}"), Tone::Warning),
        Some(End::Blocked(_) | End::Refused(_)) => (format!("blocked after {took}"), Tone::Bad),
        None => (format!("not finished after {took}"), Tone::Bad),
    }
}

fn ways(page: &mut Page, report: &Report) {
    page.heading("Paths", "");
    for hindrance in &report.judgement.both {
        page.labelled(BESIDE, "none", &hindrance.to_string());
    }
    if !report.judgement.both.is_empty() {
        return;
    }
    for (path, hindrances) in &report.judgement.ways {
        way(page, *path, hindrances, report);
    }
}

fn way(page: &mut Page, path: Path, hindrances: &[Hindrance], report: &Report) {
    let is_taken = report.path == Ok(path);
    match hindrances {
        [] => {
            let what = match path {
                Path::Keep => "deleted with orphaned dependents, then recreated: the pods stay",
                Path::Twin => "a temporary copy serves while it is recreated: all pods are new",
                Path::Rollout => {
                    "a Rollout takes over, the Deployment stays with 0 replicas: all pods are new"
                }
            };
            let what = if is_taken { format!("chosen: {what}") } else { format!("possible: {what}") };
            page.labelled(BESIDE, path.as_str(), &what);
        }
        some => {
            for (number, hindrance) in some.iter().enumerate() {
                let label = if number == 0 { path.as_str() } else { "" };
                page.labelled(BESIDE, label, &format!("not possible: {hindrance}"));
            }
        }
    }
}

fn steps(page: &mut Page, result: &MigrationResult) {
    page.heading("Steps", &format!("{} of virtual time", span(result.took)));
    for step in &result.steps {
        let what = match &step.refused {
            None => step.what.clone(),
            Some(why) => format!("{}: {why}", step.what),
        };
        page.labelled(BESIDE, &moment(step.at), &what);
    }
    for waiting in &result.waiting {
        if result.end != Some(End::Done) {
            let label = if waiting.on.finality().is_some() { "blocked" } else { "waits for" };
            page.labelled(BESIDE, label, &waiting.on.reason().to_string());
        }
    }
}

/// `0:01:07`
fn moment(at: Span) -> String {
    let seconds = at.as_millis() / 1_000;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn services(page: &mut Page, services: &[Served]) {
    if services.is_empty() {
        page.heading("Services", "no Service selects its pods");
        return;
    }
    page.heading("Services", "ready endpoints");
    let head = ["SERVICE", "BEFORE", "FEWEST", "AFTER"].map(|text| (text.to_owned(), Tone::Faint));
    let mut rows: Vec<Vec<Cell>> = vec![head.to_vec()];
    rows.extend(services.iter().map(|service| {
        let fewest = if service.was_without() { Tone::Bad } else { Tone::Plain };
        vec![
            (service.service.to_string(), Tone::Plain),
            (service.before.to_string(), Tone::Plain),
            (service.fewest.to_string(), fewest),
            (service.after.to_string(), Tone::Plain),
        ]
    }));
    page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right], &rows);
}

fn pods(page: &mut Page, report: &Report, result: &MigrationResult) {
    page.heading("Pods", &format!("{} of {} kept", result.kept, result.pods));
    page.labelled(BESIDE, "at most", &format!("{} at one moment", count(result.pods_max, "pod")));
    if report.path != Ok(Path::Rollout) {
        let absent = span(result.absent);
        let (kind, nobody) = (report.kind.kind(), "no rollout is possible meanwhile");
        let absent = format!("{absent} without a {kind} of that name: {nobody}");
        page.labelled(BESIDE, "away", &absent);
    }
    for autoscaler in &result.autoscalers {
        let what = match report.path {
            Ok(Path::Keep) => "has no scale target while it is away",
            Ok(Path::Twin) => "scales the twin while it is away, and the Deployment again afterwards",
            Ok(Path::Rollout) => "scales the Rollout instead",
            Err(_) => continue,
        };
        page.labelled(BESIDE, "autoscaler", &format!("{autoscaler} {what}"));
    }
}

/// The same as commands to be pasted, with the manifests that they read.
fn by_hand(page: &mut Page, result: &MigrationResult) {
    let steps: Vec<_> =
        result.steps.iter().filter(|step| step.refused.is_none() && step.command.is_some()).collect();
    if steps.is_empty() || result.end != Some(End::Done) {
        return;
    }
    page.heading(
        "By hand",
        "the same with kubectl; before each step, wait for the state that the time above stands for",
    );
    for step in steps {
        page.gap();
        page.wrapped(2, &format!("at {}: {}", moment(step.at), step.what), Tone::Faint);
        let command = step.command.as_deref().unwrap_or_default();
        let Some(manifest) = &step.manifest else {
            page.verbatim(2, command, Tone::Note);
            continue;
        };
        page.verbatim(2, &format!("{command} <<'EOF'"), Tone::Note);
        page.verbatim(0, &manifest.to_string(), Tone::Note);
        page.verbatim(0, "EOF", Tone::Note);
    }
}

fn assumptions(page: &mut Page, result: &MigrationResult) {
    if result.assumptions.is_empty() {
        return;
    }
    page.heading("Assumptions", "");
    for assumption in &result.assumptions {
        page.wrapped(2, &format!("{}: {}", assumption.about, assumption.value), Tone::Faint);
    }
}
