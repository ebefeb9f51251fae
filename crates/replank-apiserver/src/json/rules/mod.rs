//! What the fields of built-in kinds have to be (`pkg/apis/*/validation`): by a table where a rule is one field's, by code where fields
//! depend on each other.

mod change;
mod devices;
mod difference;
mod field;
mod fields;
mod flows;
mod internal;
mod kinds;
mod limits;
mod meta;
mod metrics;
mod more;
mod service;
mod status;
mod told;
mod words;

pub(super) use change::changed;
pub(super) use difference::of as difference;
pub(super) use fields::check;
pub(super) use internal::{ephemeral_container, pod_spec};
pub(super) use meta::{checks_metadata_last, comparisons, metadata, metadata_changed};
pub(super) use service::service;
pub(super) use status::status;
pub(super) use words::{label as label_problems, subdomain as subdomain_problems};
