//! Spreading endpoints over slices so that few slices change (k8s.io/endpointslice `reconcileByPortMapping`).

use std::sync::Arc;

use replank_model::object::network::{Endpoint, EndpointSlice, Service};
use replank_model::text::{Name, Text};
use rustc_hash::FxHashMap;

use super::plan::{HEADLESS, MANAGED_BY, Plan, SERVICE_NAME, labels};

/// Endpoints in a slice at most (flag `--max-endpoints-per-slice`).
const SLICE_MAX: usize = 100;

/// Puts endpoints into the slices of their ports; `new` makes an empty one.
pub(super) fn fill(
    plan: &mut Plan,
    service: &Service,
    new: impl Fn() -> EndpointSlice,
    existing: Vec<Arc<EndpointSlice>>,
    endpoints: Vec<Endpoint>,
) {
    let mut left = Left::new(endpoints);
    let (mut changed, mut unchanged): (Vec<Changed>, Vec<Arc<EndpointSlice>>) = (Vec::new(), Vec::new());
    for slice in existing {
        let kept = left.take_known(&slice);
        let is_same = kept.len() == slice.endpoints.len()
            && kept.iter().zip(&slice.endpoints).all(|(at, endpoint)| left.at(*at) == Some(endpoint));
        if !is_same && kept.is_empty() {
            plan.delete.push(slice);
        } else if !is_same || has_other_labels(&slice, service) {
            let endpoints = kept.into_iter().filter_map(|at| left.endpoints[at].take()).collect();
            changed.push(Changed { slice, endpoints });
        } else {
            unchanged.push(slice);
        }
    }
    // The fullest of those that are written anyway come first.
    changed.sort_by_key(|changed| std::cmp::Reverse(changed.endpoints.len()));
    let mut left = left.rest();
    for changed in &mut changed {
        top_up(&mut changed.endpoints, &mut left);
    }
    while !left.is_empty() {
        if let Some(at) = fitting(&unchanged, left.len()) {
            let slice = unchanged.remove(at);
            let mut endpoints = slice.endpoints.clone();
            top_up(&mut endpoints, &mut left);
            changed.push(Changed { slice, endpoints });
        } else {
            let mut slice = new();
            top_up(&mut slice.endpoints, &mut left);
            plan.create.push(slice);
        }
    }
    changed.sort_by(|a, b| a.slice.meta.name.cmp(&b.slice.meta.name));
    plan.update.extend(changed.into_iter().map(|changed| changed.written(service)));
}

/// A slice that is to be written, and what is to be in it.
struct Changed {
    slice: Arc<EndpointSlice>,
    endpoints: Vec<Endpoint>,
}

impl Changed {
    fn written(self, service: &Service) -> EndpointSlice {
        let mut meta = self.slice.meta.clone();
        meta.labels = labels(service);
        EndpointSlice {
            meta,
            address_type: self.slice.address_type.clone(),
            endpoints: self.endpoints,
            ports: self.slice.ports.clone(),
        }
    }
}

/// The endpoints that there should be, and which of them no slice has.
struct Left {
    endpoints: Vec<Option<Endpoint>>,
    /// Where each pod's is, as long as no slice has it: a Service has one at each pod at most.
    by_pod: FxHashMap<Name, usize>,
}

impl Left {
    fn new(endpoints: Vec<Endpoint>) -> Self {
        let name = |(at, endpoint): (usize, &Endpoint)| Some((pod_of(endpoint)?.clone(), at));
        let by_pod = endpoints.iter().enumerate().filter_map(name).collect();
        Self { endpoints: endpoints.into_iter().map(Some).collect(), by_pod }
    }

    fn at(&self, at: usize) -> Option<&Endpoint> {
        self.endpoints[at].as_ref()
    }

    /// Those that a slice has, whatever their conditions; no other slice can have them any more.
    fn take_known(&mut self, slice: &EndpointSlice) -> Vec<usize> {
        let mut known = Vec::with_capacity(slice.endpoints.len());
        for endpoint in &slice.endpoints {
            let Some(name) = pod_of(endpoint) else { continue };
            let Some(at) = self.by_pod.get(name).copied() else { continue };
            if self.at(at).is_some_and(|wanted| is_same_endpoint(wanted, endpoint)) {
                self.by_pod.remove(name);
                known.push(at);
            }
        }
        known
    }

    /// Those that no slice has, the first one last.
    fn rest(mut self) -> Vec<Endpoint> {
        let mut rest: Vec<Endpoint> =
            self.by_pod.into_values().filter_map(|at| self.endpoints[at].take()).collect();
        let identity = |endpoint: &Endpoint| {
            (endpoint.addresses.clone(), endpoint.hostname.clone(), pod_of(endpoint).cloned())
        };
        rest.sort_by_cached_key(|endpoint| std::cmp::Reverse(identity(endpoint)));
        rest
    }
}

fn pod_of(endpoint: &Endpoint) -> Option<&Name> {
    endpoint.target_ref.as_ref().map(|target| &target.name)
}

/// Whether two are one endpoint at a pod, whatever its conditions.
fn is_same_endpoint(a: &Endpoint, b: &Endpoint) -> bool {
    a.addresses == b.addresses && a.hostname == b.hostname
}

/// Whether the Service's own labels have changed since the slice was written.
fn has_other_labels(slice: &EndpointSlice, service: &Service) -> bool {
    let is_own = |(key, _): &&(Text, Text)| ![HEADLESS, SERVICE_NAME, MANAGED_BY].contains(&&**key);
    let (of_slice, of_service) = (&slice.meta.labels, &service.meta.labels);
    of_slice.pairs().iter().filter(is_own).ne(of_service.pairs().iter().filter(is_own))
}

fn top_up(endpoints: &mut Vec<Endpoint>, left: &mut Vec<Endpoint>) {
    while endpoints.len() < SLICE_MAX
        && let Some(endpoint) = left.pop()
    {
        endpoints.push(endpoint);
    }
}

/// The slice that is fullest when all that is left goes into it (`getSliceToFill`).
fn fitting(unchanged: &[Arc<EndpointSlice>], count: usize) -> Option<usize> {
    let rest = |slice: &EndpointSlice| SLICE_MAX.checked_sub(count + slice.endpoints.len());
    let candidates = unchanged.iter().enumerate().filter_map(|(at, slice)| Some((rest(slice)?, at)));
    candidates.filter(|(rest, _)| *rest < SLICE_MAX && count < SLICE_MAX).min().map(|(_, at)| at)
}
