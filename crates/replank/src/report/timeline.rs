//! Every node's way through the roll, one line each, drawn over the virtual duration.

use std::collections::BTreeMap;

use replank_model::text::GroupName;
use replank_model::time::{Span, Time};
use replank_rehearse::{NodePhase, NodeTimeline, RehearsalResult};

use super::page::{Page, Tone, cut};
use super::words::{count, span};

/// Names longer than this are cut.
const NAME_MAX: usize = 24;
/// Fewer columns than this show nothing.
const BAR_MIN: usize = 20;

/// The letter of a phase, its tone, and which phase wins where several share a column: the short and telling ones.
fn face(phase: NodePhase) -> (char, Tone, u8) {
    match phase {
        NodePhase::Serving => ('·', Tone::Faint, 2),
        NodePhase::Cordoned => ('c', Tone::Warning, 3),
        NodePhase::Draining => ('D', Tone::Bad, 7),
        NodePhase::Terminating => ('x', Tone::Faint, 6),
        NodePhase::Gone => (' ', Tone::Plain, 1),
        NodePhase::Booting => ('b', Tone::Note, 4),
        NodePhase::Joining => ('j', Tone::Note, 5),
        NodePhase::Ready => ('=', Tone::Good, 2),
    }
}

/// Time as columns.
#[derive(Clone, Copy, Debug)]
struct Axis {
    start: Time,
    length: Span,
    columns: usize,
}

impl Axis {
    /// The beginning of a column; that of the one behind the last is the end.
    fn at(self, column: usize) -> Time {
        let share = i128::from(self.length.as_millis()) * column as i128 / self.columns.max(1) as i128;
        self.start + Span::from_millis(i64::try_from(share).unwrap_or(i64::MAX))
    }

    /// Which phase is drawn in a column; `None` before the node was there.
    fn phase(self, node: &NodeTimeline, column: usize) -> Option<NodePhase> {
        let (from, to) = (self.at(column), self.at(column + 1));
        let is_last = column + 1 == self.columns;
        let begun = node.phases.iter().enumerate().filter(|(at, phase)| {
            let end = node.phases.get(at + 1).map(|next| next.at);
            let begins = phase.at < to || (is_last && phase.at <= to);
            begins && end.is_none_or(|end| end > from || phase.at >= from)
        });
        begun.map(|(_, start)| start.phase).max_by_key(|phase| face(*phase).2)
    }
}

pub(super) fn write(page: &mut Page, result: &RehearsalResult) {
    if result.timeline.is_empty() {
        page.heading("Timeline", "the plan selects no existing node");
        return;
    }
    let names = Names::of(&result.timeline);
    let label = names.width + 2 + names.zone_width + 2;
    let columns = page.width().saturating_sub(2 + label).max(BAR_MIN);
    let axis = Axis { start: result.start, length: result.virtual_duration, columns };
    let column = Span::from_millis(result.virtual_duration.as_millis() / columns as i64);
    page.heading("Timeline", &format!("one column is {}", span(column)));
    legend(page);
    let mut groups: BTreeMap<&GroupName, Vec<&NodeTimeline>> = BTreeMap::new();
    for node in &result.timeline {
        groups.entry(&node.group).or_default().push(node);
    }
    for (group, nodes) in groups {
        page.gap();
        let old = nodes.iter().filter(|node| node.old).count();
        let title = format!("group {group}: {}, {} new", count(old, "old node"), nodes.len() - old);
        page.wrapped(2, &title, Tone::Strong);
        let ruler = page.paint(&ruler(axis), Tone::Faint);
        page.line(&format!("  {:label$}{ruler}", ""));
        for node in nodes {
            let bar = bar(page, axis, node);
            let (name, zone) = names.label(node);
            page.line(&format!(
                "  {name:label$}  {zone:zone_width$}  {bar}",
                label = names.width,
                zone_width = names.zone_width
            ));
        }
    }
}

fn legend(page: &mut Page) {
    let words = [
        (NodePhase::Serving, "in use"),
        (NodePhase::Cordoned, "cordoned"),
        (NodePhase::Draining, "draining"),
        (NodePhase::Terminating, "terminating"),
        (NodePhase::Booting, "booting"),
        (NodePhase::Joining, "joining"),
        (NodePhase::Ready, "Ready"),
    ];
    let shown = words.map(|(phase, word)| {
        let (letter, tone, _) = face(phase);
        (format!("{letter} {word}"), tone)
    });
    let parts: Vec<(&str, Tone)> = shown.iter().map(|(text, tone)| (text.as_str(), *tone)).collect();
    page.beside(2, &parts);
}

/// Moments at quarters of the axis (halves of a short one), each where its column is.
fn ruler(axis: Axis) -> String {
    const ROOMY: usize = 48;
    let parts = if axis.columns < ROOMY { 2 } else { 4 };
    let mut ruler = String::new();
    for part in 0..parts {
        let column = axis.columns * part / parts;
        let used = ruler.chars().count();
        if used > column {
            continue;
        }
        ruler.push_str(&" ".repeat(column - used));
        ruler.push_str(&format!("|{}", span(axis.at(column) - axis.start)));
    }
    let used = ruler.chars().count();
    let end = format!("{}|", span(axis.length));
    let pad = axis.columns.saturating_sub(used + end.chars().count());
    if pad > 0 {
        ruler.push_str(&" ".repeat(pad));
        ruler.push_str(&end);
    }
    ruler
}

/// A node's line: runs of one phase are painted at once.
fn bar(page: &Page, axis: Axis, node: &NodeTimeline) -> String {
    let mut bar = String::new();
    let mut run = String::new();
    let mut last: Option<NodePhase> = None;
    for column in 0..axis.columns {
        let phase = axis.phase(node, column);
        if phase != last {
            bar.push_str(&paint_run(page, &run, last));
            run.clear();
            last = phase;
        }
        run.push(phase.map_or(' ', |phase| face(phase).0));
    }
    bar.push_str(&paint_run(page, &run, last));
    bar
}

fn paint_run(page: &Page, run: &str, phase: Option<NodePhase>) -> String {
    match phase {
        Some(phase) if !run.is_empty() => page.paint(run, face(phase).1),
        Some(_) | None => run.to_owned(),
    }
}

/// How nodes are called in the timeline.
struct Names {
    /// What all names end in, from a dot on, and is left out.
    suffix: String,
    width: usize,
    zone_width: usize,
}

impl Names {
    fn of(nodes: &[NodeTimeline]) -> Self {
        let named = || nodes.iter().filter_map(|node| node.node.as_ref());
        let suffix =
            named().next().and_then(|name| name.as_str().split_once('.')).map_or("", |(_, tail)| tail);
        let suffix = format!(".{suffix}");
        let shared = suffix.len() > 1 && named().all(|name| name.as_str().ends_with(&suffix));
        let mut names = Self { suffix: if shared { suffix } else { String::new() }, width: 0, zone_width: 0 };
        names.width =
            nodes.iter().map(|node| names.name(node).chars().count()).max().unwrap_or(0).min(NAME_MAX);
        names.zone_width = nodes.iter().map(|node| node.zone.as_str().chars().count()).max().unwrap_or(0);
        names
    }

    fn name<'a>(&self, node: &'a NodeTimeline) -> &'a str {
        match &node.node {
            Some(name) => name.as_str().strip_suffix(&*self.suffix).unwrap_or(name.as_str()),
            None => node.instance.as_str(),
        }
    }

    fn label<'a>(&self, node: &'a NodeTimeline) -> (String, &'a str) {
        (cut(self.name(node), self.width), node.zone.as_str())
    }
}
