//! Where input comes from, and which files of a directory are read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::limits::Limits;
use crate::problem::{Lost, Place, Problem, ProblemKind, ReadFailure};

/// One thing a user named.
pub enum Source {
    /// A file, read whatever its name, or a directory, of which `*.yaml`, `*.yml`, `*.json` and each with
    /// `.gz` are read, at any depth, save for names that begin with a dot.
    Path(PathBuf),
    /// The process's standard input.
    Stdin,
    /// Anything else that gives bytes: an example that is part of the program, the output of a command.
    Reader {
        /// What messages call it.
        name: Arc<str>,
        /// The bytes.
        reader: Box<dyn Read + Send>,
    },
}

impl Source {
    /// An argument as kubectl's `-f` takes it: `-` is standard input, everything else a path.
    pub fn from_argument(argument: &OsStr) -> Self {
        if argument == "-" { Source::Stdin } else { Source::Path(PathBuf::from(argument)) }
    }

    /// Bytes that are at hand.
    pub fn bytes(name: impl Into<Arc<str>>, bytes: impl Into<Vec<u8>>) -> Self {
        Source::Reader { name: name.into(), reader: Box::new(io::Cursor::new(bytes.into())) }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Source::Stdin => f.write_str("Stdin"),
            Source::Reader { name, .. } => f.debug_tuple("Reader").field(name).finish(),
        }
    }
}

/// A file that was seen and not read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PassedOver {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub why: WhyPassedOver,
}

/// Why a file in a directory was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyPassedOver {
    /// Its name ends in nothing that is read.
    Name,
    /// Its name begins with a dot (also the `..data` of a mounted ConfigMap, whose files are there by link).
    Hidden,
    /// A pipe, socket or device, which could block for ever.
    NotAFile,
    /// The same file or directory was named, or linked to, before.
    ReadAlready,
}

impl fmt::Display for WhyPassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WhyPassedOver::Name => "its name does not end in .yaml, .yml or .json, or one of these with .gz",
            WhyPassedOver::Hidden => "its name begins with a dot",
            WhyPassedOver::NotAFile => "it is not a regular file",
            WhyPassedOver::ReadAlready => "it was already read, under this name or another",
        })
    }
}

/// Why nothing could be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Fatal {
    /// No source was given.
    #[error("nothing to read: pass a file or directory with Kubernetes objects, or `-` for standard input")]
    NoSource,
    /// A path that is not there.
    #[error("{path}: no such file or directory: check the path (relative to {base})", path = .path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
        /// The directory that relative paths start from.
        base: String,
    },
    /// A path that is there and cannot be opened.
    #[error("{path}: cannot be opened: {cause}: check its permissions and its symbolic links", path = .path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// The operating system's reason.
        cause: io::Error,
    },
    /// A directory without a file that can be read.
    #[error("{path}: no *.yaml, *.yml or *.json (or one of these with .gz) in this directory or below{passed_over}: pass the files, or another directory", path = .path.display())]
    EmptyDirectory {
        /// The path as given.
        path: PathBuf,
        /// How many files were passed over, and an example, or nothing.
        passed_over: String,
    },
    /// Everything could be opened, and not one object is in it.
    #[error("no Kubernetes object in {names}: {why}", names = names(sources), why = why_none(problems))]
    NoObject {
        /// What was read.
        sources: Vec<Arc<str>>,
        /// Why nothing was found; nothing where all is empty.
        problems: Vec<Problem>,
    },
    /// Standard input can be read only once.
    #[error("standard input (`-`) was passed twice: it can be read only once")]
    StdinTwice,
}

fn names(sources: &[Arc<str>]) -> String {
    match sources {
        [] => "the input".into(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

fn why_none(problems: &[Problem]) -> String {
    match problems {
        [] => "it is empty: pass what `kubectl get … -A -o json` or `-o yaml` prints".into(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more problems)", rest.len()),
    }
}

/// One stream of bytes to be read.
pub(crate) enum Input {
    File { name: Arc<str>, path: PathBuf },
    Open { name: Arc<str>, reader: Box<dyn Read + Send> },
}

/// The streams that a list of sources comes to, in the order in which they are read.
#[derive(Default)]
pub(crate) struct Inputs {
    pub(crate) inputs: Vec<Input>,
    pub(crate) passed_over: Vec<PassedOver>,
    pub(crate) problems: Vec<Problem>,
    /// Canonical paths of files and directories taken so far.
    seen: BTreeSet<PathBuf>,
}

/// Finds what is to be read. Sources stay in their order, a directory's files are sorted by name, so that
/// nothing depends on the order in which the file system lists them.
pub(crate) fn find(sources: Vec<Source>, limits: &Limits) -> Result<Inputs, Fatal> {
    let mut found = Inputs::default();
    let mut stdin_named = false;
    if sources.is_empty() {
        return Err(Fatal::NoSource);
    }
    for source in sources {
        match source {
            Source::Path(path) => found.named(path, limits)?,
            Source::Stdin if stdin_named => return Err(Fatal::StdinTwice),
            Source::Stdin => {
                stdin_named = true;
                let reader = Box::new(io::stdin());
                found.inputs.push(Input::Open { name: "<stdin>".into(), reader });
            }
            Source::Reader { name, reader } => found.inputs.push(Input::Open { name, reader }),
        }
    }
    Ok(found)
}

impl Inputs {
    fn named(&mut self, path: PathBuf, limits: &Limits) -> Result<(), Fatal> {
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() => {
                let base =
                    std::env::current_dir().map_or_else(|_| ".".into(), |dir| dir.display().to_string());
                return Err(Fatal::NotFound { path, base });
            }
            Err(cause) => return Err(Fatal::Unreadable { path, cause }),
        };
        if !metadata.is_dir() {
            // A pipe or device that was named is read: `<(kubectl get …)` of a shell is one.
            if metadata.is_file() && !self.first_time(&path) {
                self.pass_over(path, WhyPassedOver::ReadAlready);
            } else {
                self.file(path);
            }
            return Ok(());
        }
        let (inputs, passed_over, problems) =
            (self.inputs.len(), self.passed_over.len(), self.problems.len());
        let entries =
            sorted_entries(&path).map_err(|cause| Fatal::Unreadable { path: path.clone(), cause })?;
        let top = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        self.seen.insert(top.clone());
        self.directory(entries, &mut vec![top], limits);
        let passed_over = &self.passed_over[passed_over..];
        let read_before = passed_over.iter().any(|passed| passed.why == WhyPassedOver::ReadAlready);
        if self.inputs.len() == inputs && self.problems.len() == problems && !read_before {
            let passed_over = match passed_over {
                [] => String::new(),
                [only] => format!(" (skipped {})", only.path.display()),
                [first, rest @ ..] => {
                    format!(" (skipped {} and {} more)", first.path.display(), rest.len())
                }
            };
            return Err(Fatal::EmptyDirectory { path, passed_over });
        }
        Ok(())
    }

    /// `above` holds the canonical paths of the directories on the way, the last of them this one.
    fn directory(&mut self, entries: Vec<PathBuf>, above: &mut Vec<PathBuf>, limits: &Limits) {
        for path in entries {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            if name.starts_with(b".") {
                self.pass_over(path, WhyPassedOver::Hidden);
                continue;
            }
            let wanted = is_wanted(name);
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                Err(_) if !wanted => {
                    self.pass_over(path, WhyPassedOver::Name);
                    continue;
                }
                Err(error) => {
                    self.unreadable(&path, &error);
                    continue;
                }
            };
            if metadata.is_dir() {
                self.below(path, above, limits);
            } else if !wanted {
                self.pass_over(path, WhyPassedOver::Name);
            } else if !metadata.is_file() {
                self.pass_over(path, WhyPassedOver::NotAFile);
            } else if !self.first_time(&path) {
                self.pass_over(path, WhyPassedOver::ReadAlready);
            } else {
                self.file(path);
            }
        }
    }

    fn below(&mut self, path: PathBuf, above: &mut Vec<PathBuf>, limits: &Limits) {
        let canonical = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if above.contains(&canonical) {
            let target = canonical.display().to_string();
            self.problem(&path, ProblemKind::SymlinkLoop { target });
            return;
        }
        if !self.seen.insert(canonical.clone()) {
            self.pass_over(path, WhyPassedOver::ReadAlready);
            return;
        }
        if above.len() > limits.directory_depth_max {
            let bound = format!("{} levels", limits.directory_depth_max);
            self.problem(&path, ProblemKind::Bound { what: "the depth of directories", bound });
            return;
        }
        match sorted_entries(&path) {
            Ok(entries) => {
                above.push(canonical);
                self.directory(entries, above, limits);
                above.pop();
            }
            Err(error) => self.unreadable(&path, &error),
        }
    }

    fn file(&mut self, path: PathBuf) {
        self.inputs.push(Input::File { name: path.display().to_string().into(), path });
    }

    fn pass_over(&mut self, path: PathBuf, why: WhyPassedOver) {
        self.passed_over.push(PassedOver { path, why });
    }

    fn first_time(&mut self, path: &Path) -> bool {
        // Where the path cannot be resolved, opening it will say why.
        fs::canonicalize(path).map_or(true, |canonical| self.seen.insert(canonical))
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        if error.kind() == io::ErrorKind::NotFound
            && let Ok(target) = fs::read_link(path)
        {
            let message = format!("the symbolic link leads to {}, which does not exist", target.display());
            self.problem(path, ProblemKind::Read { message, cause: ReadFailure::Other });
            return;
        }
        self.problem(path, read_problem(error));
    }

    fn problem(&mut self, path: &Path, kind: ProblemKind) {
        let place = Place::source(path.display().to_string().into());
        self.problems.push(Problem { place, kind, lost: Lost::Source });
    }
}

/// What the operating system said, as a problem.
pub(crate) fn read_problem(error: &io::Error) -> ProblemKind {
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
    let cause = if is_denied { ReadFailure::Permission } else { ReadFailure::Other };
    ProblemKind::Read { message: error.to_string(), cause }
}

fn sorted_entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

/// Whether a file in a directory is read: the endings kubectl's `-f` takes, and each with `.gz`.
fn is_wanted(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(b".gz").unwrap_or(&name);
    [&b".yaml"[..], b".yml", b".json"].iter().any(|ending| name.ends_with(ending))
}
