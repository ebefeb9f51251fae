//! The plan for a ticket.

use std::fmt::Write as _;

use replank_advice::upgrade::finding::Finding;
use replank_advice::upgrade::plan::Step;
use replank_lifecycle::calendar::Day;

use super::{Planned, words};
use crate::coverage;
use crate::report::markdown::{escape, remedy};
use crate::report::words::{count, span};

pub(super) fn markdown(planned: &Planned) -> String {
    let plan = &planned.plan;
    let from = plan.survey.control_plane.version;
    let cluster = planned.cluster.as_deref().unwrap_or("the cluster");
    let mut page = format!("# Upgrade of {} from {from} to {}\n\n", escape(cluster), plan.to);
    let (known, unknown) = plan.takes();
    let blocked = words::blocked_steps(&plan.steps);
    let numbers: Vec<String> = blocked.iter().map(ToString::to_string).collect();
    let verdict = match blocked.as_slice() {
        [] if !planned.coverage.complete => {
            "**Incomplete: nothing blocks in what was seen (see Coverage).**".to_owned()
        }
        [] => "Nothing blocks.".to_owned(),
        _ => format!("**Blocked before step {}.**", numbers.join(", ")),
    };
    let support = words::support(&planned.calendar, from, Day::of(planned.now));
    let support = support.map(|support| format!(" EKS support of {from}: {support}.")).unwrap_or_default();
    line(
        &mut page,
        &format!(
            "{verdict} {} in {}{}.{support} Control plane {from}: {}.\n",
            span(known),
            count(plan.steps.len() - unknown, "step"),
            if unknown > 0 {
                format!(", plus {} of unknown duration", count(unknown, "step"))
            } else {
                String::new()
            },
            words::known_by(plan.survey.control_plane.known_by)
        ),
    );
    if let Some(open) = &plan.way_back {
        line(&mut page, &format!("Rollback: {}.\n", escape(&words::way_back(open))));
    }
    line(
        &mut page,
        "## Routes for the nodes\n\n| route | rolls | pods that move | time |\n|---|---|---|---|",
    );
    for (index, route) in plan.routes.iter().enumerate() {
        let [rolls, pods, time] = words::figures(route);
        let chosen = if index == 0 { " (chosen)" } else { "" };
        line(&mut page, &format!("| {}{chosen} | {rolls} | {pods} | {time} |", route.way.word()));
    }
    line(&mut page, "\n## Steps\n");
    for (index, step) in plan.steps.iter().enumerate() {
        write_step(&mut page, index + 1, step, planned);
    }
    if !plan.inventory.is_empty() {
        line(&mut page, "## Controllers\n\n| controller | workload | image | |\n|---|---|---|---|");
        for one in &plan.inventory {
            let (kind, key) = &one.workload;
            line(
                &mut page,
                &format!(
                    "| {} | {kind} {key} | `{}` | {} |",
                    one.known.name,
                    one.image,
                    escape(&words::goes(one, plan.to))
                ),
            );
        }
        page.push('\n');
    }
    if !plan.unknown.is_empty() {
        line(&mut page, "## Not checked\n");
        for one in &plan.unknown {
            line(&mut page, &format!("- {}", escape(one)));
        }
    }
    page.push_str(&coverage::markdown(&planned.coverage));
    page
}

fn write_step(page: &mut String, number: usize, step: &Step, planned: &Planned) {
    line(
        page,
        &format!("### {number}. {} ({})\n", escape(&words::title(&step.what)), words::takes(step.takes)),
    );
    for finding in &step.findings {
        write_finding(page, finding, planned);
    }
    if let Some(command) = words::command(&step.what, planned) {
        page.push_str(&remedy(&command));
        page.push('\n');
    }
    if let Some(back) = words::back(&step.back) {
        line(page, &format!("Rollback: {}.\n", escape(&back)));
    }
}

fn write_finding(page: &mut String, finding: &Finding, planned: &Planned) {
    let not_seen = words::not_seen(finding, planned).map_or_else(String::new, |words| format!("; {words}"));
    line(
        page,
        &format!(
            "- **{}** {} [{}]: {}{}",
            finding.severity,
            escape(&finding.object.to_string()),
            finding.rule,
            escape(&finding.reason),
            escape(&not_seen)
        ),
    );
    page.push_str(&remedy(&finding.remedy.text()));
    page.push('\n');
}

fn line(page: &mut String, line: &str) {
    writeln!(page, "{line}").expect("a text takes everything");
}
