//! From what was measured to a number of replicas (`replica_calculator.go`, `metrics/utilization.go`).

use replank_model::text::Name;

use super::number::{ceil_capped, ceil_i64, to_i32};
use super::pods::{Groups, Requests};
use super::sample::Samples;

/// Measured over wanted, and what it came from. Amounts are in thousandths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// In all.
    pub usage: i64,
    /// Requests of the pods measured, where the target is a part of them.
    pub requests: Option<i64>,
    /// Per pod, or in all for a target of the whole.
    pub current: i64,
    /// Per cent of the requests, a whole number.
    pub utilization: Option<i32>,
    /// What it ought to be: per cent of the requests, or an amount.
    pub target: i64,
    /// Current over target.
    pub ratio: f64,
}

/// How pods are counted of which nothing is known that could be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refill {
    /// Pods without a sample, if they are counted: as if they used this much, per cent of their request or an amount.
    pub missing_as: Option<i64>,
    /// Pods that are not ready count as if they used nothing.
    pub unready_as_nothing: bool,
    /// Pods counted then.
    pub pods: usize,
    /// Measured over wanted with them.
    pub ratio: f64,
}

/// Which rule gave the number of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Near enough to the target: as many as there are.
    WithinTolerance,
    /// The ratio times this many pods, rounded up.
    Times(usize),
    /// With the pods filled in, it would go the other way: as many as there are.
    Turned,
    /// With the pods filled in, the count would go against the ratio: as many as there are.
    Against,
    /// What was measured, shared out among as many replicas as it takes.
    Shared,
    /// There are none: the ratio itself, rounded up.
    FromZero,
}

/// All of a calculation.
#[derive(Clone, Debug, PartialEq)]
pub struct Working {
    /// The pods, for metrics that are the pods' own.
    pub groups: Option<Groups>,
    /// Of what counts.
    pub first: Ratio,
    /// With the others filled in.
    pub refill: Option<Refill>,
    /// Which rule decided.
    pub counted: Counted,
    /// The number of replicas.
    pub replicas: i32,
}

/// Down and up: from 1 by how much the ratio may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerances {
    pub(super) down: f64,
    pub(super) up: f64,
}

impl Tolerances {
    fn allow(self, ratio: f64) -> bool {
        1.0 - self.down <= ratio && ratio <= 1.0 + self.up
    }
}

/// What a metric of pods is held against.
pub(super) enum Target<'a> {
    /// Per cent of the requests.
    Utilization { percent: i32, requests: &'a Requests<'a> },
    /// An amount per pod.
    Average(i64),
}

impl Target<'_> {
    fn ratio(&self, samples: &Samples<'_>) -> Result<Ratio, String> {
        match self {
            Self::Utilization { percent, requests } => utilization(samples, requests, *percent),
            Self::Average(target) => Ok(average(samples, *target)),
        }
    }

    /// What a pod without a sample is taken to use when replicas would be taken away: all that it asked for, and no less
    /// than the target.
    fn assumed(&self, pod: &str) -> i64 {
        match self {
            Self::Utilization { requests, .. } => {
                let request = requests.get(pod).copied().unwrap_or_default();
                request.wrapping_mul(self.assumed_shown()) / 100
            }
            Self::Average(target) => *target,
        }
    }

    fn assumed_shown(&self) -> i64 {
        match self {
            Self::Utilization { percent, .. } => i64::from((*percent).max(100)),
            Self::Average(target) => *target,
        }
    }
}

fn utilization(samples: &Samples<'_>, requests: &Requests<'_>, percent: i32) -> Result<Ratio, String> {
    let (mut usage, mut requested, mut pods) = (0i64, 0i64, 0i64);
    for (pod, sample) in samples.iter() {
        // What is measured of a pod that is not the target's.
        let Some(request) = requests.get(pod) else { continue };
        usage = usage.wrapping_add(sample.value);
        requested = requested.wrapping_add(*request);
        pods += 1;
    }
    if requested == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let current = (usage.wrapping_mul(100) / requested) as i32;
    Ok(Ratio {
        usage,
        requests: Some(requested),
        current: usage / pods,
        utilization: Some(current),
        target: i64::from(percent),
        ratio: f64::from(current) / f64::from(percent),
    })
}

fn average(samples: &Samples<'_>, target: i64) -> Ratio {
    let usage = samples.values().fold(0i64, |sum, sample| sum.wrapping_add(sample.value));
    let current = usage / samples.len().max(1) as i64;
    let ratio = current as f64 / target as f64;
    Ratio { usage, requests: None, current, utilization: None, target, ratio }
}

/// Takes away what does not count. None left is an error.
pub(super) fn keep_counted(samples: &mut Samples<'_>, groups: &Groups) -> Result<(), String> {
    for pod in groups.ignored.iter().chain(&groups.unready) {
        samples.remove(pod.as_str());
    }
    if samples.is_empty() {
        return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
    }
    Ok(())
}

/// A metric that each pod has (`GetResourceReplicas`, `calcPlainMetricReplicas`). The samples are those that count.
pub(super) fn of_pods(
    samples: Samples<'_>,
    groups: Groups,
    target: &Target<'_>,
    tolerances: Tolerances,
    replicas_now: i32,
) -> Result<Working, String> {
    let working = of_groups(samples, &groups, target, tolerances, replicas_now)?;
    Ok(Working { groups: Some(groups), ..working })
}

fn of_groups<'a>(
    mut samples: Samples<'a>,
    groups: &'a Groups,
    target: &Target<'_>,
    tolerances: Tolerances,
    replicas_now: i32,
) -> Result<Working, String> {
    let first = target.ratio(&samples)?;
    let working = |refill, counted, replicas| Working { groups: None, first, refill, counted, replicas };
    let fills_unready = !groups.unready.is_empty() && first.ratio > 1.0;
    if !fills_unready && groups.missing.is_empty() {
        if tolerances.allow(first.ratio) {
            return Ok(working(None, Counted::WithinTolerance, replicas_now));
        }
        let pods = groups.ready.len();
        let replicas = to_i32((first.ratio * pods as f64).ceil());
        return Ok(working(None, Counted::Times(pods), replicas));
    }
    let missing_as = missing_as(first.ratio, groups, target);
    if missing_as.is_some() {
        let as_nothing = first.ratio > 1.0;
        fill(&mut samples, &groups.missing, |pod| if as_nothing { 0 } else { target.assumed(pod) });
    }
    if fills_unready {
        fill(&mut samples, &groups.unready, |_| 0);
    }
    let ratio = target.ratio(&samples)?.ratio;
    let pods = samples.len();
    let refill = Some(Refill { missing_as, unready_as_nothing: fills_unready, pods, ratio });
    if tolerances.allow(ratio) {
        return Ok(working(refill, Counted::WithinTolerance, replicas_now));
    }
    if (first.ratio < 1.0 && ratio > 1.0) || (first.ratio > 1.0 && ratio < 1.0) {
        return Ok(working(refill, Counted::Turned, replicas_now));
    }
    let replicas = to_i32((ratio * pods as f64).ceil());
    if (ratio < 1.0 && replicas > replicas_now) || (ratio > 1.0 && replicas < replicas_now) {
        return Ok(working(refill, Counted::Against, replicas_now));
    }
    Ok(working(refill, Counted::Times(pods), replicas))
}

/// As if they used this much pods without a sample are counted: nothing on the way up, all of it on the way down.
fn missing_as(ratio: f64, groups: &Groups, target: &Target<'_>) -> Option<i64> {
    if groups.missing.is_empty() {
        None
    } else if ratio < 1.0 {
        Some(target.assumed_shown())
    } else if ratio > 1.0 {
        Some(0)
    } else {
        None
    }
}

fn fill<'a>(samples: &mut Samples<'a>, pods: &'a [Name], value: impl Fn(&str) -> i64) {
    for pod in pods {
        let name = pod.as_str();
        let sample = super::sample::Sample { value: value(name), at: None, window: Default::default() };
        samples.insert(name, sample);
    }
}

/// A metric of the whole with a target for the whole (`getUsageRatioReplicaCount`). How many pods are ready is asked
/// only if it is needed, and may fail.
pub(super) fn of_whole(
    usage: i64,
    target: i64,
    tolerances: Tolerances,
    replicas_now: i32,
    ready: impl FnOnce() -> Result<usize, String>,
) -> Result<Working, String> {
    let ratio = usage as f64 / target as f64;
    let (counted, replicas) = if replicas_now == 0 {
        (Counted::FromZero, to_i32(ratio.ceil()))
    } else if tolerances.allow(ratio) {
        (Counted::WithinTolerance, replicas_now)
    } else {
        let pods = ready().map_err(|error| format!("unable to calculate ready pods: {error}"))?;
        (Counted::Times(pods), ceil_capped(ratio * pods as f64))
    };
    let first = Ratio { usage, requests: None, current: usage, utilization: None, target, ratio };
    Ok(Working { groups: None, first, refill: None, counted, replicas })
}

/// Whose metric of the whole is shared out: upstream caps what goes beyond its integers for one and not for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    /// An object's.
    Object,
    /// An external one.
    External,
}

/// A metric of the whole with a target per pod (`GetObjectPerPodMetricReplicas`, `GetExternalPerPodMetricReplicas`): held
/// against the replicas that the target's status counts, those of a surge among them.
pub(super) fn of_share(
    usage: i64,
    target: i64,
    tolerances: Tolerances,
    replicas: i32,
    whose: Shared,
) -> Working {
    let ratio = usage as f64 / (target as f64 * f64::from(replicas));
    let share = usage as f64 / target as f64;
    let (counted, wanted) = if tolerances.allow(ratio) {
        (Counted::WithinTolerance, replicas)
    } else {
        let wanted = match whose {
            Shared::Object => to_i32(share.ceil()),
            Shared::External => ceil_capped(share),
        };
        (Counted::Shared, wanted)
    };
    let current = match whose {
        Shared::External if usage as f64 >= i64::MAX as f64 => i64::MAX,
        // Shared among none it is what Go makes of infinity, and that is what the status shows.
        Shared::Object | Shared::External => ceil_i64(usage as f64 / f64::from(replicas)),
    };
    let first = Ratio { usage, requests: None, current, utilization: None, target, ratio };
    Working { groups: None, first, refill: None, counted, replicas: wanted }
}

/// Series of an external metric with a target for the whole add up, to the greatest number at most.
pub(super) fn sum(values: &[i64]) -> i64 {
    let mut sum = 0i64;
    for value in values {
        match sum.checked_add(*value) {
            Some(more) => sum = more,
            None if *value > 0 => return i64::MAX,
            None => sum = sum.wrapping_add(*value),
        }
    }
    sum
}

/// Those of one with a target per pod, too; there a sum below zero counts as an overflow.
pub(super) fn sum_to_share(values: &[i64]) -> i64 {
    let mut sum = 0i64;
    for value in values {
        sum = sum.wrapping_add(*value);
        if sum < 0 {
            return i64::MAX;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_that_go_beyond_the_integers_stop_at_the_greatest() {
        assert_eq!((sum(&[1, 2]), sum(&[i64::MAX, 1, 5]), sum(&[-3, 1])), (3, i64::MAX, -2));
        assert_eq!(
            (sum_to_share(&[1, 2]), sum_to_share(&[i64::MAX, 1]), sum_to_share(&[-3, 9])),
            (3, i64::MAX, i64::MAX)
        );
        let exact = Tolerances { down: 0.0, up: 0.0 };
        let wanted = |whose| of_share(i64::MAX, 1, exact, 3, whose).replicas;
        assert_eq!((wanted(Shared::Object), wanted(Shared::External)), (i32::MIN, i32::MAX));
    }
}
