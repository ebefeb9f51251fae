//! The rehearsal of an upgrade for a person.

use replank_rehearse::Verdict;

use super::Rehearsed;
use super::chain::{Came, Passed};
use crate::coverage;
use crate::report::words::{count, span};
use crate::report::{Look, Page, Tone};
use crate::upgrade::plan::words;

pub(super) fn text(rehearsed: &Rehearsed, look: Look) -> String {
    let mut page = Page::new(look);
    let plan = &rehearsed.plan;
    let tone = match rehearsed.verdict() {
        Verdict::Passes => Tone::Good,
        Verdict::Findings | Verdict::Partial => Tone::Warning,
        Verdict::Incomplete | Verdict::Blocked | Verdict::Refused => Tone::Bad,
    };
    let verdict = page.paint(rehearsed.verdict().as_str(), tone);
    page.heading(
        &format!("Upgrade {} to {}, rehearsed", plan.survey.control_plane.version, plan.to),
        &verdict,
    );
    page.wrapped(
        2,
        &format!("{}, from {}, seed {}", rehearsed.name, rehearsed.start, rehearsed.seed),
        Tone::Faint,
    );
    let sum = |of: fn(&Passed) -> usize| rehearsed.passed.iter().map(of).sum::<usize>();
    page.wrapped(
        2,
        &format!(
            "{} in virtual time: {} of {} taken, {} replaced, {} moved, {} of disruption budgets",
            span(rehearsed.took()),
            rehearsed.passed.iter().filter(|passed| !matches!(passed.came, Came::NotBegun(_))).count(),
            count(plan.steps.len(), "step"),
            count(sum(|passed| passed.replaced), "node"),
            count(sum(|passed| passed.moved), "pod"),
            count(sum(|passed| passed.violations), "violation"),
        ),
        Tone::Plain,
    );
    page.heading("Steps", "each starts from the state the previous one left");
    for (index, step) in plan.steps.iter().enumerate() {
        page.gap();
        let title = words::title_done(&step.what);
        match rehearsed.passed.get(index) {
            Some(passed) => write_step(&mut page, index + 1, &title, passed, rehearsed),
            None => page.beside(
                1,
                &[
                    (&format!("{:>3}", index + 1), Tone::Faint),
                    (&title, Tone::Faint),
                    ("not reached", Tone::Faint),
                ],
            ),
        }
    }
    if !rehearsed.assumptions.is_empty() {
        page.heading("Assumptions", "");
        for one in &rehearsed.assumptions {
            page.wrapped(2, one, Tone::Faint);
        }
    }
    coverage::write(&mut page, &rehearsed.coverage);
    page.into_text()
}

fn write_step(page: &mut Page, number: usize, title: &str, passed: &Passed, rehearsed: &Rehearsed) {
    let (word, tone) = match &passed.came {
        Came::Done => ("done", Tone::Good),
        Came::AsIfCleared(_) => ("done, as if resolved", Tone::Warning),
        Came::LeftToProvisioner => ("assumed done", Tone::Note),
        Came::Blocked(_) => ("blocked", Tone::Bad),
        Came::NotBegun(_) => ("not started", Tone::Bad),
    };
    let at = format!("at {}", span(passed.begun - rehearsed.start));
    let took = format!("took {}", span(passed.took));
    let mut parts = vec![
        (format!("{number:>3}"), Tone::Faint),
        (title.to_owned(), Tone::Strong),
        (word.to_owned(), tone),
    ];
    match &passed.came {
        Came::NotBegun(_) | Came::LeftToProvisioner => parts.push((at, Tone::Faint)),
        Came::Done | Came::AsIfCleared(_) | Came::Blocked(_) => {
            parts.extend([(at, Tone::Faint), (took, Tone::Faint)]);
        }
    }
    let parts: Vec<(&str, Tone)> = parts.iter().map(|(text, tone)| (text.as_str(), *tone)).collect();
    page.beside(1, &parts);
    match &passed.came {
        Came::Done | Came::LeftToProvisioner => {}
        Came::AsIfCleared(why) | Came::Blocked(why) | Came::NotBegun(why) => {
            for one in why {
                page.wrapped(6, one, tone);
            }
        }
    }
    if passed.replaced > 0 {
        page.wrapped(
            6,
            &format!(
                "{} replaced, {} moved, {} of disruption budgets",
                count(passed.replaced, "node"),
                count(passed.moved, "pod"),
                count(passed.violations, "violation")
            ),
            Tone::Plain,
        );
    }
    if passed.unready > 0 {
        page.wrapped(
            6,
            &format!(
                "{} more than before the first step are not Ready when it is over",
                count(passed.unready, "pod")
            ),
            Tone::Warning,
        );
    }
    for one in &passed.fails {
        page.wrapped(6, &format!("fails: {one}"), Tone::Warning);
    }
}
