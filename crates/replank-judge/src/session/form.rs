//! How a session is written down.

use std::fmt::{Display, Formatter};

use anyhow::{Result, bail};

/// What marks a line of output.
const INDENT: &str = "    ";

/// Where a cluster comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `replank cluster up`.
    Served,
    /// A real control plane.
    Real,
}

/// How a command must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// With success.
    Succeeds,
    /// With success, after some tries: what it prints changes by itself.
    Eventually,
    /// Without success.
    Fails,
}

impl Way {
    const ALL: [Self; 3] = [Self::Succeeds, Self::Eventually, Self::Fails];

    const fn mark(self) -> &'static str {
        match self {
            Self::Succeeds => "$ ",
            Self::Eventually => "? ",
            Self::Fails => "! ",
        }
    }
}

/// A command and what it prints.
#[derive(Clone, Debug)]
pub struct Step {
    /// How it must end.
    pub way: Way,
    /// What a shell reads.
    pub command: String,
    /// What it prints, on both outputs, normalised.
    pub expected: Vec<String>,
}

/// Commands that belong together: one check.
#[derive(Clone, Debug)]
pub struct Section {
    /// What it is about.
    pub title: String,
    /// Where alone it is played.
    pub only: Option<Side>,
    /// Its commands.
    pub steps: Vec<Step>,
}

/// A file of them.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Played one after the other.
    pub sections: Vec<Section>,
}

impl Session {
    /// Reads one.
    ///
    /// # Errors
    /// A line is none of the above.
    pub fn parse(text: &str) -> Result<Self> {
        let mut session = Self::default();
        let mut blank = 0;
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                blank += 1;
                continue;
            }
            let command = Way::ALL.iter().find_map(|way| Some((*way, line.strip_prefix(way.mark())?)));
            let last = session.sections.last_mut();
            if let Some(title) = line.strip_prefix("== ") {
                session.sections.push(Section {
                    title: title.to_owned(),
                    only: side(title),
                    steps: Vec::new(),
                });
            } else if let (Some((way, command)), Some(section)) = (command, last) {
                section.steps.push(Step { way, command: command.to_owned(), expected: Vec::new() });
            } else if let Some(printed) = line.strip_prefix(INDENT)
                && let Some(step) = session.sections.last_mut().and_then(|section| section.steps.last_mut())
            {
                if !step.expected.is_empty() {
                    step.expected.extend(std::iter::repeat_n(String::new(), blank));
                }
                step.expected.push(printed.to_owned());
            } else {
                bail!("line {} is no title, command or output: {line}", number + 1);
            }
            blank = 0;
        }
        Ok(session)
    }
}

fn side(title: &str) -> Option<Side> {
    let ends = [("(served)", Side::Served), ("(real)", Side::Real)];
    ends.into_iter().find_map(|(end, side)| title.ends_with(end).then_some(side))
}

impl Display for Session {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (place, section) in self.sections.iter().enumerate() {
            let gap = if place == 0 { "" } else { "\n" };
            writeln!(f, "{gap}== {}", section.title)?;
            for step in &section.steps {
                writeln!(f, "{}{}", step.way.mark(), step.command)?;
                for line in &step.expected {
                    let line = if line.is_empty() { String::new() } else { format!("{INDENT}{line}") };
                    writeln!(f, "{line}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        let text = "== one\n$ a\n    x\n\n      y\n! b\n\n== two (real)\n? c\n";
        let session = Session::parse(text).unwrap();
        assert_eq!(session.to_string(), text);
        assert_eq!(session.sections[0].steps[0].expected, ["x", "", "  y"]);
        assert_eq!(session.sections[1].only, Some(Side::Real));
        assert!(Session::parse("a\n").is_err());
    }
}
