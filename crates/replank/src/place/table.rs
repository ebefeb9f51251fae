//! Rows of nodes: one by one, or folded where there are many.

use std::collections::BTreeMap;

use replank_advice::place::Row;
use replank_facts::why::plain;
use replank_model::text::NodeName;
use replank_schedule::{Failure, Plugin, Scores, Verdict};

use super::Why;
use crate::cli::PlaceArgs;
use crate::output::PlaceFormat;
use crate::report::{Page, Tone};

/// Nodes that are shown one by one: as many as a person reads.
const ROWS_MAX: usize = 40;
/// Columns between columns.
const GAP: usize = 2;
/// What stands where there is nothing.
const NOTHING: &str = "-";

/// A cell.
type Cell = (String, Tone);

/// Score plugins in a word each, for `-o wide`.
const SCORES: [(Plugin, &str); 7] = [
    (Plugin::TaintToleration, "TAINTS"),
    (Plugin::NodeAffinity, "AFFINITY"),
    (Plugin::NodeResourcesFit, "FREE"),
    (Plugin::PodTopologySpread, "SPREAD"),
    (Plugin::InterPodAffinity, "PODS"),
    (Plugin::NodeResourcesBalancedAllocation, "BALANCE"),
    (Plugin::ImageLocality, "IMAGES"),
];

/// Whether rows are folded.
pub(super) fn is_folded(nodes: usize, args: &PlaceArgs) -> bool {
    let lists = match args.output {
        PlaceFormat::Text => args.all_nodes,
        PlaceFormat::Wide | PlaceFormat::Json | PlaceFormat::Name => true,
    };
    nodes > ROWS_MAX && !lists
}

/// The nodes whose objections are worded.
pub(super) fn worded(rows: &[Row], args: &PlaceArgs) -> Vec<NodeName> {
    if args.output == PlaceFormat::Name {
        return Vec::new();
    }
    let objects = |row: &&Row| matches!(row.verdict, Verdict::Fails { .. });
    rows.iter().filter(objects).map(|row| row.node.clone()).collect()
}

/// Rows in the order in which they are shown: those that fit first, the best before others, then by name.
pub(super) fn sorted(rows: &[Row]) -> Vec<&Row> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| match &row.verdict {
        Verdict::Fits(scores) => (0, -scores.as_ref().map_or(0, |scores| scores.total), row.node.clone()),
        Verdict::Fails { .. } => (1, 0, row.node.clone()),
    });
    sorted
}

/// Nodes that stand out.
#[derive(Debug)]
pub(super) struct Marks<'a> {
    /// Those with the highest score.
    pub(super) best: &'a [NodeName],
    /// Those for which a DaemonSet makes no pod.
    pub(super) unwanted: &'a [NodeName],
}

/// Every node's row.
pub(super) fn nodes(page: &mut Page, rows: &[Row], marks: &Marks<'_>, why: &Why, wide: bool) {
    let mut titles = vec!["", "NODE", "GROUP", "ZONE", "FITS"];
    let scored: Vec<(Plugin, &str)> = if wide { scored(rows) } else { Vec::new() };
    if wide {
        titles.push("SCORE");
        titles.extend(scored.iter().map(|(_, title)| *title));
    }
    titles.extend(["PLUGIN", "REASON"]);
    let mut lines: Vec<Vec<Cell>> = vec![heads(&titles)];
    for row in sorted(rows) {
        let is_best = marks.best.contains(&row.node);
        let mut line: Vec<Cell> = vec![
            (if is_best { "*" } else { "" }.to_owned(), Tone::Good),
            (row.node.to_string(), if is_best { Tone::Strong } else { Tone::Plain }),
            or_nothing(row.group.as_ref().map(ToString::to_string)),
            or_nothing(row.zone.as_ref().map(ToString::to_string)),
        ];
        line.push(fits(row, marks));
        if wide {
            line.extend(scores(&row.verdict, &scored));
        }
        line.extend(objection(row, why));
        lines.push(line);
    }
    write(page, &lines);
}

fn heads(titles: &[&str]) -> Vec<Cell> {
    titles.iter().map(|title| ((*title).to_owned(), Tone::Faint)).collect()
}

fn or_nothing(text: Option<String>) -> Cell {
    (text.unwrap_or_else(|| NOTHING.to_owned()), Tone::Plain)
}

fn fits(row: &Row, marks: &Marks<'_>) -> Cell {
    match &row.verdict {
        _ if marks.unwanted.contains(&row.node) => (NOTHING.to_owned(), Tone::Faint),
        Verdict::Fits(_) => ("yes".to_owned(), Tone::Good),
        Verdict::Fails { .. } => ("no".to_owned(), Tone::Bad),
    }
}

/// The plugins that gave any score.
fn scored(rows: &[Row]) -> Vec<(Plugin, &'static str)> {
    let gave = |plugin: Plugin| {
        rows.iter().any(|row| match &row.verdict {
            Verdict::Fits(Some(scores)) => scores.by_plugin.iter().any(|(known, _)| *known == plugin),
            Verdict::Fits(None) | Verdict::Fails { .. } => false,
        })
    };
    SCORES.into_iter().filter(|(plugin, _)| gave(*plugin)).collect()
}

fn scores(verdict: &Verdict, plugins: &[(Plugin, &str)]) -> Vec<Cell> {
    let nothing = Scores::default();
    let (scores, is_known) = match verdict {
        Verdict::Fits(Some(scores)) => (scores, true),
        Verdict::Fits(None) | Verdict::Fails { .. } => (&nothing, false),
    };
    let text = |number: Option<i64>| number.map_or_else(|| NOTHING.to_owned(), |number| number.to_string());
    let total = (text(is_known.then_some(scores.total)), Tone::Strong);
    let each = plugins.iter().map(|(plugin, _)| {
        let found = scores.by_plugin.iter().find(|(known, _)| known == plugin);
        (text(found.map(|(_, score)| *score)), Tone::Plain)
    });
    std::iter::once(total).chain(each).collect()
}

/// Plugin and reason: in numbers, and by which plugins else.
pub(super) fn objection(row: &Row, why: &Why) -> [Cell; 2] {
    let Verdict::Fails { first, all } = &row.verdict else {
        return [(String::new(), Tone::Plain), (String::new(), Tone::Plain)];
    };
    let at = all.iter().position(|failure| failure.plugin == first.plugin);
    let worded = at.and_then(|at| why.get(&row.node)?.get(at).cloned());
    let mut reason = worded.unwrap_or_else(|| plain(first));
    let others = all.iter().map(|failure| failure.plugin).filter(|plugin| *plugin != first.plugin);
    let others: Vec<&str> = others.map(Plugin::name).collect();
    if !others.is_empty() {
        reason.push_str(&format!(" (also {})", others.join(", ")));
    }
    [(first.plugin.name().to_owned(), Tone::Warning), (reason, Tone::Plain)]
}

/// Rows of nodes that give the same answer, folded into one.
#[derive(Debug)]
struct Fold {
    nodes: usize,
    zones: Vec<String>,
    fits: Cell,
    best: Option<(i64, NodeName)>,
    /// The first by name.
    example: NodeName,
}

/// What rows must share to be folded.
type Same = (bool, String, String, String);

/// The reason in words that nodes of a group share: with names, and without amounts, which differ from node to node.
fn shared_reason(row: &Row, first: &Failure, all: &[Failure], why: &Why) -> String {
    let names_only = matches!(
        first.plugin,
        Plugin::NodeUnschedulable | Plugin::TaintToleration | Plugin::NodeAffinity | Plugin::NodePorts
    );
    let at = all.iter().position(|failure| failure.plugin == first.plugin).filter(|_| names_only);
    let worded = at.and_then(|at| why.get(&row.node)?.get(at).cloned());
    worded.unwrap_or_else(|| plain(first))
}

/// One row for all nodes of a group that give the same answer.
pub(super) fn folded(page: &mut Page, rows: &[Row], marks: &Marks<'_>, why: &Why) {
    let mut folds: BTreeMap<Same, Fold> = BTreeMap::new();
    for row in rows {
        let (fails, plugin, reason) = match &row.verdict {
            Verdict::Fits(_) => (false, String::new(), String::new()),
            Verdict::Fails { first, all } => {
                (true, first.plugin.name().to_owned(), shared_reason(row, first, all, why))
            }
        };
        let group = row.group.as_ref().map_or(NOTHING.to_owned(), ToString::to_string);
        let fold = folds.entry((fails, group, plugin, reason)).or_insert_with(|| Fold {
            nodes: 0,
            zones: Vec::new(),
            fits: fits(row, marks),
            best: None,
            example: row.node.clone(),
        });
        fold.nodes += 1;
        fold.zones.extend(row.zone.as_ref().map(ToString::to_string));
        if let Verdict::Fits(Some(scores)) = &row.verdict
            && fold.best.as_ref().is_none_or(|(best, _)| *best < scores.total)
        {
            fold.best = Some((scores.total, row.node.clone()));
        }
    }
    let titles = ["", "NODES", "GROUP", "ZONE", "FITS", "PLUGIN", "REASON", "NODE"];
    let highest = folds.values().filter_map(|fold| fold.best.as_ref()).map(|(score, _)| *score).max();
    let mut sorted: Vec<(Same, Fold)> = folds.into_iter().collect();
    sorted.sort_by_key(|((fails, group, ..), fold)| {
        let best = fold.best.as_ref().map_or(0, |(score, _)| -score);
        (*fails, best, std::cmp::Reverse(fold.nodes), group.clone())
    });
    let mut lines = vec![heads(&titles)];
    for ((_, group, plugin, reason), fold) in sorted {
        let is_best = fold.best.as_ref().is_some_and(|(score, _)| Some(*score) == highest);
        let node = fold.best.map_or(fold.example, |(_, node)| node);
        lines.push(vec![
            (if is_best { "*" } else { "" }.to_owned(), Tone::Good),
            (fold.nodes.to_string(), Tone::Strong),
            (group, Tone::Plain),
            (zones(fold.zones), Tone::Plain),
            fold.fits,
            (if plugin.is_empty() { NOTHING.to_owned() } else { plugin }, Tone::Warning),
            (if reason.is_empty() { NOTHING.to_owned() } else { reason }, Tone::Plain),
            (node.to_string(), Tone::Faint),
        ]);
    }
    write(page, &lines);
}

fn zones(mut zones: Vec<String>) -> String {
    zones.sort();
    zones.dedup();
    match zones.as_slice() {
        [] => NOTHING.to_owned(),
        [only] => only.clone(),
        [_, _, ..] => format!("{} zones", zones.len()),
    }
}

/// Columns side by side, as wide as they need to be: as kubectl does, nothing is cut.
pub(super) fn write(page: &mut Page, lines: &[Vec<Cell>]) {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|(text, _)| text.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        let mut text = String::new();
        for (column, (cell, tone)) in line.iter().enumerate().filter(|(column, _)| widths[*column] > 0) {
            let pad = widths[column] - cell.chars().count();
            text.push_str(&page.paint(cell, *tone));
            text.push_str(&" ".repeat(pad + if widths[column] == 1 { 1 } else { GAP }));
        }
        page.line(&text);
    }
}
