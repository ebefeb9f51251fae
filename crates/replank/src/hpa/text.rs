//! A replay for a person: figures side by side, a chart of each variant, rows.

use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::Key;
use replank_model::time::Span;
use replank_rehearse::failing;
use replank_rehearse::replay::{Figures, figures};

use super::chart::{LEGEND, chart, top};
use super::figures::{Bucket, buckets};
use super::replay::Variant;
use super::simulate::Simulation;
use crate::report::words::{count, span};
use crate::report::{Cell, Lean, Look, Page, Tone};

/// Events that are shown.
const TOLD_MAX: usize = 6;

/// The whole report.
pub(super) fn text(simulation: &Simulation, look: Look) -> String {
    let mut page = Page::new(look);
    let stage = &simulation.stage;
    page.heading(
        "Load replayed",
        &format!("{} for {} on {}", simulation.load, span(stage.length), stage.name),
    );
    for assumed in &stage.assumed {
        page.wrapped(2, assumed, Tone::Faint);
    }
    for rule in &simulation.rules {
        page.wrapped(2, &format!("rule by the hour: {rule}"), Tone::Faint);
    }
    for (target, key) in simulation.keys().iter().enumerate() {
        autoscaler(&mut page, simulation, key, target);
    }
    page.into_text()
}

fn autoscaler(page: &mut Page, simulation: &Simulation, key: &Key, target: usize) {
    let Some(hpa) = simulation.variants.first().and_then(|variant| variant.autoscalers.get(target)) else {
        return;
    };
    page.heading(&key.to_string(), &about(hpa));
    let all: Vec<(String, Figures)> = simulation
        .variants
        .iter()
        .enumerate()
        .map(|(index, variant)| (named(simulation, index), figures(&variant.moments, target)))
        .collect();
    side_by_side(page, &all);
    for index in 0..simulation.variants.len() {
        drawn(page, simulation, index, target);
    }
    rows(page, simulation, key, target);
    for variant in &simulation.variants {
        told(page, variant, key, target);
    }
}

/// `A`, `B`: short names of variants, where there are several.
fn letter(simulation: &Simulation, index: usize) -> String {
    if simulation.variants.len() < 2 {
        return String::new();
    }
    let letter =
        u8::try_from(index).ok().and_then(|index| b'A'.checked_add(index)).filter(u8::is_ascii_uppercase);
    letter.map_or_else(|| (index + 1).to_string(), |letter| char::from(letter).to_string())
}

/// `A as it is`
fn named(simulation: &Simulation, index: usize) -> String {
    let name = simulation.variants.get(index).map_or("", |variant| &variant.name);
    format!("{} {name}", letter(simulation, index)).trim().to_owned()
}

/// `Deployment web, 2 to 20 replicas`
fn about(hpa: &HorizontalPodAutoscaler) -> String {
    let spec = &hpa.spec;
    let target = &spec.scale_target_ref;
    format!(
        "{} {}, {} to {} replicas",
        target.kind,
        target.name,
        spec.min_replicas.unwrap_or(1),
        spec.max_replicas
    )
}

fn side_by_side(page: &mut Page, all: &[(String, Figures)]) {
    let row = |label: &str, of: &dyn Fn(&Figures) -> String| {
        let mut cells = vec![(label.to_owned(), Tone::Plain)];
        cells.extend(all.iter().map(|(_, figures)| (of(figures), Tone::Plain)));
        cells
    };
    let mut head = vec![(String::new(), Tone::Faint)];
    head.extend(all.iter().map(|(name, _)| (name.clone(), Tone::Strong)));
    let rows = vec![
        head,
        row("time over target", &|of| {
            if is_unknown(of) {
                return "not known: pods have no requests".to_owned();
            }
            let part = of.over.as_secs_f64() / of.length.as_secs_f64().max(1.0) * 100.0;
            format!("{} ({part:.1}%)", span(of.over))
        }),
        row("most load over target", &|of| {
            if is_unknown(of) { "not known".to_owned() } else { percent(of.worst) }
        }),
        row("replicas", &|of| format!("{} to {}, {:.1} on average", of.replicas.0, of.replicas.1, of.mean)),
        row("pod hours", &|of| format!("{:.1}", of.pod_hours)),
        row("changes", &|of| format!("{} up, {} down", of.changes.0, of.changes.1)),
        row("pods without a node", &|of| match of.pending {
            0 => "none".to_owned(),
            most => format!("at most {most}, for {}", span(of.waited)),
        }),
        row("nodes", &|of| match of.nodes {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        }),
    ];
    let leans: Vec<Lean> = (0..=all.len()).map(|_| Lean::Left).collect();
    page.table(&leans, &rows);
}

/// Whether nothing ever told how much there was to do, over the target.
fn is_unknown(of: &Figures) -> bool {
    of.unknown > Span::ZERO && of.unknown == of.length
}

fn percent(ratio: f64) -> String {
    if ratio.is_finite() { format!("{:.0}%", ratio * 100.0) } else { "no ready pods".to_owned() }
}

fn drawn(page: &mut Page, simulation: &Simulation, index: usize, target: usize) {
    let width = page.width().saturating_sub(10).clamp(20, 96);
    // All variants on one scale, so that they can be compared.
    let each = simulation.variants.iter().map(|variant| top(&buckets(&variant.moments, target, width)));
    let most = each.fold(1.0, f64::max);
    let columns =
        simulation.variants.get(index).map_or(Vec::new(), |variant| buckets(&variant.moments, target, width));
    page.gap();
    page.line(&format!(
        "  {}  {}",
        page.paint(&named(simulation, index), Tone::Strong),
        page.paint(LEGEND, Tone::Faint)
    ));
    for line in chart(&columns, most, ("0s", &span(simulation.stage.length))) {
        page.line(&format!("  {line}"));
    }
}

/// Columns that are left out where they would say the same in every row.
#[derive(Clone, Copy)]
struct Columns {
    pending: bool,
    nodes: bool,
}

/// A row for each stretch, the variants side by side.
fn rows(page: &mut Page, simulation: &Simulation, key: &Key, target: usize) {
    let sides: Vec<Vec<Bucket>> =
        simulation.variants.iter().map(|variant| simulation.rows(variant, target)).collect();
    let all = || sides.iter().flatten();
    let columns = Columns {
        pending: all().any(|row| row.pending > 0),
        nodes: all().any(|row| Some(row.nodes) != all().next().map(|first| first.nodes)),
    };
    let mut head: Vec<String> = vec!["since".to_owned()];
    head.extend(simulation.stage.loads_of(key).map(|load| load.of.to_string()));
    head.push("needed".to_owned());
    for index in 0..simulation.variants.len() {
        let letter = letter(simulation, index);
        let names = [
            ("over", true),
            ("replicas", true),
            ("ready", true),
            ("pending", columns.pending),
            ("nodes", columns.nodes),
        ];
        let shown = names.into_iter().filter(|(_, is_shown)| *is_shown);
        head.extend(shown.map(|(column, _)| format!("{letter} {column}").trim().to_owned()));
    }
    let leans: Vec<Lean> = head.iter().map(|_| Lean::Right).collect();
    let mut table = vec![head.into_iter().map(|name| (name, Tone::Faint)).collect::<Vec<_>>()];
    for (number, first) in sides.first().into_iter().flatten().enumerate() {
        let mut cells = common(first);
        sides.iter().filter_map(|side| side.get(number)).for_each(|row| cells.extend(own(row, columns)));
        table.push(cells);
    }
    page.gap();
    page.wrapped(
        2,
        &format!("Rows of {}, each showing its worst moment", span(simulation.every)),
        Tone::Strong,
    );
    page.table(&leans, &table);
}

fn plain(text: String) -> Cell {
    (text, Tone::Plain)
}

/// What does not depend on the autoscaler.
fn common(row: &Bucket) -> Vec<Cell> {
    let mut cells = vec![plain(span(row.since))];
    cells.extend(row.loads.iter().map(|load| plain(amount(*load))));
    cells.push(plain(row.needed.map_or_else(|| "–".to_owned(), |needed| format!("{needed:.1}"))));
    cells
}

/// What the autoscaler made of it.
fn own(row: &Bucket, columns: Columns) -> Vec<Cell> {
    let warned = |number: i64, text: String| {
        if number > 0 { (text, Tone::Warning) } else { plain("–".to_owned()) }
    };
    let mut cells = vec![
        warned(row.over.as_millis(), span(row.over)),
        plain(row.replicas.to_string()),
        plain(row.ready.to_string()),
    ];
    if columns.pending {
        cells.push(warned(i64::try_from(row.pending).unwrap_or(i64::MAX), row.pending.to_string()));
    }
    if columns.nodes {
        cells.push(plain(row.nodes.to_string()));
    }
    cells
}

/// Three digits that count, with the letters of quantities.
fn amount(load: f64) -> String {
    let (scaled, letter) = match load {
        _ if load >= 1e9 => (load / 1e9, "G"),
        _ if load >= 1e6 => (load / 1e6, "M"),
        _ if load >= 1e4 => (load / 1e3, "k"),
        _ => (load, ""),
    };
    let digits = if scaled >= 100.0 {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{letter}")
}

/// Warnings of the autoscaler, if there were any.
fn told(page: &mut Page, variant: &Variant, key: &Key, target: usize) {
    if let Some(status) = variant.statuses.get(target) {
        failing(&status.conditions).iter().for_each(|text| page.wrapped(2, text, Tone::Bad));
    }
    let all: Vec<_> = variant.told.iter().filter(|told| told.autoscaler == *key && told.is_warning).collect();
    for told in all.iter().take(TOLD_MAX) {
        let times = count(usize::try_from(told.count).unwrap_or(usize::MAX), "time");
        page.wrapped(2, &format!("{} ({times}): {}", told.reason, told.message), Tone::Warning);
    }
    if all.len() > TOLD_MAX {
        page.wrapped(2, &format!("and {} more warnings", all.len() - TOLD_MAX), Tone::Faint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits() {
        let amounts = [0.0, 0.25, 12.34, 123.4, 9_999.0, 12_345.0, 2.5e6, 3.0e9].map(amount);
        assert_eq!(amounts, ["0.00", "0.25", "12.3", "123", "9999", "12.3k", "2.50M", "3.00G"]);
    }
}
