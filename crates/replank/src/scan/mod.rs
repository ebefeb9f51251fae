//! `replank scan`: where API versions are used that are deprecated or gone.

mod args;
mod csv;
mod fix;
mod github;
mod json;
mod markdown;
mod render;
mod sarif;
mod table;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use replank_lifecycle::Measure;
use replank_lifecycle::files::{self, Decoded, File, Ignore, Walk};
use replank_lifecycle::finding::{Confidence, Finding, Range, Severity};
use replank_lifecycle::release::Release;
use replank_lifecycle::scan::{Counts, Hint, Report, Unrendered};
use replank_lifecycle::source::Unread;
use replank_lifecycle::table::{DATA_NEWEST, Product, Table};
use replank_lifecycle::waiver::{Waived, Waivers};

pub(crate) use args::ScanArgs;
use args::{FailOn, ScanFormat};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment;
use crate::printer::Printer;
use crate::report::words::{count, grouped};

/// The file of exceptions that is looked for where none is named.
const IGNORE_FILE: &str = ".replank-ignore.yaml";

/// What was scanned, and what came of it.
#[derive(Debug)]
struct Scanned {
    range: Range,
    /// Findings that nobody lets be, the gravest first.
    findings: Vec<Finding>,
    /// Findings that somebody lets be, and why.
    waived: Vec<(Finding, String)>,
    unread: Vec<Unread>,
    unrendered: Vec<Unrendered>,
    counts: Counts,
    /// Paths that `.gitignore` left out.
    left_out: u64,
    fail_on: FailOn,
}

impl Scanned {
    /// Whether a finding ends with exit code 3.
    fn fails(&self, finding: &Finding) -> bool {
        let grave = match self.fail_on {
            FailOn::Removed => finding.severity >= Severity::Removed,
            FailOn::Deprecated => true,
            FailOn::Never => false,
        };
        grave && finding.confidence >= Confidence::Medium
    }

    /// How the process ends.
    fn exit(&self) -> Exit {
        let fails = self.findings.iter().any(|finding| self.fails(finding));
        if fails { Exit::Findings } else { Exit::Passes }
    }

    /// `9 removed, 5 deprecated`
    fn summary(&self) -> String {
        let of =
            |severity: Severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        let parts: Vec<String> = [Severity::Gone, Severity::Removed, Severity::Deprecated]
            .into_iter()
            .map(|severity| (of(severity), severity.word()))
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| format!("{} {word}", grouped(number)))
            .collect();
        if parts.is_empty() { "nothing found".to_owned() } else { parts.join(", ") }
    }

    /// What was looked at, and by which versions.
    fn scope(&self) -> String {
        let current = self.range.current.map(|current| format!("from {current} ")).unwrap_or_default();
        let counts = self.counts;
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut scope = format!(
            "{current}to {}: {} in {}",
            self.range.target,
            count(number(counts.objects), "object"),
            count(number(counts.texts), "file")
        );
        for (of, noun) in [(counts.releases, "Helm release"), (counts.requests, "audited request")] {
            if of > 0 {
                scope.push_str(&format!(", {}", count(number(of), noun)));
            }
        }
        scope
    }
}

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

/// Scans, and prints what was found.
fn show(
    args: &ScanArgs,
    measure: &Measure,
    waivers: &Waivers,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let scanned = scanned(args, measure, waivers, printer)?;
    tell(&scanned, printer);
    let text = match args.output {
        ScanFormat::Table => table::table(&scanned, printer.look()),
        ScanFormat::Json => json::json(&scanned)?,
        ScanFormat::Csv => csv::csv(&scanned),
        ScanFormat::Markdown => markdown::markdown(&scanned),
        ScanFormat::Sarif => sarif::sarif(&scanned)?,
        ScanFormat::Github => github::github(&scanned),
    };
    printer.data(&text)?;
    Ok(scanned.exit())
}

/// What uses are judged by.
fn measure(args: &ScanArgs) -> Result<Measure, Failure> {
    let mut table = Table::embedded();
    for path in &args.lifecycle {
        let text = read(path)?;
        table.overlay(&text).map_err(|error| {
            Failure::usage(
                anyhow::Error::new(error).context(format!("{} cannot be taken in", path.display())),
            )
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
            let message = format!("--installed: nothing is known of {name}");
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
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be taken in", path.display())))
    })
}

/// What a scan finds, before anybody lets anything be.
struct Found {
    report: Report,
    files: Vec<File>,
    left_out: u64,
}

fn found(args: &ScanArgs, measure: &Measure, printer: &mut Printer) -> Result<Found, Failure> {
    let here = [PathBuf::from(".")];
    let paths = if args.paths.is_empty() { &here[..] } else { &args.paths[..] };
    let is_stdin = |path: &&PathBuf| **path == Path::new("-");
    let files: Vec<PathBuf> = paths.iter().filter(|path| !is_stdin(path)).cloned().collect();
    let ignore = if args.no_gitignore { Ignore::Nothing } else { Ignore::Git };
    let walk = files::walk(&files, ignore).map_err(Failure::usage)?;
    let mut report = Report::default();
    if paths.iter().any(|path| is_stdin(&path)) {
        report.append(stdin(measure)?);
    }
    let rendered = args.render.then(|| render::render(&walk, measure, args.render_timeout(), printer));
    let threads = args.threads.map(usize::from).unwrap_or_else(cores);
    report.append(files::scan_files(measure, &walk.files, threads));
    if let Some(rendered) = rendered {
        render::join(&mut report, rendered);
    }
    let Walk { unread, left_out, files, .. } = walk;
    report.unread.extend(unread);
    let report = report.finish(measure);
    Ok(Found { report, files, left_out })
}

fn scanned(
    args: &ScanArgs,
    measure: &Measure,
    waivers: &Waivers,
    printer: &mut Printer,
) -> Result<Scanned, Failure> {
    let Found { report, left_out, .. } = found(args, measure, printer)?;
    let Report { findings, unread, unrendered, counts, .. } = report;
    let Waived { left, waived, expired, unused } = waivers.apply(findings, &today());
    for waiver in expired {
        printer.warning(&format!("an exception has ended on {}: {}", waiver.expires, waiver.reason));
    }
    for waiver in unused {
        printer.warning(&format!("an exception is about nothing that was found: {}", waiver.reason));
    }
    Ok(Scanned {
        range: measure.range,
        findings: left,
        waived,
        unread,
        unrendered,
        counts,
        left_out,
        fail_on: args.fail_on,
    })
}

fn stdin(measure: &Measure) -> Result<Report, Failure> {
    Ok(files::scan_decoded(measure, &"<stdin>".into(), &stdin_text()?, &Hint::default()))
}

fn stdin_text() -> Result<Decoded, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
        Failure::internal(anyhow::Error::new(error).context("standard input cannot be read"))
    })?;
    files::from_bytes(bytes).map_err(|why| Failure::usage_message(format!("standard input: {why}")))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The day, such as 2026-11-22.
fn today() -> String {
    moment::now().to_string().chars().take(10).collect()
}

/// Lines of one sort on standard error: more are in the JSON.
const TOLD_MAX: usize = 10;

/// Warns of the first few of one sort.
fn tell_lines(all: &[String], what: &str, printer: &mut Printer) {
    for line in all.iter().take(TOLD_MAX) {
        printer.warning(line);
    }
    if all.len() > TOLD_MAX {
        printer.warning(&format!("{} more {what}: all are in -o json", grouped(all.len() - TOLD_MAX)));
    }
}

/// What was not looked at.
fn tell(scanned: &Scanned, printer: &mut Printer) {
    let unread: Vec<String> = scanned
        .unread
        .iter()
        .map(|unread| format!("{}:{}: {}", unread.place.source, unread.place.line, unread.why))
        .collect();
    tell_lines(&unread, "that cannot be read", printer);
    let unrendered: Vec<String> = scanned
        .unrendered
        .iter()
        .map(|of| format!("{}:{}: not looked at: {} ({})", of.place.source, of.place.line, of.what, of.why))
        .collect();
    tell_lines(&unrendered, "that were not looked at", printer);
    if scanned.left_out > 0 {
        let left_out = usize::try_from(scanned.left_out).unwrap_or(usize::MAX);
        printer
            .story(&format!("{} left out by .gitignore (--no-gitignore scans all)", count(left_out, "path")));
    }
    if scanned.counts.releases_past > 0 {
        let past = usize::try_from(scanned.counts.releases_past).unwrap_or(usize::MAX);
        printer.story(&format!(
            "{} of the past passed over: upgrades do not read them",
            count(past, "Helm revision")
        ));
    }
}
