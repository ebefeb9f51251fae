//! What others would have done, as a table: a column for each way, a row for each figure.

use replank_facts::coverage::Coverage;
use replank_model::time::Span;
use replank_rehearse::compare::{Come, Figures, NodeDrain, WayResult};

use super::page::{Cell, Lean, Look, Page, Tone};
use super::words::{count, grouped, span};
use crate::coverage;

/// What is printed.
pub(crate) struct Comparison<'a> {
    /// The plan's name.
    pub(crate) plan: &'a str,
    /// What was read.
    pub(crate) snapshot: &'a str,
    /// The seed of all ways.
    pub(crate) seed: u64,
    /// The ways.
    pub(crate) ways: &'a [WayResult],
    /// What of the cluster could be seen.
    pub(crate) coverage: &'a Coverage,
}

/// A row: what it is called, and its cell for a way.
type Row = (&'static str, fn(&Figures) -> Cell);

const ROWS: &[Row] = &[
    ("time", |figures| plain(span(figures.took))),
    ("nodes replaced", |figures| {
        let nodes = figures.nodes;
        let tone = if nodes.replaced < nodes.total { Tone::Warning } else { Tone::Plain };
        (format!("{} of {}", nodes.replaced, nodes.total), tone)
    }),
    ("most extra nodes", |figures| plain(figures.nodes.surge_max.to_string())),
    ("pods moved", |figures| plain(grouped(figures.moved))),
    ("evictions refused", |figures| plain(grouped(figures.evictions_refused))),
    ("batch pods killed", |figures| number(figures.batch_killed)),
    ("lowest availability", |figures| {
        let Some(lowest) = &figures.lowest else { return plain("all Ready".to_owned()) };
        let tone = if lowest.min_ready == 0 { Tone::Bad } else { Tone::Plain };
        (format!("{} of {}", lowest.min_ready, lowest.desired), tone)
    }),
    ("without a Ready pod", |figures| {
        let longest = figures.workloads.iter().map(|one| one.without_ready).max().unwrap_or(Span::ZERO);
        if longest > Span::ZERO { (span(longest), Tone::Bad) } else { plain("never".to_owned()) }
    }),
    ("connections refused", |figures| sum(figures, |one| one.refused)),
    ("connections cut", |figures| sum(figures, |one| one.cut)),
    ("pods not Ready 15m after", |figures| number(figures.remains.pods_not_ready)),
    ("old nodes left cordoned", |figures| number(figures.remains.cordoned.len())),
];

fn plain(text: String) -> Cell {
    (text, Tone::Plain)
}

fn number(count: usize) -> Cell {
    (grouped(count), if count > 0 { Tone::Warning } else { Tone::Plain })
}

fn sum(figures: &Figures, of: fn(&replank_rehearse::ConnectionFigures) -> u64) -> Cell {
    let all: u64 = figures.connections.iter().map(of).sum();
    number(usize::try_from(all).unwrap_or(usize::MAX))
}

/// The page.
pub(crate) fn comparison(compared: &Comparison<'_>, look: Look) -> String {
    let Comparison { plan, snapshot, seed, ways, .. } = compared;
    let mut page = Page::new(look);
    page.heading("What each would have done", &format!("{plan}, {snapshot}, seed {seed}"));
    let head = ways.iter().map(|one| (one.way.as_str().to_owned(), Tone::Strong));
    let mut rows: Vec<Vec<Cell>> = vec![[plain(String::new())].into_iter().chain(head).collect()];
    rows.push([plain("outcome".to_owned())].into_iter().chain(ways.iter().map(outcome)).collect());
    let has_connections =
        ways.iter().flat_map(|one| &one.figures).any(|figures| !figures.connections.is_empty());
    for (name, cell) in ROWS.iter().filter(|(name, _)| has_connections || !name.starts_with("connections")) {
        let cells =
            ways.iter().map(|one| one.figures.as_ref().map_or_else(|| ("-".to_owned(), Tone::Faint), cell));
        rows.push([plain((*name).to_owned())].into_iter().chain(cells).collect());
    }
    let leans: Vec<Lean> = [Lean::Left].into_iter().chain(ways.iter().map(|_| Lean::Right)).collect();
    page.table(&leans, &rows);
    for way in *ways {
        write(&mut page, way);
    }
    coverage::write(&mut page, compared.coverage);
    page.into_text()
}

/// Nodes that are printed.
const NODES_MAX: usize = 20;

/// The nodes beside the 15 minutes that EKS gives each of them.
fn nodes(page: &mut Page, way: &WayResult) {
    let all = way.drains.len();
    let told: Vec<&NodeDrain> = way.drains.iter().filter(|one| one.gives_up || one.may_give_up()).collect();
    let given_up = told.iter().filter(|one| one.gives_up).count();
    if all == 0 {
        return;
    }
    // A node without pods is empty at once, which is nothing to tell.
    let took = way.drains.iter().filter_map(|one| Some((one.took?, &one.node)));
    let longest = took.filter(|(took, _)| *took > Span::ZERO).max();
    let of = if given_up > 0 { "of the others, the slowest" } else { "the slowest" };
    let longest =
        longest.map_or_else(String::new, |(took, node)| format!("; {of} takes {}: {node}", span(took)));
    let (words, tone) = emptied(all, given_up, told.len() - given_up);
    page.wrapped(2, &format!("{words}{longest}."), tone);
    for one in told.iter().take(NODES_MAX) {
        let state = if one.gives_up { "gives up" } else { "may give up" };
        page.wrapped(4, &format!("{}: {state}", one.node), Tone::Plain);
        for why in &one.why {
            page.wrapped(6, &format!("{}: {}", why.pod, why.reason), Tone::Plain);
            page.wrapped(6, &format!("to do: {}", why.remedy), Tone::Note);
        }
    }
    if told.len() > NODES_MAX {
        page.wrapped(
            4,
            &format!("and {} more; -o json has all", count(told.len() - NODES_MAX, "node")),
            Tone::Plain,
        );
    }
}

/// How many nodes are empty in time, of how many, by those at which EKS gives up and those at which it may.
fn emptied(all: usize, given_up: usize, may: usize) -> (String, Tone) {
    let (nodes, sure) = (count(all, "node"), all - given_up - may);
    match (given_up, may) {
        (0, 0) => (format!("{nodes}, each empty within the 15m that EKS waits"), Tone::Good),
        (0, _) => (
            format!("{nodes}: {sure} sure to be empty within the 15m that EKS waits, {may} may not be"),
            Tone::Warning,
        ),
        (_, 0) => (format!("Not empty within the 15m that EKS waits: {given_up} of {nodes}"), Tone::Bad),
        (..) => (
            format!("Not empty within the 15m that EKS waits: {given_up} of {nodes}; {may} more may not be"),
            Tone::Bad,
        ),
    }
}

fn outcome(way: &WayResult) -> Cell {
    let tone = match way.outcome {
        Come::Done => Tone::Good,
        Come::Partial => Tone::Warning,
        Come::Failed | Come::Blocked => Tone::Bad,
        Come::NotApplicable => Tone::Faint,
    };
    (way.outcome.as_str().to_owned(), tone)
}

/// Blockers that are printed of one way.
const BLOCKERS_MAX: usize = 5;

fn write(page: &mut Page, way: &WayResult) {
    page.heading(way.way.as_str(), "");
    page.wrapped(2, &format!("{}.", way.said), Tone::Plain);
    for blocker in way.blockers.iter().take(BLOCKERS_MAX) {
        page.wrapped(4, &format!("{}: {}", blocker.what, blocker.reason), Tone::Plain);
    }
    if way.blockers.len() > BLOCKERS_MAX {
        page.wrapped(4, &format!("and {} more", way.blockers.len() - BLOCKERS_MAX), Tone::Plain);
    }
    if let Some(lowest) = way.figures.as_ref().and_then(|figures| figures.lowest.as_ref()) {
        page.wrapped(
            2,
            &format!("Lowest: {}, {} of {} Ready.", lowest.workload, lowest.min_ready, lowest.desired),
            Tone::Plain,
        );
    }
    if let Some(remains) =
        way.figures.as_ref().map(|figures| &figures.remains).filter(|remains| remains.pods_not_ready > 0)
    {
        page.wrapped(2, &format!("Not Ready: {}.", remains.workloads_not_ready.join(", ")), Tone::Warning);
    }
    nodes(page, way);
    for note in &way.notes {
        page.wrapped(2, &format!("Note: {note}."), Tone::Faint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_may_not_be_empty_in_time_are_not_counted_as_empty() {
        let words = |all, given_up, may| emptied(all, given_up, may).0;
        assert_eq!(words(1, 0, 0), "1 node, each empty within the 15m that EKS waits");
        assert_eq!(
            words(16, 0, 6),
            "16 nodes: 10 sure to be empty within the 15m that EKS waits, 6 may not be"
        );
        assert_eq!(words(8, 5, 0), "Not empty within the 15m that EKS waits: 5 of 8 nodes");
        assert_eq!(
            words(8, 5, 2),
            "Not empty within the 15m that EKS waits: 5 of 8 nodes; 2 more may not be"
        );
    }
}
