//! Rows of bars: one for each node, with its times in words.
//!
//! The bars of fifty rows are one picture with a path for each phase, and each row is a line of text beside it: ten thousand rows are some sixty thousand
//! nodes of the document, and a browser lays out those that are seen.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::time::Time;

use crate::axis::Axis;
use crate::document::Phase;
use crate::markup::Markup;

/// Rows of one picture.
const ROWS: usize = 50;
/// Units that a row is high; the style sheet has the same.
const HEIGHT: i64 = 20;
/// So few rows are always laid out: what shows when a pointer rests on one needs room below it.
const FEW: usize = 8;

/// What is drawn of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bar {
    /// A phase of a node.
    Phase(Phase),
    /// A canary or a wave is watched.
    Watched,
}

/// A row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// What stands beside the name.
    pub(crate) aside: String,
    /// Stretches of time.
    pub(crate) bars: Vec<(Bar, Time, Time)>,
    /// All of it in words.
    pub(crate) words: String,
}

impl Bar {
    /// Its class, and how far from the row's middle it reaches. What means something else has another height, for those who see no colours.
    fn face(self) -> (&'static str, i64) {
        match self {
            Self::Phase(Phase::Serving) => ("serving", 1),
            Self::Phase(Phase::Cordoned) => ("cordoned", 3),
            Self::Phase(Phase::Draining) => ("draining", 7),
            Self::Phase(Phase::Terminating) => ("terminating", 5),
            Self::Phase(Phase::Gone) => ("gone", 0),
            Self::Phase(Phase::Booting) => ("booting", 5),
            Self::Phase(Phase::Joining) => ("joining", 3),
            Self::Phase(Phase::Ready) => ("ready", 2),
            Self::Watched => ("watched", 7),
        }
    }

    /// In words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Phase(Phase::Serving) => "in use",
            Self::Phase(Phase::Cordoned) => "cordoned",
            Self::Phase(Phase::Draining) => "draining",
            Self::Phase(Phase::Terminating) => "terminating",
            Self::Phase(Phase::Gone) => "gone",
            Self::Phase(Phase::Booting) => "booting",
            Self::Phase(Phase::Joining) => "joining",
            Self::Phase(Phase::Ready) => "Ready",
            Self::Watched => "watched",
        }
    }

    /// Its form in a picture whose row begins at `top`.
    fn form(self, from: i64, until: i64, top: i64) -> String {
        let (_, reach) = self.face();
        // What is shorter than a unit is seen, too.
        let wide = (until - from).max(2);
        let middle = top + HEIGHT / 2;
        format!("M{from} {}h{wide}v{}h-{wide}z", middle - reach, 2 * reach)
    }
}

/// Rows below an axis.
pub(crate) fn write(axis: Axis, rows: &[Row], out: &mut Markup) {
    for rows in rows.chunks(ROWS) {
        let class = if rows.len() <= FEW { "rows few" } else { "rows" };
        out.open("div", &[("class", class)]);
        picture(axis, rows, out);
        out.raw("<ol>");
        for row in rows {
            out.raw("<li>");
            out.text(&row.name);
            if !row.aside.is_empty() {
                out.leaf("i", &[], &row.aside);
            }
            out.leaf("span", &[], &row.words);
            out.raw("</li>\n");
        }
        out.raw("</ol></div>\n");
    }
}

fn picture(axis: Axis, rows: &[Row], out: &mut Markup) {
    let height = HEIGHT * i64::try_from(rows.len()).unwrap_or(i64::MAX / HEIGHT);
    let view = format!("0 0 {} {height}", crate::axis::UNITS);
    out.open(
        "svg",
        &[
            ("viewBox", &view),
            ("preserveAspectRatio", "none"),
            ("aria-hidden", "true"),
            ("focusable", "false"),
        ],
    );
    axis.grid(height, out);
    let mut kinds: BTreeMap<Bar, String> = BTreeMap::new();
    for (row, top) in rows.iter().zip((0..).step_by(usize::try_from(HEIGHT).unwrap_or(1))) {
        for (bar, from, until) in &row.bars {
            let form = bar.form(axis.x(*from), axis.x(*until), top);
            kinds.entry(*bar).or_default().push_str(&form);
        }
    }
    for (bar, path) in &kinds {
        out.open("path", &[("class", bar.face().0), ("d", path)]);
        out.close("path");
    }
    out.raw("</svg>");
}

/// What the bars mean.
pub(crate) fn legend(bars: &[Bar], out: &mut Markup) {
    out.raw("<ul class=\"legend\" aria-label=\"Legend\">");
    for bar in bars {
        let (class, _) = bar.face();
        out.raw("<li><svg viewBox=\"0 0 26 20\" aria-hidden=\"true\" focusable=\"false\">");
        out.open("path", &[("class", class), ("d", &bar.form(1, 25, 0))]);
        out.raw("</path></svg>");
        out.text(bar.word());
        out.raw("</li>");
    }
    out.raw("</ul>");
}

/// Names of nodes as they stand beside the bars: without their domain, where that leaves them distinct.
#[derive(Debug)]
pub(crate) struct ShortNames<'a> {
    /// Those that several have once their domains are left out.
    shared: BTreeSet<&'a str>,
}

impl<'a> ShortNames<'a> {
    pub(crate) fn of(names: impl Iterator<Item = &'a str>) -> Self {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        let shared = names.filter_map(|name| {
            let host = host(name);
            let other = *seen.entry(host).or_insert(name);
            (other != name).then_some(host)
        });
        Self { shared: shared.collect() }
    }

    /// The name of a node, short.
    pub(crate) fn short<'n>(&self, name: &'n str) -> &'n str {
        let host = host(name);
        if self.shared.contains(host) { name } else { host }
    }
}

/// A name up to its first dot. An address has no domain.
fn host(name: &str) -> &str {
    match name.split_once('.') {
        Some((host, _)) if host.chars().any(|letter| !letter.is_ascii_digit()) => host,
        Some(_) | None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_left_out_where_names_stay_distinct() {
        let short = |names: &[&'static str]| -> Vec<&'static str> {
            let all = ShortNames::of(names.iter().copied());
            names.iter().map(|name| all.short(name)).collect()
        };
        assert_eq!(
            short(&["batch-00248.eu-west-1.compute.internal", "b.ec2.internal", "c"]),
            ["batch-00248", "b", "c"]
        );
        assert_eq!(short(&["a.east", "a.west", "b.east"]), ["a.east", "a.west", "b"]);
        assert_eq!(short(&["10.0.0.1", "10.0.0.2", "10.0.0.1"]), ["10.0.0.1", "10.0.0.2", "10.0.0.1"]);
    }

    #[test]
    fn fifty_rows_are_one_picture() {
        let axis = Axis::new(Time::from_millis(0), 100_000);
        let row = |number: usize| Row {
            name: format!("node-{number}"),
            aside: String::new(),
            bars: vec![(Bar::Phase(Phase::Ready), Time::from_millis(0), axis.end())],
            words: "Ready".to_owned(),
        };
        let rows: Vec<Row> = (0..120).map(row).collect();
        let mut out = Markup::default();
        write(axis, &rows, &mut out);
        let text = out.into_text();
        assert_eq!((text.matches("<svg").count(), text.matches("<li>").count()), (3, 120));
        assert!(text.contains("M0 8h2000v4h-2000zM0 28h2000v4h-2000z"), "{text}");
    }
}
