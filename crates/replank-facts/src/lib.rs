//! What can be read off a cluster, and what a plan says of it: questions that are put to a View and answered, without a decision.
//!
//! Operation and advice stand on the same answers: which group a node belongs to, what becomes of a pod when its node is emptied,
//! what a disruption budget allows, how long batch work runs, whether a pod has a place.

pub mod amount;
pub mod batch;
pub mod budget;
pub mod cluster_name;
pub mod coverage;
pub mod daemon;
pub mod drain;
pub mod finding;
pub mod fresh;
pub mod group_facts;
pub mod groups;
pub mod helm;
pub mod images;
pub mod instance_types;
pub mod keeper;
pub mod kubectl;
pub mod leftover;
pub mod network;
pub mod node_labels;
pub mod node_pods;
pub mod own_groups;
pub mod places;
pub mod plan;
pub mod pod_factory;
pub mod pod_groups;
pub mod release;
pub mod remedy;
pub mod restarts;
pub mod room;
pub mod run_record;
pub mod shutdown;
pub mod singleton;
pub mod stuck;
pub mod taints;
pub mod target;
pub mod target_groups;
pub mod termination;
#[cfg(test)]
mod testing;
pub mod why;
pub mod workload;
