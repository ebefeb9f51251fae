//! `replank diff`: what was rehearsed beside what happened.

use replank_journal::{Comparison, Tale, differences};
use replank_model::time::Span;

use super::args::DiffArgs;
use super::rehearsed;
use super::source::{Told, either, title};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::report::words::{count, span};
use crate::report::{Look, Page, Tone};

/// Compares two journals.
///
/// # Errors
/// Where one of the files is no journal.
pub(crate) fn run(args: &DiffArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let (first, second) = match (either(&args.first, printer)?, either(&args.second, printer)?) {
        (Told::Journal(first), Told::Journal(second)) => (Tale::of(&first), Tale::of(&second)),
        (Told::Rehearsed(first), Told::Rehearsed(second)) => {
            return rehearsed::compare(args, &first, &second, printer);
        }
        (
            Told::Journal(_) | Told::Rehearsed(_) | Told::Seeds(_),
            Told::Journal(_) | Told::Rehearsed(_) | Told::Seeds(_),
        ) => {
            return Err(Failure::usage_message("the two files are not of one kind")
                .next("pass two journals, or two files of `replank rehearse -o json` without --seeds"));
        }
    };
    if args.html.is_some() {
        return Err(Failure::usage_message("a page compares two rehearsals, not two journals")
            .next("pass two files of `replank rehearse -o json`, or leave out --html"));
    }
    let compared = differences([&first, &second], f64::from(args.tolerance) / 100.0);
    match args.output {
        AnswerFormat::Text => {
            let look = printer.look();
            printer.data(&text([&first, &second], &compared, look))?;
        }
        AnswerFormat::Json => {
            let json = serde_json::to_string_pretty(&compared).map_err(Failure::internal)?;
            printer.data(&format!("{json}\n"))?;
        }
    }
    Ok(if compared.differences.is_empty() { Exit::Passes } else { Exit::Findings })
}

fn text(tales: [&Tale; 2], compared: &Comparison, look: Look) -> String {
    let mut page = Page::new(look);
    let summary = match compared.differences.len() {
        0 => page.paint("alike", Tone::Good),
        some => page.paint(&count(some, "difference"), Tone::Warning),
    };
    page.heading("Diff", &summary);
    for (label, (index, tale)) in ["first", "second"].into_iter().zip(tales.into_iter().enumerate()) {
        let pods = count(compared.pods[index], "pod");
        let refused = count(compared.refused[index], "eviction");
        let took = span(compared.took[index]);
        page.labelled(
            2,
            &format!("{label:<7}"),
            &format!("{}: {took}, {pods}, {refused} refused", title(tale)),
        );
    }
    page.wrapped(
        2,
        &format!("{} with evicted pods in both{}", count(compared.nodes, "node"), apart(compared.took)),
        Tone::Faint,
    );
    if !compared.differences.is_empty() {
        page.gap();
    }
    for difference in &compared.differences {
        page.wrapped(2, &difference.to_string(), Tone::Plain);
    }
    page.into_text()
}

/// `; the second took 1.3 % longer`
fn apart([first, second]: [Span; 2]) -> String {
    if first <= Span::ZERO || first == second {
        return String::new();
    }
    let percent = (second.as_secs_f64() / first.as_secs_f64() - 1.0) * 100.0;
    let word = if percent < 0.0 { "less" } else { "longer" };
    format!("; the second took {:.1} % {word}", percent.abs())
}
