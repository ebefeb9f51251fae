//! Which pods an autoscaler looks at, and how often.

use std::sync::Arc;

use replank_apiserver::json::{Address, Subresource};
use replank_apiserver::{Api, ApiError};
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::pod::Pod;
use replank_model::selector::Selector;
use replank_model::time::Span;

use crate::controllers::Ctx;

/// Time between two looks: 15 s (`--horizontal-pod-autoscaler-sync-period`) from the end of one to the beginning of the
/// next. Recorded: 15.02 s.
pub(super) const PERIOD: Span = Span::from_millis(15_020);

/// Where an autoscaler's target has its scale.
pub(crate) fn address(api: &Api, scaler: &HorizontalPodAutoscaler) -> Result<Address, ApiError> {
    let target = &scaler.spec.scale_target_ref;
    let resource = api.resource_type(&target.api_version, &target.kind)?;
    let address = Address::new(resource, Some(scaler.meta.namespace.clone()), Some(target.name.clone()));
    Ok(address.with(Subresource::Scale))
}

/// The pods that a selector of a namespace selects, sorted by name.
pub(super) fn pods_of(ctx: &Ctx<'_>, scaler: &HorizontalPodAutoscaler, selector: &Selector) -> Vec<Arc<Pod>> {
    let view = ctx.view();
    let selected = view.select_pods(&scaler.meta.namespace, selector);
    let mut pods: Vec<Arc<Pod>> = selected.filter_map(|ix| view.pods.get(ix).cloned()).collect();
    pods.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    pods
}
