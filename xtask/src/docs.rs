//! Output in the documentation is real: `cargo xtask docs` runs the program and puts in what it prints, `--check` fails
//! where something else stands there.
//!
//! A comment before a code block says what it is the output of, and optionally which section of the report:
//!
//! ````text
//! <!-- output: rehearse --timeline | Findings -->
//! ```text
//! Findings  none
//! ```
//! ````
//!
//! Paths are taken relative to the workspace. How long the rehearsal took on the machine does not count in a comparison.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Changes nothing; fails where a page is not up to date.
    #[arg(long)]
    check: bool,
    /// The program; otherwise the debug build is made and run.
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Pages that may have output in them.
const PAGES: &[&str] = &[
    "README.md",
    "README.ja.md",
    "docs/batch.md",
    "docs/check.md",
    "docs/compare.md",
    "docs/exit-codes.md",
    "docs/hpa.md",
    "docs/migrate.md",
    "docs/place.md",
    "docs/plan.md",
    "docs/questions.md",
    "docs/rehearsal-json.md",
    "docs/scale.md",
    "docs/scan.md",
    "docs/termination.md",
    "docs/upgrade.md",
    "examples/bad-ami/README.md",
    "examples/elastic/README.md",
    "examples/job-site/README.md",
    "examples/roles/README.md",
    "examples/upgrade-2020/README.md",
    "examples/upgrade/README.md",
];
/// Columns of output in pages: what a code block of a wide page shows without scrolling.
const COLUMNS: &str = "100";

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => build()?,
    };
    let mut outputs = Outputs { binary, known: BTreeMap::new() };
    let mut stale = Vec::new();
    for page in PAGES {
        let path = crate::root().join(page);
        let text = std::fs::read_to_string(&path).with_context(|| format!("{page} cannot be read"))?;
        let (fresh, blocks) =
            renew(&text, &mut |wanted| outputs.of(wanted)).with_context(|| (*page).to_owned())?;
        let is_same = without_wall_time(&fresh) == without_wall_time(&text);
        println!("{page}: {blocks} blocks of output{}", if is_same { "" } else { ", not up to date" });
        if !is_same && args.check {
            stale.push(*page);
        } else if !is_same {
            std::fs::write(&path, fresh)?;
        }
    }
    if !stale.is_empty() {
        bail!("the output in {} is outdated: run `cargo xtask docs`", stale.join(", "));
    }
    Ok(())
}

fn build() -> Result<PathBuf> {
    let built = crate::workspace::cargo()
        .args(["build", "--package", "replank", "--locked", "--quiet"])
        .current_dir(crate::root())
        .status()
        .context("cannot run cargo")?;
    if !built.success() {
        bail!("the build failed");
    }
    Ok(crate::root().join("target").join("debug").join("replank"))
}

/// What a marker asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    /// Arguments of the program.
    arguments: String,
    /// The section whose heading begins so; all where there is none.
    section: Option<String>,
}

impl Wanted {
    /// From a line of a page.
    fn of(line: &str) -> Option<Self> {
        let inside = line.trim().strip_prefix("<!-- output: ")?.strip_suffix(" -->")?;
        let (arguments, section) =
            inside.split_once(" | ").map_or((inside, None), |(head, tail)| (head, Some(tail)));
        Some(Self { arguments: arguments.to_owned(), section: section.map(str::to_owned) })
    }
}

/// A page with every marked block renewed, and how many there were.
fn renew(page: &str, output: &mut dyn FnMut(&Wanted) -> Result<String>) -> Result<(String, usize)> {
    let mut fresh = String::new();
    let mut blocks = 0;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        push(&mut fresh, line);
        let Some(wanted) = Wanted::of(line) else { continue };
        let fence = lines
            .next()
            .filter(|line| line.starts_with("```"))
            .context("a marker has no code block below")?;
        push(&mut fresh, fence);
        let end = lines.by_ref().find(|line| *line == "```");
        push(&mut fresh, output(&wanted)?.trim_end());
        push(&mut fresh, end.context("a code block has no end")?);
        blocks += 1;
    }
    Ok((fresh, blocks))
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// What the program printed, each call once.
struct Outputs {
    binary: PathBuf,
    known: BTreeMap<String, String>,
}

impl Outputs {
    fn of(&mut self, wanted: &Wanted) -> Result<String> {
        if !self.known.contains_key(&wanted.arguments) {
            let text = output(&self.binary, &wanted.arguments)?;
            self.known.insert(wanted.arguments.clone(), text);
        }
        let text = &self.known[&wanted.arguments];
        match &wanted.section {
            None => Ok(text.clone()),
            Some(name) => section(text, name).with_context(|| format!("there is no section {name}")),
        }
    }
}

fn output(binary: &Path, arguments: &str) -> Result<String> {
    let output = Command::new(binary)
        .args(arguments.split_whitespace())
        .current_dir(crate::root())
        .env("COLUMNS", COLUMNS)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} cannot be run", binary.display()))?;
    if !matches!(output.status.code(), Some(0 | 3 | 4)) {
        bail!("replank {arguments}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).context("the program printed no text")
}

/// From a heading to the next: headings are the lines that are not indented.
fn section(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(name));
    let mut section = lines.next()?.to_owned();
    for line in lines.take_while(|line| line.is_empty() || line.starts_with(' ')) {
        section.push('\n');
        section.push_str(line);
    }
    Some(section)
}

/// `20,417 events in 412ms` differs from run to run.
fn without_wall_time(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(" events in ") {
        Some((head, _)) => format!("{head} events"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_blocks_are_renewed_and_others_stay() {
        let page = "# Page\n\n<!-- output: rehearse | The roll -->\n```text\nold\nlines\n```\n\n```text\nstays\n```\n";
        let (fresh, blocks) = renew(page, &mut |wanted| {
            assert_eq!(*wanted, Wanted { arguments: "rehearse".into(), section: Some("The roll".into()) });
            Ok("new\n".into())
        })
        .expect("the page is sound");
        assert_eq!(blocks, 1);
        assert_eq!(fresh, page.replace("old\nlines", "new"));
        assert!(renew("<!-- output: rehearse -->\ntext\n", &mut |_| Ok(String::new())).is_err());
    }

    #[test]
    fn a_section_ends_at_the_next_heading() {
        let report = "Findings  none\n\nThe roll  2h00m\n  time\n\n  more\n\nVerdict  passes\n";
        assert_eq!(section(report, "The roll").as_deref(), Some("The roll  2h00m\n  time\n\n  more\n"));
        assert_eq!(section(report, "Timeline"), None);
    }

    #[test]
    fn wall_time_does_not_count() {
        assert_eq!(
            without_wall_time("  rehearsed 9 events in 412ms\nx"),
            without_wall_time("  rehearsed 9 events in 1.2s\nx")
        );
        assert_ne!(without_wall_time("8 events in 1ms"), without_wall_time("9 events in 1ms"));
    }
}
