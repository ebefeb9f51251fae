//! Two rehearsals side by side: what a plan, or a change to the cluster, makes better or worse.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use replank_journal::differ;
use replank_model::time::{Span, Time};

use crate::axis::Axis;
use crate::chart::{Chart, Step};
use crate::document::{Phase, Rehearsal};
use crate::markup::Markup;
use crate::page::{self, Frame};
use crate::summary::face;
use crate::tables::table;
use crate::words::{capital, count, grouped, millis, moment, number};

/// Rows of a table.
const ROWS_MAX: usize = 300;

/// One of the two.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// What it is called: its file.
    pub name: &'a str,
    /// The rehearsal.
    pub rehearsal: &'a Rehearsal,
}

/// A figure of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub what: String,
    /// Its value in the first and in the second.
    pub values: [String; 2],
    /// How far the second is from the first; empty where they are equal.
    pub change: String,
}

/// Figures of two rehearsals, then each finding and each workload in which they differ; in times, by more than `tolerance` (0.05 is 5 %) and two seconds.
#[must_use]
pub fn figures(first: &Rehearsal, second: &Rehearsal, tolerance: f64) -> Vec<Figure> {
    let both = [first, second];
    let text = |what: &str, values: [String; 2]| Figure {
        what: what.to_owned(),
        change: if values[0] == values[1] { String::new() } else { "differs".to_owned() },
        values,
    };
    let figure = |what: &str, of: &dyn Fn(&Rehearsal) -> usize| {
        let numbers = both.map(of);
        let change = match numbers[1].cmp(&numbers[0]) {
            Ordering::Equal => String::new(),
            Ordering::Greater => format!("+{}", grouped(numbers[1] - numbers[0])),
            Ordering::Less => format!("-{}", grouped(numbers[0] - numbers[1])),
        };
        Figure { what: what.to_owned(), values: numbers.map(grouped), change }
    };
    let lasted = both.map(|one| Span::from_millis(one.virtual_duration_ms));
    let mut all = vec![
        text("verdict", both.map(|one| one.verdict.clone())),
        duration(lasted, tolerance),
        figure("nodes to replace", &|one| one.nodes.total),
        figure("nodes replaced", &|one| one.nodes.replaced),
        figure("most nodes of surge", &|one| one.nodes.surge_max),
        figure("pods moved", &|one| one.pods.moved),
        figure("pods moved more than once", &|one| one.pods.moved_more_than_once),
        figure("evictions refused", &|one| one.pods.evictions_refused),
        figure("pods preempted", &|one| one.pods.preempted),
        figure("most pods pending", &|one| one.pods.unschedulable_max),
        figure("batch pods killed", &|one| one.batch.killed),
        figure("budget violations", &|one| one.budgets.iter().map(|budget| budget.violations).sum()),
        figure("workloads without a Ready pod for a while", &|one| {
            one.workloads.iter().filter(|workload| workload.desired > 0 && workload.min_ready == 0).count()
        }),
        figure("findings", &|one| one.findings.len()),
    ];
    all.extend(findings(both));
    all.extend(workloads(both, tolerance));
    all
}

/// How long both took. The change is that of the values as they stand there: in whole seconds where they would look alike otherwise.
fn duration(lasted: [Span; 2], tolerance: f64) -> Figure {
    let mut shown = lasted.map(Span::rounded);
    let is_other = differ(lasted, tolerance);
    if is_other && shown[0] == shown[1] {
        shown = lasted.map(|span| Span::from_secs(span.as_secs()));
    }
    let change = match (is_other, shown[0] < shown[1]) {
        (false, _) => String::new(),
        (true, true) => format!("+{}", shown[1] - shown[0]),
        (true, false) => format!("-{}", shown[0] - shown[1]),
    };
    Figure { what: "duration".to_owned(), values: shown.map(|span| span.to_string()), change }
}

fn findings(both: [&Rehearsal; 2]) -> Vec<Figure> {
    let of = |one: &Rehearsal| -> BTreeSet<(String, String)> {
        one.findings.iter().map(|finding| (finding.id.clone(), finding.object.clone())).collect()
    };
    let found = both.map(of);
    found[0]
        .symmetric_difference(&found[1])
        .map(|finding @ (id, object)| {
            let has = found.each_ref().map(|set| if set.contains(finding) { "found" } else { "not found" });
            let change = if found[0].contains(finding) { "resolved" } else { "new" };
            Figure {
                what: format!("finding {id}, {object}"),
                values: has.map(str::to_owned),
                change: change.to_owned(),
            }
        })
        .collect()
}

fn workloads(both: [&Rehearsal; 2], tolerance: f64) -> Vec<Figure> {
    type Ready = (i64, i64, i64);
    let of = |one: &Rehearsal| -> BTreeMap<String, Ready> {
        one.workloads
            .iter()
            .map(|workload| {
                let name = format!("{} {}/{}", workload.kind, workload.namespace, workload.name);
                (name, (workload.min_ready, workload.desired, workload.without_ready_ms))
            })
            .collect()
    };
    let ready = both.map(of);
    let names: BTreeSet<&String> = ready.iter().flat_map(BTreeMap::keys).collect();
    let said = |found: Option<&Ready>| match found {
        None => "not moved".to_owned(),
        Some((min, desired, 0)) => format!("down to {} of {} Ready", number(*min), number(*desired)),
        Some((min, desired, dark)) => {
            format!("down to {} of {} Ready, none for {}", number(*min), number(*desired), millis(*dark))
        }
    };
    names
        .into_iter()
        .filter_map(|name| {
            let found = [ready[0].get(name), ready[1].get(name)];
            let values = found.map(said);
            let change = match found {
                [Some(first), Some(second)] => {
                    let dark = [first.2, second.2].map(Span::from_millis);
                    let by_time = match differ(dark, tolerance) {
                        true => dark[1].cmp(&dark[0]).reverse(),
                        false => Ordering::Equal,
                    };
                    match second.0.cmp(&first.0).then(by_time) {
                        Ordering::Equal => return None,
                        Ordering::Greater => "better",
                        Ordering::Less => "worse",
                    }
                }
                [None, Some(_)] | [Some(_), None] | [None, None] => "differs",
            };
            Some(Figure { what: name.clone(), values, change: change.to_owned() })
        })
        .collect()
}

/// The page of two rehearsals, with the tolerance of [`figures`].
#[must_use]
pub fn comparison(first: Side<'_>, second: Side<'_>, tolerance: f64) -> String {
    let both = [first, second];
    let figures = figures(first.rehearsal, second.rehearsal, tolerance);
    let (in_both, rest_of): (Vec<&Figure>, Vec<&Figure>) =
        figures.iter().partition(|figure| !is_of_an_object(&figure.what));
    let mut head = Markup::default();
    head.raw("<div class=\"two\">");
    for (index, side) in both.into_iter().enumerate() {
        let (class, sign) = face(&side.rehearsal.verdict);
        head.open("div", &[("class", &format!("verdict {class}"))]);
        head.raw("<p class=\"kind\">");
        head.text(["First", "Second"][index]);
        head.raw(" ");
        head.leaf("b", &[], short(side.name));
        head.raw("</p>");
        head.raw("<p class=\"word\"><span aria-hidden=\"true\">");
        head.text(sign);
        head.raw("</span> ");
        head.text(&capital(&side.rehearsal.verdict));
        head.raw("</p>");
        head.leaf("p", &[("class", "sentence")], &crate::summary::sentence(side.rehearsal));
        head.raw("</div>");
    }
    head.raw("</div>");
    let differs = figures.iter().filter(|figure| !figure.change.is_empty()).count();
    head.leaf("p", &[], &format!("{} between the second and the first.", count(differs, "difference")));
    let mut rest = Markup::default();
    page::section("figures", "Figures", "the first beside the second", &mut rest);
    rows(&in_both, &mut rest);
    page::end_section(&mut rest);
    progress(both, &mut rest);
    page::section("objects", "Findings and workloads", "in which the two differ", &mut rest);
    if rest_of.is_empty() {
        rest.raw("<p>The same findings, and every workload had as many pods Ready in both.</p>");
    } else {
        rows(&rest_of[..rest_of.len().min(ROWS_MAX)], &mut rest);
    }
    if rest_of.len() > ROWS_MAX {
        let more =
            format!("and {} more: -o json has them all", count(rest_of.len() - ROWS_MAX, "difference"));
        rest.leaf("p", &[("class", "quiet")], &more);
    }
    page::end_section(&mut rest);
    let heading = "Two rehearsals compared";
    let of = format!(
        "{} as of {} UTC; {} as of {} UTC",
        short(first.name),
        moment(first.rehearsal.start),
        short(second.name),
        moment(second.rehearsal.start)
    );
    Frame { title: heading, kind: "Comparison by Replank", heading, of: &of, first: head, rest }.into_page()
}

/// A file's name without its directory.
fn short(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Whether a row is about one object, not about the whole.
fn is_of_an_object(what: &str) -> bool {
    what.starts_with("finding ") || what.contains('/')
}

fn rows(figures: &[&Figure], out: &mut Markup) {
    let rows: Vec<Vec<String>> = figures
        .iter()
        .map(|figure| {
            vec![
                capital(&figure.what),
                figure.values[0].clone(),
                figure.values[1].clone(),
                figure.change.clone(),
            ]
        })
        .collect();
    table("Figures", &["What", "First ", "Second ", "Change "], &rows, out);
}

/// Nodes replaced over time, of both.
fn progress(both: [Side<'_>; 2], out: &mut Markup) {
    let longest = both.iter().map(|side| side.rehearsal.virtual_duration_ms).max().unwrap_or_default();
    let zero = Time::from_millis(0);
    let axis = Axis::new(zero, longest);
    page::section("progress", "Progress", "nodes replaced, since the start of each", out);
    axis.ruler(out);
    out.raw("<div class=\"lines\">");
    for (side, which) in both.into_iter().zip(["First", "Second"]) {
        let Rehearsal { timeline, start, virtual_duration_ms, nodes, .. } = side.rehearsal;
        let gone = timeline.iter().filter(|node| node.old).filter_map(|node| {
            node.phases.iter().find(|phase| matches!(phase.phase, Phase::Terminating | Phase::Gone))
        });
        let mut moments: Vec<Time> = gone.map(|phase| zero + (phase.at - *start)).collect();
        moments.sort_unstable();
        let mut steps: Vec<Step> = vec![(zero, 0)];
        steps.extend(moments.into_iter().zip(1..));
        steps.push((zero + Span::from_millis(*virtual_duration_ms), steps.last().map_or(0, |step| step.1)));
        out.raw("<div class=\"line\"><p class=\"label\"><b>");
        out.text(which);
        out.raw("</b><span>");
        out.text(&format!(
            "{} of {} in {}",
            grouped(nodes.replaced),
            grouped(nodes.total),
            millis(*virtual_duration_ms)
        ));
        out.raw("</span></p>");
        let total = i64::try_from(nodes.total).unwrap_or(i64::MAX);
        Chart { axis, courses: &[("new", &steps)], levels: &[("wanted", total)], marks_none: false }
            .write(out);
        out.raw("</div>");
    }
    out.raw("</div>");
    page::end_section(out);
}
