//! The way of a cluster to another Kubernetes version, as an ordered list of steps with what stands before each.
//!
//! | module | question |
//! |---|---|
//! | [`minor`] | which steps does the control plane take |
//! | [`skew`] | which versions go together (Kubernetes' "Version Skew Policy") |
//! | [`facts`] | what does EKS say |
//! | [`survey`] | what is there to be upgraded |
//! | [`routes`] | when are nodes rolled, and what does that cost |
//! | [`addons`] | which version of an add-on goes with which control plane |
//! | [`controllers`] | what was installed besides, and what is it made for |
//! | [`docker`] | which pods talk to the Docker of their node |
//! | [`kubelet`] | with what do later kubelets not start |
//! | [`rollback`] | how long is there a way back |
//! | [`usage`] | which API versions are used that go on the way (a scan's findings, handed in) |
//! | [`plan`] | all of it, in order, with findings and what clears them |
//!
//! No step may begin while a blocking finding stands before it, nor outside the skew policy: [`plan::UpgradePlan::may_start`] is asked
//! by the person who carries it out.

pub mod addon_version;
pub mod addons;
pub mod controllers;
pub mod docker;
pub mod facts;
pub mod finding;
pub mod kubelet;
pub mod minor;
pub mod plan;
mod reads;
pub mod rollback;
pub mod routes;
pub mod skew;
pub mod survey;
pub mod usage;
