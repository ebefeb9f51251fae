//! A scenario's file: sections between marker lines, the expected one last.

use std::fmt;
use std::path::Path;

use replank_sim::script::Script;

use super::cluster::{self, Cluster};
use super::event;

pub(super) use super::flaw::Flaw;

/// What a file says.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's name without directory and ending.
    pub name: String,
    /// The first line.
    pub title: String,
    /// The expected story, as it is in the file.
    pub expected: String,
    pub(super) cluster: Cluster,
    /// Kubernetes objects in YAML, with as many empty lines before them as there are lines in the file.
    pub(super) objects: String,
    /// The plan in YAML, likewise.
    pub(super) plan: Option<String>,
    /// Flags of the autoscaler, if one is in charge of the number of nodes.
    pub(super) autoscaler: Option<Vec<String>>,
    pub(super) script: Script,
    /// Everything before the expected story.
    head: String,
}

/// What is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What was found, what was expected.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for Problem {}

/// Lines of one section, each with its number.
type Lines<'a> = Vec<(usize, &'a str)>;

const SECTIONS: [&str; 6] = ["cluster", "objects", "plan", "autoscaler", "events", "expect"];

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// The first thing that is wrong: file, line, what was expected.
    pub fn read(path: &Path, text: &str) -> Result<Self, Problem> {
        let problem =
            |flaw: Flaw| Problem { file: path.display().to_string(), line: flaw.line, message: flaw.message };
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        read(name, text).map_err(problem)
    }

    /// The file's text with another expected story.
    #[must_use]
    pub fn renewed(&self, story: &str) -> String {
        format!("{}-- expect --\n{story}", self.head)
    }
}

fn read(name: String, text: &str) -> Result<Scenario, Flaw> {
    let mut sections: Vec<(&str, Lines<'_>)> = vec![("", Vec::new())];
    let mut head = String::new();
    let mut expected = None;
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        if let Some(story) = &mut expected {
            push_line(story, line);
            continue;
        }
        if let Some(section) = marker(line) {
            if !SECTIONS.contains(&section) {
                let message = format!("unknown section {section:?}: expected one of {}", SECTIONS.join(", "));
                return Err(Flaw::new(number, message));
            }
            if sections.iter().any(|(known, _)| *known == section) {
                return Err(Flaw::new(number, format!("duplicate section {section:?}")));
            }
            if section == "expect" {
                expected = Some(String::new());
                continue;
            }
            sections.push((section, Vec::new()));
        } else {
            sections.last_mut().expect("there is a first one").1.push((number, line));
        }
        push_line(&mut head, line);
    }
    let section = |name: &str| sections.iter().find(|(known, _)| *known == name).map(|(_, lines)| lines);
    let missing = |name: &str, what: &str| {
        Flaw::new(text.lines().count().max(1), format!("the section `-- {name} --` is missing: {what}"))
    };
    let title = title(section("").map_or(&[], Vec::as_slice))?;
    let cluster = section("cluster").ok_or_else(|| missing("cluster", "nodes and what runs on them"))?;
    let autoscaler = section("autoscaler").map(|lines| flags(&meant(lines)));
    let plan = section("plan").map(|lines| in_place(lines));
    if plan.is_none() && autoscaler.is_none() {
        return Err(missing("plan", "the NodeRoll that is rehearsed"));
    }
    let cluster = cluster::read(&meant(cluster))?;
    if plan.is_none() && cluster.watched.is_none() {
        return Err(missing(
            "plan",
            "without one, `watched for 2h` in the section cluster says how long it lasts",
        ));
    }
    Ok(Scenario {
        name,
        title,
        expected: expected.unwrap_or_default(),
        cluster,
        objects: section("objects").map(|lines| in_place(lines)).unwrap_or_default(),
        plan,
        autoscaler,
        script: Script {
            events: section("events")
                .map(|lines| event::read(&meant(lines)))
                .transpose()?
                .unwrap_or_default(),
        },
        head,
    })
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The flags on all lines.
fn flags(lines: &Lines<'_>) -> Vec<String> {
    lines.iter().flat_map(|(_, line)| line.split_whitespace()).map(str::to_owned).collect()
}

/// The name in `-- name --`.
fn marker(line: &str) -> Option<&str> {
    line.strip_prefix("-- ")?.strip_suffix(" --").map(str::trim)
}

fn title(lines: &[(usize, &str)]) -> Result<String, Flaw> {
    let expected =
        "expected a title on the first line, `# Like this`, and below it a sentence of what is shown";
    let title = lines.first().and_then(|(_, line)| line.strip_prefix("# "));
    let title = title.ok_or_else(|| Flaw::new(1, expected))?;
    let has_sentence = lines.iter().skip(1).any(|(_, line)| !line.trim().is_empty());
    if has_sentence { Ok(title.to_owned()) } else { Err(Flaw::new(2, expected)) }
}

/// Lines without comments and empty ones.
fn meant<'a>(lines: &Lines<'a>) -> Lines<'a> {
    let kept = lines.iter().map(|(number, line)| (*number, line.trim()));
    kept.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect()
}

/// The text of a section where every line has the number that it has in the file: errors of readers then tell it.
fn in_place(lines: &Lines<'_>) -> String {
    let Some((first, _)) = lines.first() else { return String::new() };
    let mut text = "\n".repeat(first - 1);
    for (_, line) in lines {
        push_line(&mut text, line);
    }
    text
}
