//! A chart of a replay as SVG: one panel for each variant of each autoscaler, all of one autoscaler on one scale.

use std::fmt::Write as _;

use replank_model::time::Span;

use super::chart::top;
use super::figures::{Bucket, buckets};
use super::simulate::Simulation;
use crate::report::words::span;

const WIDTH: f64 = 960.0;
const PANEL: f64 = 220.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const ABOVE: f64 = 34.0;
const BELOW: f64 = 28.0;
/// Columns of a panel.
const COLUMNS: usize = 880;
/// Lines across a panel.
const LINES: usize = 4;

/// The drawing. Colours are told apart without colour vision: light and dark, and a dashed line.
pub(super) fn svg(simulation: &Simulation) -> String {
    let keys = simulation.keys();
    let height = PANEL * (keys.len() * simulation.variants.len()) as f64;
    let mut drawing = Drawing(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    ));
    let mut y = 0.0;
    for (target, key) in keys.iter().enumerate() {
        let panels: Vec<Vec<Bucket>> =
            simulation.variants.iter().map(|variant| buckets(&variant.moments, target, COLUMNS)).collect();
        let most = panels.iter().map(|panel| top(panel)).fold(1.0, f64::max).ceil();
        for (variant, panel) in simulation.variants.iter().zip(&panels) {
            let title = format!("{key}: {}", variant.name);
            drawing.panel(panel, &title, most, y, simulation.stage.length);
            y += PANEL;
        }
    }
    drawing.0.push_str("</svg>\n");
    drawing.0
}

struct Drawing(String);

impl Drawing {
    fn put(&mut self, line: std::fmt::Arguments<'_>) {
        let written = self.0.write_fmt(line);
        assert!(written.is_ok(), "a string takes everything");
        self.0.push('\n');
    }

    fn panel(&mut self, all: &[Bucket], title: &str, most: f64, y: f64, length: Span) {
        let (low, high) = (y + PANEL - BELOW, y + ABOVE);
        let width = (WIDTH - LEFT - RIGHT) / all.len().max(1) as f64;
        let x_of = |index: usize| LEFT + width * index as f64;
        let y_of = |pods: f64| low - (low - high) * pods.min(most) / most;
        self.put(format_args!(
            "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{}</text>",
            y + 18.0,
            escaped(title)
        ));
        self.put(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555555\">dark: ready, light: asked for, dashed: needed, red: over \
             target</text>",
            WIDTH - RIGHT,
            y + 18.0
        ));
        for (index, bucket) in all.iter().enumerate() {
            if bucket.over > Span::ZERO {
                self.put(format_args!(
                    "<rect x=\"{:.1}\" y=\"{high:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"#f4c7c3\"/>",
                    x_of(index),
                    low - high
                ));
            }
        }
        self.area(all, "#a8c5e8", &|bucket| y_of(f64::from(bucket.replicas)), &x_of, low);
        self.area(all, "#2b5c9e", &|bucket| y_of(bucket.ready as f64), &x_of, low);
        self.needed(all, &x_of, &y_of);
        for line in 0..=LINES {
            let pods = most * line as f64 / LINES as f64;
            let at = y_of(pods);
            self.put(format_args!(
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#00000022\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{pods:.0}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0
            ));
            let x = LEFT + (WIDTH - LEFT - RIGHT) * line as f64 / LINES as f64;
            let time = span(Span::from_millis(length.as_millis() * line as i64 / LINES as i64));
            let anchor = if line == 0 {
                "start"
            } else if line == LINES {
                "end"
            } else {
                "middle"
            };
            self.put(format_args!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"#555555\">{time}</text>",
                low + 18.0
            ));
        }
    }

    fn area(
        &mut self,
        all: &[Bucket],
        fill: &str,
        y_of: &dyn Fn(&Bucket) -> f64,
        x_of: &dyn Fn(usize) -> f64,
        low: f64,
    ) {
        let mut path = format!("M{LEFT:.1} {low:.1}");
        for (index, bucket) in all.iter().enumerate() {
            let y = y_of(bucket);
            path.push_str(&format!("L{:.1} {y:.1}L{:.1} {y:.1}", x_of(index), x_of(index + 1)));
        }
        path.push_str(&format!("L{:.1} {low:.1}Z", x_of(all.len())));
        self.put(format_args!("<path d=\"{path}\" fill=\"{fill}\"/>"));
    }

    fn needed(&mut self, all: &[Bucket], x_of: &dyn Fn(usize) -> f64, y_of: &dyn Fn(f64) -> f64) {
        let mut path = String::new();
        for (index, bucket) in all.iter().enumerate() {
            let Some(needed) = bucket.needed else { continue };
            let step = if path.is_empty() { 'M' } else { 'L' };
            path.push_str(&format!("{step}{:.1} {:.1}", x_of(index), y_of(needed)));
        }
        if !path.is_empty() {
            self.put(format_args!(
                "<path d=\"{path}\" fill=\"none\" stroke=\"#000000\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\"/>"
            ));
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
