//! `replank scan --fix` and `--diff`: what was found is written anew, where that can be told from what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use replank_lifecycle::Measure;
use replank_lifecycle::files::{self, Decoded, File};
use replank_lifecycle::fix::kustomize::{self, Kustomized, Scanned as _};
use replank_lifecycle::fix::{self, Change, Fixed, Hunk, Left};
use replank_lifecycle::scan::{Hint, Report};
use replank_lifecycle::schema::Schema;
use replank_lifecycle::waiver::{Waived, Waivers};

use super::args::ScanArgs;
use super::found::{cores, sorted};
use super::show::print;
use super::told::{self, Told};
use super::written::WrittenTree;
use super::{Found, found, today};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Meter;
use crate::report::words::count;

/// One text, before and after.
struct Rewritten {
    before: String,
    after: String,
    hunks: Vec<Hunk>,
    /// What changed, a line each.
    told: Vec<String>,
    /// What each change is, without its place.
    changes: Vec<String>,
    left: Vec<Left>,
    /// The same for texts within it: stored manifests.
    within: Vec<(String, String, Vec<Hunk>)>,
}

/// What became of one file: its text is not kept.
struct Done {
    told: Vec<String>,
    changes: Vec<String>,
    /// Lines that changed, where any did.
    lines: Option<String>,
    left: Vec<Left>,
    /// What would be written, as a comparison.
    difference: String,
    /// Why it cannot be written at all.
    refused: Option<String>,
}

/// Fixes what is named, or shows what that would change.
pub(super) fn run(
    args: &ScanArgs,
    measure: &Measure,
    waivers: &Waivers,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let schema = Schema::embedded();
    let is_stdin = |path: &PathBuf| path == Path::new("-");
    if args.paths.iter().any(is_stdin) {
        return match &args.paths[..] {
            [_] => stdin(args, measure, &schema, printer),
            _ => Err(Failure::usage_message("--fix reads only standard input and prints it fixed")),
        };
    }
    let Found { report, files, left_out, kustomizations, .. } = found(args, measure, printer)?;
    let findings = report.findings.clone();
    let Waived { left: findings, waived, .. } = waivers.apply(findings, &today());
    let tree = WrittenTree::new(args, &files, &findings, &waived);
    let directories = tree.kustomizations(kustomizations);
    let kustomized = if args.helm_release || findings.is_empty() {
        Kustomized::default()
    } else {
        kustomize::kustomized(measure, &schema, &directories, &tree)
    };
    let fixer = Fixer { args, measure, schema: &schema, tree: &tree, kustomized: &kustomized };
    let concerned: Vec<&File> = files.iter().filter(|file| fixer.is_concerned(file)).collect();
    let all = fixer.all(&concerned)?;
    if args.diff {
        tell(&concerned, &all, "would be changed", args.all, printer);
        let out: String = all.iter().map(|done| done.difference.as_str()).collect();
        printer.data(&out)?;
        let scanned = sorted(args, measure, waivers, report, left_out, printer);
        return Ok(scanned.exit());
    }
    tell(&concerned, &all, "changed", args.all, printer);
    let changed: Vec<File> = concerned
        .iter()
        .zip(&all)
        .filter(|(_, done)| done.lines.is_some())
        .map(|(file, _)| (*file).clone())
        .collect();
    let report = again(args, measure, report, &changed);
    print(args, &sorted(args, measure, waivers, report, left_out, printer), printer)
}

/// What was found, with the files that were changed read once more.
fn again(args: &ScanArgs, measure: &Measure, mut report: Report, changed: &[File]) -> Report {
    if changed.is_empty() {
        return report;
    }
    let names: BTreeSet<&Arc<str>> = changed.iter().map(|file| &file.name).collect();
    report.findings.retain(|finding| !names.contains(&finding.place.source));
    report.unread.retain(|unread| !names.contains(&unread.place.source));
    report.unrendered.retain(|of| !names.contains(&of.place.source));
    let threads = args.threads.map(usize::from).unwrap_or_else(cores);
    let fresh = files::scan_files(measure, changed, threads, &|| ()).finish(measure);
    // The same objects are counted already.
    let counts = report.counts;
    report.append(fresh);
    report.counts = counts;
    report.finish(measure)
}

/// What every file is fixed with.
struct Fixer<'f> {
    args: &'f ScanArgs,
    measure: &'f Measure,
    schema: &'f Schema,
    tree: &'f WrittenTree,
    kustomized: &'f Kustomized,
}

impl Fixer<'_> {
    fn is_concerned(&self, file: &File) -> bool {
        self.tree.is_concerned(&file.real) || self.kustomized.decides(&file.real)
    }

    /// Fixes files on several threads, each of which holds one text at a time.
    fn all(&self, files: &[&File]) -> Result<Vec<Done>, Failure> {
        let threads = self.args.threads.map(usize::from).unwrap_or_else(cores);
        let next = AtomicUsize::new(0);
        let meter = Meter::of_files(files.len());
        let work = || {
            let mut all = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(index) else { return all };
                all.push((index, self.one(file)));
                meter.step();
            }
        };
        let mut all = std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..threads.clamp(1, files.len().max(1))).map(|_| scope.spawn(work)).collect();
            let mut all = work();
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        });
        all.sort_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, done)| done).collect()
    }

    fn one(&self, file: &File) -> Result<Done, Failure> {
        let refused = |why: String| Done {
            told: Vec::new(),
            changes: Vec::new(),
            lines: None,
            left: Vec::new(),
            difference: String::new(),
            refused: Some(why),
        };
        let of = match self.rewritten(file)? {
            Ok(of) => of,
            Err(why) => return Ok(refused(why.to_owned())),
        };
        let difference = if self.args.diff { difference(&file.name, &of) } else { String::new() };
        if !self.args.diff && of.after != of.before {
            if let Some(why) = self.tree.refuses(file) {
                return Ok(refused(why));
            }
            write(&file.real, &of, self.args.helm_release)?;
        }
        let lines = (!of.hunks.is_empty()).then(|| line_numbers(&of.hunks));
        Ok(Done { told: of.told, changes: of.changes, lines, left: of.left, difference, refused: None })
    }

    /// One file. `Err` says in words why nobody can write it.
    fn rewritten(&self, file: &File) -> Result<Result<Rewritten, &'static str>, Failure> {
        let bytes = std::fs::read(&file.path).map_err(|error| {
            Failure::usage(
                anyhow::Error::new(error).context(format!("{} cannot be read", file.path.display())),
            )
        })?;
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Ok(Err("it is compressed: decompress it first"));
        }
        let Ok(text) = String::from_utf8(bytes) else { return Ok(Err("it is not UTF-8")) };
        let (measure, schema) = (self.measure, self.schema);
        let real = &file.real;
        Ok(Ok(if self.args.helm_release {
            of_releases(measure, schema, &file.name, text)
        } else if self.kustomized.decides(real) {
            let fixed = kustomize::fix_kustomized(measure, self.kustomized, real, &file.name, &text);
            of_fixed(&file.name, text, fixed)
        } else {
            let lets_be = |line: u32| self.tree.lets_be(real, line);
            of_manifests(measure, schema, &file.name, text, &file.hint, &lets_be)
        }))
    }
}

fn of_manifests(
    measure: &Measure,
    schema: &Schema,
    name: &Arc<str>,
    before: String,
    hint: &Hint,
    lets_be: &dyn Fn(u32) -> bool,
) -> Rewritten {
    let fixed = fix::fix(measure, schema, name, &before, hint, lets_be);
    of_fixed(name, before, fixed)
}

fn of_fixed(name: &str, before: String, fixed: Fixed) -> Rewritten {
    let Fixed { text: after, changes, left, hunks } = fixed;
    let told =
        changes.iter().flat_map(|change| told_of(&format!("{name}:{}", change.place.line), change)).collect();
    let changes = changes.iter().map(sort_of).collect();
    Rewritten { before, after, hunks, told, changes, left, within: Vec::new() }
}

fn of_releases(measure: &Measure, schema: &Schema, name: &Arc<str>, before: String) -> Rewritten {
    let fixed = fix::fix_releases(measure, schema, name, &before);
    let (mut all_told, mut changes, mut within) = (Vec::new(), Vec::new(), Vec::new());
    for release in fixed.releases {
        let place = format!("{name}:{}: {}", release.place.line, release.name);
        all_told.extend(release.changes.iter().flat_map(|change| told_of(&place, change)));
        changes.extend(release.changes.iter().map(sort_of));
        let manifests = release.manifests.into_iter();
        within.extend(manifests.map(|(text, hunks)| (format!("{name}/{}", release.name), text, hunks)));
    }
    let (after, hunks, left) = (fixed.text, fixed.hunks, fixed.left);
    Rewritten { before, after, hunks, told: all_told, changes, left, within }
}

/// What a change is, without its place: `extensions/v1beta1 Deployment becomes apps/v1`.
fn sort_of(change: &Change) -> String {
    let field = change.field.map(|field| format!("{field} ")).unwrap_or_default();
    format!("{field}{} becomes {}", change.from, change.to.api_version())
}

/// A change, and a line for each of its notes.
fn told_of(place: &str, change: &Change) -> Vec<String> {
    let field = change.field.map(|field| format!("{field} ")).unwrap_or_default();
    let namespace = change.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let from = &change.from;
    let to = change.to.api_version();
    let mut lines = vec![format!("{place}: {field}{from} {namespace}{} becomes {to}", change.name)];
    lines.extend(change.notes.iter().map(|note| format!("{place}: {note}")));
    lines
}

/// `2, 8-10`: lines of the new text.
fn line_numbers(hunks: &[Hunk]) -> String {
    let mut grown = 0isize;
    let mut parts: Vec<String> = Vec::new();
    for hunk in hunks {
        let first = hunk.line.saturating_add_signed(grown);
        parts.push(match hunk.new.len() {
            0 => format!("{first} (removed before it)"),
            1 => first.to_string(),
            many => format!("{first}-{}", first + many - 1),
        });
        grown += hunk.new.len() as isize - hunk.old.len() as isize;
    }
    parts.join(", ")
}

/// `every` tells each change, however many there are.
fn tell(files: &[&File], all: &[Done], what: &str, every: bool, printer: &mut Printer) {
    for (file, done) in files.iter().zip(all) {
        if let Some(why) = &done.refused {
            printer.warning(&format!("{} was not changed: {why}", file.name));
        }
    }
    let changed: Vec<Told<'_>> = files
        .iter()
        .zip(all)
        .filter_map(|(file, done)| {
            let numbers = done.lines.as_deref()?;
            Some(Told { file: &file.name, lines: &done.told, changes: &done.changes, numbers })
        })
        .collect();
    told::changes(&changed, what, every, printer);
    printer.story(&format!("{} {what}", count(changed.len(), "file")));
    told::left(all.iter().flat_map(|done| &done.left), every, printer);
}

/// What would be written.
fn difference(name: &str, of: &Rewritten) -> String {
    if of.within.is_empty() {
        return if of.hunks.is_empty() { String::new() } else { fix::unified(name, &of.before, &of.hunks) };
    }
    // What is stored is packed: shown is what is packed.
    of.within.iter().map(|(name, text, hunks)| fix::unified(name, text, hunks)).collect()
}

/// Standard input goes through, and comes out fixed.
fn stdin(
    args: &ScanArgs,
    measure: &Measure,
    schema: &Schema,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let Decoded { text, wrong } = super::stdin_text()?;
    if let Some(wrong) = wrong {
        return Err(Failure::usage_message(format!("standard input, line {}: {}", wrong.line, wrong.why))
            .next("convert it to UTF-8: iconv -f windows-1252 -t utf-8"));
    }
    let name: Arc<str> = "<stdin>".into();
    let of = if args.helm_release {
        of_releases(measure, schema, &name, text)
    } else {
        of_manifests(measure, schema, &name, text, &Hint::default(), &|_| false)
    };
    of.told.iter().for_each(|line| printer.story(line));
    told::left(of.left.iter(), args.all, printer);
    if args.diff {
        printer.data(&fix::unified(&name, &of.before, &of.hunks))?;
    } else {
        printer.data(&of.after)?;
    }
    Ok(if of.left.is_empty() { Exit::Passes } else { Exit::Findings })
}

/// Puts a text in the place of a file, by its real path so that a link stays a link; whole or not at all, with its rights. Of a
/// dump the old one is kept beside it.
fn write(path: &Path, of: &Rewritten, backup: bool) -> Result<(), Failure> {
    let failure = |path: &Path, error: std::io::Error| {
        Failure::internal(anyhow::Error::new(error).context(format!("{} cannot be written", path.display())))
    };
    let beside = |ending: &str| {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        path.with_file_name(name)
    };
    if backup {
        let kept = beside(".bak");
        if kept.exists() {
            let message = format!("{} already exists and was not overwritten", kept.display());
            return Err(Failure::usage_message(message).next("move the earlier backup away"));
        }
        std::fs::copy(path, &kept).map_err(|error| failure(&kept, error))?;
    }
    let new = beside(".replank-new");
    let written = std::fs::write(&new, &of.after)
        .and_then(|()| std::fs::set_permissions(&new, std::fs::metadata(path)?.permissions()))
        .and_then(|()| std::fs::rename(&new, path));
    written.map_err(|error| {
        drop(std::fs::remove_file(&new));
        failure(path, error)
    })
}

/// Checks what cannot be said by clap alone.
pub(super) fn check(args: &ScanArgs) -> Result<(), Failure> {
    if args.helm_release && !args.fix && !args.diff {
        return Err(Failure::usage_message("--helm-release requires --fix or --diff")
            .next("`replank scan --diff --helm-release FILE` shows what would be written"));
    }
    Ok(())
}
