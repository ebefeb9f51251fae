//! Which kubelet is played.

use std::sync::Arc;

use crate::durations::Durations;

/// How kubelets behave.
#[derive(Clone, Debug)]
pub enum KubeletModel {
    /// Fixed delays, overridden by annotations of pods: the stand-in that recorded the transcripts.
    Fake,
    /// As [`KubeletModel::Fake`], so many times as fast, and pods that run already go on: for a cluster that is served while time passes as outside.
    Served {
        /// How many times; 1 for as it is.
        speed: f64,
    },
    /// As the snapshot shows: pods take as long as their siblings took.
    Learnt(Arc<Durations>),
}
