//! Whether some rules cover others, and what is missing, as text (component-helpers `auth/rbac/validation`).

use super::rule::{Rule, matches_path};

/// What of some rules is not covered by others: rules of one verb on one thing each.
#[must_use]
pub(crate) fn uncovered(owned: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let parts = wanted.iter().flat_map(parts);
    parts.filter(|part| !owned.iter().any(|rule| covers(rule, part))).collect()
}

/// A rule as rules of one verb on one thing each.
fn parts(rule: &Rule) -> Vec<Rule> {
    let mut parts = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part = Rule {
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    verbs: vec![verb.clone()],
                    ..Rule::default()
                };
                if rule.resource_names.is_empty() {
                    parts.push(part);
                    continue;
                }
                let named = |name: &String| Rule { resource_names: vec![name.clone()], ..part.clone() };
                parts.extend(rule.resource_names.iter().map(named));
            }
        }
    }
    for path in &rule.paths {
        let of =
            |verb: &String| Rule { paths: vec![path.clone()], verbs: vec![verb.clone()], ..Rule::default() };
        parts.extend(rule.verbs.iter().map(of));
    }
    parts
}

/// Whether a rule covers a part.
fn covers(rule: &Rule, part: &Rule) -> bool {
    let all = |known: &[String], wanted: &[String]| {
        known.iter().any(|one| one == "*") || wanted.iter().all(|one| known.contains(one))
    };
    let names = rule.resource_names.is_empty()
        || (!part.resource_names.is_empty()
            && part.resource_names.iter().all(|name| rule.resource_names.contains(name)));
    let resources = all(&rule.resources, &part.resources)
        || part.resources.iter().all(|wanted| {
            let any_with_part = wanted.split_once('/').map(|(_, part)| format!("*/{part}"));
            rule.resources.contains(wanted) || any_with_part.is_some_and(|any| rule.resources.contains(&any))
        });
    let paths = part.paths.iter().all(|path| rule.paths.iter().any(|pattern| matches_path(pattern, path)));
    all(&rule.verbs, &part.verbs) && all(&rule.api_groups, &part.api_groups) && resources && names && paths
}

/// Rules as they are told: those on one thing together, one a line, sorted.
#[must_use]
pub(crate) fn told(rules: &[Rule]) -> String {
    let mut together: Vec<Rule> = Vec::new();
    for rule in rules {
        let is_alike = |known: &&mut Rule| {
            rule.paths.is_empty()
                && known.api_groups == rule.api_groups
                && known.resources == rule.resources
                && known.resource_names == rule.resource_names
                && known.paths.is_empty()
        };
        match together.iter_mut().find(is_alike) {
            Some(known) => known.verbs.extend(rule.verbs.iter().cloned()),
            None => together.push(rule.clone()),
        }
    }
    let mut lines: Vec<String> = together.iter().map(line).collect();
    lines.sort();
    lines.join("\n")
}

fn line(rule: &Rule) -> String {
    let members = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.paths),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &rule.verbs),
    ];
    let told = members.iter().filter(|(_, list)| !list.is_empty());
    let told: Vec<String> = told.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
    format!("{{{}}}", told.join(", "))
}

/// Words as Go's `%q` writes a list of them.
#[must_use]
pub(crate) fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], names: &[&str], verbs: &[&str]) -> Rule {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Rule {
            api_groups: list(groups),
            resources: list(resources),
            resource_names: list(names),
            verbs: list(verbs),
            paths: Vec::new(),
        }
    }

    #[test]
    fn what_is_missing_is_told_by_resource() {
        let owned = [rule(&[""], &["pods"], &[], &["get", "list"])];
        let wanted = [
            rule(&[""], &["pods", "secrets"], &[], &["get", "watch"]),
            rule(&["apps"], &["deployments"], &["a"], &["*"]),
        ];
        assert_eq!(
            told(&uncovered(&owned, &wanted)),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\"]}\n\
             {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"watch\"]}\n\
             {APIGroups:[\"apps\"], Resources:[\"deployments\"], ResourceNames:[\"a\"], Verbs:[\"*\"]}"
        );
    }

    #[test]
    fn a_star_covers_and_needs_a_star() {
        let all = [rule(&["*"], &["*"], &[], &["*"])];
        let wanted = [rule(&["apps"], &["deployments/scale"], &["a"], &["*"])];
        assert_eq!(uncovered(&all, &wanted), []);
        assert_eq!(uncovered(&wanted, &all).len(), 1);
        let any_scale = [rule(&["apps"], &["*/scale"], &[], &["*"])];
        assert_eq!(uncovered(&any_scale, &wanted), []);
    }
}
