//! Spreading endpoints over slices so that few slices change (k8s.io/endpointslice `reconcileByPortMapping`).

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::network::{Endpoint, EndpointSlice};
use replank_model::text::{Name, Text};

use super::{HEADLESS, MANAGED_BY, Plan, SERVICE_NAME};

/// Endpoints in a slice at most (flag `--max-endpoints-per-slice`).
const SLICE_MAX: usize = 100;

/// What tells one endpoint from another, whatever its conditions.
type Identity = (Vec<Text>, Option<Text>, Option<Name>);

fn identity(endpoint: &Endpoint) -> Identity {
    let target = endpoint.target_ref.as_ref().map(|target| target.name.clone());
    (endpoint.addresses.clone(), endpoint.hostname.clone(), target)
}

/// Puts endpoints into the slices of their ports; `empty` is what a new slice begins as.
pub(super) fn fill(
    plan: &mut Plan,
    empty: &EndpointSlice,
    existing: Vec<Arc<EndpointSlice>>,
    endpoints: Vec<Endpoint>,
) {
    let mut left: BTreeMap<Identity, Endpoint> =
        endpoints.into_iter().map(|endpoint| (identity(&endpoint), endpoint)).collect();
    let (mut changed, mut unchanged): (Vec<EndpointSlice>, Vec<Arc<EndpointSlice>>) =
        (Vec::new(), Vec::new());
    for slice in existing {
        let kept: Vec<Endpoint> =
            slice.endpoints.iter().filter_map(|endpoint| left.remove(&identity(endpoint))).collect();
        if kept != slice.endpoints && kept.is_empty() {
            plan.delete.push(slice);
        } else if kept != slice.endpoints || has_other_labels(&slice, empty) {
            changed.push(with(&slice, empty, kept));
        } else {
            unchanged.push(slice);
        }
    }
    // The fullest of those that are written anyway come first.
    changed.sort_by_key(|slice| std::cmp::Reverse(slice.endpoints.len()));
    for slice in &mut changed {
        top_up(slice, &mut left);
    }
    while !left.is_empty() {
        let mut slice = match fitting(&unchanged, left.len()) {
            Some(at) => {
                let slice = unchanged.remove(at);
                with(&slice, empty, slice.endpoints.clone())
            }
            None => empty.clone(),
        };
        top_up(&mut slice, &mut left);
        match slice.meta.name.is_empty() {
            true => plan.create.push(slice),
            false => changed.push(slice),
        }
    }
    changed.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    plan.update.append(&mut changed);
}

/// Whether the Service's own labels have changed since the slice was written.
fn has_other_labels(slice: &EndpointSlice, empty: &EndpointSlice) -> bool {
    let own = |slice: &EndpointSlice| {
        [HEADLESS, SERVICE_NAME, MANAGED_BY]
            .iter()
            .fold(slice.meta.labels.clone(), |labels, key| labels.without(key))
    };
    own(slice) != own(empty)
}

fn with(slice: &EndpointSlice, empty: &EndpointSlice, endpoints: Vec<Endpoint>) -> EndpointSlice {
    let mut slice = slice.clone();
    slice.meta.labels = empty.meta.labels.clone();
    slice.endpoints = endpoints;
    slice
}

fn top_up(slice: &mut EndpointSlice, left: &mut BTreeMap<Identity, Endpoint>) {
    while slice.endpoints.len() < SLICE_MAX
        && let Some((_, endpoint)) = left.pop_first()
    {
        slice.endpoints.push(endpoint);
    }
}

/// The slice that is fullest when all that is left goes into it (`getSliceToFill`).
fn fitting(unchanged: &[Arc<EndpointSlice>], count: usize) -> Option<usize> {
    let rest = |slice: &EndpointSlice| SLICE_MAX.checked_sub(count + slice.endpoints.len());
    let candidates = unchanged.iter().enumerate().filter_map(|(at, slice)| Some((rest(slice)?, at)));
    candidates.filter(|(rest, _)| *rest < SLICE_MAX && count < SLICE_MAX).min().map(|(_, at)| at)
}
