//! Rules that name groups, versions and resources: roles grant them, webhooks and admission policies watch them. Which of
//! what they name is no longer served, and whether its replacement is named too.
//!
//! Sources: apiserver, `authorization/rbac` (`VerbMatches`, `ResourceMatches`) and `webhook/predicates/rules`.

use crate::finding::Beside;
use crate::judge::Measure;
use crate::table::{Gvk, Row, plural};

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A role's, or what an operator is to be granted. It knows no versions.
    Role,
    /// A webhook's.
    Webhook,
    /// An admission policy's, or that of its binding.
    Policy,
}

/// Which objects have rules, and of which sort.
pub(crate) fn sort_of(api_version: &str, kind: &str) -> Option<Sort> {
    let group = api_version.split_once('/').map(|(group, _)| group);
    match (group, kind) {
        (Some("rbac.authorization.k8s.io"), "Role" | "ClusterRole")
        | (Some("operators.coreos.com"), "ClusterServiceVersion") => Some(Sort::Role),
        (
            Some("admissionregistration.k8s.io"),
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => Some(Sort::Webhook),
        (
            Some("admissionregistration.k8s.io"),
            "ValidatingAdmissionPolicy"
            | "MutatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
            | "MutatingAdmissionPolicyBinding",
        ) => Some(Sort::Policy),
        (_, _) => None,
    }
}

/// Where a ClusterServiceVersion says what its operator is granted: lists, each item of which has the rules of one role that the
/// Operator Lifecycle Manager makes.
pub(crate) const GRANTED: [&str; 3] = ["spec", "install", "spec"];
pub(crate) const GRANTS: [&str; 2] = ["clusterPermissions", "permissions"];

/// Where an admission policy, and where its binding has its rules.
pub(crate) const POLICY_RULES: [[&str; 3]; 2] =
    [["spec", "matchConstraints", "resourceRules"], ["spec", "matchResources", "resourceRules"]];

/// One rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule<'n> {
    pub(crate) groups: Vec<&'n str>,
    /// None of a role's.
    pub(crate) versions: Vec<&'n str>,
    pub(crate) resources: Vec<&'n str>,
    /// Verbs, or operations.
    pub(crate) verbs: Vec<&'n str>,
    /// The objects that it is about; all where it names none.
    pub(crate) names: Vec<&'n str>,
}

/// How a rule names what is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// By its resource.
    Itself,
    /// With everything of its group.
    All,
}

/// Something that a rule names and that is not served at the target.
#[derive(Clone, Debug)]
pub(crate) struct Old<'m> {
    /// The rule's number.
    pub(crate) rule: usize,
    pub(crate) row: &'m Row,
    pub(crate) named: Named,
    pub(crate) successor: Option<&'m Gvk>,
    pub(crate) beside: Beside,
}

/// What of the rules of one object (of one webhook) is old; each kind once for a rule.
pub(crate) fn old<'m>(measure: &'m Measure, sort: Sort, rules: &[Rule<'_>]) -> Vec<Old<'m>> {
    let mut found: Vec<Old<'m>> = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        for group in &rule.groups {
            for resource in &rule.resources {
                for mut old in of_resource(measure, sort, rule, group, resource) {
                    old.rule = number;
                    if let Some(successor) = old.successor {
                        old.beside = beside(sort, rules, rule, resource, successor);
                    }
                    // `deployments` and `deployments/scale`: one that is not covered is enough.
                    match found.iter_mut().find(|of| of.rule == number && of.row.gvk == old.row.gvk) {
                        Some(known) if old.beside == Beside::Missing => known.beside = Beside::Missing,
                        Some(_) => {}
                        None => found.push(old),
                    }
                }
            }
        }
    }
    found
}

fn of_resource<'m>(
    measure: &'m Measure,
    sort: Sort,
    rule: &Rule<'_>,
    group: &str,
    resource: &str,
) -> Vec<Old<'m>> {
    let is_about = |row: &&Row| match sort {
        Sort::Role => true,
        Sort::Webhook | Sort::Policy => {
            rule.versions.iter().any(|named| *named == row.gvk.version || *named == "*")
        }
    };
    let (named, rows): (Named, Vec<&Row>) = match resource.split_once('/').unwrap_or((resource, "")) {
        ("*", "" | "*") => {
            let of_group = measure.table.rows().iter().filter(|row| row.gvk.group == group);
            (Named::All, of_group.filter(is_about).collect())
        }
        // Subresources of whatever has them.
        ("*" | "", _) => return Vec::new(),
        (resource, _) => {
            (Named::Itself, measure.table.lookup_resource(group, None, resource).filter(is_about).collect())
        }
    };
    let successor = |row: &Row| measure.table.replacement(row, measure.range.target);
    let is_old = |row: &&Row| {
        let is_gone = !measure.is_served(&row.gvk.api_version(), &row.gvk.kind);
        // A role's rule goes on granting it: roles know no versions. The table need not have a row of what is served.
        is_gone && !(sort == Sort::Role && successor(row).is_some_and(|to| to.group == group))
    };
    if !rows.iter().all(is_old) {
        return Vec::new();
    }
    // Of several versions the last one that goes.
    let mut newest: Vec<&'m Row> = Vec::new();
    for row in rows {
        match newest.iter_mut().find(|of| of.gvk.kind == row.gvk.kind) {
            Some(of) if of.removed < row.removed => *of = row,
            Some(_) => {}
            None => newest.push(row),
        }
    }
    // Nobody who wrote `*` meant what ended without a successor, or the body of a subresource.
    let is_body = |row: &Row| matches!(&*row.gvk.kind, "Scale" | "DeploymentRollback" | "Eviction");
    let meant = |row: &&'m Row| named == Named::Itself || (successor(row).is_some() && !is_body(row));
    let old = |row| Old { rule: 0, row, named, successor: successor(row), beside: Beside::Missing };
    newest.into_iter().filter(meant).map(old).collect()
}

/// Whether rules say of a successor all that one of them says of what it succeeds.
fn beside(sort: Sort, rules: &[Rule<'_>], of: &Rule<'_>, resource: &str, successor: &Gvk) -> Beside {
    let subresource = resource.split_once('/').map_or("", |(_, subresource)| subresource);
    let resource = plural(&successor.kind);
    let says = |verb: Option<&str>| {
        rules.iter().any(|rule| {
            rule.groups.iter().any(|group| *group == successor.group || *group == "*")
                && (sort == Sort::Role
                    || rule.versions.iter().any(|version| *version == successor.version || *version == "*"))
                && rule.resources.iter().any(|named| matches(sort, named, &resource, subresource))
                && verb.is_none_or(|verb| rule.verbs.iter().any(|named| *named == verb || *named == "*"))
                && (rule.names.is_empty()
                    || (!of.names.is_empty() && of.names.iter().all(|name| rule.names.contains(name))))
        })
    };
    let is_there =
        if of.verbs.is_empty() { says(None) } else { of.verbs.iter().all(|verb| says(Some(verb))) };
    if is_there { Beside::There } else { Beside::Missing }
}

/// Whether what a rule names is a resource, or a subresource of it.
fn matches(sort: Sort, named: &str, resource: &str, subresource: &str) -> bool {
    let (of, sub) = named.split_once('/').unwrap_or((named, ""));
    match (sort, of, sub) {
        // To roles `*` is everything.
        (Sort::Role, "*", "") => true,
        (Sort::Webhook | Sort::Policy, "*", "") => subresource.is_empty(),
        (_, "*", "*") => true,
        (_, "*", sub) => sub == subresource,
        (Sort::Webhook | Sort::Policy, of, "*") => of == resource,
        (_, of, sub) => of == resource && sub == subresource,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_named_as_each_sort_does() {
        for (sort, named, resource, subresource, expected) in [
            (Sort::Role, "*", "deployments", "scale", true),
            (Sort::Role, "deployments", "deployments", "scale", false),
            (Sort::Role, "*/scale", "deployments", "scale", true),
            (Sort::Role, "deployments/*", "deployments", "scale", false),
            (Sort::Webhook, "*", "deployments", "scale", false),
            (Sort::Webhook, "*/*", "deployments", "scale", true),
            (Sort::Webhook, "deployments/*", "deployments", "scale", true),
            (Sort::Policy, "*/scale", "deployments", "", false),
            (Sort::Policy, "deployments", "deployments", "", true),
        ] {
            assert_eq!(matches(sort, named, resource, subresource), expected, "{sort:?} {named}");
        }
    }
}
