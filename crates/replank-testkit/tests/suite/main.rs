//! The whole of Replank in simulated clusters: by story, by seed, with crashes and with planted bugs.

mod autoscaler_bugs;
mod bound;
mod clusters;
mod crash;
mod drain;
mod driver_bugs;
mod elastic;
mod external;
mod fuzz;
mod interruption_bugs;
mod interruptions;
mod migrate;
mod migrate_meddled;
mod planted;
mod scale_settles;
mod severity;
mod stories;
