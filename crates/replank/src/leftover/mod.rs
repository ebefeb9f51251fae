//! `replank leftover`: what runs have written on nodes and groups and not taken off, and what clears it.

mod found;
mod groups;
mod json;

use found::{Found, object};
use replank_facts::coverage::Question;
use replank_facts::leftover;
use replank_facts::leftover::{Leftover, State};
#[cfg(test)]
mod tests;

use replank_model::delta::Delta;
use replank_model::text::RunId;
use std::collections::BTreeSet;

use crate::cli::LeftoverArgs;
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::report::words::count;
use crate::report::{Look, Page, Tone};
use crate::snapshot::{self, HOW_TO_SNAPSHOT, Origin};

/// Looks, and prints what was left.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &LeftoverArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let Some(origin) = Origin::of(&args.snapshots, &args.live)? else {
        return Err(Failure::usage_message("no snapshot to read").next(HOW_TO_SNAPSHOT));
    };
    // The groups first: a mistake there is found in no time, and a large snapshot takes a while.
    let groups = args.groups.as_deref().map(groups::read).transpose()?;
    let with_groups = groups.is_some();
    let snapshot::Input { sources, name, .. } = origin.read(printer)?;
    let snapshot::Cluster { mut view, now, coverage, .. } =
        snapshot::read_at(sources, &args.read, args.now, Question::Leftovers, printer)?;
    for group in groups.into_iter().flatten() {
        view.apply(Delta::Group(group.into()));
    }
    let mut left = leftover::find(&view, now);
    if let Some(run) = &args.run {
        left.retain(|one| one.run.as_ref() == Some(run));
    }
    if args.expired {
        left.retain(Leftover::is_expired);
    }
    let found = Found { name, now, with_groups, left, coverage };
    let text = match args.output {
        AnswerFormat::Text => {
            text(&found, printer.look()) + &coverage::section(&found.coverage, printer.look())
        }
        AnswerFormat::Json => json::json(&found)?,
    };
    printer.data(&text)?;
    let exit = if found.left.is_empty() { Exit::Passes } else { Exit::Findings };
    Ok(coverage::end(&found.coverage, exit))
}

fn text(found: &Found, look: Look) -> String {
    let mut page = Page::new(look);
    let summary = match found.left.as_slice() {
        [] => page.paint("nothing", Tone::Good),
        some => summary(some),
    };
    page.heading("Leftover", &summary);
    page.wrapped(2, &format!("{} at {}", found.name, found.now), Tone::Faint);
    for one in &found.left {
        write_one(&mut page, one);
    }
    page.gap();
    if !found.with_groups {
        let how = "tags of node groups were not checked: a snapshot does not contain them. Add --groups FILE with the output of `aws autoscaling describe-auto-scaling-groups`";
        page.wrapped(0, how, Tone::Faint);
    }
    if found.left.iter().any(|one| matches!(one.state, State::Running { .. })) {
        let how =
            "valid marks belong to a run that is active or has died: remove them only if no run is active";
        page.wrapped(0, how, Tone::Faint);
    }
    page.into_text()
}

/// `4 of runs r1 and r2: 3 expired, 1 valid`
fn summary(left: &[Leftover]) -> String {
    let runs: BTreeSet<&RunId> = left.iter().filter_map(|one| one.run.as_ref()).collect();
    let runs: Vec<String> = runs.into_iter().map(ToString::to_string).collect();
    let of = match runs.as_slice() {
        [] => String::new(),
        [only] => format!(" of run {only}"),
        [one, other] => format!(" of runs {one} and {other}"),
        [first, rest @ ..] => format!(" of run {first} and {}", count(rest.len(), "other")),
    };
    let number = |is: fn(&State) -> bool, word: &str| {
        let number = left.iter().filter(|one| is(&one.state)).count();
        (number > 0).then(|| format!("{number} {word}"))
    };
    let parts: Vec<String> = [
        number(|state| matches!(state, State::Expired { .. }), "expired"),
        number(|state| matches!(state, State::Running { .. }), "valid"),
        number(|state| matches!(state, State::Unreadable), "unreadable"),
        number(|state| matches!(state, State::Newer { .. }), "of a newer Replank"),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!("{}{of}: {}", count(left.len(), "object"), parts.join(", "))
}

fn write_one(page: &mut Page, one: &Leftover) {
    page.gap();
    let tone = match one.state {
        State::Running { .. } | State::Newer { .. } => Tone::Note,
        State::Expired { .. } | State::Unreadable => Tone::Warning,
    };
    page.beside(2, &[(one.state.as_str(), tone), (&object(one), Tone::Strong)]);
    page.wrapped(4, &one.to_string(), Tone::Plain);
    if let Some(stays) = &one.stays {
        page.wrapped(4, stays, Tone::Plain);
    }
    if !one.lines.is_empty() {
        page.wrapped(4, "to remove it:", Tone::Faint);
        for line in &one.lines {
            page.verbatim(6, line, Tone::Plain);
        }
    }
}
