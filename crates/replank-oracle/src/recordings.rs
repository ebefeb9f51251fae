//! Harness for recorded answers: finds the recordings, runs a crate's own check over each case, prints a table.
//!
//! A recording is a JSON Lines file (`*.jsonl`, or gzipped `*.jsonl.gz`), one case per line. The first part of its
//! name up to the first `.` says what it is (`quantity.public.jsonl`), so that other recordings of the same kinds can
//! be tried by pointing `REPLANK_VECTORS` at their directory. In a folder named `scheduler` the first part is the
//! scheduler's group.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::tell::tell;

/// Names another directory than the repository's `testdata/vectors`.
pub const VECTORS_VARIABLE: &str = "REPLANK_VECTORS";

/// Failures that are shown in full, per kind, unless this variable says another number. The rest is counted.
pub const SHOWN_VARIABLE: &str = "REPLANK_SHOWN";
const SHOWN_FAILURES: usize = 5;

/// What a recording holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `resource.Quantity`.
    Quantity,
    /// Label and field selectors.
    LabelSelector,
    /// `util/version` and API version priority.
    Version,
    /// `util/intstr`.
    IntStr,
    /// The horizontal pod autoscaler, step by step.
    Hpa,
    /// What the API server says of an object that is to be created.
    Validation,
    /// Whether it takes a CustomResourceDefinition, and the fields that it names if not.
    Definition,
    /// YAML, and what kubectl reads in it.
    Yaml,
    /// The scheduler; the group as its file is named.
    Scheduler(String),
}

impl Kind {
    /// From the part of the path that begins with the name of the directory that was asked for.
    fn of(path: &Path) -> anyhow::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).context("its name is not UTF-8")?;
        let (first, _) = name.split_once('.').unwrap_or((name, ""));
        let mut folders = path.parent().into_iter().flat_map(Path::components);
        let is_scheduler = folders.any(|folder| folder.as_os_str() == "scheduler");
        Ok(match first {
            group if is_scheduler => Self::Scheduler(group.to_owned()),
            "quantity" => Self::Quantity,
            "labelselector" => Self::LabelSelector,
            "version" => Self::Version,
            "intstr" => Self::IntStr,
            "hpa" => Self::Hpa,
            "validation" => Self::Validation,
            "definition" => Self::Definition,
            "yaml" => Self::Yaml,
            other => bail!(
                "\"{other}\" is not a kind of recording (quantity, labelselector, version, intstr, hpa, validation, definition, yaml, \
                 or any group in a folder named scheduler)"
            ),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity => f.write_str("quantity"),
            Self::LabelSelector => f.write_str("labelselector"),
            Self::Version => f.write_str("version"),
            Self::IntStr => f.write_str("intstr"),
            Self::Hpa => f.write_str("hpa"),
            Self::Validation => f.write_str("validation"),
            Self::Definition => f.write_str("definition"),
            Self::Yaml => f.write_str("yaml"),
            Self::Scheduler(group) => write!(f, "scheduler/{group}"),
        }
    }
}

/// One file of cases.
#[derive(Debug)]
pub struct Recording {
    /// Where it lies.
    pub path: PathBuf,
    /// What it holds.
    pub kind: Kind,
}

impl Recording {
    /// Its cases as text, blank lines left out.
    pub fn lines(&self) -> anyhow::Result<Vec<String>> {
        lines(&self.path)
    }
}

/// The lines of a recording, blank ones left out.
pub fn lines(path: &Path) -> anyhow::Result<Vec<String>> {
    let read = || -> io::Result<Vec<String>> {
        let file = fs::File::open(path)?;
        let bytes: Box<dyn Read> = match path.extension() {
            Some(extension) if extension == "gz" => Box::new(MultiGzDecoder::new(file)),
            Some(_) | None => Box::new(file),
        };
        BufReader::new(bytes)
            .lines()
            .filter(|line| !matches!(line, Ok(line) if line.trim().is_empty()))
            .collect()
    };
    read().with_context(|| format!("reading {}", path.display()))
}

/// Every recording below `directory`, whatever it holds, in the order of their paths; none is an error.
pub fn walk_recordings(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let directory =
        directory.canonicalize().with_context(|| format!("looking for {}", directory.display()))?;
    let mut paths = Vec::new();
    walk(&directory, &mut paths)?;
    ensure!(!paths.is_empty(), "no *.jsonl or *.jsonl.gz below {}", directory.display());
    paths.sort();
    Ok(paths)
}

/// The directory with the recordings: `REPLANK_VECTORS`, else the repository's own.
pub fn vectors_directory() -> PathBuf {
    match std::env::var_os(VECTORS_VARIABLE) {
        Some(directory) => directory.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors"),
    }
}

/// Every recording below `directory`, in the order of their paths.
///
/// A directory that is missing or holds none is an error, and so is a file whose name says nothing that is known.
pub fn find(directory: &Path) -> anyhow::Result<Vec<Recording>> {
    let directory =
        directory.canonicalize().with_context(|| format!("looking for {}", directory.display()))?;
    let mut paths = Vec::new();
    walk(&directory, &mut paths)?;
    ensure!(!paths.is_empty(), "no *.jsonl or *.jsonl.gz below {}", directory.display());
    paths.sort();
    let above = directory.parent().unwrap_or(Path::new(""));
    paths
        .into_iter()
        .map(|path| {
            let from_name = path.strip_prefix(above).unwrap_or(&path);
            let kind = Kind::of(from_name).with_context(|| format!("what is {}?", path.display()))?;
            Ok(Recording { path, kind })
        })
        .collect()
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let context = || format!("listing {}", directory.display());
    for entry in fs::read_dir(directory).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            walk(&path, found)?;
        } else if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            found.push(path);
        }
    }
    Ok(())
}

/// What a case's check found: one line for each difference, none if it passed.
pub type Differences = Vec<String>;

/// Runs one case, given as its line.
pub type Check = fn(&str) -> anyhow::Result<Differences>;

/// What a test target does with a kind.
#[derive(Clone, Copy, Debug)]
pub enum Coverage {
    /// Every case must pass.
    Checked(Check),
    /// Its cases are counted, and the table says why they were not run.
    NotHere(&'static str),
}

/// The outcome for one kind.
#[derive(Debug, Default)]
pub struct Row {
    /// Cases seen.
    pub cases: usize,
    /// Cases without a difference.
    pub passed: usize,
    /// Why none was run, if so.
    pub not_here: Option<&'static str>,
    /// Case and differences, for the first few that failed.
    pub shown: Vec<(String, Differences)>,
}

impl Row {
    /// Cases that were run and did not pass.
    pub fn failed(&self) -> usize {
        if self.not_here.is_some() { 0 } else { self.cases - self.passed }
    }
}

/// The outcome, by kind. Displays as a table with the failures below.
#[derive(Debug, Default)]
pub struct Tally {
    /// In the order of the kinds.
    pub rows: BTreeMap<Kind, Row>,
}

impl Tally {
    /// Whether no case failed.
    pub fn all_passed(&self) -> bool {
        self.rows.values().all(|row| row.failed() == 0)
    }
}

/// Runs every case below `directory`.
pub fn run(directory: &Path, coverage: impl Fn(&Kind) -> Coverage) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let shown_max =
        std::env::var(SHOWN_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(SHOWN_FAILURES);
    for recording in find(directory)? {
        let lines = recording.lines()?;
        let coverage = coverage(&recording.kind);
        let row = tally.rows.entry(recording.kind).or_default();
        row.cases += lines.len();
        match coverage {
            Coverage::NotHere(why) => row.not_here = Some(why),
            Coverage::Checked(check) => {
                for line in lines {
                    let differences = run_case(check, &line);
                    if differences.is_empty() {
                        row.passed += 1;
                    } else if row.shown.len() < shown_max {
                        row.shown.push((case_id(&line), differences));
                    }
                }
            }
        }
    }
    Ok(tally)
}

/// A case that cannot be read, or that panics, has failed like any other.
fn run_case(check: Check, line: &str) -> Differences {
    match panic::catch_unwind(AssertUnwindSafe(|| check(line))) {
        Ok(Ok(differences)) => differences,
        Ok(Err(error)) => vec![format!("the case could not be run: {error:#}")],
        Err(_) => vec!["the case panicked (the message is above)".to_owned()],
    }
}

fn case_id(line: &str) -> String {
    let case = serde_json::from_str::<Value>(line).ok();
    let id = case.as_ref().and_then(|case| case.get("id")).and_then(Value::as_str);
    id.unwrap_or("(a case without id)").to_owned()
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<32} {:>7} {:>7} {:>7}", "kind", "cases", "passed", "failed")?;
        for (kind, row) in &self.rows {
            let kind = kind.to_string();
            match row.not_here {
                Some(why) => writeln!(f, "{kind:<32} {:>7} {why:>15}", row.cases)?,
                None => {
                    writeln!(f, "{kind:<32} {:>7} {:>7} {:>7}", row.cases, row.passed, row.failed())?;
                }
            }
        }
        for (kind, row) in &self.rows {
            for (id, differences) in &row.shown {
                writeln!(f, "\n{kind} {id}")?;
                differences.iter().try_for_each(|difference| writeln!(f, "    {difference}"))?;
            }
            if row.failed() > row.shown.len() {
                writeln!(f, "\n{kind}: {} more failed", row.failed() - row.shown.len())?;
            }
        }
        Ok(())
    }
}

/// Body of a test: runs every case, tells the table, and fails below 100%.
///
/// # Panics
/// Where a case fails, or the recordings cannot be read.
pub fn check(title: &str, coverage: impl Fn(&Kind) -> Coverage) {
    let directory = vectors_directory();
    match run(&directory, coverage) {
        Ok(tally) => {
            tell(format!("\n{title}: recordings below {}\n{tally}", directory.display()));
            assert!(tally.all_passed(), "{title}: cases failed, see the table");
        }
        Err(error) => panic!("{title}: {error:#}"),
    }
}

/// The differences between two objects, field by field; a field that only one of them has is one.
pub fn differences(recorded: &Value, ours: &Value) -> Differences {
    let empty = serde_json::Map::new();
    let recorded = recorded.as_object().unwrap_or(&empty);
    let ours = ours.as_object().unwrap_or(&empty);
    let fields: std::collections::BTreeSet<&String> = recorded.keys().chain(ours.keys()).collect();
    let mut differences = Vec::new();
    for field in fields {
        let (theirs, ours) = (recorded.get(field), ours.get(field));
        if theirs != ours {
            let mut line = format!("{field}: recorded ");
            write_value(&mut line, theirs);
            line.push_str(", ours ");
            write_value(&mut line, ours);
            differences.push(line);
        }
    }
    differences
}

fn write_value(line: &mut String, value: Option<&Value>) {
    match value {
        Some(value) => write!(line, "{value}").expect("a string takes everything"),
        None => line.push_str("(absent)"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_say_what_a_recording_is() {
        let kind = |path: &str| Kind::of(Path::new(path));
        assert_eq!(kind("a/quantity.public.jsonl").unwrap(), Kind::Quantity);
        assert_eq!(kind("a/intstr.jsonl.gz").unwrap(), Kind::IntStr);
        assert_eq!(kind("scheduler/taints.x.jsonl.gz").unwrap(), Kind::Scheduler("taints".to_owned()));
        assert_eq!(kind("a/scheduler/b/hpa.y.jsonl").unwrap(), Kind::Scheduler("hpa".to_owned()));
        assert_eq!(kind("a/scheduler.x.jsonl").unwrap_err().to_string().lines().count(), 1);
        let error = kind("a/quantities.public.jsonl").unwrap_err().to_string();
        assert!(error.contains("\"quantities\" is not a kind of recording"), "{error}");
    }

    #[test]
    fn a_missing_or_empty_directory_is_an_error() {
        let missing = Path::new("no/such/directory");
        assert!(find(missing).is_err());
        let without = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(find(&without).unwrap_err().to_string().starts_with("no *.jsonl"));
    }

    #[test]
    fn the_repository_has_recordings_of_every_kind() {
        let found = find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors")).unwrap();
        for kind in [
            Kind::Quantity,
            Kind::LabelSelector,
            Kind::Version,
            Kind::IntStr,
            Kind::Hpa,
            Kind::Validation,
            Kind::Definition,
            Kind::Yaml,
        ] {
            assert!(found.iter().any(|recording| recording.kind == kind), "{kind}");
        }
        assert!(found.iter().any(|recording| matches!(recording.kind, Kind::Scheduler(_))));
    }

    #[test]
    fn failures_are_counted_shown_and_fatal() {
        fn check(line: &str) -> anyhow::Result<Differences> {
            match line {
                "pass" => Ok(Vec::new()),
                "differ" => Ok(vec!["x".to_owned()]),
                "panic" => panic!("on purpose"),
                _ => bail!("cannot be read"),
            }
        }
        assert!(run_case(check, "pass").is_empty());
        assert_eq!(run_case(check, "differ"), ["x"]);
        assert!(run_case(check, "panic")[0].contains("panicked"));
        assert!(run_case(check, "other")[0].contains("cannot be read"));
        let mut tally = Tally::default();
        tally.rows.insert(Kind::Hpa, Row { cases: 3, not_here: Some("not of this crate"), ..Row::default() });
        assert!(tally.all_passed());
        tally.rows.insert(Kind::Version, Row { cases: 3, passed: 2, ..Row::default() });
        assert!(!tally.all_passed());
        assert!(tally.to_string().contains("version: 1 more failed"), "{tally}");
    }

    #[test]
    fn every_field_counts() {
        let found = differences(&json!({"a": 1, "b": 2, "c": 3}), &json!({"a": 1, "b": "2", "d": 4}));
        let expected =
            ["b: recorded 2, ours \"2\"", "c: recorded 3, ours (absent)", "d: recorded (absent), ours 4"];
        assert_eq!(found, expected);
    }
}
