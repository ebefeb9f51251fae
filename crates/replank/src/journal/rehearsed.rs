//! `replank diff` of two rehearsals: what another plan, or a change to the cluster, makes of it.

use replank_html::{Figure, Rehearsal, Side, comparison, figures};
use serde::Serialize;

use super::args::DiffArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::rehearse::html::save;
use crate::report::words::count;
use crate::report::{Cell, Lean, Page, Tone};

/// Two rehearsals compared, as `-o json` prints it.
#[derive(Serialize)]
struct Compared<'a> {
    figures: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    what: &'a str,
    first: &'a str,
    second: &'a str,
    change: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(figure: &'a Figure) -> Self {
        let Figure { what, values: [first, second], change } = figure;
        Self { what, first, second, change: (!change.is_empty()).then_some(change) }
    }
}

/// Compares two rehearsals.
pub(super) fn compare(
    args: &DiffArgs,
    first: &Rehearsal,
    second: &Rehearsal,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let tolerance = f64::from(args.tolerance) / 100.0;
    let figures = figures(first, second, tolerance);
    if let Some(path) = &args.html {
        let names = [&args.first, &args.second].map(|path| path.display().to_string());
        let sides = [Side { name: &names[0], rehearsal: first }, Side { name: &names[1], rehearsal: second }];
        save(path, &comparison(sides[0], sides[1], tolerance), printer)?;
    }
    match args.output {
        AnswerFormat::Text => {
            let page = printer.page();
            printer.data(&text(&figures, page))?;
        }
        AnswerFormat::Json => {
            let compared = Compared { figures: figures.iter().map(Row::of).collect() };
            let json = serde_json::to_string_pretty(&compared).map_err(Failure::internal)?;
            printer.data(&format!("{json}\n"))?;
        }
    }
    let is_alike = figures.iter().all(|figure| figure.change.is_empty());
    Ok(if is_alike { Exit::Passes } else { Exit::Findings })
}

fn text(figures: &[Figure], mut page: Page) -> String {
    let summary = match figures.iter().filter(|figure| !figure.change.is_empty()).count() {
        0 => page.paint("alike", Tone::Good),
        some => page.paint(&count(some, "difference"), Tone::Warning),
    };
    page.heading("Diff", &summary);
    let head = ["", "FIRST", "SECOND", "CHANGE"].map(|word| (word.to_owned(), Tone::Faint));
    let mut rows: Vec<Vec<Cell>> = vec![head.to_vec()];
    rows.extend(figures.iter().map(|figure| {
        let tone = match figure.change.as_str() {
            "" => Tone::Faint,
            "resolved" | "better" => Tone::Good,
            "new" | "worse" => Tone::Bad,
            _ => Tone::Plain,
        };
        let [first, second] = &figure.values;
        vec![
            (figure.what.clone(), Tone::Plain),
            (first.clone(), Tone::Plain),
            (second.clone(), Tone::Plain),
            (figure.change.clone(), tone),
        ]
    }));
    page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right], &rows);
    page.into_text()
}
