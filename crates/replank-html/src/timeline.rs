//! What became of every node, group by group.

use std::collections::BTreeMap;

use replank_model::time::Time;

use crate::axis::Axis;
use crate::chart::{Chart, Step};
use crate::document::{Node, Phase, Rehearsal, Wait};
use crate::markup::Markup;
use crate::page;
use crate::rows::{self, Bar, Row, ShortNames};
use crate::words::{count, grouped, millis, number, span};

/// Waits of one node that are told with it: the longest.
const WAITS_MAX: usize = 3;

/// The bars that a rehearsal has.
const BARS: [Bar; 7] = [
    Bar::Phase(Phase::Serving),
    Bar::Phase(Phase::Cordoned),
    Bar::Phase(Phase::Draining),
    Bar::Phase(Phase::Terminating),
    Bar::Phase(Phase::Booting),
    Bar::Phase(Phase::Joining),
    Bar::Phase(Phase::Ready),
];

pub(crate) fn write(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    if rehearsal.timeline.is_empty() {
        return;
    }
    page::section("timeline", "Timeline", "each node from left to right; times since the start", out);
    in_sum(rehearsal, axis, out);
    let stages = &rehearsal.stages;
    let watched: &[Bar] = if stages.is_empty() { &[] } else { &[Bar::Watched] };
    rows::legend(&[&BARS, watched].concat(), out);
    page::toggle(out);
    let waits = waits_by_node(rehearsal);
    let names = ShortNames::of(rehearsal.timeline.iter().filter_map(|node| node.node.as_deref()));
    let mut groups: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in &rehearsal.timeline {
        groups.entry(&node.group).or_default().push(node);
    }
    for (group, nodes) in groups {
        let old = nodes.iter().filter(|node| node.old).count();
        out.raw("<details class=\"group\" open><summary><h3>Group ");
        out.text(group);
        out.raw("</h3> ");
        out.leaf(
            "span",
            &[("class", "quiet")],
            &format!("{}, {} new", count(old, "old node"), grouped(nodes.len() - old)),
        );
        out.raw("</summary>");
        axis.ruler(out);
        let mut all: Vec<Row> = stages
            .iter()
            .filter(|stage| stage.group == group)
            .map(|stage| {
                let name = stage.wave.map_or_else(|| "Canary".to_owned(), |wave| format!("Wave {wave}"));
                let tried = match stage.pods {
                    0 => "no pod ran on its new nodes, so that nothing was tried".to_owned(),
                    pods => {
                        format!("{} on its new nodes: {}", count(pods, "pod"), stage.workloads.join(", "))
                    }
                };
                let words = format!(
                    "{name}: watched from {} to {}; {tried}.",
                    axis.since(stage.from),
                    axis.since(stage.until)
                );
                Row {
                    name,
                    aside: "watched".to_owned(),
                    bars: vec![(Bar::Watched, stage.from, stage.until)],
                    words,
                }
            })
            .collect();
        all.extend(nodes.iter().map(|node| {
            let of_node = node.node.as_deref().and_then(|name| waits.get(name));
            row(node, axis, &names, of_node.map_or(&[], Vec::as_slice))
        }));
        rows::write(axis, &all, out);
        out.raw("</details>");
    }
    page::end_section(out);
}

/// Old nodes that are left and new ones that are Ready, over time.
fn in_sum(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    let mut changes: BTreeMap<Time, (i64, i64)> = BTreeMap::new();
    let mut before = (0, 0);
    for node in &rehearsal.timeline {
        if node.old {
            before.0 += 1;
            let gone =
                node.phases.iter().find(|start| matches!(start.phase, Phase::Terminating | Phase::Gone));
            if let Some(gone) = gone {
                changes.entry(gone.at).or_default().0 -= 1;
            }
        } else {
            let Some(ready) = node.phases.iter().position(|start| start.phase == Phase::Ready) else {
                continue;
            };
            changes.entry(node.phases[ready].at).or_default().1 += 1;
            let mut later = node.phases[ready..].iter();
            if let Some(gone) = later.find(|start| matches!(start.phase, Phase::Terminating | Phase::Gone)) {
                changes.entry(gone.at).or_default().1 -= 1;
            }
        }
    }
    let (mut old, mut new): (Vec<Step>, Vec<Step>) =
        (vec![(rehearsal.start, before.0)], vec![(rehearsal.start, before.1)]);
    for (at, (gone, ready)) in changes {
        before = (before.0 + gone, before.1 + ready);
        old.push((at, before.0));
        new.push((at, before.1));
    }
    out.raw("<div class=\"line tall\"><p class=\"label\"><b>All nodes</b><span><span class=\"key old\">old</span> ");
    out.text(&format!("{} to {}", number(old.first().map_or(0, |step| step.1)), number(before.0)));
    out.raw("<br><span class=\"key new\">new, Ready</span> ");
    out.text(&format!("0 to {}", number(before.1)));
    out.raw("</span></p>");
    Chart { axis, courses: &[("old", &old), ("new", &new)], levels: &[], marks_none: false }.write(out);
    out.raw("</div>");
}

fn row(node: &Node, axis: Axis, names: &ShortNames<'_>, waits: &[&Wait]) -> Row {
    let full = node.node.as_deref().unwrap_or(&node.instance);
    let mut bars = Vec::new();
    let name = names.short(full).to_owned();
    // The row begins with its name: where that is whole, it is not said again.
    let mut words = if name == full { String::new() } else { format!("{full}, ") };
    words.push_str(if node.old { "old" } else { "new" });
    if !node.zone.is_empty() {
        words.push_str(&format!(", {}", node.zone));
    }
    words.push(':');
    for (index, start) in node.phases.iter().enumerate() {
        let until = node.phases.get(index + 1).map_or(axis.end(), |next| next.at);
        match start.phase {
            Phase::Gone => words.push_str(&format!(" gone at {}.", axis.since(start.at))),
            Phase::Serving if node.phases.len() > 1 => {}
            phase @ (Phase::Serving
            | Phase::Cordoned
            | Phase::Draining
            | Phase::Terminating
            | Phase::Booting
            | Phase::Joining
            | Phase::Ready) => {
                let word = Bar::Phase(phase).word();
                let lasts = node.phases.get(index + 1).map(|next| span(next.at - start.at));
                let lasts = lasts.map_or_else(|| " to the end".to_owned(), |lasts| format!(" for {lasts}"));
                words.push_str(&format!(" {word} from {}{lasts},", axis.since(start.at)));
            }
        }
        if start.phase != Phase::Gone {
            bars.push((Bar::Phase(start.phase), start.at, until));
        }
    }
    if words.ends_with(',') {
        words.pop();
        words.push('.');
    }
    for wait in waits.iter().take(WAITS_MAX) {
        // The row is the node's own: its name once is enough, and ten thousand rows are megabytes.
        let of = wait.what.strip_prefix("node ").filter(|name| *name == full);
        let of = of.map_or_else(|| format!("{}: ", wait.what), |_| String::new());
        words.push_str(&format!(" Waited {}: {of}{}.", millis(wait.waited_ms), axis.told(&wait.reason)));
    }
    if waits.len() > WAITS_MAX {
        words.push_str(&format!(" {} more.", count(waits.len() - WAITS_MAX, "wait")));
    }
    Row { name, aside: node.zone.clone(), bars, words }
}

/// Waits of nodes and of the pods on them, the longest first.
fn waits_by_node(rehearsal: &Rehearsal) -> BTreeMap<&str, Vec<&Wait>> {
    let mut homes: BTreeMap<String, &str> = BTreeMap::new();
    for eviction in &rehearsal.evictions {
        if let Some(node) = &eviction.node {
            homes.insert(format!("{}/{}", eviction.namespace, eviction.pod), node);
        }
    }
    let mut all: BTreeMap<&str, Vec<&Wait>> = BTreeMap::new();
    for wait in &rehearsal.waits {
        let node = match wait.what.split_once(' ') {
            Some(("node", name)) => Some(name),
            Some(("pod", pod)) => homes.get(pod).copied(),
            Some(_) | None => None,
        };
        if let Some(node) = node {
            all.entry(node).or_default().push(wait);
        }
    }
    for waits in all.values_mut() {
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.waited_ms));
    }
    all
}
