//! Charts and kustomizations, rendered by the programs that people use for it, where these are there.

use std::path::Path;
use std::process::{Command, Stdio};

use replank_lifecycle::Measure;
use replank_lifecycle::files::Walk;
use replank_lifecycle::finding::Finding;
use replank_lifecycle::scan::{self, Hint, Report};

use crate::printer::Printer;

/// A program and what it is called with before the directory.
struct Renderer {
    program: &'static str,
    arguments: &'static [&'static str],
}

const HELM: Renderer = Renderer { program: "helm", arguments: &["template", "release-name"] };
const KUSTOMIZE: [Renderer; 2] = [
    Renderer { program: "kustomize", arguments: &["build"] },
    Renderer { program: "kubectl", arguments: &["kustomize"] },
];

impl Renderer {
    fn is_there(&self) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|path| path.join(self.program).is_file())
    }

    fn name(&self) -> String {
        format!("{} {}", self.program, self.arguments[0])
    }

    /// What it prints of a directory.
    fn run(&self, directory: &Path) -> Result<String, String> {
        let output = Command::new(self.program)
            .args(self.arguments)
            .arg(directory)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let story = String::from_utf8_lossy(&output.stderr);
            return Err(story.lines().last().unwrap_or("it failed and said nothing").to_owned());
        }
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    }
}

/// Renders what was found on the walk. The templates of charts that can be rendered are taken from it.
pub(super) fn render(walk: &mut Walk, measure: &Measure, printer: &mut Printer) -> Report {
    let mut report = Report::default();
    if !walk.charts.is_empty() {
        if HELM.is_there() {
            charts(walk, measure, &mut report, printer);
        } else {
            printer.warning("helm is not on the PATH: templates of charts are read as text");
        }
    }
    if !walk.kustomizations.is_empty() {
        match KUSTOMIZE.iter().find(|renderer| renderer.is_there()) {
            Some(renderer) => kustomizations(walk, renderer, measure, &mut report, printer),
            None => printer.warning(
                "neither kustomize nor kubectl is on the PATH: kustomizations are scanned as the files that they are",
            ),
        }
    }
    report
}

fn charts(walk: &mut Walk, measure: &Measure, report: &mut Report, printer: &mut Printer) {
    for chart in walk.charts.clone() {
        // Charts within a chart are rendered with it.
        if walk.charts.iter().any(|other| chart.starts_with(other.join("charts"))) {
            continue;
        }
        match HELM.run(&chart) {
            Ok(text) => {
                let templates = chart.join("templates");
                let vendored = chart.join("charts");
                walk.files.retain(|file| {
                    !(file.path.starts_with(&templates)
                        || (file.path.starts_with(&vendored) && file.hint.in_chart))
                });
                take(report, measure, &chart, &HELM, &text);
            }
            Err(why) => printer.warning(&format!(
                "{} cannot be rendered, and its templates are read as text: {why}",
                chart.display()
            )),
        }
    }
}

fn kustomizations(
    walk: &Walk,
    renderer: &Renderer,
    measure: &Measure,
    report: &mut Report,
    printer: &mut Printer,
) {
    for directory in &walk.kustomizations {
        match renderer.run(directory) {
            Ok(text) => take(report, measure, directory, renderer, &text),
            Err(why) => printer.warning(&format!(
                "{} cannot be rendered, and is scanned as the files that it is: {why}",
                directory.display()
            )),
        }
    }
}

fn take(report: &mut Report, measure: &Measure, directory: &Path, renderer: &Renderer, text: &str) {
    let name = directory.to_string_lossy();
    let hint = Hint { rendered_by: Some(renderer.name()), in_chart: false };
    report.append(scan::scan(measure, &(&*name).into(), text, &hint));
}

/// Adds what was rendered, apart from objects that were found in their files: there is where they can be changed. A base is
/// rendered again by everything that is built upon it, and counts once.
pub(super) fn add(report: &mut Report, mut rendered: Report) {
    let key = |finding: &Finding| {
        (
            finding.used.clone(),
            finding.name.clone(),
            finding.holder.clone(),
            finding.evidence.word() == "rendered",
        )
    };
    let known: std::collections::BTreeSet<_> = report.findings.iter().map(key).collect();
    let mut seen = std::collections::BTreeSet::new();
    rendered.findings.retain(|finding| {
        let (used, name, holder, _) = key(finding);
        !known.contains(&(used.clone(), name.clone(), holder.clone(), false))
            && seen.insert((used, name, holder))
    });
    // Its objects were counted in their files; what is rendered of charts was not.
    report.append(rendered);
}
