//! Observed spans, and draws from them.

use replank_model::time::Span;

use replank_apiserver::draw::Draw;

/// Observed spans; sorted once all are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Samples(Vec<Span>);

impl Samples {
    pub(super) fn add(&mut self, span: Span) {
        self.0.push(span);
    }

    pub(super) fn sort(&mut self) {
        self.0.sort();
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Shortest and longest.
    pub(super) fn bounds(&self) -> Option<(Span, Span)> {
        Some((*self.0.first()?, *self.0.last()?))
    }

    /// A span as likely as the samples make it: one pair of neighbours, and a point between them.
    pub(super) fn draw(&self, draw: Draw) -> Option<Span> {
        between_neighbours(&self.0, draw)
    }

    /// As [`Samples::draw`], among spans longer than one that has passed; `None` if none was longer.
    pub(super) fn draw_above(&self, passed: Span, draw: Draw) -> Option<Span> {
        let from = self.0.partition_point(|span| *span <= passed);
        between_neighbours(&self.0[from..], draw)
    }
}

fn between_neighbours(sorted: &[Span], draw: Draw) -> Option<Span> {
    match sorted {
        [] => None,
        [only] => Some(*only),
        _ => {
            // The draw's high part chooses the pair, its low part the point between.
            let at = usize::try_from(draw.below(sorted.len() as u64 - 1)).expect("a position");
            Some(Draw(draw.0.wrapping_mul(0x9E37_79B9_7F4A_7C15)).between(sorted[at], sorted[at + 1]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use replank_apiserver::draw::{Draws, Purpose};

    #[test]
    fn draws_stay_between_the_samples() {
        let mut samples = Samples::default();
        for seconds in [30, 10, 20] {
            samples.add(Span::from_secs(seconds));
        }
        samples.sort();
        assert_eq!(samples.bounds(), Some((Span::from_secs(10), Span::from_secs(30))));
        let draws = Draws::new(3);
        let (mut low, mut high) = (false, false);
        for count in 0..100 {
            let drawn = samples.draw(draws.draw("x", Purpose::Run, count)).expect("there are samples");
            assert!(Span::from_secs(10) <= drawn && drawn <= Span::from_secs(30));
            low |= drawn < Span::from_secs(20);
            high |= drawn > Span::from_secs(20);
            let above = samples.draw_above(Span::from_secs(15), draws.draw("x", Purpose::Run, count));
            assert!(above.expect("two are longer") >= Span::from_secs(20));
        }
        assert!(low && high);
        assert_eq!(samples.draw_above(Span::from_secs(30), draws.draw("x", Purpose::Run, 0)), None);
        assert_eq!(Samples::default().draw(draws.draw("x", Purpose::Run, 0)), None);
    }
}
