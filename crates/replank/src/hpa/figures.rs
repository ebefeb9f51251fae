//! What a replay comes to, in figures.

use replank_model::time::Span;
use replank_sim::replay::{Moment, TargetMoment};

/// Figures of one autoscaler in one variant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    /// How long there was more to do than the autoscaler tolerates.
    pub(super) over: Span,
    /// How long in all.
    pub(super) length: Span,
    /// The most that there was to do, over the target.
    pub(super) worst: f64,
    /// Fewest and most replicas asked for.
    pub(super) replicas: (i32, i32),
    /// Replicas on average.
    pub(super) mean: f64,
    /// Hours of replicas asked for: what is paid for.
    pub(super) pod_hours: f64,
    /// Changes to more replicas, and to fewer.
    pub(super) changes: (usize, usize),
    /// Most pods without a node at once.
    pub(super) pending: usize,
    /// How long there was one.
    pub(super) waited: Span,
    /// Fewest and most nodes.
    pub(super) nodes: (usize, usize),
}

const HOUR: f64 = 3_600.0;

/// Works them out of the moments. Each moment stands for the time until the next.
pub(super) fn figures(moments: &[Moment], target: usize) -> Figures {
    let mut figures = Figures {
        over: Span::ZERO,
        length: Span::ZERO,
        worst: 0.0,
        replicas: (i32::MAX, 0),
        mean: 0.0,
        pod_hours: 0.0,
        changes: (0, 0),
        pending: 0,
        waited: Span::ZERO,
        nodes: (usize::MAX, 0),
    };
    for (index, moment) in moments.iter().enumerate() {
        let Some(now) = moment.targets.get(target) else { continue };
        let until = moments.get(index + 1).map_or(Span::ZERO, |next| next.at - moment.at);
        take(&mut figures, now, until);
        figures.nodes = (figures.nodes.0.min(moment.nodes), figures.nodes.1.max(moment.nodes));
        let before = index.checked_sub(1).and_then(|before| moments[before].targets.get(target));
        if let Some(before) = before {
            figures.changes.0 += usize::from(now.replicas > before.replicas);
            figures.changes.1 += usize::from(now.replicas < before.replicas);
        }
    }
    let hours = figures.length.as_secs_f64() / HOUR;
    figures.mean = if hours > 0.0 { figures.pod_hours / hours } else { f64::from(figures.replicas.1) };
    figures
}

fn take(figures: &mut Figures, now: &TargetMoment, until: Span) {
    figures.length += until;
    if now.is_over {
        figures.over += until;
    }
    if now.pending > 0 {
        figures.waited += until;
    }
    figures.worst = figures.worst.max(now.pressure.unwrap_or(0.0));
    figures.replicas = (figures.replicas.0.min(now.replicas), figures.replicas.1.max(now.replicas));
    figures.pod_hours += f64::from(now.replicas) * until.as_secs_f64() / HOUR;
    figures.pending = figures.pending.max(now.pending);
}

/// A stretch of moments, taken together: as bad as its worst.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bucket {
    /// Moments since the beginning.
    pub(super) since: Span,
    /// What there was to do, at the most.
    pub(super) loads: Vec<f64>,
    /// Replicas asked for, at the most.
    pub(super) replicas: i32,
    /// Pods that did the work, at the least.
    pub(super) ready: usize,
    /// Pods without a node, at the most.
    pub(super) pending: usize,
    /// Pods that it would have taken to be at the target, at the most.
    pub(super) needed: Option<f64>,
    /// Load over target, at the most.
    pub(super) pressure: Option<f64>,
    /// How long it was more than the autoscaler tolerates.
    pub(super) over: Span,
    /// Nodes, at the least.
    pub(super) nodes: usize,
}

/// The moments in so many even stretches, or one each if there are fewer.
pub(super) fn buckets(moments: &[Moment], target: usize, count: usize) -> Vec<Bucket> {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else { return Vec::new() };
    let length = (last.at - first.at).as_millis().max(1);
    let count = i64::try_from(count.clamp(1, moments.len())).unwrap_or(1);
    let mut all: Vec<Option<Bucket>> = (0..count).map(|_| None).collect();
    for (index, moment) in moments.iter().enumerate() {
        let Some(now) = moment.targets.get(target) else { continue };
        let since = moment.at - first.at;
        let at = (since.as_millis() * count / length).min(count - 1);
        let until = moments.get(index + 1).map_or(Span::ZERO, |next| next.at - moment.at);
        let Some(bucket) = usize::try_from(at).ok().and_then(|at| all.get_mut(at)) else { continue };
        let new = Bucket {
            since,
            loads: now.loads.clone(),
            replicas: now.replicas,
            ready: now.ready,
            pending: now.pending,
            needed: now.needed,
            pressure: now.pressure,
            over: if now.is_over { until } else { Span::ZERO },
            nodes: moment.nodes,
        };
        match bucket {
            Some(known) => known.take(&new),
            None => *bucket = Some(new),
        }
    }
    all.into_iter().flatten().collect()
}

impl Bucket {
    fn take(&mut self, more: &Self) {
        for (known, more) in self.loads.iter_mut().zip(&more.loads) {
            *known = known.max(*more);
        }
        let most = |known: Option<f64>, more: Option<f64>| match (known, more) {
            (Some(known), Some(more)) => Some(known.max(more)),
            (known, more) => known.or(more),
        };
        self.replicas = self.replicas.max(more.replicas);
        self.ready = self.ready.min(more.ready);
        self.pending = self.pending.max(more.pending);
        self.needed = most(self.needed, more.needed);
        self.pressure = most(self.pressure, more.pressure);
        self.over += more.over;
        self.nodes = self.nodes.min(more.nodes);
    }
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
        assert_eq!((figures.replicas, figures.changes), ((2, 4), (1, 1)));
        assert_eq!((figures.pod_hours, figures.mean, figures.worst), (3.0, 3.0, 2.0));
        assert_eq!((figures.pending, figures.waited, figures.nodes), (2, Span::from_minutes(15), (3, 3)));
    }

    #[test]
    fn a_stretch_is_as_bad_as_its_worst() {
        let moments =
            [moment(0, 2, 2, 0.5), moment(10, 4, 1, 2.0), moment(20, 3, 3, 1.0), moment(40, 3, 3, 1.0)];
        let all = buckets(&moments, 0, 2);
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].replicas, all[0].ready, all[0].pending, all[0].over),
            (4, 1, 3, Span::from_secs(10))
        );
        assert_eq!((all[1].since, all[1].replicas), (Span::from_secs(20), 3));
    }
}
