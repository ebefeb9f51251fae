//! The plan for a person.

use replank_advice::upgrade::finding::{Finding, Severity};
use replank_advice::upgrade::plan::{Step, What};
use replank_lifecycle::calendar::Day;

use super::{Planned, words};
use crate::coverage;
use crate::report::words::{count, span};
use crate::report::{Cell, Lean, Look, Page, Tone};

/// The plan as text.
pub(crate) fn text(planned: &Planned, look: Look) -> String {
    let mut page = Page::new(look);
    head(&mut page, planned);
    routes(&mut page, planned);
    steps(&mut page, planned);
    inventory(&mut page, planned);
    unknown(&mut page, planned);
    coverage::write(&mut page, &planned.coverage);
    page.into_text()
}

fn head(page: &mut Page, planned: &Planned) {
    let plan = &planned.plan;
    let from = plan.survey.control_plane.version;
    let blocked = words::blocked_steps(&plan.steps);
    let verdict = match blocked.as_slice() {
        [] if plan.steps.is_empty() => page.paint("nothing to do", Tone::Good),
        [] if !planned.coverage.complete => {
            page.paint("incomplete: nothing blocks in what was seen", Tone::Bad)
        }
        [] if plan.findings().next().is_some() => page.paint("nothing blocks", Tone::Warning),
        [] => page.paint("nothing was found", Tone::Good),
        some => {
            let numbers: Vec<String> = some.iter().map(ToString::to_string).collect();
            let noun = if some.len() == 1 { "step" } else { "steps" };
            page.paint(&format!("blocked before {noun} {}", numbers.join(", ")), Tone::Bad)
        }
    };
    page.heading(&format!("Upgrade {from} to {}", plan.to), &verdict);
    let nodes: usize = plan.survey.nodes.iter().map(|nodes| nodes.nodes).sum();
    page.wrapped(
        2,
        &format!(
            "{}: control plane {from} ({}), {} in {}",
            planned.name,
            words::known_by(plan.survey.control_plane.known_by),
            count(nodes, "node"),
            count(plan.survey.nodes.len(), "group")
        ),
        Tone::Faint,
    );
    if let Some(support) = words::support(&planned.calendar, from, Day::of(planned.now)) {
        page.wrapped(2, &format!("EKS support of {from}: {support}"), Tone::Faint);
    }
    if let Some(open) = &plan.way_back {
        page.wrapped(2, &words::way_back(open), Tone::Note);
    }
    let (known, unknown) = plan.takes();
    let rest = match unknown {
        0 => String::new(),
        number => format!(", plus {} of unknown duration", count(number, "step")),
    };
    page.wrapped(
        2,
        &format!("{} in {}{rest}", span(known), count(plan.steps.len() - unknown, "step")),
        Tone::Plain,
    );
}

fn routes(page: &mut Page, planned: &Planned) {
    if planned.plan.routes.iter().all(|route| route.rolls.is_empty()) {
        return;
    }
    page.heading("Routes for the nodes", "compared by moved pods");
    let rows: Vec<Vec<Cell>> = planned
        .plan
        .routes
        .iter()
        .enumerate()
        .map(|(index, route)| {
            let [rolls, pods, time] = words::figures(route);
            let chosen = if index == 0 {
                ("chosen".to_owned(), Tone::Good)
            } else {
                (format!("--route {}", route.way.word()), Tone::Faint)
            };
            vec![
                (route.way.word().to_owned(), Tone::Strong),
                (rolls, Tone::Plain),
                (pods, Tone::Plain),
                (time, Tone::Plain),
                chosen,
            ]
        })
        .collect();
    page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right, Lean::Left], &rows);
}

fn steps(page: &mut Page, planned: &Planned) {
    let steps = &planned.plan.steps;
    if steps.is_empty() {
        return;
    }
    page.heading("Steps", "in this order; no step starts with a blocking finding");
    for (index, step) in steps.iter().enumerate() {
        page.gap();
        write_step(page, index + 1, step, planned);
    }
}

/// Column at which a step's text begins.
const AT: usize = 6;

fn write_step(page: &mut Page, number: usize, step: &Step, planned: &Planned) {
    let title = words::title(&step.what);
    let takes = words::takes(step.takes);
    page.beside(1, &[(&format!("{number:>3}"), Tone::Faint), (&title, Tone::Strong), (&takes, Tone::Faint)]);
    if let What::ControlPlane(hop) = &step.what
        && let Some(support) = words::support(&planned.calendar, hop.to, Day::of(planned.now))
    {
        page.wrapped(AT, &format!("EKS support of {}: {support}", hop.to), Tone::Faint);
    }
    for finding in &step.findings {
        write_finding(page, finding, planned);
    }
    if let Some(command) = words::command(&step.what, planned) {
        page.verbatim(AT, &command, Tone::Note);
    }
    if let Some(back) = words::back(&step.back) {
        page.wrapped(AT, &format!("rollback: {back}"), Tone::Faint);
    }
}

fn write_finding(page: &mut Page, finding: &Finding, planned: &Planned) {
    let tone = match finding.severity {
        Severity::Blocking => Tone::Bad,
        Severity::Warning => Tone::Warning,
        Severity::Info => Tone::Note,
    };
    let id = format!("[{}]", finding.rule);
    page.beside(
        AT,
        &[(finding.severity.as_str(), tone), (&finding.object.to_string(), Tone::Strong), (&id, Tone::Faint)],
    );
    page.wrapped(AT + 2, &finding.reason, Tone::Plain);
    if let Some(not_seen) = words::not_seen(finding, planned) {
        page.wrapped(AT + 2, &not_seen, Tone::Warning);
    }
    let remedy = finding.remedy.text();
    let is_command = ["kubectl ", "aws ", "replank "].iter().any(|start| remedy.starts_with(start));
    match is_command {
        true => page.verbatim(AT + 2, &remedy, Tone::Note),
        false => page.wrapped(AT + 2, &format!("→ {remedy}"), Tone::Note),
    }
}

fn inventory(page: &mut Page, planned: &Planned) {
    let plan = &planned.plan;
    if plan.inventory.is_empty() {
        return;
    }
    page.heading("Controllers", "that were installed separately and have to be updated separately");
    for one in &plan.inventory {
        let (kind, key) = &one.workload;
        page.gap();
        page.beside(2, &[(one.known.name, Tone::Strong), (&words::goes(one, plan.to), Tone::Plain)]);
        page.wrapped(4, &format!("{kind} {key}: {}", one.image), Tone::Faint);
    }
}

fn unknown(page: &mut Page, planned: &Planned) {
    if planned.plan.unknown.is_empty() {
        return;
    }
    page.heading("Not checked", "because the input is missing");
    for one in &planned.plan.unknown {
        page.wrapped(2, one, Tone::Plain);
    }
}
