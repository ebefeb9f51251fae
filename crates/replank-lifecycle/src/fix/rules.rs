//! Rules of roles: the group of a successor is named beside the one that goes. Rules of webhooks and admission policies are left:
//! what answers them has to understand the successor first.

use super::object::{Done, Outcome};
use super::outcome::{Why, WhyRule};
use crate::convert::{self, Hold, Note, Way};
use crate::finding::Beside;
use crate::judge::Measure;
use crate::rule::{self, GRANTED, GRANTS, Named, Old, POLICY_RULES, Rule, Sort};
use crate::table::{Gvk, Product, plural};
use crate::tree::{OriginIndex, Tree};

/// Name and namespace of the object that has the rules.
struct Holder {
    name: String,
    namespace: Option<String>,
    /// Whether nothing that is written into its rules would stay or count.
    in_the_way: Option<Why>,
}

/// Fixes the rules of an object of a kind, one thing that is old after the other; `chosen` says which, by what they use and the
/// rule's node.
pub(super) fn rules(
    measure: &Measure,
    tree: &mut Tree,
    (api_version, kind): (&str, &str),
    chosen: &mut dyn FnMut(&Gvk, Option<OriginIndex>) -> bool,
    each: &mut dyn FnMut(Option<OriginIndex>, Outcome),
) {
    let Some(sort) = rule::sort_of(api_version, kind) else { return };
    let holder = holder(tree);
    for list in lists(sort, tree) {
        let read: Vec<Rule<'_>> = list.items().iter().map(|rule| read(sort, rule)).collect();
        let missing: Vec<Old<'_>> =
            rule::old(measure, sort, &read).into_iter().filter(|old| old.beside == Beside::Missing).collect();
        for old in missing {
            let Some(rule) = list.items_mut().get_mut(old.rule) else { continue };
            let (used, from) = (old.row.gvk.clone(), rule.from);
            if !chosen(&used, from) {
                continue;
            }
            let outcome = match holder.in_the_way.clone() {
                Some(why) => Err(why),
                None => one(measure, sort, rule, &old, &holder),
            };
            each(from, outcome.map_err(|why| Box::new((used, why))));
        }
    }
}

fn holder(tree: &Tree) -> Holder {
    let of_metadata = |key: &str| tree.text_at(&["metadata", key]).map(str::to_owned);
    let is_live = of_metadata("uid").is_some() && of_metadata("resourceVersion").is_some();
    let in_the_way = match (is_live, tree.get("aggregationRule")) {
        (true, _) => Some(Why::Live),
        (false, Some(_)) => Some(Why::Rule(WhyRule::Gathered)),
        (false, None) => None,
    };
    Holder { name: of_metadata("name").unwrap_or_default(), namespace: of_metadata("namespace"), in_the_way }
}

fn lists(sort: Sort, tree: &mut Tree) -> Vec<&mut Tree> {
    match sort {
        Sort::Role if tree.get("rules").is_some() => tree.get_mut("rules").into_iter().collect(),
        Sort::Role => {
            let granted = tree.path_mut(&GRANTED).and_then(Tree::entries_mut).into_iter().flatten();
            let grants = granted.filter(|entry| GRANTS.contains(&&*entry.key));
            let holders = grants.flat_map(|entry| entry.value.items_mut());
            holders.filter_map(|holder| holder.get_mut("rules")).collect()
        }
        Sort::Webhook => {
            let webhooks = tree.get_mut("webhooks").map(Tree::items_mut).unwrap_or_default();
            webhooks.iter_mut().filter_map(|webhook| webhook.get_mut("rules")).collect()
        }
        // A policy has the one, a binding the other.
        Sort::Policy => {
            let path = POLICY_RULES.iter().find(|path| tree.path(&path[..]).is_some());
            path.and_then(|path| tree.path_mut(&path[..])).into_iter().collect()
        }
    }
}

fn read(sort: Sort, rule: &Tree) -> Rule<'_> {
    let texts = |key: &str| -> Vec<&str> {
        let items = rule.get(key).map(Tree::items).unwrap_or_default();
        items.iter().map(|item| item.as_text().unwrap_or_default()).collect()
    };
    Rule {
        groups: texts("apiGroups"),
        versions: texts("apiVersions"),
        resources: texts("resources"),
        verbs: texts(if sort == Sort::Role { "verbs" } else { "operations" }),
        names: texts("resourceNames"),
    }
}

fn one(measure: &Measure, sort: Sort, rule: &mut Tree, old: &Old<'_>, holder: &Holder) -> Result<Done, Why> {
    let used = &old.row.gvk;
    let Some(to) = old.successor else { return Err(Why::Hold(convert::without_successor(used))) };
    match sort {
        Sort::Role => {}
        Sort::Webhook => return Err(Why::Rule(WhyRule::Webhook { to: Box::new(to.clone()) })),
        Sort::Policy => return Err(Why::Rule(WhyRule::Policy { to: Box::new(to.clone()) })),
    }
    if old.row.product != Product::Kubernetes {
        return Err(Why::Hold(Hold::OfProduct(Way::new(used, to))));
    }
    if to.kind != used.kind {
        return Err(Why::Hold(Hold::NoWay(Way::new(used, to))));
    }
    if old.named == Named::All {
        return Err(Why::Rule(WhyRule::All { group: to.group.clone() }));
    }
    if let Some(resource) = granted_besides(measure, &read(sort, rule), to) {
        return Err(Why::Rule(WhyRule::Besides { group: to.group.clone(), resource }));
    }
    if let Some(crate::tree::What::List(groups)) = rule.get_mut("apiGroups").map(|groups| &mut groups.what)
        && !groups.iter().any(|group| group.as_text() == Some(&*to.group))
    {
        groups.push(Tree::text(&to.group));
    }
    Ok(Done {
        name: holder.name.clone(),
        namespace: holder.namespace.clone(),
        field: Some("rules.apiGroups"),
        from: used.clone(),
        to: to.clone(),
        notes: vec![Note::GroupBeside { group: used.group.clone(), to: to.group.clone() }],
    })
}

/// A resource that the rule would grant in another group, too, though nobody has granted it there: a rule is about all its
/// resources in all its groups.
fn granted_besides(measure: &Measure, rule: &Rule<'_>, to: &Gvk) -> Option<String> {
    let own = plural(&to.kind);
    let is_granted_already = |resource: &str| {
        // It comes from the group that goes, as what was looked at did.
        rule.groups.iter().any(|group| {
            measure.table.lookup_resource(group, None, resource).any(|row| {
                row.gvk.group == to.group
                    || measure
                        .table
                        .replacement(row, measure.range.target)
                        .is_some_and(|of| of.group == to.group)
            })
        })
    };
    let resources = rule.resources.iter().map(|resource| resource.split('/').next().unwrap_or_default());
    resources
        .filter(|resource| *resource != own)
        .find(|resource| {
            *resource == "*"
                || (measure.table.lookup_resource(&to.group, None, resource).next().is_some()
                    && !is_granted_already(resource))
        })
        .map(str::to_owned)
}
