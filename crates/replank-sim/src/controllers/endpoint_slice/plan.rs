//! What is to become of the slices of a Service.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::meta::Meta;
use replank_model::object::network::{EndpointSlice, Service};

/// Label with the Service's name.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Label with who keeps a slice.
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Label of the slices of a Service without an address.
pub(super) const HEADLESS: &str = "service.kubernetes.io/headless";

/// What is to be written.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) create: Vec<EndpointSlice>,
    pub(super) update: Vec<EndpointSlice>,
    pub(super) delete: Vec<Arc<EndpointSlice>>,
}

impl Plan {
    /// A slice that would be deleted becomes one that would be made.
    pub(super) fn reuse(&mut self) {
        while !self.delete.is_empty() && !self.create.is_empty() {
            let (Some(new), known) = (self.create.pop(), self.delete.remove(0)) else { return };
            let meta = Meta { labels: new.meta.labels.clone(), ..known.meta.clone() };
            self.update.push(EndpointSlice { meta, ..new });
        }
    }
}

/// Who manages them.
pub(super) const MANAGER: &str = "endpointslice-controller.k8s.io";

/// The labels of a Service's slices: its own, and those that say whose they are.
pub(super) fn labels(service: &Service) -> Labels {
    let own = service.meta.labels.without(HEADLESS);
    let own = if &*service.spec.cluster_ip == "None" { own.with(HEADLESS, "") } else { own };
    own.with(SERVICE_NAME, service.meta.name.text().clone()).with(MANAGED_BY, MANAGER)
}
