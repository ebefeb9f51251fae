//! Which crate may depend on what, and that the modules of each form layers.
//!
//! The graph is cargo's own (`cargo tree`, normal and build dependencies, all targets). Dev-dependencies have a list of their own: tests may use what
//! the product may not. The checkers of the promises are looked at by what they name; `peers/kube-rs` by what it could take from the workspace.

mod checkers;
mod graph;
mod peer;
mod rules;
mod violation;

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use graph::Graph;
use rules::{BANNED, Purity, RULES, Rule};
use violation::Violation;

pub(crate) fn run() -> Result<()> {
    let graph = tree("normal,build")?;
    let mut violations = check(&graph, RULES);
    violations.extend(check_dev(&tree("dev")?, RULES));
    violations.extend(check_bans()?);
    let (shared, checkers) = checkers::check(&super::root())?;
    violations.extend(shared);
    let (same, twice) = peer::check()?;
    violations.extend(twice);
    for rule in RULES {
        println!("{}", account(&graph, rule));
    }
    println!("  checkers: {checkers} files");
    println!("  peers/kube-rs: {same} crates as in the workspace");
    let circles = crate::layers::check()?;
    if violations.is_empty() && circles.is_empty() {
        println!("dependencies: {} crates checked, all allowed", RULES.len());
        return Ok(());
    }
    for violation in &violations {
        println!("VIOLATION {violation}");
    }
    for circle in &circles {
        println!("CIRCLE {circle}");
    }
    bail!(
        "{} against the allow-lists in xtask/src/deps/rules.rs, {} against those in xtask/src/layers/known.rs",
        violations.len(),
        circles.len()
    )
}

/// The dependencies of all crates along certain edges.
fn tree(edges: &str) -> Result<Graph> {
    let output = crate::workspace::cargo()
        .args(["tree", "--workspace", "--locked", "--edges", edges, "--target", "all"])
        .args(["--prefix", "depth", "--format", "{p}"])
        .current_dir(super::root())
        .output()
        .context("cargo tree cannot be run")?;
    if !output.status.success() {
        bail!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Graph::read(&String::from_utf8(output.stdout).context("cargo tree printed no text")?)
}

/// What proptest is built on: named beside it, so that it has the same features whatever is built (Cargo.toml says why).
const UNIFIED: [&str; 3] = ["bitflags", "libc", "num-traits"];

/// Dev-dependencies that are not on the lists.
fn check_dev(graph: &Graph, rules: &[Rule]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for rule in rules {
        let is_listed =
            |name: &&str| rule.dev.contains(name) || UNIFIED.contains(name) && rule.dev.contains(&"proptest");
        for name in graph.direct(rule.name).into_iter().filter(|name| !is_listed(name)) {
            let dependency = format!("{name} (for tests)");
            let reason = "it is not on the list of what its tests may use".to_owned();
            violations.push(Violation { owner: rule.name.to_owned(), dependency, reason });
        }
    }
    violations
}

/// What was looked at for one crate.
fn account(graph: &Graph, rule: &Rule) -> String {
    let direct = graph.direct(rule.name);
    let ours = direct.iter().filter(|name| is_ours(name)).count();
    let all = graph.all(rule.name).len();
    let kind = match rule.purity {
        Purity::Pure => "pure: all of them on the list",
        Purity::Effects => "direct ones on the list",
    };
    format!("  {:16} {ours} of ours, {} direct others, {all} in all; {kind}", rule.name, direct.len() - ours)
}

fn is_ours(name: &str) -> bool {
    RULES.iter().any(|rule| rule.name == name)
}

/// Everything in the graph that the rules do not allow.
fn check(graph: &Graph, rules: &[Rule]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut add = |owner: &str, dependency: String, reason: &str| {
        violations.push(Violation { owner: owner.to_owned(), dependency, reason: reason.to_owned() });
    };
    for member in graph.members() {
        if !rules.iter().any(|rule| rule.name == member) {
            add(member, "anything at all".to_owned(), "it has no rule in xtask/src/deps/rules.rs");
        }
    }
    for rule in rules {
        let allowed: BTreeSet<&str> = rule.ours.iter().chain(rule.others).copied().collect();
        for name in graph.direct(rule.name) {
            if !allowed.contains(name) {
                add(rule.name, name.to_owned(), rule.why);
            }
        }
        for (name, through) in graph.all(rule.name) {
            let path =
                if through.is_empty() { name.to_owned() } else { format!("{name} (through {through})") };
            if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| is_named(name, banned)) {
                add(rule.name, path, reason);
            } else if rule.purity == Purity::Pure
                && !through.is_empty()
                && !rule.below.contains(&name)
                && !allowed.contains(name)
            {
                add(
                    rule.name,
                    path,
                    "a pure crate's whole tree is on the list: clock, I/O, threads and async hide below",
                );
            }
        }
    }
    violations
}

/// Whether a name is meant; `aws-*` means all that begin so.
fn is_named(name: &str, banned: &str) -> bool {
    match banned.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == banned,
    }
}

/// Pure crates carry clippy's bans, each with its reason, and the same ones.
fn check_bans() -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.purity == Purity::Pure) {
        let path = super::root().join("crates").join(rule.name).join("clippy.toml");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        for ban in rules::CLIPPY_BANS {
            let line = text.lines().find(|line| line.contains(&format!("\"{ban}\"")));
            if !line.is_some_and(|line| line.contains("reason = ")) {
                violations.push(Violation {
                    owner: rule.name.to_owned(),
                    dependency: (*ban).to_owned(),
                    reason: format!("{} does not ban it with a reason", path.display()),
                });
            }
        }
    }
    Ok(violations)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: Rule = Rule {
        name: "top",
        ours: &["pure"],
        others: &["good"],
        below: &[],
        dev: &[],
        purity: Purity::Effects,
        why: "top has a list",
    };
    const PURE: Rule = Rule {
        name: "pure",
        ours: &[],
        others: &["good"],
        below: &["deep"],
        dev: &["proptest"],
        purity: Purity::Pure,
        why: "pure has a list",
    };

    fn told(edges: &[(&str, &[&str])]) -> Vec<String> {
        check(&Graph::of(&["top", "pure"], edges), &[TOP, PURE]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_on_the_lists_passes() {
        assert!(told(&[("top", &["pure", "good"]), ("pure", &["good"]), ("good", &["deep"])]).is_empty());
    }

    #[test]
    fn planted_violations_are_found() {
        let direct = told(&[("top", &["pure", "rand"]), ("pure", &["good"])]);
        assert_eq!(direct, ["top: depends on rand: top has a list"]);
        let upwards = told(&[("top", &[]), ("pure", &["top"])]);
        assert_eq!(upwards, ["pure: depends on top: pure has a list"]);
        let hidden = told(&[("top", &[]), ("pure", &["good"]), ("good", &["mio"])]);
        assert_eq!(hidden.len(), 1);
        assert!(
            hidden[0].starts_with("pure: depends on mio (through good): a pure crate's whole tree"),
            "{hidden:?}"
        );
        let banned = told(&[("top", &["good"]), ("pure", &[]), ("good", &["aws-sdk-eks"])]);
        assert!(banned[0].starts_with("top: depends on aws-sdk-eks (through good): "), "{banned:?}");
    }

    #[test]
    fn a_planted_dev_dependency_is_found() {
        let members = ["top", "pure"];
        let good = Graph::of(&members, &[("pure", &["proptest"])]);
        assert_eq!(check_dev(&good, &[TOP, PURE]), []);
        let planted = Graph::of(&members, &[("pure", &["proptest", "top"]), ("top", &["proptest"])]);
        let told: Vec<String> = check_dev(&planted, &[TOP, PURE]).iter().map(ToString::to_string).collect();
        let why = "it is not on the list of what its tests may use";
        let expected = [("top", "proptest"), ("pure", "top")];
        assert_eq!(
            told,
            expected.map(|(owner, name)| format!("{owner}: depends on {name} (for tests): {why}"))
        );
    }

    #[test]
    fn a_crate_without_a_rule_is_found() {
        let graph = Graph::of(&["top", "pure", "stranger"], &[]);
        let told: Vec<String> = check(&graph, &[TOP, PURE]).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["stranger: depends on anything at all: it has no rule in xtask/src/deps/rules.rs"]);
    }

    #[test]
    fn sim_api_and_live_never_see_each_other() {
        let apart = ["replank-sim", "replank-api", "replank-live"];
        for rule in RULES.iter().filter(|rule| apart.contains(&rule.name)) {
            assert!(rule.ours.iter().all(|name| !apart.contains(name)), "{}", rule.name);
        }
    }
}
