//! From JSON to what a plan says of node groups that no node can show: how far they may grow, of which types they are, which tags they bear.

use replank_model::int_or_string::IntOrString;
use replank_model::object::cloud::{GroupKind, GroupSize, UpdateStrategy};
use replank_model::text::{GroupName, Text, Zone};
use serde_json::Value;

use super::super::error::PlanError;
use super::super::read::{At, Errors, Fields, count, items, text, word};
use super::scalar::nodes_or_percent;
use crate::group_facts::Facts;
use replank_protocol::scaling::Market;

const GROUPS: &str = "a list of node groups, such as [{name: web, min: 0, max: 9}]";
const TYPES: &str = "a list of instance types, such as [m6i.large, m6a.large]";
const ZONES: &str = "a list of zones, such as [eu-west-1a, eu-west-1b]";
const AT_ONCE: &str = "at least 1 node, or a percentage";
const TAGS: &str = "a map of tags, such as {k8s.io/cluster-autoscaler/enabled: \"true\"}";

/// See the module's page.
pub(super) fn node_groups(at: At<'_>, errors: &mut Errors) -> Option<Vec<Facts>> {
    let all = items(at, GROUPS, errors, node_group)?;
    let is_twice = |at: usize| all[..at].iter().any(|known| known.name == all[at].name);
    if let Some(twice) = (0..all.len()).find(|at| is_twice(*at)) {
        errors.0.push(PlanError {
            path: format!("{}[{twice}].name", at.path),
            found: format!("{:?} a second time", all[twice].name.as_str()),
            expected: "each node group once".to_owned(),
            remedy: Some("join the two".to_owned()),
        });
        return None;
    }
    Some(all)
}

fn node_group(at: At<'_>, errors: &mut Errors) -> Option<Facts> {
    let mut fields = Fields::of(at, errors)?;
    let name = fields.require("name", "the name of a node group", errors, |at, errors| {
        text(at, "the name of a node group", errors)
    });
    let size = size(&mut fields, errors);
    let types = fields.read("instanceTypes", errors, |at, errors| {
        items(at, TYPES, errors, |at, errors| text(at, "an instance type", errors))
    });
    let market = fields.read("capacityType", errors, |at, errors| {
        word(at, &[("spot", Market::Spot), ("on-demand", Market::OnDemand)], errors)
    });
    let zones = fields.read("zones", errors, |at, errors| {
        items(at, ZONES, errors, |at, errors| text(at, "a zone", errors))
    });
    let tags = fields.read("tags", errors, tags);
    let kind = fields.read("managedBy", errors, |at, errors| {
        word(at, &[("eks", GroupKind::EksManaged), ("self", GroupKind::SelfManaged)], errors)
    });
    let update_at_once = fields.read("maxUnavailable", errors, |at, errors| {
        nodes_or_percent(at, errors).filter(|value| {
            let is_none = matches!(value, IntOrString::Int(0));
            if is_none {
                errors.add(at, AT_ONCE, None);
            }
            !is_none
        })
    });
    let update_strategy = fields.read("updateStrategy", errors, |at, errors| {
        word(at, &[("DEFAULT", UpdateStrategy::Default), ("MINIMAL", UpdateStrategy::Minimal)], errors)
    });
    fields.finish(errors);
    let mut zones: Vec<Zone> = zones.unwrap_or_default().into_iter().map(Zone::from).collect();
    zones.sort();
    zones.dedup();
    Some(Facts {
        name: GroupName::from(name?),
        size,
        zones,
        types: types.unwrap_or_default().into_iter().map(Text::from).collect(),
        market,
        tags: tags.unwrap_or_default(),
        kind: kind.unwrap_or_default(),
        update_at_once,
        update_strategy,
        ..Facts::default()
    })
}

/// A group wants no fewer than its minimum; how many there are is seen on its nodes.
fn size(fields: &mut Fields<'_>, errors: &mut Errors) -> Option<GroupSize> {
    let min = fields.read("min", errors, |at, errors| count(at, 0, errors));
    let max = fields.read("max", errors, |at, errors| count(at, 0, errors));
    let wrong = |path: String, found: String, expected: &str, remedy: &str| PlanError {
        path,
        found,
        expected: expected.to_owned(),
        remedy: Some(remedy.to_owned()),
    };
    match (min, max) {
        (Some(min), Some(max)) if min > max => {
            let found = format!("{min} with a max of {max}");
            errors.0.push(wrong(fields.path_of("min"), found, "no more than max", "swap the two"));
            None
        }
        (min, Some(max)) => {
            let min = min.unwrap_or(0);
            Some(GroupSize { min, max, desired: min })
        }
        (Some(_), None) if fields.get("max").is_none() => {
            let (path, found) = (fields.path_of("min"), "a min without a max".to_owned());
            errors.0.push(wrong(path, found, "a max with it", "add max: how many nodes the group may have"));
            None
        }
        (Some(_) | None, None) => None,
    }
}

fn tags(at: At<'_>, errors: &mut Errors) -> Option<Vec<(Text, Text)>> {
    let Value::Object(members) = at.value else {
        errors.add(at, TAGS, None);
        return None;
    };
    let mut all = Vec::new();
    for (key, value) in members {
        let path = format!("{}.{key}", at.path);
        let value = if value.as_str() == Some("") {
            Some(String::new())
        } else {
            text(At { path: &path, value }, "a tag's value", errors)
        };
        all.push((Text::from(key.as_str()), Text::from(value?)));
    }
    all.sort();
    Some(all)
}
