//! Rules that name API groups: roles grant them, webhooks and admission policies watch them.
//!
//! A role that grants `ingresses` in `extensions` alone forbids them all once that group is gone. A webhook that watches
//! `extensions/v1beta1` alone sees nothing any more: with `matchPolicy: Equivalent` it is asked for requests at other
//! versions only as long as its own is served (apiserver, webhook/generic/webhook.go).

use super::{Lines, Scan, Use};
use crate::finding::{Beside, Confidence, Evidence};
use crate::judge::Measure;
use crate::object::Object;
use crate::rule::{self, GRANTED, GRANTS, Named, Old, POLICY_RULES, Rule, Sort};
use crate::source::{At, Node, Place};

pub(super) fn scan(
    scan: &mut Scan<'_>,
    object: &Object<'_, '_>,
    place: &Place,
    lines: Lines,
    confidence: Confidence,
) {
    let measure = scan.measure;
    each(measure, object, &mut |sort, old, at| {
        scan.used(Use {
            api_version: &old.row.gvk.api_version(),
            kind: &old.row.gvk.kind,
            name: "",
            namespace: object.namespace,
            holder: Some(format!("{} {}", object.kind, object.name)),
            place: lines.place(place, at),
            evidence: match sort {
                Sort::Role => Evidence::Rule { beside: old.beside },
                Sort::Webhook | Sort::Policy => Evidence::Webhook { beside: old.beside },
            },
            confidence: match (old.beside, old.named) {
                (Beside::There, _) => Confidence::Low,
                // In a cluster, too, it is written as it stands.
                (Beside::Missing, Named::Itself) => confidence.max(Confidence::Medium),
                // Which kinds of the group are meant, nobody says.
                (Beside::Missing, Named::All) => Confidence::Medium,
            },
        });
    });
}

/// Hands on what an object's rules name that is old, with the place of the rule.
pub(crate) fn each<'m>(
    measure: &'m Measure,
    object: &Object<'_, '_>,
    hand_on: &mut dyn FnMut(Sort, &Old<'m>, At),
) {
    let Some(sort) = rule::sort_of(object.api_version, object.kind) else { return };
    for list in lists(sort, object.node) {
        let rules: Vec<Rule<'_>> = list.iter().map(|node| read(sort, node)).collect();
        for old in rule::old(measure, sort, &rules) {
            hand_on(sort, &old, list[old.rule].at);
        }
    }
}

/// Lists of rules that are about the same requests.
fn lists<'n, 't>(sort: Sort, object: &'n Node<'t>) -> Vec<&'n [Node<'t>]> {
    let items = |node: Option<&'n Node<'t>>| node.map(Node::items).unwrap_or_default();
    match sort {
        Sort::Role => {
            let granted = object.path(&GRANTED);
            let grants = GRANTS.iter().flat_map(|key| items(granted.and_then(|of| of.get(key))));
            let own = std::iter::once(object).chain(grants);
            own.map(|holder| items(holder.get("rules"))).collect()
        }
        Sort::Webhook => {
            items(object.get("webhooks")).iter().map(|webhook| items(webhook.get("rules"))).collect()
        }
        Sort::Policy => POLICY_RULES.iter().map(|path| items(object.path(path))).collect(),
    }
}

fn read<'n>(sort: Sort, node: &'n Node<'_>) -> Rule<'n> {
    // The core group is the empty text.
    let texts = |key: &str| -> Vec<&'n str> {
        let items = node.get(key).map(Node::items).unwrap_or_default();
        items.iter().map(|item| item.text().unwrap_or_default()).collect()
    };
    Rule {
        groups: texts("apiGroups"),
        versions: texts("apiVersions"),
        resources: texts("resources"),
        verbs: texts(if sort == Sort::Role { "verbs" } else { "operations" }),
        names: texts("resourceNames"),
    }
}
