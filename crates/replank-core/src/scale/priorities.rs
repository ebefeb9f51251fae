//! What the expander `priority` goes by: numbers, each with patterns of group names.
//!
//! Source: Cluster Autoscaler, expander/priority/readme.md: the ConfigMap `cluster-autoscaler-priority-expander`, key `priorities`. It is
//! YAML, a number to a list of regular expressions; a group has the highest number of which a pattern is found in its name.

use std::fmt;

use replank_model::text::Text;

use super::pattern::Pattern;

/// Name of the ConfigMap.
pub const CONFIG_MAP: &str = "cluster-autoscaler-priority-expander";
/// Its key.
pub const CONFIG_KEY: &str = "priorities";

/// Patterns by priority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Priorities(Vec<(i64, Pattern)>);

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub number: usize,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CONFIG_MAP}: line {}: {}", self.number, self.why)
    }
}

impl Priorities {
    /// Reads the ConfigMap's text. What is wrong is named, and the rest goes on.
    #[must_use]
    pub fn read(text: &str) -> (Self, Vec<BadLine>) {
        let (mut read, mut bad) = (Self::default(), Vec::new());
        let mut priority: Option<i64> = None;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line == "---" {
                continue;
            }
            let mut wrong = |why: String| bad.push(BadLine { number: at + 1, why });
            match (line.strip_prefix('-'), priority) {
                (Some(pattern), Some(priority)) => {
                    let pattern = pattern.trim().trim_matches(['"', '\'']);
                    match Pattern::read(pattern) {
                        Ok(pattern) => read.0.push((priority, pattern)),
                        Err(why) => wrong(why),
                    }
                }
                (Some(_), None) => wrong("a pattern without a priority above it".to_owned()),
                (None, _) => match line
                    .strip_suffix(':')
                    .and_then(|number| number.trim().trim_matches('"').parse().ok())
                {
                    Some(number) if number > 0 => priority = Some(number),
                    Some(_) | None => {
                        priority = None;
                        wrong(format!(
                            "expected a number above 0 and a colon, or `- PATTERN`, found {line:?}"
                        ));
                    }
                },
            }
        }
        (read, bad)
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The priority of a group, if a pattern is found in its name.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<i64> {
        self.0.iter().filter(|(_, pattern)| pattern.is_found_in(name)).map(|(priority, _)| *priority).max()
    }

    /// All patterns.
    pub fn patterns(&self) -> impl Iterator<Item = (i64, &Text)> {
        self.0.iter().map(|(priority, pattern)| (*priority, pattern.text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_the_highest_priority_that_names_it() {
        let (read, bad) = Priorities::read("10:\n  - .*\n50:\n  - .*spot.*\n  - \"^eks-web-[0-9]+$\"\n");
        assert_eq!(bad, []);
        assert_eq!(read.of("web"), Some(10));
        assert_eq!(read.of("web-spot-a"), Some(50));
        assert_eq!((read.of("eks-web-12"), read.of("eks-web-12b")), (Some(50), Some(10)));
        assert_eq!(Priorities::read("10:\n- web\n").0.of("other"), None);
    }

    #[test]
    fn what_is_wrong_is_named_and_the_rest_goes_on() {
        let (read, bad) = Priorities::read("- web\nhigh:\n  - x\n10:\n  - a(\n  - b\n");
        assert_eq!(read.of("b"), Some(10));
        let lines: Vec<String> = bad.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].ends_with("line 1: a pattern without a priority above it"));
        assert!(lines[3].contains("line 5: "), "{lines:?}");
    }
}
