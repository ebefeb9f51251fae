//! What `peers/kube-rs` has in common with the workspace: it is built in the same directory, and cargo builds a crate twice where versions or features differ, and
//! all that stands on it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

use super::violation::Violation;

const MANIFEST: &str = "peers/kube-rs/Cargo.toml";

/// Built once more: kube-runtime asks for more of them than the workspace does. hyper stands on tokio-util where it speaks HTTP/2, and would be built once more with
/// all that it has in the workspace.
const ANEW: [&str; 8] =
    ["futures", "futures-util", "hyper", "hyper-util", "kube", "kube-client", "kube-core", "tokio-util"];

/// The features that the crates of a tree have, by name and version; a crate may be there twice, once for macros.
#[derive(Debug, Default)]
struct Crates(BTreeMap<(String, String), BTreeSet<String>>);

/// How many crates are the same, and those that ought to be.
pub(super) fn check() -> Result<(usize, Vec<Violation>)> {
    Ok(compare(&Crates::of(&["--workspace"])?, &Crates::of(&["--manifest-path", MANIFEST])?))
}

impl Crates {
    fn of(whose: &[&str]) -> Result<Self> {
        let output = crate::workspace::cargo()
            .args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}|{f}"])
            .args(whose)
            .current_dir(crate::root())
            .output()
            .context("cargo tree cannot be run")?;
        if !output.status.success() {
            bail!("cargo tree {whose:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Self::read(&String::from_utf8(output.stdout).context("cargo tree printed no text")?)
    }

    /// From lines like `serde_derive v1.0.0 (proc-macro)|default (*)`.
    fn read(tree: &str) -> Result<Self> {
        let mut crates = Self::default();
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let (package, features) =
                line.split_once('|').with_context(|| format!("cargo tree printed {line:?}"))?;
            let mut words = package.split(' ').map(str::to_owned);
            let (name, version) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let features = features.trim_end_matches(" (*)").to_owned();
            crates.0.entry((name, version)).or_default().insert(features);
        }
        Ok(crates)
    }
}

fn compare(workspace: &Crates, peer: &Crates) -> (usize, Vec<Violation>) {
    let mut same = 0;
    let mut violations = Vec::new();
    for ((name, version), features) in &peer.0 {
        let mut add = |reason: String| {
            let dependency = format!("{name} {version}");
            violations.push(Violation { owner: MANIFEST.to_owned(), dependency, reason });
        };
        let Some(there) = workspace.0.get(&(name.clone(), version.clone())) else {
            let versions = workspace.0.keys().filter(|(other, _)| other == name).map(|(_, version)| version);
            if let Some(other) = versions.into_iter().find(|other| compatible(other) == compatible(version)) {
                let (here, there) = (version.trim_start_matches('v'), other.trim_start_matches('v'));
                add(format!(
                    "the workspace has {other}, and it is built twice: cargo update --manifest-path {MANIFEST} {name}@{here} --precise {there}"
                ));
            }
            continue;
        };
        match features.iter().find(|features| !there.contains(*features)) {
            None => same += 1,
            Some(_) if ANEW.contains(&name.as_str()) => {}
            Some(features) => {
                let there: Vec<&str> = there.iter().map(String::as_str).collect();
                let there = there.join("] or [");
                add(format!("with [{features}]; the workspace has it with [{there}], and it is built twice"));
            }
        }
    }
    (same, violations)
}

/// The part of a version within which there is but one of a crate.
fn compatible(version: &str) -> &str {
    let mut until = 0;
    for part in version.split_inclusive('.') {
        until += part.len();
        if part.trim_matches(['v', '.']) != "0" {
            break;
        }
    }
    &version[..until]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(peer: &str) -> (usize, Vec<String>) {
        let workspace = "serde v1.0.9|derive,std\nserde_derive v1.0.9 (proc-macro)|default\nbase64 v0.22.1|\nbase64 v0.23.1|std\nkube-core v5.0.0|\nserde v1.0.9|derive,std (*)\n";
        let read = |tree| Crates::read(tree).expect("it is as cargo prints it");
        let (same, violations) = compare(&read(workspace), &read(peer));
        (same, violations.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_the_same_passes() {
        let peer = "client v0.1.0 (/somewhere)|\nserde v1.0.9|derive,std\nserde_derive v1.0.9 (proc-macro)|default (*)\nbase64 v0.23.1|std\n";
        assert_eq!(told(peer), (3, Vec::new()));
        // What only one of them has, and what is known to differ.
        assert_eq!(told("ahash v0.8.0|std\nbase64 v0.24.0|std\nkube-core v5.0.0|schema\n"), (0, Vec::new()));
        assert!(Crates::read("serde v1.0.9").is_err());
    }

    #[test]
    fn what_differs_is_found() {
        let (same, told) = told("serde v1.0.10|derive,std\nserde_derive v1.0.9|\nbase64 v0.22.2|\n");
        assert_eq!(same, 0);
        assert_eq!(
            told,
            [
                "peers/kube-rs/Cargo.toml: depends on base64 v0.22.2: the workspace has v0.22.1, and it is built twice: cargo update --manifest-path peers/kube-rs/Cargo.toml base64@0.22.2 --precise 0.22.1",
                "peers/kube-rs/Cargo.toml: depends on serde v1.0.10: the workspace has v1.0.9, and it is built twice: cargo update --manifest-path peers/kube-rs/Cargo.toml serde@1.0.10 --precise 1.0.9",
                "peers/kube-rs/Cargo.toml: depends on serde_derive v1.0.9: with []; the workspace has it with [default], and it is built twice",
            ]
        );
    }

    /// For macros, too: features differ there where they are not asked for.
    #[test]
    fn one_of_two_that_differs_is_found() {
        assert_eq!(told("serde v1.0.9|derive,std\nserde v1.0.9|std\n").1.len(), 1);
    }

    #[test]
    fn versions_are_compatible_as_cargo_has_it() {
        assert_eq!(
            ["v1.2.3", "v0.2.3", "v0.0.3", "v10.0.0"].map(compatible),
            ["v1.", "v0.2.", "v0.0.3", "v10."]
        );
    }
}
