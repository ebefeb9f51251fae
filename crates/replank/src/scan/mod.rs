//! `replank scan`: where API versions are used that are deprecated or gone.

mod args;
mod csv;
mod fix;
mod found;
mod github;
mod json;
mod markdown;
mod pass;
mod render;
mod replacing;
mod rewritten;
mod sarif;
mod show;
mod table;
mod told;
mod written;

use std::collections::BTreeMap;
use std::path::Path;

use replank_lifecycle::Measure;
use replank_lifecycle::finding::Range;
use replank_lifecycle::release::Release;
use replank_lifecycle::table::{DATA_NEWEST, Product, Table};
use replank_lifecycle::waiver::Waivers;

pub(crate) use args::ScanArgs;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

use crate::moment::today;
pub(crate) use found::of_live;
use found::stdin_text;

use show::show;

/// The file of exceptions that is looked for where none is named.
const IGNORE_FILE: &str = ".replank-ignore.yaml";

/// Scans, and prints what was found.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(crate) fn run(args: &ScanArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    fix::check(args)?;
    let measure = measure(args)?;
    let waivers = waivers(args.ignore_file.as_deref())?;
    if args.fix || args.diff {
        return fix::run(args, &measure, &waivers, printer);
    }
    show(args, &measure, &waivers, printer)
}

/// What uses are judged by.
fn measure(args: &ScanArgs) -> Result<Measure, Failure> {
    let mut table = Table::embedded();
    for path in &args.lifecycle {
        let text = read(path)?;
        table.overlay(&text).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be loaded", path.display())))
        })?;
    }
    let newest: Release = DATA_NEWEST.parse().map_err(Failure::internal)?;
    let range = Range { current: args.current, target: args.target_version.unwrap_or(newest) };
    if range.current.is_some_and(|current| current > range.target) {
        let message =
            format!("--current {} is above the target {}", range.current.unwrap_or(newest), range.target);
        return Err(Failure::usage_message(message).next("name the version to go to: --target-version"));
    }
    let products: BTreeMap<String, Release> = args.installed.iter().cloned().collect();
    for name in products.keys() {
        let known = Product::Named(name.clone());
        if !table.rows().iter().any(|row| row.product == known) {
            let message = format!("--installed: unknown product {name}");
            return Err(Failure::usage_message(message).next("`replank data` lists the names"));
        }
    }
    Ok(Measure { table, range, products })
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", path.display())))
    })
}

fn waivers(named: Option<&Path>) -> Result<Waivers, Failure> {
    let path = match named {
        Some(path) => path,
        None if Path::new(IGNORE_FILE).exists() => Path::new(IGNORE_FILE),
        None => return Ok(Waivers::default()),
    };
    Waivers::read(&read(path)?).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be loaded", path.display())))
    })
}
