//! One case: its cluster in short forms, how it is checked, and its labels.

use std::fmt;
use std::path::{Path, PathBuf};

use replank_intake::document::Found as Read;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;
use serde_json::Value;

use super::entry::Entry;

/// A case, as it was read.
pub(crate) struct Case {
    /// The file, without its extension.
    topic: String,
    name: String,
    /// Why the labels are right, in a sentence.
    pub(crate) why: String,
    /// The group of `--roll`.
    pub(crate) roll: Option<String>,
    /// The spec of a plan.
    pub(crate) plan: Option<Value>,
    /// Auto Scaling groups, for `--groups`.
    pub(crate) groups: Vec<Value>,
    /// What AWS's command line prints, for `--aws`.
    pub(crate) aws: Vec<Value>,
    /// Lines of a list of images, for `--bad-images`.
    pub(crate) bad_images: Vec<String>,
    /// Whether it is checked with `--managed-update`.
    pub(crate) managed_update: bool,
    /// What it is put to.
    pub(crate) trial: Trial,
    /// The cluster's entries.
    pub(crate) cluster: Vec<Value>,
    /// What must be found, and what may be.
    pub(crate) labels: Vec<Label>,
}

/// What a case is put to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// `replank check`.
    Check,
    /// `replank rehearse`, with the lines of a script, if there are any.
    Rehearse(Vec<String>),
}

/// What a line of `expect` says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    /// This must be found.
    Must(Found),
    /// A matter of taste: it counts neither way.
    May { rule: String, object: String },
}

/// A finding, as far as labels go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) severity: String,
    pub(crate) rule: String,
    pub(crate) object: String,
}

impl Found {
    /// One of `-o json`.
    pub(crate) fn of(finding: &Value) -> Self {
        let member = |name: &str| finding[name].as_str().expect("a finding's members are text").to_owned();
        Self { severity: member("severity"), rule: member("id"), object: member("object") }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.severity, self.rule, self.object)
    }
}

impl Label {
    fn of(line: &Value, place: &str) -> Self {
        let line = line.as_str().unwrap_or_else(|| panic!("{place}: a label is a line of text"));
        let parts: Vec<&str> = line.splitn(3, ' ').collect();
        let [severity, rule, object] = parts.as_slice() else {
            panic!("{place}: {line:?} is not SEVERITY RULE Kind namespace/name")
        };
        let (rule, object) = ((*rule).to_owned(), (*object).to_owned());
        match *severity {
            "any" => Label::May { rule, object },
            "blocking" | "warning" | "info" => {
                Label::Must(Found { severity: (*severity).to_owned(), rule, object })
            }
            other => panic!("{place}: {other:?} is no severity: blocking, warning, info, any"),
        }
    }
}

impl Case {
    /// The cases of all files of a directory, sorted by file.
    pub(crate) fn all(directory: &Path) -> Vec<Self> {
        let listed =
            std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let mut files: Vec<PathBuf> = listed
            .map(|file| file.expect("the directory can be read").path())
            .filter(|file| file.extension().is_some_and(|extension| extension == "yaml"))
            .collect();
        files.sort();
        files.iter().flat_map(|file| Self::of_file(file)).collect()
    }

    fn of_file(file: &Path) -> Vec<Self> {
        let mut cases = Vec::new();
        let topic = file.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let source = Source::from_argument(file.as_os_str());
        read(vec![source], &Limits::default(), &mut |found| match found {
            Read::Document(document) => cases.push(Self::of(&topic, document.value)),
            Read::List { .. } => {}
            Read::Problem(problem) => panic!("{}: {problem}", file.display()),
        })
        .expect("the file can be read");
        cases
    }

    fn of(topic: &str, document: Value) -> Self {
        let mut entry = Entry::of(document, topic);
        let name = entry.text("name").unwrap_or_else(|| panic!("{topic}: a case has a name"));
        let place = format!("{topic}/{name}");
        let mut entry = entry.at(&place);
        let case = Self {
            why: entry.text("why").unwrap_or_else(|| panic!("{place}: a case says why")),
            roll: entry.text("roll"),
            plan: entry.take("plan"),
            groups: entry.list("groups"),
            aws: entry.list("aws"),
            bad_images: entry.texts("bad images"),
            managed_update: entry.flag("managed update"),
            trial: entry.texts_if_given("rehearse").map_or(Trial::Check, Trial::Rehearse),
            cluster: entry.list("cluster"),
            labels: entry.list("expect").iter().map(|line| Label::of(line, &place)).collect(),
            topic: topic.to_owned(),
            name,
        };
        entry.end();
        assert!(case.roll.is_none() || case.plan.is_none(), "{place}: roll or plan, not both");
        assert!(
            case.trial == Trial::Check || !case.managed_update,
            "{place}: a rehearsal takes no managed update"
        );
        case
    }

    /// `topic/name`
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.topic, self.name)
    }
}
