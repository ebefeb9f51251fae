//! The checkers of the promises share no code with what they check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::rules::CHECKERS_USE;
use super::violation::Violation;
use crate::layers;

/// Where they are.
const CHECKERS: &str = "crates/replank-testkit/src/check";

const WHY: &str = "a checker shares no code with what it checks; CHECKERS_USE in xtask/src/deps/rules.rs says what it may name";

/// What the checkers use that they must not, and how many files were looked at.
pub(super) fn check(root: &Path) -> Result<(Vec<Violation>, usize)> {
    let mut violations = Vec::new();
    let files = files(&root.join(CHECKERS))?;
    for path in &files {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        violations.extend(of_text(&name, &text));
    }
    Ok((violations, files.len()))
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn of_text(name: &str, text: &str) -> Vec<Violation> {
    let used: BTreeSet<String> = layers::paths_in(text).into_iter().filter(|path| is_ours(path)).collect();
    used.into_iter()
        .filter(|path| !is_allowed(path))
        .map(|dependency| Violation { owner: name.to_owned(), dependency, reason: WHY.to_owned() })
        .collect()
}

fn is_ours(path: &str) -> bool {
    path.starts_with("replank_") || path == "crate" || path.starts_with("crate::")
}

fn is_allowed(path: &str) -> bool {
    let is_within = |allowed: &str| {
        path.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    CHECKERS_USE.iter().any(|allowed| is_within(allowed)) || is_within("crate::check")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(text: &str) -> Vec<String> {
        of_text("size.rs", text).into_iter().map(|violation| violation.dependency).collect()
    }

    #[test]
    fn what_was_observed_and_asked_for_may_be_used() {
        let text = "use replank_model::view::View; use replank_facts::plan::{Health, Plan}; use super::truth::Truth;\n\
                    use crate::clusters::How; fn f(end: &replank_protocol::decision::End) -> How { How::Spot }";
        assert_eq!(used(text), Vec::<String>::new());
    }

    #[test]
    fn planted_violations_are_found() {
        assert_eq!(used("use replank_core::Core;"), ["replank_core::Core"]);
        assert_eq!(used("fn f() { replank_core::nodes_to_replace() }"), ["replank_core::nodes_to_replace"]);
        assert_eq!(used("use replank_core as other;"), ["replank_core"]);
        assert_eq!(
            used("use replank_facts::{budget::Ledger, plan::Plan};"),
            ["replank_facts::budget::Ledger"]
        );
        assert_eq!(used("use replank_facts::plan::*;"), ["replank_facts::plan::*"]);
        assert_eq!(
            used("use crate::on_core::core;"),
            ["crate::on_core::core"],
            "nor by way of somebody else"
        );
        assert_eq!(used("use crate::{check::truth, trial};"), ["crate::trial"]);
        assert_eq!(
            used("// use replank_core::Core;\n#[cfg(test)] use replank_core::Core;"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_checkers_are_found() {
        let (_, files) = check(&crate::root()).expect("they are there");
        assert!(files > 10, "{files}");
    }
}
