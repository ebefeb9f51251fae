//! Which kubelet is played.

use std::sync::Arc;

use crate::durations::Durations;

/// How kubelets behave.
#[derive(Clone, Debug)]
pub enum KubeletModel {
    /// Fixed delays, overridden by annotations of pods: the stand-in that recorded the transcripts.
    Fake,
    /// As the snapshot shows: pods take as long as their siblings took.
    Learnt(Arc<Durations>),
}
