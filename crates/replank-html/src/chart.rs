//! Numbers over time, as steps.

use replank_model::time::Time;

use crate::axis::{Axis, UNITS};
use crate::markup::Markup;

/// A number from a moment on.
pub(crate) type Step = (Time, i64);

/// Units that a chart is high.
const HEIGHT: i64 = 100;
/// Above the highest number, so that its line is seen whole.
const AIR: i64 = 6;

/// A chart of one number, with lines that it is held against.
#[derive(Debug)]
pub(crate) struct Chart<'a> {
    pub(crate) axis: Axis,
    /// What is drawn, with a class each, the first one filled.
    pub(crate) courses: &'a [(&'static str, &'a [Step])],
    /// Numbers across the whole chart, with a class each.
    pub(crate) levels: &'a [(&'static str, i64)],
    /// Whether moments without any are marked.
    pub(crate) marks_none: bool,
}

impl Chart<'_> {
    pub(crate) fn write(&self, out: &mut Markup) {
        let steps = self.courses.iter().flat_map(|(_, steps)| steps.iter().map(|(_, number)| *number));
        let top = steps.chain(self.levels.iter().map(|(_, level)| *level)).max().unwrap_or(1).max(1);
        out.raw("<svg class=\"chart\" viewBox=\"0 0 2000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\">");
        self.axis.grid(HEIGHT, out);
        for (number, (class, steps)) in self.courses.iter().enumerate() {
            if number == 0 {
                self.path("area", &format!("{}V{HEIGHT}H{}Z", self.line(steps, top), self.first(steps)), out);
            }
            self.path(class, &self.line(steps, top), out);
            if self.marks_none && number == 0 {
                self.path("none", &self.none(steps), out);
            }
        }
        for (class, level) in self.levels {
            self.path(class, &format!("M0 {}H{UNITS}", y(*level, top)), out);
        }
        out.raw("</svg>");
    }

    fn path(&self, class: &str, path: &str, out: &mut Markup) {
        if !path.is_empty() {
            out.open("path", &[("class", class), ("d", path)]);
            out.close("path");
        }
    }

    fn first(&self, steps: &[Step]) -> i64 {
        steps.first().map_or(0, |(at, _)| self.axis.x(*at))
    }

    /// Steps from the first moment to the end of the axis. What falls upon one unit is drawn with its extremes.
    fn line(&self, steps: &[Step], top: i64) -> String {
        let mut path = String::new();
        let mut last = None;
        for (at, number) in steps {
            let (x, y) = (self.axis.x(*at), y(*number, top));
            match last {
                None => path.push_str(&format!("M{x} {y}")),
                // Thousands of steps of a large cluster move nothing that can be seen.
                Some((_, before)) if before == y => continue,
                Some((before, _)) if before == x => path.push_str(&format!("V{y}")),
                Some(_) => path.push_str(&format!("H{x}V{y}")),
            }
            last = Some((x, y));
        }
        if last.is_some() {
            path.push_str(&format!("H{UNITS}"));
        }
        path
    }

    /// Bars at the bottom where the number is 0.
    fn none(&self, steps: &[Step]) -> String {
        let mut path = String::new();
        for (index, (at, number)) in steps.iter().enumerate() {
            if *number > 0 {
                continue;
            }
            let until = steps.get(index + 1).map_or(UNITS, |(next, _)| self.axis.x(*next));
            let from = self.axis.x(*at);
            let wide = (until - from).max(8);
            path.push_str(&format!("M{from} {}h{wide}v12h-{wide}z", HEIGHT - 12));
        }
        path
    }
}

fn y(number: i64, top: i64) -> i64 {
    HEIGHT - 1 - number * (HEIGHT - AIR) / top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_to_the_end_and_zero_is_marked() {
        let axis = Axis::new(Time::from_millis(0), 100_000);
        let steps =
            [(Time::from_millis(0), 2), (Time::from_millis(50_000), 0), (Time::from_millis(75_000), 2)];
        let chart = Chart { axis, courses: &[("ready", &steps)], levels: &[("need", 1)], marks_none: true };
        let mut out = Markup::default();
        chart.write(&mut out);
        let text = out.into_text();
        assert!(text.contains("class=\"ready\" d=\"M0 5H1000V99H1500V5H2000\""), "{text}");
        assert!(text.contains("class=\"none\" d=\"M1000 88h500v12h-500z\""), "{text}");
        assert!(text.contains("class=\"need\" d=\"M0 52H2000\""), "{text}");
        let steps: Vec<Step> =
            (0..=900).map(|second| (Time::from_millis(second * 100), 90_000 + second)).collect();
        let line = chart.line(&steps, 100_000);
        assert!(line.starts_with("M0 15") && line.ends_with("V14H2000") && line.len() < 30, "{line}");
    }
}
