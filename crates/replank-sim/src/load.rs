//! Load: the demand on workloads over time, shared by their pods.

use replank_model::object::autoscaling::{HorizontalPodAutoscaler, MetricSpec};
use replank_model::object::meta::Key;
use replank_model::text::Text;
use replank_model::time::Time;

/// A number over time: straight lines between points, and level before the first and after the last. Two points of one
/// moment are a jump.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    points: Vec<(Time, f64)>,
}

/// Why points are no curve.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// There are none.
    #[error("a curve needs a point")]
    Empty,
    /// Points must follow each other in time.
    #[error("{later} follows {earlier} but is earlier")]
    Order {
        /// The point before.
        earlier: Time,
        /// The point that lies before it.
        later: Time,
    },
    /// Load is a finite number, and not below zero.
    #[error("{value} at {at}: expected a number of at least 0")]
    Value {
        /// When.
        at: Time,
        /// The number.
        value: f64,
    },
}

impl Curve {
    /// A curve through points.
    ///
    /// # Errors
    /// See [`CurveError`].
    pub fn new(points: Vec<(Time, f64)>) -> Result<Self, CurveError> {
        if points.is_empty() {
            return Err(CurveError::Empty);
        }
        for pair in points.windows(2) {
            if pair[1].0 < pair[0].0 {
                return Err(CurveError::Order { earlier: pair[0].0, later: pair[1].0 });
            }
        }
        match points.iter().find(|(_, value)| !value.is_finite() || *value < 0.0) {
            Some((at, value)) => Err(CurveError::Value { at: *at, value: *value }),
            None => Ok(Self { points }),
        }
    }

    /// The number at a moment; at a jump the one after it.
    #[must_use]
    pub fn at(&self, at: Time) -> f64 {
        let after = self.points.partition_point(|(time, _)| *time <= at);
        match (after.checked_sub(1).map(|before| self.points[before]), self.points.get(after)) {
            (None, None) => 0.0,
            (None, Some((_, first))) => *first,
            (Some((_, last)), None) => last,
            (Some((from, low)), Some((to, high))) => {
                let part = (at - from).as_millis() as f64 / (*to - from).as_millis() as f64;
                low + (high - low) * part
            }
        }
    }

    /// The first and the last moment that it tells something of.
    #[must_use]
    pub fn span(&self) -> (Time, Time) {
        match (self.points.first(), self.points.last()) {
            (Some((first, _)), Some((last, _))) => (*first, *last),
            _ => (Time::from_millis(0), Time::from_millis(0)),
        }
    }

    /// Until when it stays as it is at a moment: `Some(None)` is forever, and `None` not at all.
    pub(crate) fn level_until(&self, at: Time) -> Option<Option<Time>> {
        let after = self.points.partition_point(|(time, _)| *time <= at);
        if let (Some(before), Some(next)) = (after.checked_sub(1), self.points.get(after))
            && self.points[before].1 != next.1
        {
            return None;
        }
        let rest = self.points.get(after..).unwrap_or_default();
        Some(rest.windows(2).find(|pair| pair[0].1 != pair[1].1).map(|pair| pair[0].0))
    }
}

/// What a curve is a curve of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measured {
    /// CPU (cores) or memory (bytes) that all pods together use, or all of their containers of one name.
    Resource {
        /// `cpu` or `memory`.
        resource: Text,
        /// The container, if it is only that.
        container: Option<Text>,
    },
    /// A number that each pod has: what all of them have together.
    Pods {
        /// The metric.
        metric: Text,
    },
    /// A number that another object, or nothing in the cluster, has.
    Whole {
        /// The metric.
        metric: Text,
    },
}

impl Measured {
    /// What a metric of an HPA measures; nothing for a type that there is not.
    #[must_use]
    pub fn of(spec: &MetricSpec) -> Option<Self> {
        let resource = spec.resource.as_ref().map(|source| (source.name.clone(), None));
        let container = spec.container_resource.as_ref();
        let container = container.map(|source| (source.name.clone(), Some(source.container.clone())));
        if let Some((resource, container)) = resource.or(container) {
            return Some(Self::Resource { resource, container });
        }
        if let Some(source) = &spec.pods {
            return Some(Self::Pods { metric: source.metric.name.clone() });
        }
        let object = spec.object.as_ref().map(|source| &source.metric);
        let whole = object.or(spec.external.as_ref().map(|source| &source.metric));
        whole.map(|metric| Self::Whole { metric: metric.name.clone() })
    }

    /// What each metric of an HPA measures; without metrics it looks at CPU.
    #[must_use]
    pub fn all_of(hpa: &HorizontalPodAutoscaler) -> Vec<Self> {
        let mut all: Vec<Self> = hpa.spec.metrics.iter().filter_map(Self::of).collect();
        if hpa.spec.metrics.is_empty() {
            all.push(Self::Resource { resource: "cpu".into(), container: None });
        }
        all.sort();
        all.dedup();
        all
    }
}

/// `cpu`, `app/cpu` of a container, or the metric's name.
impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Resource { resource, container: None } => f.write_str(resource),
            Self::Resource { resource, container: Some(container) } => write!(f, "{container}/{resource}"),
            Self::Pods { metric } | Self::Whole { metric } => f.write_str(metric),
        }
    }
}

/// What the target of an HPA is asked to do, as one of its metrics measures it.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The HPA.
    pub hpa: Key,
    /// Of what.
    pub of: Measured,
    /// How much, over time, in the metric's unit.
    pub curve: Curve,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_curve_is_straight_between_its_points_and_level_beyond() {
        let curve = Curve::new(vec![(at(10), 2.0), (at(20), 4.0), (at(20), 8.0), (at(30), 8.0)]).unwrap();
        let values = [0, 10, 15, 19, 20, 25, 30, 99].map(|seconds| curve.at(at(seconds)));
        assert_eq!(values, [2.0, 2.0, 3.0, 3.8, 8.0, 8.0, 8.0, 8.0]);
        assert_eq!(curve.level_until(at(0)), Some(Some(at(10))));
        assert_eq!(curve.level_until(at(10)), None);
        assert_eq!(curve.level_until(at(20)), Some(None));
        let step = Curve::new(vec![(at(0), 1.0), (at(60), 1.0), (at(60), 3.0)]).unwrap();
        assert_eq!((step.level_until(at(0)), step.level_until(at(60))), (Some(Some(at(60))), Some(None)));
    }

    #[test]
    fn what_is_no_curve_is_refused() {
        assert_eq!(Curve::new(Vec::new()), Err(CurveError::Empty));
        let back = Curve::new(vec![(at(9), 1.0), (at(3), 1.0)]);
        assert_eq!(back, Err(CurveError::Order { earlier: at(9), later: at(3) }));
        assert!(matches!(Curve::new(vec![(at(1), -1.0)]), Err(CurveError::Value { .. })));
        assert!(matches!(Curve::new(vec![(at(1), f64::NAN)]), Err(CurveError::Value { .. })));
    }
}
