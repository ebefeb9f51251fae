//! `replank data`: what is built in, and of which day it is.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use replank_facts::images::Releases;
use replank_lifecycle::calendar::{self, Calendar, Day};
use replank_lifecycle::table::{DATA_DATE, DATA_NEWEST, Product, Row, Table};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::report::words::count;
use crate::report::{Page, Tone};

/// Arguments of `data`.
#[derive(Args, Debug)]
pub(crate) struct DataArgs {
    /// Output format: text is an overview, json has all rows of a table.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = AnswerFormat::Text)]
    output: AnswerFormat,

    /// Which table, with -o json. By default lifecycle.
    #[arg(long, value_enum, value_name = "TABLE")]
    table: Option<DataTable>,
}

/// What is built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DataTable {
    /// The lives of API versions, as `scan --lifecycle` takes them.
    Lifecycle,
    /// Support of versions on EKS, as `upgrade calendar --calendar` takes it.
    Calendar,
    /// Releases of EKS's images, as `check --image-releases` takes them.
    Images,
}

/// Prints it.
///
/// # Errors
/// Where it cannot be written, or a table is named without -o json.
pub(crate) fn run(args: &DataArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    if args.output == AnswerFormat::Text && args.table.is_some() {
        return Err(
            Failure::usage_message("--table selects a table of -o json").next("add -o json, or omit --table")
        );
    }
    let table = Table::embedded();
    let text = match args.output {
        AnswerFormat::Text => {
            let mut page = Page::new(printer.look());
            describe(&mut page, &table);
            page.into_text()
        }
        AnswerFormat::Json => {
            let rows: Vec<Value> = match args.table.unwrap_or(DataTable::Lifecycle) {
                DataTable::Lifecycle => table.rows().iter().map(row).collect(),
                DataTable::Calendar => Calendar::embedded().rows().map(version).collect(),
                DataTable::Images => Releases::embedded().rows().iter().map(|row| json!(row)).collect(),
            };
            serde_json::to_string_pretty(&rows).map_err(Failure::internal)? + "\n"
        }
    };
    printer.data(&text)?;
    Ok(Exit::Passes)
}

fn describe(page: &mut Page, table: &Table) {
    let mut products: BTreeMap<&Product, usize> = BTreeMap::new();
    for row in table.rows() {
        *products.entry(&row.product).or_default() += 1;
    }
    page.heading("Data", &format!("as of {DATA_DATE}, replank {}", env!("CARGO_PKG_VERSION")));
    page.wrapped(2, &format!("API versions of Kubernetes up to {DATA_NEWEST} and of products:"), Tone::Plain);
    for (product, rows) in products {
        page.labelled(28, &product.to_string(), &count(rows, "row"));
    }
    page.wrapped(2, "Support of Kubernetes versions on Amazon EKS:", Tone::Plain);
    let calendar = Calendar::embedded();
    let mut versions = calendar.rows().map(|row| row.version);
    if let (Some(first), Some(last)) = (versions.next(), versions.next_back()) {
        page.labelled(28, &format!("{first} to {last}"), &count(calendar.rows().count(), "row"));
    }
    let releases = Releases::embedded();
    page.wrapped(
        2,
        &format!("Releases of EKS's image of Amazon Linux, as of {}:", releases.date()),
        Tone::Plain,
    );
    if let [newest, .., oldest] = releases.rows() {
        let span = format!("v{} to v{}", oldest.day(), newest.day());
        page.labelled(28, &span, &count(releases.rows().len(), "row"));
    }
}

fn row(row: &Row) -> Value {
    let release =
        |release: Option<replank_lifecycle::release::Release>| release.map(|release| release.to_string());
    let mut value = json!({
        "group": row.gvk.group,
        "version": row.gvk.version,
        "kind": row.gvk.kind,
        "introduced": release(row.introduced),
        "deprecated": release(row.deprecated),
        "removed": release(row.removed),
        "replacement": row.replacement.as_ref().map(|to| json!({"group": to.group, "version": to.version, "kind": to.kind})),
        "note": row.note,
    });
    if let Product::Named(name) = &row.product {
        value["product"] = json!(name);
    }
    value
}

/// A row of the calendar, as it is taken in.
fn version(row: &calendar::Row) -> Value {
    let day = |day: Option<Day>| day.map(|day| day.to_string());
    json!({
        "version": row.version.to_string(),
        "upstream_release": day(row.upstream_release),
        "eks_release": day(row.release),
        "eks_standard_support_end": day(row.standard_end),
        "eks_extended_support_end": day(row.extended_end),
        "upstream_eol": day(row.upstream_end),
        "source": row.source,
        "note": row.note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_taken_in_again() {
        let table = Table::embedded();
        let text = serde_json::to_string(&table.rows().iter().map(row).collect::<Vec<_>>()).unwrap();
        let mut again = Table::default();
        assert_eq!(again.overlay(&text).unwrap(), table.rows().len());
        assert_eq!(again.rows(), table.rows());
    }

    #[test]
    fn the_calendar_can_be_taken_in_again() {
        let calendar = Calendar::embedded();
        let text = serde_json::to_string(&calendar.rows().map(version).collect::<Vec<_>>()).unwrap();
        let mut again = Calendar::default();
        assert_eq!(again.overlay(&text).unwrap(), calendar.rows().count());
        assert_eq!(again, calendar);
    }
}
