//! One metric of an autoscaler: what it is measured by moves into `metric`, what it is to be (or is) into `target` (or
//! `current`).
//!
//! | type | v2beta1 | v2 |
//! |---|---|---|
//! | Resource, ContainerResource | targetAverageUtilization, targetAverageValue | target |
//! | Pods | metricName, selector, targetAverageValue | metric, target |
//! | Object | target, metricName, selector, targetValue, averageValue | describedObject, metric, target |
//! | External | metricName, metricSelector, targetValue, targetAverageValue | metric, target |
//!
//! What a status says has the same names with `current` in place of `target`, apart from Object's.

use super::super::Hold;
use crate::tree::{Entry, Tree};

/// Whether it is wanted or measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Target,
    Current,
}

impl Side {
    const fn key(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Current => "current",
        }
    }
}

/// Names of one type's fields in `v2beta1`.
struct Names {
    source: &'static str,
    has_metric: bool,
    selector: &'static str,
    utilization: Option<&'static str>,
    value: Option<&'static str>,
    average: Option<&'static str>,
}

fn names(of: &str, side: Side) -> Option<Names> {
    let (utilization, value, average) = match side {
        Side::Target => ("targetAverageUtilization", "targetValue", "targetAverageValue"),
        Side::Current => ("currentAverageUtilization", "currentValue", "currentAverageValue"),
    };
    let resource = |source| Names {
        source,
        has_metric: false,
        selector: "",
        utilization: Some(utilization),
        value: None,
        average: Some(average),
    };
    let measured = |source, selector, value, average| Names {
        source,
        has_metric: true,
        selector,
        utilization: None,
        value,
        average: Some(average),
    };
    Some(match of {
        "Resource" => resource("resource"),
        "ContainerResource" => resource("containerResource"),
        "Pods" => measured("pods", "selector", None, average),
        "Object" => measured("object", "selector", Some(value), "averageValue"),
        "External" => measured("external", "metricSelector", Some(value), average),
        _ => return None,
    })
}

/// The source of a metric, with its fields' names.
fn source<'m>(metric: &'m mut Tree, side: Side, place: &str) -> Result<Option<(&'m mut Tree, Names)>, Hold> {
    let of = metric.text_at(&["type"]).unwrap_or_default().to_owned();
    let Some(names) = names(&of, side) else {
        let needed = "metrics are Resource, ContainerResource, Pods, Object or External";
        return Err(Hold::NoCounterpart { path: format!("{place}.type"), says: format!("`{of}`"), needed });
    };
    Ok(metric.get_mut(names.source).map(|source| (source, names)))
}

pub(super) fn up(metric: &mut Tree, side: Side, place: &str) -> Result<(), Hold> {
    let Some((source, names)) = source(metric, side, place)? else { return Ok(()) };
    if names.source == "object" {
        source.rename("target", "describedObject");
    }
    if names.has_metric {
        let (name, selector) = (source.take_at("metricName"), source.take_at(names.selector));
        if let Some(at) = name.as_ref().or(selector.as_ref()).map(|(at, _)| *at) {
            let mut of = Tree::map([]);
            for (entry, key) in [(name, "name"), (selector, "selector")] {
                if let Some((_, entry)) = entry {
                    of.insert_behind(entry.under(key), &[]);
                }
            }
            source.insert_at(at, Entry::new("metric", of));
        }
    }
    let take = |source: &mut Tree, key: Option<&str>| key.and_then(|key| source.take_at(key));
    let utilization = take(source, names.utilization);
    let average = take(source, names.average);
    let value = take(source, names.value);
    let places = [&utilization, &average, &value].into_iter().flatten().map(|(at, _)| *at);
    let Some(at) = places.min() else {
        return match side {
            // A status may say nothing yet.
            Side::Current => Ok(()),
            Side::Target => Err(Hold::Absent {
                path: format!("{place}.{}", names.source),
                why: "the target value is missing",
            }),
        };
    };
    let kind = match (&utilization, &average) {
        (Some(_), _) => "Utilization",
        (None, Some(_)) => "AverageValue",
        (None, None) => "Value",
    };
    let mut target = Tree::map([]);
    if side == Side::Target {
        target.set("type", Tree::text(kind));
    }
    let all = [
        (utilization, "averageUtilization", "Utilization"),
        (average, "averageValue", "AverageValue"),
        (value, "value", "Value"),
    ];
    for (entry, key, of) in all {
        // Only the one that its type names is looked at.
        if let Some((_, entry)) = entry.filter(|_| side == Side::Current || of == kind) {
            target.insert_behind(entry.under(key), &[]);
        }
    }
    source.insert_at(at, Entry::new(side.key(), target));
    Ok(())
}

pub(super) fn down(metric: &mut Tree, side: Side, place: &str) -> Result<(), Hold> {
    let Some((source, names)) = source(metric, side, place)? else { return Ok(()) };
    if let Some((at, target)) = source.take_at(side.key()) {
        let mut target = target.value;
        let mut back = Vec::new();
        for (key, name) in [
            ("averageUtilization", names.utilization),
            ("averageValue", names.average),
            ("value", names.value),
        ] {
            match (target.take(key), name) {
                (Some(entry), Some(name)) => back.push(entry.under(name)),
                // A status says both, and the older version has room for one.
                (Some(_), None) if side == Side::Current => {}
                (Some(entry), None) => {
                    return Err(Hold::NoCounterpart {
                        path: format!("{place}.{}.target.{key}", names.source),
                        says: entry.value.value().to_string(),
                        needed: "the older version has no field for it",
                    });
                }
                (None, _) => {}
            }
        }
        // An object's value was required.
        if names.source == "object"
            && side == Side::Target
            && !back.iter().any(|entry| &*entry.key == "targetValue")
        {
            back.push(Entry::new("targetValue", Tree::text("0")));
        }
        for (behind, entry) in back.into_iter().enumerate() {
            source.insert_at(at + behind, entry);
        }
    }
    if names.source == "object" {
        source.rename("describedObject", "target");
    }
    if names.has_metric
        && let Some((at, metric)) = source.take_at("metric")
    {
        let mut metric = metric.value;
        for (key, name) in [("selector", names.selector), ("name", "metricName")] {
            if let Some(entry) = metric.take(key) {
                source.insert_at(at, entry.under(name));
            }
        }
    }
    Ok(())
}
