//! `replank data`: what is built in, and of which day it is.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use replank_lifecycle::table::{DATA_DATE, DATA_NEWEST, Product, Row, Table};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::words::count;
use crate::report::{Page, Tone};

/// Arguments of `data`.
#[derive(Args, Debug)]
pub(crate) struct DataArgs {
    /// Form: for a person, or all rows as `scan --lifecycle` takes them.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = DataFormat::Text)]
    output: DataFormat,
}

/// Form of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DataFormat {
    /// For a person.
    Text,
    /// All rows of the lifecycle table.
    Json,
}

/// Prints it.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn run(args: &DataArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let table = Table::embedded();
    let text = match args.output {
        DataFormat::Text => {
            let mut page = Page::new(printer.look());
            describe(&mut page, &table);
            page.into_text()
        }
        DataFormat::Json => {
            let rows: Vec<Value> = table.rows().iter().map(row).collect();
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
    page.heading("Data", &format!("of {DATA_DATE}, replank {}", env!("CARGO_PKG_VERSION")));
    page.wrapped(
        2,
        &format!("API versions of Kubernetes up to {DATA_NEWEST}, and of products:"),
        Tone::Plain,
    );
    for (product, rows) in products {
        page.labelled(28, &product.to_string(), &count(rows, "row"));
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
}
