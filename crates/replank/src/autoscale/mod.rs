//! `replank autoscale`: the number of nodes is kept to what is needed, as Cluster Autoscaler does it for Auto Scaling groups.

mod args;
mod flags;
mod hold;
mod look;
mod others;
mod own;
mod scene;
mod start;
mod told;
mod watch;

pub(crate) use args::AutoscaleArgs;
pub(crate) use hold::{LEASE, changed};
pub(crate) use others::{Another, another, nobody_else};
pub(crate) use scene::{Scaled, scaled};
pub(crate) use start::{Seen, run, seen};
pub(crate) use told::{Figures, Shown, Told};
