//! `replank scan --fix` and `--diff`: what was found is written anew, where that can be told from what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replank_lifecycle::Measure;
use replank_lifecycle::files::{Decoded, File};
use replank_lifecycle::fix::{self, Change, Fixed, Hunk, Left};
use replank_lifecycle::scan::Hint;
use replank_lifecycle::schema::Schema;
use replank_lifecycle::waiver::{Waived, Waivers};

use super::args::ScanArgs;
use super::{Found, found, show, today};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::words::count;

/// Lines of one text that an exception lets be, by the text's name.
type LetBe = BTreeMap<Arc<str>, BTreeSet<u32>>;

/// One text, before and after.
struct Rewritten {
    before: String,
    after: String,
    hunks: Vec<Hunk>,
    /// What changed, a line each.
    told: Vec<String>,
    left: Vec<Left>,
    /// The same for texts within it: stored manifests.
    within: Vec<(String, String, Vec<Hunk>)>,
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
    let Found { report, files, .. } = found(args, measure, printer)?;
    let Waived { left: findings, waived, .. } = waivers.apply(report.findings, &today());
    let mut let_be = LetBe::new();
    for (finding, _) in waived {
        let_be.entry(finding.place.source.clone()).or_default().insert(finding.place.line);
    }
    let concerned: BTreeSet<&Arc<str>> = findings.iter().map(|finding| &finding.place.source).collect();
    let mut all = Vec::new();
    for file in files.iter().filter(|file| concerned.contains(&file.name)) {
        match rewritten(args, measure, &schema, file, &let_be)? {
            Ok(of) => all.push((file, of)),
            Err(why) => printer.warning(&format!("{} was not changed: {why}", file.name)),
        }
    }
    if args.diff {
        return difference(args, measure, waivers, &all, printer);
    }
    for (file, of) in all.iter().filter(|(_, of)| of.after != of.before) {
        write(&file.path, of, args.helm_release)?;
    }
    story(&all, "changed", printer);
    show(args, measure, waivers, printer)
}

/// One file. `Err` says in words why nobody can write it.
fn rewritten(
    args: &ScanArgs,
    measure: &Measure,
    schema: &Schema,
    file: &File,
    let_be: &LetBe,
) -> Result<Result<Rewritten, &'static str>, Failure> {
    let bytes = std::fs::read(&file.path).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", file.path.display())))
    })?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Err("it is compressed: decompress it first"));
    }
    let Ok(text) = String::from_utf8(bytes) else { return Ok(Err("it is not UTF-8")) };
    let lines = let_be.get(&file.name);
    let lets_be = |line: u32| lines.is_some_and(|lines| lines.contains(&line));
    Ok(Ok(if args.helm_release {
        of_releases(measure, schema, &file.name, text)
    } else {
        of_manifests(measure, schema, &file.name, text, &file.hint, &lets_be)
    }))
}

fn of_manifests(
    measure: &Measure,
    schema: &Schema,
    name: &Arc<str>,
    before: String,
    hint: &Hint,
    lets_be: &dyn Fn(u32) -> bool,
) -> Rewritten {
    let Fixed { text: after, changes, left, hunks } = fix::fix(measure, schema, name, &before, hint, lets_be);
    let told =
        changes.iter().flat_map(|change| told(&format!("{name}:{}", change.place.line), change)).collect();
    Rewritten { before, after, hunks, told, left, within: Vec::new() }
}

fn of_releases(measure: &Measure, schema: &Schema, name: &Arc<str>, before: String) -> Rewritten {
    let fixed = fix::fix_releases(measure, schema, name, &before);
    let (mut all_told, mut within) = (Vec::new(), Vec::new());
    for release in fixed.releases {
        let place = format!("{name}:{}: {}", release.place.line, release.name);
        all_told.extend(release.changes.iter().flat_map(|change| told(&place, change)));
        let manifests = release.manifests.into_iter();
        within.extend(manifests.map(|(text, hunks)| (format!("{name}/{}", release.name), text, hunks)));
    }
    Rewritten { before, after: fixed.text, hunks: fixed.hunks, told: all_told, left: fixed.left, within }
}

/// A change, and a line for each of its notes.
fn told(place: &str, change: &Change) -> Vec<String> {
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

fn story(all: &[(&File, Rewritten)], what: &str, printer: &mut Printer) {
    for (file, of) in all.iter().filter(|(_, of)| !of.hunks.is_empty()) {
        of.told.iter().for_each(|line| printer.story(line));
        printer.story(&format!("{}: lines {what}: {}", file.name, line_numbers(&of.hunks)));
    }
    let changed = all.iter().filter(|(_, of)| !of.hunks.is_empty()).count();
    printer.story(&format!("{} {what}", count(changed, "file")));
    tell_left(all.iter().flat_map(|(_, of)| &of.left), printer);
}

fn tell_left<'l>(left: impl Iterator<Item = &'l Left>, printer: &mut Printer) {
    for Left { place, used, why } in left {
        printer.warning(&format!("{}:{}: {used} was not changed: {why}", place.source, place.line));
    }
}

/// Prints what would be written.
fn difference(
    args: &ScanArgs,
    measure: &Measure,
    waivers: &Waivers,
    all: &[(&File, Rewritten)],
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    story(all, "would be changed", printer);
    let mut out = String::new();
    for (file, of) in all {
        if of.within.is_empty() {
            if !of.hunks.is_empty() {
                out.push_str(&fix::unified(&file.name, &of.before, &of.hunks));
            }
        } else {
            // What is stored is packed: shown is what is packed.
            let within = of.within.iter().map(|(name, text, hunks)| fix::unified(name, text, hunks));
            out.extend(within);
        }
    }
    printer.data(&out)?;
    let scanned = super::found::scanned(args, measure, waivers, printer)?;
    Ok(scanned.exit())
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
    tell_left(of.left.iter(), printer);
    if args.diff {
        printer.data(&fix::unified(&name, &of.before, &of.hunks))?;
    } else {
        printer.data(&of.after)?;
    }
    Ok(if of.left.is_empty() { Exit::Passes } else { Exit::Findings })
}

/// Puts a text in the place of a file, whole or not at all, with its rights. Of a dump the old one is kept beside it.
fn write(path: &Path, of: &Rewritten, backup: bool) -> Result<(), Failure> {
    let failure = |path: &Path, error: std::io::Error| {
        Failure::internal(anyhow::Error::new(error).context(format!("{} cannot be written", path.display())))
    };
    // A link stays a link.
    let path = std::fs::canonicalize(path).map_err(|error| failure(path, error))?;
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
        std::fs::copy(&path, &kept).map_err(|error| failure(&kept, error))?;
    }
    let new = beside(".replank-new");
    let written = std::fs::write(&new, &of.after)
        .and_then(|()| std::fs::set_permissions(&new, std::fs::metadata(&path)?.permissions()))
        .and_then(|()| std::fs::rename(&new, &path));
    written.map_err(|error| {
        drop(std::fs::remove_file(&new));
        failure(&path, error)
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
