//! The axis of time that every chart of a page shares, so that what is above each other happens at the same moment.

use replank_model::time::{Span, Time};

use crate::markup::Markup;
use crate::words;

/// Units that an axis is long. Charts are stretched to the width of the page.
pub(crate) const UNITS: i64 = 2_000;
/// Ticks that find room.
const TICKS_MAX: i64 = 8;
const MINUTE: i64 = 60_000;
/// Steps between ticks, in minutes; beyond, whole days.
const STEPS: [i64; 15] = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1_440, 2_880];

/// From when, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    start: Time,
    length: i64,
}

impl Axis {
    pub(crate) fn new(start: Time, length_ms: i64) -> Self {
        Self { start, length: length_ms.max(1_000) }
    }

    /// Where a moment is, from 0 to [`UNITS`].
    pub(crate) fn x(self, at: Time) -> i64 {
        let past = (at - self.start).as_millis().clamp(0, self.length);
        (i128::from(past) * i128::from(UNITS) / i128::from(self.length)).try_into().unwrap_or(UNITS)
    }

    pub(crate) fn end(self) -> Time {
        self.start + Span::from_millis(self.length)
    }

    /// `+1h5m`, since the beginning.
    pub(crate) fn since(self, at: Time) -> String {
        format!("+{}", words::span(at - self.start))
    }

    /// A text from elsewhere with its moments since the beginning, as all others on the page: `2026-11-20T09:53:56Z` becomes `+1m56s`. One before the beginning becomes a
    /// date; what stands in quotes or after `=` is somebody's value, and stays.
    pub(crate) fn told(self, text: &str) -> String {
        const LENGTH: usize = "2026-11-20T09:53:56Z".len();
        let mut told = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(zulu) = rest.find('Z') {
            let (head, tail) = rest.split_at(zulu + 1);
            let begin = head.len().checked_sub(LENGTH).filter(|begin| head.is_char_boundary(*begin));
            let at = begin.and_then(|begin| Some((&head[..begin], head[begin..].parse::<Time>().ok()?)));
            match at.filter(|(before, _)| !before.ends_with(['"', '\'', '='])) {
                Some((before, at)) => {
                    told.push_str(before);
                    told.push_str(&if at < self.start { words::moment(at) } else { self.since(at) });
                }
                None => told.push_str(head),
            }
            rest = tail;
        }
        told + rest
    }

    /// Moments of the ticks, in milliseconds from the beginning.
    fn ticks(self) -> Vec<i64> {
        let fits = |step: &i64| self.length / step <= TICKS_MAX;
        let day = 1_440 * MINUTE;
        let step = STEPS.iter().map(|minutes| minutes * MINUTE).find(fits);
        let step = step.unwrap_or_else(|| (self.length / TICKS_MAX / day + 1) * day);
        (0..=self.length / step).map(|number| number * step).collect()
    }

    /// The moments above the charts.
    pub(crate) fn ruler(self, out: &mut Markup) {
        out.raw("<svg class=\"ruler\" aria-hidden=\"true\" focusable=\"false\">");
        for tick in self.ticks() {
            let left = self.percent(tick);
            let anchor = if tick == 0 { "start" } else { "middle" };
            // A label that would end beyond the page is left out; its line stays.
            if tick > 0 && tick * 100 > self.length * 96 {
                continue;
            }
            let label = if tick == 0 { "0".to_owned() } else { words::millis(tick) };
            out.leaf("text", &[("x", &left), ("y", "13"), ("text-anchor", anchor)], &label);
        }
        out.raw("</svg>");
    }

    /// Lines at the same moments, through a chart of a height.
    pub(crate) fn grid(self, height: i64, out: &mut Markup) {
        let lines: String = self
            .ticks()
            .into_iter()
            .map(|tick| format!("M{} 0V{height}", (tick * UNITS) / self.length))
            .collect();
        out.open("path", &[("class", "grid"), ("d", &lines)]);
        out.close("path");
    }

    fn percent(self, past: i64) -> String {
        let thousandths = past * 100_000 / self.length;
        format!("{}.{:03}%", thousandths / 1_000, thousandths % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(minutes: i64) -> Axis {
        Axis::new(Time::from_millis(0), minutes * MINUTE)
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(axis(7).ticks().len(), 8);
        assert_eq!(axis(65).ticks(), [0, 10, 20, 30, 40, 50, 60].map(|minute| minute * MINUTE));
        for minutes in [1, 13, 100, 700, 9_999, 99_999] {
            let ticks = axis(minutes).ticks();
            assert!((1..=9).contains(&ticks.len()), "{minutes}: {ticks:?}");
        }
    }

    #[test]
    fn moments_in_a_text_are_since_the_beginning() {
        let axis = Axis::new("2026-11-20T09:52:00Z".parse().expect("a time"), 60_000);
        let cases = [
            ("Ready from 2026-11-20T09:53:56Z on, Zoe", "Ready from +1m56s on, Zoe"),
            ("2026-11-20T09:52:00Z to 2026-11-20T10:52:01Z", "+0s to +1h"),
            ("since 2026-11-19T09:52:00Z", "since 2026-11-19 09:52:00"),
            (
                "annotation \"2026-11-20T09:53:56Z\", at=2026-11-20T09:53:56Z",
                "annotation \"2026-11-20T09:53:56Z\", at=2026-11-20T09:53:56Z",
            ),
            ("ünïcödé-Z-ZZ", "ünïcödé-Z-ZZ"),
        ];
        for (text, told) in cases {
            assert_eq!(axis.told(text), told);
        }
    }

    #[test]
    fn moments_beyond_the_axis_are_at_its_ends() {
        let axis = axis(10);
        let at = |millis| axis.x(Time::from_millis(millis));
        assert_eq!((at(-5), at(5 * MINUTE), at(11 * MINUTE)), (0, UNITS / 2, UNITS));
        assert_eq!(axis.percent(MINUTE), "10.000%");
    }
}
