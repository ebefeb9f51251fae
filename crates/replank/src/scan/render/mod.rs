//! Charts and kustomizations, rendered by the programs that people use for it, where these are there.
//!
//! What cannot be rendered is scanned as the files that it is, and that is told: a program that fails, hangs or prints half of
//! it takes no finding away.

mod join;
mod program;
mod rendered;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use replank_lifecycle::Measure;
use replank_lifecycle::files::Walk;
use replank_lifecycle::scan::{self, Counts, Hint, Report};

pub(super) use join::join;
use program::{HELM, KUSTOMIZE, Limits, Renderer};

use crate::printer::Printer;

pub(super) use rendered::{AllRendered, RenderFailure};
use rendered::{Of, Rendered, head_of, name_of};

/// Helm writes above each document which template it comes from.
fn sources(text: &str) -> Vec<(u32, String)> {
    let of = |(line, number): (&str, u32)| Some((number, line.strip_prefix("# Source: ")?.trim().to_owned()));
    text.lines().zip(1..).filter_map(of).collect()
}

/// The kinds that stand at the left margin of what Helm prints, each with the path of its template in the chart.
fn kinds(text: &str) -> BTreeSet<(String, String)> {
    let mut template = "";
    let mut all = BTreeSet::new();
    for line in text.lines() {
        if let Some(source) = line.strip_prefix("# Source: ") {
            template = source.trim().split_once('/').map_or("", |(_, path)| path);
        } else if let Some(kind) = line.strip_prefix("kind:") {
            let kind = kind.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            all.insert((template.to_owned(), kind.to_owned()));
        }
    }
    all
}

/// Renders what was found on the walk, within such a time for each directory.
pub(super) fn render(
    walk: &Walk,
    measure: &Measure,
    within: std::time::Duration,
    printer: &mut Printer,
) -> AllRendered {
    let mut rendering =
        Rendering { measure, limits: Limits::within(within), all: Vec::new(), failures: Vec::new(), printer };
    if !walk.charts.is_empty() {
        if HELM.is_there() {
            // Charts within a chart are rendered with it.
            let is_part =
                |chart: &&PathBuf| !walk.charts.iter().any(|other| chart.starts_with(other.join("charts")));
            let charts = walk.charts.iter().filter(is_part);
            charts.for_each(|chart| rendering.one(&HELM, chart, Of::Chart));
        } else {
            rendering.printer.warning("helm is not on the PATH: templates of charts are read as text");
        }
    }
    if !walk.kustomizations.is_empty() {
        match KUSTOMIZE.iter().find(|renderer| renderer.is_there()) {
            Some(renderer) => {
                walk.kustomizations.iter().for_each(|of| rendering.one(renderer, of, Of::Kustomization));
            }
            None => rendering.printer.warning(
                "neither kustomize nor kubectl is on the PATH: kustomizations are scanned as plain files",
            ),
        }
    }
    AllRendered { all: rendering.all, failures: rendering.failures }
}

struct Rendering<'r> {
    measure: &'r Measure,
    limits: Limits,
    all: Vec<Rendered>,
    failures: Vec<RenderFailure>,
    printer: &'r mut Printer,
}

impl Rendering<'_> {
    fn one(&mut self, renderer: &Renderer, directory: &Path, of: Of) {
        let name = name_of(directory);
        match renderer.run(directory, self.limits) {
            Ok(text) => {
                let mut report = self.scanned(renderer, directory, of, &text);
                let is_whole = report.unread.is_empty();
                if !is_whole {
                    self.printer.warning(&format!(
                        "the output of {} for {name} cannot be read completely: its files are scanned as well",
                        renderer.name()
                    ));
                }
                // What was counted is what lies there.
                report.counts = Counts::default();
                let (directory, sources, kinds) = (directory.to_owned(), sources(&text), kinds(&text));
                self.all.push(Rendered { directory, of, report, is_whole, sources, kinds });
            }
            Err(why) => {
                let instead = match of {
                    Of::Chart => "its templates are read as text",
                    Of::Kustomization => "is scanned as plain files",
                };
                self.printer.warning(&format!("{name} cannot be rendered, and {instead}: {why}"));
                self.failures.push(RenderFailure { path: head_of(directory, of), why: why.to_string() });
            }
        }
    }

    fn scanned(&self, renderer: &Renderer, directory: &Path, of: Of, text: &str) -> Report {
        let hint = Hint { rendered_by: Some(renderer.name()), ..Hint::default() };
        let mut report = scan::scan(self.measure, &name_of(directory).as_str().into(), text, &hint);
        let head = head_of(directory, of);
        for unread in &mut report.unread {
            unread.why =
                format!("line {} of what {} prints: {}", unread.place.line, renderer.name(), unread.why);
            unread.place.source = head.as_str().into();
            (unread.place.line, unread.place.column) = (1, 1);
        }
        report
    }
}
