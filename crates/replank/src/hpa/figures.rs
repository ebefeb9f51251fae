//! Moments of a replay in stretches: rows of a table, columns of a chart.

use replank_model::time::Span;
use replank_rehearse::replay::Moment;

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
    use replank_rehearse::replay::TargetMoment;

    use super::*;

    fn moment(seconds: i64, replicas: i32, ready: usize, pressure: f64) -> Moment {
        let pending = usize::try_from(replicas).unwrap() - ready;
        let target =
            TargetMoment { replicas, ready, pending, is_over: pressure > 1.1, ..TargetMoment::default() };
        Moment { at: Time::from_millis(seconds * 1_000), nodes: 3, targets: vec![target] }
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
