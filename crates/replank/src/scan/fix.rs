//! `replank scan --fix` and `--diff`: what was found is written anew, where that can be told from what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use replank_lifecycle::Measure;
use replank_lifecycle::files::{self, Decoded, File};
use replank_lifecycle::fix::kustomize::{self, Kustomized, Scanned as _};
use replank_lifecycle::fix::{self, Scanner};
use replank_lifecycle::scan::{Hint, Report};
use replank_lifecycle::schema::Schema;
use replank_lifecycle::waiver::{Waived, Waivers};

use super::args::ScanArgs;
use super::found::{Found, cores, found_by, sorted};
use super::pass::{Outcome, Pass, Passed, as_written, heads};
use super::replacing::Replacing;
use super::rewritten::{Done, Rewritten, difference, of_fixed, of_releases};
use super::show::print;
use super::today;
use super::told::{self, Told};
use super::written::{Roots, WrittenTree};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::Meter;
use crate::report::words::count;

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
    let (roots, scanner, today) = (Roots::new(args), Scanner::new(measure, &schema), today());
    let replacing = Replacing::default();
    let (mut passed, mut holds): (Vec<Passed>, bool) = (Vec::new(), false);
    let found = found_by(args, measure, printer, &mut |walk, threads, step| {
        if args.helm_release {
            return files::scan_files(measure, &walk.files, threads, step);
        }
        holds = roots.have_kustomizations(&walk.kustomizations);
        let held = AtomicUsize::new(0);
        let pass = Pass {
            args,
            measure,
            scanner: &scanner,
            waivers,
            today: &today,
            roots: &roots,
            replacing: &replacing,
            holds,
            held,
        };
        let mut all = files::on_threads(&walk.files, threads, &|file| {
            let passed = pass.file(file);
            step();
            passed
        });
        let mut report = Report::default();
        all.iter_mut().for_each(|passed| report.append(std::mem::take(&mut passed.report)));
        passed = all;
        report
    })?;
    let Found { report, files, left_out, kustomizations, .. } = found;
    let Waived { left: findings, waived, .. } = waivers.apply(report.findings.clone(), &today);
    let heads = if holds { heads(&files, &mut passed) } else { Vec::new() };
    let tree = WrittenTree::new(roots.clone(), &files, heads, &findings, &waived);
    let directories = tree.kustomizations(kustomizations);
    let kustomized = if args.helm_release || findings.is_empty() || !holds {
        Kustomized::default()
    } else {
        kustomize::kustomized(measure, &schema, &directories, &tree)
    };
    let fixer = Fixer {
        args,
        measure,
        schema: &schema,
        roots: &roots,
        replacing: &replacing,
        tree: &tree,
        kustomized: &kustomized,
    };
    let mut passed = passed.into_iter();
    let concerned: Vec<Concerned<'_>> = files
        .iter()
        .map(|file| (file, passed.next()))
        .filter(|(file, _)| fixer.is_concerned(file))
        .map(|(file, passed)| fixer.concerned(file, passed))
        .collect();
    let all = fixer.all(&concerned)?;
    let files: Vec<&File> = concerned.iter().map(|of| of.file).collect();
    if args.diff {
        tell(&files, &all, "would be changed", args.all, printer);
        let out: String = all.iter().map(|done| done.difference.as_str()).collect();
        printer.data(&out)?;
        let scanned = sorted(args, measure, waivers, report, left_out, printer);
        return Ok(scanned.exit());
    }
    tell(&files, &all, "changed", args.all, printer);
    let changed = concerned.into_iter().zip(&all).filter(|(_, done)| done.lines.is_some());
    let report = again(args, measure, report, changed.map(|(of, _)| of).collect());
    print(args, &sorted(args, measure, waivers, report, left_out, printer), printer)
}

/// A file that is to be fixed, as far as it is.
struct Concerned<'c> {
    file: &'c File,
    /// What would be found in it, if that is known.
    after: Option<Report>,
    outcome: Mutex<Outcome>,
}

/// What was found, with what would be found in the files that were changed.
fn again(args: &ScanArgs, measure: &Measure, mut report: Report, changed: Vec<Concerned<'_>>) -> Report {
    if changed.is_empty() {
        return report;
    }
    let names: BTreeSet<&Arc<str>> = changed.iter().map(|of| &of.file.name).collect();
    report.findings.retain(|finding| !names.contains(&finding.place.source));
    report.unread.retain(|unread| !names.contains(&unread.place.source));
    report.unrendered.retain(|of| !names.contains(&of.place.source));
    let threads = args.threads.map(usize::from).unwrap_or_else(cores);
    let unknown = changed.iter().filter(|of| of.after.is_none()).map(|of| of.file.clone());
    let fresh = files::scan_files(measure, &unknown.collect::<Vec<_>>(), threads, &|| ()).finish(measure);
    // The same objects are counted already.
    let counts = report.counts;
    report.append(fresh);
    changed.into_iter().filter_map(|of| of.after).for_each(|after| report.append(after));
    report.counts = counts;
    report.finish(measure)
}

/// What every file is fixed with.
struct Fixer<'f> {
    args: &'f ScanArgs,
    measure: &'f Measure,
    schema: &'f Schema,
    roots: &'f Roots,
    replacing: &'f Replacing,
    tree: &'f WrittenTree,
    kustomized: &'f Kustomized,
}

impl Fixer<'_> {
    fn is_concerned(&self, file: &File) -> bool {
        self.tree.is_concerned(&file.real) || self.kustomized.decides(&file.real)
    }

    /// What is left to do of a file: all of it where its kustomization has decided.
    fn concerned<'c>(&self, file: &'c File, passed: Option<Passed>) -> Concerned<'c> {
        let (outcome, after) = match passed {
            Some(Passed { outcome, after, .. }) if !self.kustomized.decides(&file.real) => (outcome, after),
            Some(_) | None => (Outcome::Again, None),
        };
        Concerned { file, after, outcome: outcome.into() }
    }

    /// Fixes files on several threads, each of which holds one text at a time.
    fn all(&self, files: &[Concerned<'_>]) -> Result<Vec<Done>, Failure> {
        let threads = self.args.threads.map(usize::from).unwrap_or_else(cores);
        let meter = Meter::of_files(files.len());
        let all = files::on_threads(files, threads, &|of| {
            let outcome = std::mem::replace(
                &mut *of.outcome.lock().unwrap_or_else(PoisonError::into_inner),
                Outcome::Nothing,
            );
            let done = self.one(of.file, outcome);
            meter.step();
            done
        });
        all.into_iter().collect()
    }

    fn one(&self, file: &File, outcome: Outcome) -> Result<Done, Failure> {
        match outcome {
            Outcome::Nothing => Ok(Done::default()),
            Outcome::Done(done) => done,
            Outcome::Held { done, text } => {
                if done.lines.is_some() && !self.args.diff {
                    self.replacing.put(&file.real, &text, false)?;
                }
                Ok(done)
            }
            Outcome::Again => self.again(file),
        }
    }

    fn again(&self, file: &File) -> Result<Done, Failure> {
        let of = match self.rewritten(file)? {
            Ok(of) => of,
            Err(why) => return Ok(Done::refused(why.to_owned())),
        };
        let difference = if self.args.diff { difference(&file.name, &of) } else { String::new() };
        if !self.args.diff && of.after != of.before {
            if let Some(why) = self.roots.refuses(file) {
                return Ok(Done::refused(why));
            }
            self.replacing.put(&file.real, &of.after, self.args.helm_release)?;
        }
        Ok(Done::of(of, difference))
    }

    /// One file. `Err` says in words why nobody can write it.
    fn rewritten(&self, file: &File) -> Result<Result<Rewritten, &'static str>, Failure> {
        let bytes = std::fs::read(&file.path).map_err(|error| {
            Failure::usage(
                anyhow::Error::new(error).context(format!("{} cannot be read", file.path.display())),
            )
        })?;
        let text = match as_written(bytes) {
            Ok(text) => text,
            Err((_, why)) => return Ok(Err(why)),
        };
        let (measure, schema) = (self.measure, self.schema);
        let real = &file.real;
        Ok(Ok(if self.args.helm_release {
            of_releases(measure, schema, &file.name, text)
        } else {
            let lets_be = |line: u32| self.tree.lets_be(real, line);
            let fixed = if self.kustomized.decides(real) {
                kustomize::fix_kustomized(measure, self.kustomized, real, &file.name, &text)
            } else {
                fix::fix(measure, schema, &file.name, &text, &file.hint, &lets_be)
            };
            of_fixed(&file.name, text, fixed)
        }))
    }
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
        let fixed = fix::fix(measure, schema, &name, &text, &Hint::default(), &|_| false);
        of_fixed(&name, text, fixed)
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

/// Checks what cannot be said by clap alone.
pub(super) fn check(args: &ScanArgs) -> Result<(), Failure> {
    if args.helm_release && !args.fix && !args.diff {
        return Err(Failure::usage_message("--helm-release requires --fix or --diff")
            .next("`replank scan --diff --helm-release FILE` shows what would be written"));
    }
    Ok(())
}
