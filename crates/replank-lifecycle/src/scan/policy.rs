//! Rules that name API groups: roles grant them, webhooks and admission policies watch them.
//!
//! A role that grants `ingresses` in `extensions` alone forbids them all once that group is gone. A webhook that watches
//! `extensions/v1beta1` alone sees nothing any more: with `matchPolicy: Equivalent` it is asked for requests at other
//! versions only as long as its own is served (apiserver, webhook/generic/webhook.go).

use super::{Lines, Scan, Use};
use crate::finding::{Beside, Confidence, Evidence};
use crate::object::Object;
use crate::source::{At, Node, Place};
use crate::table::{Gvk, Row};

/// Which versions a rule is about.
enum Versions<'n> {
    /// All of a group: roles know no versions.
    All,
    /// These.
    Named(Vec<&'n str>),
}

/// One rule of either sort.
struct Rule<'n, 't> {
    node: &'n Node<'t>,
    groups: Vec<&'n str>,
    versions: Versions<'n>,
    resources: Vec<&'n str>,
}

pub(super) fn scan(
    scan: &mut Scan<'_>,
    object: &Object<'_, '_>,
    place: &Place,
    lines: Lines,
    confidence: Confidence,
) {
    let place = |field: At| lines.place(place, field);
    match (object.api_version.split_once('/').map(|(group, _)| group), object.kind) {
        (Some("rbac.authorization.k8s.io"), "Role" | "ClusterRole") => {
            let rules: Vec<_> = rules(object.node.get("rules"), false);
            each(scan, object, &place, confidence, &rules, |beside| Evidence::Rule { beside });
        }
        (
            Some("admissionregistration.k8s.io"),
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => {
            for webhook in object.node.get("webhooks").map(Node::items).unwrap_or_default() {
                let rules: Vec<_> = rules(webhook.get("rules"), true);
                each(scan, object, &place, confidence, &rules, |beside| Evidence::Webhook { beside });
            }
        }
        (
            Some("admissionregistration.k8s.io"),
            "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding",
        ) => {
            let rules: Vec<_> = rules(object.node.path(&["spec", "matchConstraints", "resourceRules"]), true);
            each(scan, object, &place, confidence, &rules, |beside| Evidence::Webhook { beside });
        }
        (_, _) => {}
    }
}

fn rules<'n, 't>(list: Option<&'n Node<'t>>, with_versions: bool) -> Vec<Rule<'n, 't>> {
    let texts = |node: &'n Node<'t>, key: &str| -> Vec<&'n str> {
        // The core group is the empty text.
        let items = node.get(key).map(Node::items).unwrap_or_default();
        items.iter().map(|item| item.text().unwrap_or_default()).collect()
    };
    let rule = |node: &'n Node<'t>| Rule {
        node,
        groups: texts(node, "apiGroups"),
        versions: if with_versions { Versions::Named(texts(node, "apiVersions")) } else { Versions::All },
        resources: texts(node, "resources"),
    };
    list.map(Node::items).unwrap_or_default().iter().map(rule).collect()
}

fn each(
    scan: &mut Scan<'_>,
    object: &Object<'_, '_>,
    place: &dyn Fn(At) -> Place,
    confidence: Confidence,
    rules: &[Rule<'_, '_>],
    evidence: impl Fn(Beside) -> Evidence,
) {
    for rule in rules {
        let mut named: Vec<Gvk> = Vec::new();
        for group in &rule.groups {
            for row in old_rows(scan, rule, group) {
                let successor = scan.measure.table.replacement(&row, scan.measure.range.target);
                let beside = match successor {
                    Some(gvk) if rules.iter().any(|rule| rule.covers(gvk)) => Beside::There,
                    Some(_) | None => Beside::Missing,
                };
                if named.contains(&row.gvk) {
                    continue;
                }
                named.push(row.gvk.clone());
                scan.used(Use {
                    api_version: &row.gvk.api_version(),
                    kind: &row.gvk.kind,
                    name: "",
                    namespace: object.namespace,
                    holder: Some(format!("{} {}", object.kind, object.name)),
                    place: place(rule.node.at),
                    evidence: evidence(beside),
                    confidence: match beside {
                        Beside::There => Confidence::Low,
                        Beside::Missing => confidence.max(Confidence::Medium),
                    },
                });
            }
        }
    }
}

/// The rows that a rule names in a group, if nothing that it names for a resource is served at the target.
fn old_rows(scan: &Scan<'_>, rule: &Rule<'_, '_>, group: &str) -> Vec<Row> {
    let mut old = Vec::new();
    for resource in &rule.resources {
        let resource = resource.split('/').next().unwrap_or_default();
        // Everything of a group: old only where the whole group is.
        if resource == "*" || resource.is_empty() {
            continue;
        }
        let rows: Vec<&Row> = scan
            .measure
            .table
            .lookup_resource(group, None, resource)
            .filter(|row| rule.versions.has(&row.gvk.version))
            .collect();
        let is_old = |row: &&Row| !scan.measure.is_served(&row.gvk.api_version(), &row.gvk.kind);
        if rows.iter().all(is_old)
            && let Some(newest) = rows.iter().max_by_key(|row| row.removed)
        {
            old.push((*newest).clone());
        }
    }
    old
}

impl Versions<'_> {
    fn has(&self, version: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(versions) => versions.iter().any(|named| *named == version || *named == "*"),
        }
    }
}

impl Rule<'_, '_> {
    /// Whether it names a version of a kind.
    fn covers(&self, gvk: &Gvk) -> bool {
        let resource = crate::table::plural(&gvk.kind);
        self.groups.iter().any(|group| *group == gvk.group || *group == "*")
            && self.versions.has(&gvk.version)
            && self.resources.iter().any(|named| {
                let named = named.split('/').next().unwrap_or_default();
                named == resource || named == "*"
            })
    }
}
