//! The horizontal pod autoscaler: how many replicas, and why.
//!
//! One [`judge`] is one sync of the controller for one HorizontalPodAutoscaler. It is given the object, the scale of its
//! target, pods, what the metrics APIs answer, and what the controller remembers of earlier syncs ([`Memory`]: upstream
//! keeps it in the process, and a restart forgets it). It answers with the replicas to be written, if any; when the
//! write has been answered ([`Judged::close`]), with the status, the events and the new memory; and with every step of the
//! way ([`Steps`]), to explain the result.
//!
//! The rules and the words are those of kube-controller-manager 1.36 (`pkg/controller/podautoscaler`: `horizontal.go`,
//! `replica_calculator.go`, `metrics/client.go`, `metrics/utilization.go`), numbers with Go's conversions included.
//! Recorded syncs of that controller hold this module to it (`tests/vectors/hpa.rs`).

mod behavior;
mod by_name;
mod check;
mod combine;
mod from_status;
mod given;
mod limit;
mod memory;
mod metric;
mod number;
mod pods;
mod ratio;
mod sample;
mod selector;
mod stabilize;
mod status;
mod steps;
mod sync;

pub use behavior::{ChangePolicy, Direction, PolicyKind, Rules, Select};
pub use check::problems;
pub use given::{Config, Down, Given, Metrics, Rival, Scale, ScaleError};
pub use memory::{Memory, Recommendation, ScaleEvent};
pub use metric::{Fault, Proposal};
pub use pods::{Groups, requested};
pub use ratio::{Counted, Ratio, Refill, Working};
pub use status::Event;
pub use steps::{Bound, Chosen, Limited, MetricStep, PolicyStep, Stabilized, Start, Steps};
pub use sync::{Judged, Outcome, judge};
