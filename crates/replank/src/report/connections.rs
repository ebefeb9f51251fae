//! What clients lose.

use replank_model::time::Span;
use replank_rehearse::ConnectionFigures;

use super::page::{Page, Tone};
use super::words::{grouped, span};

pub(super) fn write(page: &mut Page, all: &[ConnectionFigures]) {
    if all.is_empty() {
        return;
    }
    page.heading("Connections", "lost at most, under the given load");
    for of in all {
        let is_well = of.refused == 0 && of.cut == 0;
        let mut lost = if is_well {
            "none".to_owned()
        } else {
            format!("{} refused, {} cut", many(of.refused), many(of.cut))
        };
        if of.dark > Span::ZERO {
            lost += &format!(", no pod for {}", span(of.dark));
        }
        let name = format!("{}/{}", of.namespace, of.name);
        let load = format!("{} of {}", rate(of.per_second), span(of.length));
        let tone = if is_well { Tone::Good } else { Tone::Warning };
        page.beside(2, &[(&name, Tone::Note), (&load, Tone::Plain), (of.path, Tone::Plain), (&lost, tone)]);
    }
}

fn many(count: u64) -> String {
    grouped(usize::try_from(count).unwrap_or(usize::MAX))
}

/// `50/s`, or by the hour where it is less than one a second.
fn rate(per_second: f64) -> String {
    let (count, unit) = if per_second >= 1.0 { (per_second, 's') } else { (per_second * 3600.0, 'h') };
    let text = format!("{count:.1}");
    format!("{}/{unit}", text.strip_suffix(".0").unwrap_or(&text))
}
