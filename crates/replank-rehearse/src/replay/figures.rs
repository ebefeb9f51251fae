//! What moments come to, in figures.

use replank_model::time::Span;

use super::{Moment, TargetMoment};

/// Figures of one autoscaler over a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// How long there was more to do than the autoscaler tolerates.
    pub over: Span,
    /// How long nothing told how much there was to do, over the target: pods ask for nothing that a share could be of.
    pub unknown: Span,
    /// How long in all.
    pub length: Span,
    /// The most that there was to do, over the target; infinite where there was no ready pod.
    pub worst: f64,
    /// The most pods that it would have taken to be at the target.
    pub needed: f64,
    /// Fewest and most replicas asked for.
    pub replicas: (i32, i32),
    /// Fewest pods that did the work.
    pub ready: usize,
    /// Replicas on average.
    pub mean: f64,
    /// Hours of replicas asked for: what is paid for.
    pub pod_hours: f64,
    /// Changes to more replicas, and to fewer.
    pub changes: (usize, usize),
    /// Most pods without a node at once.
    pub pending: usize,
    /// How long there was one.
    pub waited: Span,
    /// Fewest and most nodes; not taken in by [`Figures::take`].
    pub nodes: (usize, usize),
}

const HOUR: f64 = 3_600.0;

impl Default for Figures {
    /// Of no time at all.
    fn default() -> Self {
        Self {
            over: Span::ZERO,
            unknown: Span::ZERO,
            length: Span::ZERO,
            worst: 0.0,
            needed: 0.0,
            replicas: (i32::MAX, 0),
            ready: usize::MAX,
            mean: 0.0,
            pod_hours: 0.0,
            changes: (0, 0),
            pending: 0,
            waited: Span::ZERO,
            nodes: (usize::MAX, 0),
        }
    }
}

impl Figures {
    /// Takes in a moment that stands for so long, after another.
    pub fn take(&mut self, before: Option<&TargetMoment>, now: &TargetMoment, until: Span) {
        self.length += until;
        if now.is_over {
            self.over += until;
        }
        if now.pressure.is_none() {
            self.unknown += until;
        }
        if now.pending > 0 {
            self.waited += until;
        }
        self.worst = self.worst.max(now.pressure.unwrap_or(0.0));
        self.needed = self.needed.max(now.needed.unwrap_or(0.0));
        self.replicas = (self.replicas.0.min(now.replicas), self.replicas.1.max(now.replicas));
        self.ready = self.ready.min(now.ready);
        self.pod_hours += f64::from(now.replicas) * until.as_secs_f64() / HOUR;
        self.pending = self.pending.max(now.pending);
        if let Some(before) = before {
            self.changes.0 += usize::from(now.replicas > before.replicas);
            self.changes.1 += usize::from(now.replicas < before.replicas);
        }
        let hours = self.length.as_secs_f64() / HOUR;
        self.mean = if hours > 0.0 { self.pod_hours / hours } else { f64::from(self.replicas.1) };
    }
}

/// The figures of one autoscaler, by its number in [`Moment::targets`]. Each moment stands for the time until the next.
#[must_use]
pub fn figures(moments: &[Moment], target: usize) -> Figures {
    let mut figures = Figures::default();
    for (index, moment) in moments.iter().enumerate() {
        let Some(now) = moment.targets.get(target) else { continue };
        let until = moments.get(index + 1).map_or(Span::ZERO, |next| next.at - moment.at);
        let before = index.checked_sub(1).and_then(|before| moments[before].targets.get(target));
        figures.take(before, now, until);
        figures.nodes = (figures.nodes.0.min(moment.nodes), figures.nodes.1.max(moment.nodes));
    }
    figures
}

#[cfg(test)]
mod tests {
    use replank_model::time::Time;

    use super::*;

    fn moment(seconds: i64, replicas: i32, ready: usize, pressure: f64) -> Moment {
        let target = TargetMoment {
            loads: vec![f64::from(replicas)],
            replicas,
            ready,
            pending: usize::try_from(replicas).unwrap() - ready,
            pressure: Some(pressure),
            needed: Some(pressure * ready as f64),
            is_over: pressure > 1.1,
        };
        Moment { at: Time::from_millis(seconds * 1_000), nodes: 3, targets: vec![target] }
    }

    #[test]
    fn moments_stand_for_the_time_until_the_next() {
        let moments = [
            moment(0, 2, 2, 0.5),
            moment(1_800, 4, 2, 2.0),
            moment(2_700, 4, 4, 1.0),
            moment(3_600, 3, 3, 1.0),
        ];
        let figures = figures(&moments, 0);
        assert_eq!((figures.over, figures.length), (Span::from_minutes(15), Span::from_minutes(60)));
        assert_eq!((figures.replicas, figures.ready, figures.changes), ((2, 4), 2, (1, 1)));
        assert_eq!((figures.pod_hours, figures.mean, figures.worst), (3.0, 3.0, 2.0));
        assert_eq!((figures.pending, figures.waited, figures.nodes), (2, Span::from_minutes(15), (3, 3)));
        assert_eq!((figures.needed, figures.unknown), (4.0, Span::ZERO));
        let mut silent = moments.clone();
        silent[1].targets[0].pressure = None;
        assert_eq!(super::figures(&silent, 0).unknown, Span::from_minutes(15));
    }
}
