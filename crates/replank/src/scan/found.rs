//! What was found, and where it was looked for.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use replank_facts::coverage::{Allowed, Coverage, Skipped};
use replank_lifecycle::files::{Decoded, File, Ignore, Walk};
use replank_lifecycle::finding::{Confidence, Finding, Range, Severity};
use replank_lifecycle::scan::{Counts, Hint, Report, Unrendered};
use replank_lifecycle::source::{Place, Unread};
use replank_lifecycle::waiver::{Waived, Waivers};
use replank_lifecycle::{Measure, files};

use super::args::{FailOn, ScanArgs};
use super::render::{self, RenderFailure};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live::{LiveArgs, Read as LiveRead, ToScan, read_to_scan};
use crate::moment::today;
use crate::printer::Printer;
use crate::progress::Meter;
use crate::report::words::{count, grouped};

/// What was scanned, and the outcome.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) range: Range,
    /// Findings that nobody lets be, the gravest first.
    pub(super) findings: Vec<Finding>,
    /// Findings that somebody lets be, and why.
    pub(super) waived: Vec<(Finding, String)>,
    pub(super) unread: Vec<Unread>,
    pub(super) unrendered: Vec<Unrendered>,
    /// Objects that charts' own values leave out.
    pub(super) disabled: Vec<Unrendered>,
    pub(super) counts: Counts,
    /// What could not be rendered; its files were scanned as they are.
    pub(super) render_failures: Vec<RenderFailure>,
    /// Paths that `.gitignore` left out.
    pub(super) left_out: u64,
    pub(super) fail_on: FailOn,
    /// What could not be read, and where the data ends.
    pub(super) coverage: Coverage,
}

impl Scanned {
    /// Whether a finding ends with exit code 3.
    pub(super) fn fails(&self, finding: &Finding) -> bool {
        let grave = match self.fail_on {
            FailOn::Removed => finding.severity >= Severity::Removed,
            FailOn::Deprecated => true,
            FailOn::Never => false,
        };
        grave && finding.confidence >= Confidence::Medium
    }

    /// How the process ends.
    pub(super) fn exit(&self) -> Exit {
        let fails = self.findings.iter().any(|finding| self.fails(finding));
        coverage::end(&self.coverage, if fails { Exit::Findings } else { Exit::Passes })
    }

    /// `9 removed, 5 deprecated`
    pub(super) fn summary(&self) -> String {
        let of =
            |severity: Severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        let parts: Vec<String> = [Severity::Gone, Severity::Removed, Severity::Deprecated]
            .into_iter()
            .map(|severity| (of(severity), severity.word()))
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| format!("{} {word}", grouped(number)))
            .collect();
        if parts.is_empty() && !self.coverage.complete {
            "incomplete: nothing found in what could be read".to_owned()
        } else if parts.is_empty() {
            "nothing found".to_owned()
        } else {
            parts.join(", ")
        }
    }

    /// What was looked at, and by which versions.
    pub(super) fn scope(&self) -> String {
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

/// What a scan finds, before anybody lets anything be.
pub(super) struct Found {
    pub(super) report: Report,
    pub(super) files: Vec<File>,
    pub(super) left_out: u64,
    pub(super) render_failures: Vec<RenderFailure>,
    /// Directories with a kustomization.
    pub(super) kustomizations: Vec<PathBuf>,
}

pub(super) fn found(args: &ScanArgs, measure: &Measure, printer: &mut Printer) -> Result<Found, Failure> {
    found_by(args, measure, printer, &mut |walk, threads, step| {
        files::scan_files(measure, &walk.files, threads, step)
    })
}

/// Scans files on so many threads; the last is told of each that is done.
pub(super) type ScanFiles<'s> = &'s mut dyn FnMut(&Walk, usize, &(dyn Fn() + Sync)) -> Report;

/// The same, with files scanned in another way.
pub(super) fn found_by(
    args: &ScanArgs,
    measure: &Measure,
    printer: &mut Printer,
    scan_files: ScanFiles<'_>,
) -> Result<Found, Failure> {
    let here = [PathBuf::from(".")];
    let paths = if args.paths.is_empty() && !args.is_live() { &here[..] } else { &args.paths[..] };
    let is_stdin = |path: &&PathBuf| **path == Path::new("-");
    let files: Vec<PathBuf> = paths.iter().filter(|path| !is_stdin(path)).cloned().collect();
    let ignore = if args.no_gitignore { Ignore::Nothing } else { Ignore::Git };
    let walk = files::walk(&files, ignore).map_err(Failure::usage)?;
    let mut report = Report::default();
    if paths.iter().any(|path| is_stdin(&path)) {
        report.append(stdin(measure)?);
    }
    if args.is_live() {
        report.append(live(args, measure, printer)?);
    }
    let rendered = args.render.then(|| render::render(&walk, measure, args.render_timeout(), printer));
    let threads = args.threads.map(usize::from).unwrap_or_else(cores);
    let meter = Meter::of_files(walk.files.len());
    report.append(scan_files(&walk, threads, &|| meter.step()));
    drop(meter);
    let mut render_failures = Vec::new();
    if let Some(mut rendered) = rendered {
        render_failures = std::mem::take(&mut rendered.failures);
        render::join(&mut report, rendered);
    }
    let Walk { unread, left_out, files, kustomizations, .. } = walk;
    report.unread.extend(unread);
    let report = report.finish(measure);
    Ok(Found { report, files, left_out, render_failures, kustomizations })
}

pub(super) fn scanned(
    args: &ScanArgs,
    measure: &Measure,
    waivers: &Waivers,
    printer: &mut Printer,
) -> Result<Scanned, Failure> {
    let Found { report, left_out, render_failures, .. } = found(args, measure, printer)?;
    Ok(Scanned { render_failures, ..sorted(args, measure, waivers, report, left_out, printer) })
}

/// What was found, without what somebody lets be.
pub(super) fn sorted(
    args: &ScanArgs,
    measure: &Measure,
    waivers: &Waivers,
    report: Report,
    left_out: u64,
    printer: &mut Printer,
) -> Scanned {
    let Report { findings, unread, unrendered, left_out: disabled, counts, .. } = report;
    let sorted = waivers.apply(findings, &today());
    sorted.warnings().iter().for_each(|warning| printer.warning(warning));
    let Waived { left, waived, .. } = sorted;
    Scanned {
        range: measure.range,
        findings: left,
        waived: waived.into_iter().map(|(finding, waiver)| (finding, waiver.reason)).collect(),
        coverage: coverage_of(args, measure, &unread, &unrendered),
        unread,
        unrendered,
        disabled,
        counts,
        render_failures: Vec::new(),
        left_out,
        fail_on: args.fail_on,
    }
}

/// Input that could not be read is named in words up to here; all of it is in the JSON.
const UNREAD_MAX: usize = 10;

/// What is applied from elsewhere (a remote base, a chart) is as unseen as what is damaged.
fn coverage_of(args: &ScanArgs, measure: &Measure, unread: &[Unread], unrendered: &[Unrendered]) -> Coverage {
    let damaged = unread.iter().map(|one| format!("{}:{}: {}", one.place.source, one.place.line, one.why));
    let elsewhere = unrendered
        .iter()
        .map(|one| format!("{}:{}: {}: {}", one.place.source, one.place.line, one.what, one.why));
    let skipped = Skipped {
        parts: u64::try_from(unread.len() + unrendered.len()).unwrap_or(u64::MAX),
        kinds: BTreeMap::new(),
        first: damaged.chain(elsewhere).take(UNREAD_MAX).collect(),
    };
    let beyond = coverage::data_end(measure.range.target).filter(|_| args.lifecycle.is_empty());
    Coverage::of_files(skipped, beyond.into_iter().collect(), &Allowed::all(&args.allow_incomplete))
}

pub(super) fn stdin(measure: &Measure) -> Result<Report, Failure> {
    Ok(files::scan_decoded(measure, &"<stdin>".into(), &stdin_text()?, &Hint::default()))
}

/// What a live cluster has, and what has been asked of it. What may not be listed is as unseen as a file that cannot be read.
fn live(args: &ScanArgs, measure: &Measure, printer: &mut Printer) -> Result<Report, Failure> {
    of_live((&args.live, args.helm_releases), measure, printer)
}

/// The same, for whoever asks for more than a scan.
///
/// # Errors
/// Where the cluster cannot be reached or read.
pub(crate) fn of_live(
    (live, helm_releases): (&LiveArgs, bool),
    measure: &Measure,
    printer: &mut Printer,
) -> Result<Report, Failure> {
    let ToScan { objects: LiveRead { name, bytes, .. }, metrics, forbidden } =
        read_to_scan(live, helm_releases, printer)?;
    let decoded =
        |bytes| files::from_bytes(bytes).map_err(|why| Failure::internal(anyhow::anyhow!("{name}: {why}")));
    let mut report = files::scan_decoded(measure, &name.as_str().into(), &decoded(bytes)?, &Hint::default());
    if let Some(metrics) = metrics {
        let source = format!("{name}, /metrics");
        let text = decoded(metrics.into_bytes())?;
        report.append(files::scan_decoded(measure, &source.as_str().into(), &text, &Hint::default()));
    }
    report.unread.extend(forbidden.into_iter().map(|resource| Unread {
        place: Place { source: name.as_str().into(), line: 1, column: 1 },
        why: format!("{resource} may not be listed"),
    }));
    Ok(report)
}

pub(super) fn stdin_text() -> Result<Decoded, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
        Failure::internal(anyhow::Error::new(error).context("standard input cannot be read"))
    })?;
    files::from_bytes(bytes).map_err(|why| Failure::usage_message(format!("standard input: {why}")))
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
