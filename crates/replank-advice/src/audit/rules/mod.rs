//! The rules, one file each.

mod addon_placement;
mod autoscaled_unknown;
mod exposed;
mod fits_nowhere;
mod label_refused;
mod no_spare_domain;
mod not_in_snapshot;
mod on_autoscaled;
mod on_spot;
mod selector_matches_nothing;
mod single_node_fits;
#[cfg(test)]
mod stage;
mod taint_unused;
mod together;
mod tolerates_everything;
mod toleration_matches_nothing;

use super::engine::Engine;
use super::rule::Finding;
use super::survey::Survey;

/// Every rule, as a function from what is looked at, and the scheduler, to what is found.
pub(super) const ALL: &[fn(&Survey<'_>, &mut Engine) -> Vec<Finding>] = &[
    fits_nowhere::find,
    selector_matches_nothing::find,
    toleration_matches_nothing::find,
    on_spot::find,
    on_autoscaled::find,
    autoscaled_unknown::find,
    not_in_snapshot::find,
    together::find,
    single_node_fits::find,
    no_spare_domain::find,
    tolerates_everything::find,
    taint_unused::find,
    label_refused::find,
    addon_placement::find,
];
