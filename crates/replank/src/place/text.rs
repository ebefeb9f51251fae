//! Answers for a person.

use replank_advice::place::{Change, Copies, DaemonRow, Outcome, Remedy, UnschedulablePod, Wanted};
use replank_model::object::pod::PodSpec;
use replank_schedule::{Nomination, Verdict};

use super::table::{self, Marks};
use super::{Found, Question, Why};
use crate::cli::PlaceArgs;
use crate::output::PlaceFormat;
use crate::report::words::{count, grouped};
use crate::report::{Look, Page, Tone};

/// Nodes of copies, and pods that would be evicted, that are listed.
const LISTED_MAX: usize = 12;

/// All answers.
pub(super) fn questions(args: &PlaceArgs, questions: &[Question], look: Look) -> String {
    let mut page = Page::new(look);
    for question in questions {
        page.gap();
        match &question.result {
            Found::Pod { answer, why, copies, remedies } => {
                head(&mut page, question, &summary(&answer.outcome, answer.rows.len()));
                rows(&mut page, args, &answer.rows, &Marks { best: &answer.best, unwanted: &[] }, why);
                outcome(&mut page, &answer.outcome);
                if let Some(copies) = copies {
                    write_copies(&mut page, copies);
                }
                let stuck = copies.as_ref().and_then(|copies| copies.stopped.as_ref());
                let spec = stuck.map_or(&answer.pod.spec, |(pod, _)| &pod.spec);
                if stuck.is_some() || matches!(answer.outcome, Outcome::DoesNotFit(_)) {
                    write_remedies(&mut page, question, remedies, spec);
                }
            }
            Found::PerNode { rows, why } => per_node(&mut page, args, question, rows, why),
        }
    }
    page.into_text()
}

/// Names of the nodes that fit, the best first.
pub(super) fn names(questions: &[Question]) -> String {
    let mut text = String::new();
    for question in questions {
        let rows = match &question.result {
            Found::Pod { answer, .. } => answer.rows.clone(),
            Found::PerNode { rows, .. } => {
                rows.iter().filter(|row| row.wanted == Wanted::Yes).map(|row| row.row.clone()).collect()
            }
        };
        for row in table::sorted(&rows) {
            match row.verdict {
                Verdict::Fits(_) => text.push_str(&format!("node/{}\n", row.node)),
                Verdict::Fails { .. } => {}
            }
        }
    }
    text
}

fn head(page: &mut Page, question: &Question, summary: &(String, Tone)) {
    let summary = page.paint(&summary.0, summary.1);
    page.heading(&question.object, &summary);
    for note in &question.notes {
        page.wrapped(0, note, Tone::Faint);
    }
    page.gap();
}

fn summary(outcome: &Outcome, nodes: usize) -> (String, Tone) {
    let all = count(nodes, "node");
    match outcome {
        Outcome::Fits(feasible) => (format!("fits on {} of {all}", grouped(*feasible)), Tone::Good),
        Outcome::Gated { feasible, .. } => {
            (format!("waits for its gates; then it fits on {} of {all}", grouped(*feasible)), Tone::Warning)
        }
        Outcome::DoesNotFit(_) => (format!("fits on none of {all}"), Tone::Bad),
        Outcome::Error(_) => ("cannot be placed: the scheduler reports an error".to_owned(), Tone::Bad),
    }
}

fn rows(
    page: &mut Page,
    args: &PlaceArgs,
    rows: &[replank_advice::place::Row],
    marks: &Marks<'_>,
    why: &Why,
) {
    if table::is_folded(rows.len(), args) {
        table::folded(page, rows, marks, why);
    } else {
        table::nodes(page, rows, marks, why, args.output == PlaceFormat::Wide);
    }
}

fn outcome(page: &mut Page, outcome: &Outcome) {
    match outcome {
        Outcome::Fits(_) => {}
        Outcome::Gated { gates, .. } => {
            page.gap();
            let gates = gates.iter().map(|gate| &**gate).collect::<Vec<_>>().join(", ");
            page.line(&format!("Scheduling is blocked due to non-empty scheduling gates: {gates}"));
        }
        Outcome::DoesNotFit(unschedulable) => {
            page.gap();
            write_unschedulable(page, unschedulable);
        }
        Outcome::Error(error) => {
            page.gap();
            page.line(&error.to_string());
        }
    }
}

/// The scheduler's words, in one line, as its event has them.
fn write_unschedulable(page: &mut Page, unschedulable: &UnschedulablePod) {
    page.line(&unschedulable.message);
    if let Some(nomination) = &unschedulable.preemption {
        page.wrapped(0, &preemption(nomination), Tone::Warning);
    }
}

/// Whom preemption would evict.
pub(super) fn preemption(nomination: &Nomination) -> String {
    let mut victims: Vec<String> =
        nomination.victims.iter().take(LISTED_MAX).map(ToString::to_string).collect();
    if nomination.victims.len() > LISTED_MAX {
        victims.push(format!("{} more", nomination.victims.len() - LISTED_MAX));
    }
    let budgets = match nomination.violations {
        0 => String::new(),
        number => format!(", {number} of them against a disruption budget"),
    };
    format!("preemption makes room on {}: evicts {}{budgets}", nomination.node, victims.join(", "))
}

fn write_copies(page: &mut Page, copies: &Copies) {
    page.gap();
    let tone = if copies.stopped.is_none() { Tone::Good } else { Tone::Bad };
    let placed = format!("{} of {} fit", grouped(copies.placed.len()), grouped(copies.asked));
    let placed = page.paint(&placed, tone);
    page.heading("Copies", &placed);
    let by_node = copies.by_node();
    let mut most: Vec<_> = by_node.into_iter().collect();
    most.sort_by_key(|(node, number)| (std::cmp::Reverse(*number), (*node).clone()));
    let mut lines: Vec<Vec<(String, Tone)>> = most
        .iter()
        .take(LISTED_MAX)
        .map(|(node, number)| vec![(number.to_string(), Tone::Strong), (node.to_string(), Tone::Plain)])
        .collect();
    if most.len() > LISTED_MAX {
        let (nodes, pods) =
            (most.len() - LISTED_MAX, most[LISTED_MAX..].iter().map(|(_, n)| n).sum::<usize>());
        lines.push(vec![(pods.to_string(), Tone::Strong), (format!("on {nodes} more nodes"), Tone::Faint)]);
    }
    let titles = ["PODS", "NODE"].map(|title| (title.to_owned(), Tone::Faint)).to_vec();
    if !lines.is_empty() {
        table::write(page, &[vec![titles], lines].concat());
    }
    if let Some((_, unschedulable)) = &copies.stopped {
        page.gap();
        page.line(&format!("copy {}: {}", copies.placed.len() + 1, unschedulable.message));
        if let Some(nomination) = &unschedulable.preemption {
            page.wrapped(0, &preemption(nomination), Tone::Warning);
        }
    }
}

fn write_remedies(page: &mut Page, question: &Question, remedies: &[Remedy], spec: &PodSpec) {
    page.gap();
    if remedies.is_empty() {
        page.wrapped(
            0,
            "No change of the pod, a node or a group was found that makes it fit.",
            Tone::Warning,
        );
        return;
    }
    page.heading("To make it fit", "any one of these; each was tested");
    let mut has_yaml = false;
    for (number, remedy) in remedies.iter().enumerate() {
        let is_new = remedy.changes.iter().any(|change| matches!(change, Change::AddNode { .. }));
        let then = match remedy.feasible {
            1 if is_new => "then it goes to the new node".to_owned(),
            1 => format!("then it goes to {}", remedy.node),
            feasible => format!("then it fits on {}", count(feasible, "node")),
        };
        page.labelled(5, &format!("{}", number + 1), &remedy.to_string());
        page.wrapped(5, &then, Tone::Faint);
        for line in remedy.paste(spec) {
            has_yaml |= !line.starts_with("kubectl");
            page.verbatim(7, &line, Tone::Note);
        }
    }
    if let (true, Some(workload)) = (has_yaml, &question.editable) {
        page.gap();
        page.wrapped(0, &format!("YAML goes below spec.template.spec of {workload}."), Tone::Faint);
    }
}

fn per_node(page: &mut Page, args: &PlaceArgs, question: &Question, daemons: &[DaemonRow], why: &Why) {
    let wanted: Vec<&DaemonRow> = daemons.iter().filter(|row| row.wanted == Wanted::Yes).collect();
    let fitting = wanted.iter().filter(|row| matches!(row.row.verdict, Verdict::Fits(_))).count();
    let tone = if fitting == wanted.len() { Tone::Good } else { Tone::Bad };
    let unwanted = match daemons.len() - wanted.len() {
        0 => String::new(),
        number => {
            format!("; no pod is created for {}, which selector, affinity or taints exclude", grouped(number))
        }
    };
    let summary =
        format!("its pods fit on {} of {}{unwanted}", grouped(fitting), count(wanted.len(), "node"));
    head(page, question, &(summary, tone));
    let all: Vec<_> = daemons.iter().map(|row| row.row.clone()).collect();
    let unwanted: Vec<_> = daemons.iter().filter(|row| row.wanted == Wanted::No).collect();
    let unwanted: Vec<_> = unwanted.into_iter().map(|row| row.row.node.clone()).collect();
    rows(page, args, &all, &Marks { best: &[], unwanted: &unwanted }, why);
}
