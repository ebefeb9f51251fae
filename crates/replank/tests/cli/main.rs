//! The built binary, as a person or a script meets it.

mod bad_ami;
mod check;
mod check_data;
mod common;
mod connections;
mod elastic;
mod fix;
mod hpa;
mod input;
mod interrupt;
mod leftover;
mod load;
mod output;
mod place;
mod place_audit;
mod place_data;
mod place_usage;
mod repeat;
mod scale;
mod scan;
mod script;
mod sweep;
mod upgrade_calendar;
mod upgrade_plan;
mod upgrade_rehearse;
mod usage;
