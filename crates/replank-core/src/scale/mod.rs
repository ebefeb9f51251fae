//! How many nodes there are to be: pods that wait for a node bring some, nodes that nobody needs go.
//!
//! Flags, tags and annotations are those of Cluster Autoscaler. Whether a pod fits is asked of the engine that also plays the scheduler
//! ([`replank_schedule`]), so that a node is not added on which the scheduler then places nothing. Everything here is a function of the
//! cluster, the groups ([`Groups`]), the settings ([`Options`]), what is remembered ([`State`]) and the time.

mod amounts;
mod apply_facts;
mod autoscaler;
mod backoff;
mod balance;
mod blocks;
mod classes;
mod confirm;
mod down;
mod estimate;
mod expander;
mod filled;
mod found;
mod given;
mod group;
mod growth;
mod in_flight;
mod limits;
mod one_group;
mod options;
mod ownership;
mod pattern;
mod pending;
mod prices;
mod priorities;
mod raises;
mod refuse;
mod run;
mod scale_decision;
mod scaler;
mod slots;
mod source;
mod tags;
mod template;
mod up;
mod usage;
mod wake;
mod what_if;

pub use apply_facts::{FactsApplied, SIMULATED_MAX, apply_facts};
pub use autoscaler::Autoscaler;
pub(crate) use autoscaler::Scale;
pub use backoff::{Backoff, Request, State};
pub use down::{Down, Keep, Unneeded, down};
pub use expander::{Choice, Decided, Expander, choose};
pub use found::{OwnAutoscaler, own_autoscaler, priorities_text};
pub use group::{Assumed, Bounds, Group, Groups, LeftOut, Origin, UNKNOWN_MAX};
pub use in_flight::InFlight;
pub use options::{DownOptions, FLAGS, Flag, FlagError, Limits, NodesFlag, Options, window};
pub use ownership::RollOwnership;
pub use pending::NotAsked;
pub use prices::{Price, Prices, PricesError};
pub use priorities::{BadLine, CONFIG_KEY, CONFIG_MAP, Priorities};
pub use refuse::Refusal;
pub use replank_facts::group_facts::{Facts, FactsError, completed, merged, read as read_facts};
pub use tags::{BadTag, OwnOptions, Tags};
pub use template::{Fresh, Template};
pub use up::{Given, NewNode, Round, Up, up};
pub use usage::Usage;

pub use run::RUN;
