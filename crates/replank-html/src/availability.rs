//! Pods over time: each workload's Ready pods beside what its budget asks for, budgets, and pods without a node.

use std::collections::BTreeMap;

use crate::axis::Axis;
use crate::chart::{Chart, Step};
use crate::document::{Budget, Rehearsal, Workload};
use crate::markup::Markup;
use crate::page;
use crate::words::{count, grouped, millis, number};

/// Workloads that are drawn, those first that came down furthest. The others are named.
const DRAWN_MAX: usize = 200;
/// Names in a list.
const NAMED_MAX: usize = 500;

pub(crate) fn write(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    workloads(rehearsal, axis, out);
    pending(rehearsal, axis, out);
}

fn workloads(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    if rehearsal.workloads.is_empty() && rehearsal.budgets.is_empty() {
        return;
    }
    page::section(
        "availability",
        "Availability",
        "Ready pods over time; the dashed line is what the disruption budget requires",
        out,
    );
    let budgets: BTreeMap<(&str, &str), &Budget> =
        rehearsal.budgets.iter().map(|budget| ((&*budget.namespace, &*budget.name), budget)).collect();
    let mut short: Vec<&Workload> =
        rehearsal.workloads.iter().filter(|one| one.min_ready < one.desired).collect();
    short.sort_by_key(|one| {
        (one.min_ready * 1_000 / one.desired.max(1), std::cmp::Reverse(one.without_ready_ms))
    });
    let drawn = &short[..short.len().min(DRAWN_MAX)];
    if !drawn.is_empty() {
        axis.ruler(out);
        out.raw("<div class=\"lines\">");
        for one in drawn {
            workload(rehearsal, one, &budgets, axis, out);
        }
        out.raw("</div>");
    }
    let others: Vec<String> = short[drawn.len()..]
        .iter()
        .map(|one| format!("{} (down to {} of {})", title(one), number(one.min_ready), number(one.desired)))
        .collect();
    named("More that had fewer pods Ready than wanted", &others, out);
    let whole: Vec<String> =
        rehearsal.workloads.iter().filter(|one| one.min_ready >= one.desired).map(title).collect();
    named("As many pods Ready as wanted, all the time", &whole, out);
    several(rehearsal, axis, out);
    page::end_section(out);
}

fn title(one: &Workload) -> String {
    format!("{} {}/{}", one.kind, one.namespace, one.name)
}

fn named(heading: &str, names: &[String], out: &mut Markup) {
    if names.is_empty() {
        return;
    }
    out.raw("<details class=\"named\"><summary>");
    out.text(&format!("{heading}: {}", grouped(names.len())));
    out.raw("</summary><ul>");
    for name in names.iter().take(NAMED_MAX) {
        out.leaf("li", &[], name);
    }
    if names.len() > NAMED_MAX {
        out.leaf("li", &[], &format!("and {} more: the JSON has them all", grouped(names.len() - NAMED_MAX)));
    }
    out.raw("</ul></details>");
}

fn workload(
    rehearsal: &Rehearsal,
    one: &Workload,
    budgets: &BTreeMap<(&str, &str), &Budget>,
    axis: Axis,
    out: &mut Markup,
) {
    let of_its_own = |name: &&String| {
        let shares = rehearsal
            .workloads
            .iter()
            .filter(|other| other.namespace == one.namespace && other.budgets.contains(name));
        shares.count() == 1
    };
    let covers: Vec<&Budget> = one
        .budgets
        .iter()
        .filter(of_its_own)
        .filter_map(|name| budgets.get(&(one.namespace.as_str(), name.as_str())).copied())
        .collect();
    let figures = format!("down to {} of {} Ready", number(one.min_ready), number(one.desired));
    let mut asked: Vec<String> = covers.iter().map(|budget| required(one, budget)).collect();
    if one.without_ready_ms > 0 {
        asked.insert(0, format!("none for {}", millis(one.without_ready_ms)));
    }
    if one.budgets.is_empty() {
        asked.push("no budget".to_owned());
    }
    out.raw("<div class=\"line\"><p class=\"label\"><b>");
    out.text(&one.name);
    out.raw("</b> ");
    out.leaf("i", &[], &format!("{} in {}", one.kind, one.namespace));
    out.raw("<span>");
    let class = if one.min_ready == 0 { "bad" } else { "some" };
    out.leaf("em", &[("class", class)], &figures);
    out.text(&format!("; {}", asked.join("; ")));
    out.raw("</span></p>");
    let steps: Vec<Step> = one.history.iter().map(|entry| (entry.at, entry.pods)).collect();
    let levels: Vec<(&'static str, i64)> = covers
        .iter()
        .map(|budget| ("needed", budget.desired_healthy))
        .chain([("wanted", one.desired)])
        .collect();
    Chart { axis, courses: &[("course", &steps)], levels: &levels, marks_none: true }.write(out);
    out.raw("</div>");
}

/// `budget requires 2`, with the budget's name where it is another.
fn required(one: &Workload, budget: &Budget) -> String {
    let name = if budget.name == one.name { String::new() } else { format!(" {}", budget.name) };
    format!("budget{name} requires {}", number(budget.desired_healthy))
}

/// Budgets that cover more than one workload, or none that is told of.
fn several(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    let covered = |budget: &Budget| {
        let of = |one: &&Workload| one.namespace == budget.namespace && one.budgets.contains(&budget.name);
        rehearsal.workloads.iter().filter(of).count()
    };
    let budgets: Vec<&Budget> = rehearsal.budgets.iter().filter(|budget| covered(budget) != 1).collect();
    if budgets.is_empty() {
        return;
    }
    out.raw("<h3>Budgets over several workloads</h3>");
    axis.ruler(out);
    out.raw("<div class=\"lines\">");
    for budget in budgets.iter().take(DRAWN_MAX) {
        out.raw("<div class=\"line\"><p class=\"label\"><b>");
        out.text(&budget.name);
        out.raw("</b> ");
        out.leaf("i", &[], &format!("PodDisruptionBudget in {}", budget.namespace));
        out.raw("<span>");
        let class = if budget.violations > 0 { "bad" } else { "some" };
        let text = format!(
            "down to {} healthy, {} required",
            number(budget.min_healthy),
            number(budget.desired_healthy)
        );
        out.leaf("em", &[("class", class)], &text);
        out.raw("</span></p>");
        let steps: Vec<Step> = budget.history.iter().map(|entry| (entry.at, entry.healthy)).collect();
        let levels = [("needed", budget.desired_healthy)];
        Chart { axis, courses: &[("course", &steps)], levels: &levels, marks_none: true }.write(out);
        out.raw("</div>");
    }
    out.raw("</div>");
    if budgets.len() > DRAWN_MAX {
        let more = format!("and {} more: the JSON has them all", count(budgets.len() - DRAWN_MAX, "budget"));
        out.leaf("p", &[("class", "quiet")], &more);
    }
}

fn pending(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    page::section("pending", "Pending pods", "unschedulable pods in addition to those of the snapshot", out);
    let most = rehearsal.pods.unschedulable_max;
    if rehearsal.unschedulable.is_empty() {
        let text = match most {
            0 => "No pod was ever without room.".to_owned(),
            most => format!("At most {} at one moment.", count(most, "pod")),
        };
        out.leaf("p", &[], &text);
        page::end_section(out);
        return;
    }
    let mut steps: Vec<Step> = vec![(rehearsal.start, 0)];
    steps.extend(rehearsal.unschedulable.iter().map(|entry| (entry.at, entry.pods)));
    let mut waited = 0;
    for (index, (at, pods)) in steps.iter().enumerate() {
        let until = steps.get(index + 1).map_or(axis.end(), |(next, _)| *next);
        waited += if *pods > 0 { (until - *at).as_millis().max(0) } else { 0 };
    }
    axis.ruler(out);
    out.raw("<div class=\"line\"><p class=\"label\"><b>Pending</b><span>");
    out.text(&format!("at most {}; some for {} in all", count(most, "pod"), millis(waited)));
    out.raw("</span></p>");
    Chart { axis, courses: &[("pending", &steps)], levels: &[], marks_none: false }.write(out);
    out.raw("</div>");
    page::end_section(out);
}
