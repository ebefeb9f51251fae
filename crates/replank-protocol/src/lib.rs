//! The contract between what decides and what carries out.
//!
//! An [`engine::Engine`] is told what was observed and what became of what it asked for, and answers with a
//! [`decision::Decision`]: complete commands, typed reasons for everything that waits, and the next moment to look. A driver
//! carries the commands out and has no choices. There are several engines (the core, a migration) and several drivers (the
//! simulated one, a live one); none of them sees another, all of them see this crate.

pub mod cause;
pub mod command;
pub mod decision;
pub mod effect;
pub mod engine;
pub mod evidence;
pub mod hindrance;
pub mod intent;
mod key;
pub mod lifecycle;
pub mod limits;
pub mod mark;
pub mod noticed;
pub mod outcome;
pub mod owner;
pub mod policy;
pub mod proof;
pub mod provisioner;
pub mod record;
pub mod release;
pub mod role;
pub mod scaling;
mod subject;
pub mod taker;
pub mod target;
pub mod versioned;
pub mod wait_list;
pub mod waiting;
