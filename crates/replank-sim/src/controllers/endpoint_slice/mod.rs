//! EndpointSlices: where a Service's pods are (pkg/controller/endpointslice, k8s.io/endpointslice).

mod desired;
mod fill;
mod plan;
mod trigger;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::labels::{LabelMemo, Labels};
use replank_model::object::meta::{Key, Meta};
use replank_model::object::network::{EndpointPort, EndpointSlice, Service};
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Namespace, Text, Uid};
use replank_model::time::Span;
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::index::Index;
use super::{Controller, Ctx, PodChange, pods};
use desired::{Desired, Group, PortsKey, families, ports_key};
use replank_apiserver::{ApiError, DeleteOptions};

pub use plan::SERVICE_NAME;
use plan::{MANAGED_BY, MANAGER, Plan, labels};
use trigger::Triggers;
/// After what time a Service is looked at whose slices somebody else changed (`endpointSliceChangeMinSyncDelay`).
const OTHERS_CHANGES: Span = Span::from_secs(1);
/// Failures in a row after which a Service waits for a change (`maxRetries`).
pub(super) const RETRIES_MAX: u32 = 15;

/// What is remembered of Services and slices.
#[derive(Debug, Default)]
pub(super) struct Endpoints {
    /// Services by one of the labels that they select.
    by_label: FxHashMap<(Namespace, Text, Text), BTreeSet<u32>>,
    /// Services that select pods with such labels in a namespace, as long as no Service changes: siblings share their labels.
    by_labels: LabelMemo<(Namespace, Selecting)>,
    /// The versions of slices written here; absence is one too.
    written: FxHashMap<Uid, Option<u64>>,
    /// What led to the present states of Services' endpoints.
    triggers: Triggers,
}

/// Slots of Services, in order.
type Selecting = SmallVec<[u32; 2]>;

impl Endpoints {
    /// Puts down what is to be looked at because of a change.
    pub(super) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::Service(new))) => {
                if let Some(Object::Service(old)) = old {
                    self.note(*slot, old, false);
                }
                self.note(*slot, new, true);
                ctx.enqueue(Controller::EndpointSlice, *slot);
            }
            (Some(Object::Service(gone)), None) => {
                self.note(*slot, gone, false);
                ctx.queue.forget(Controller::EndpointSlice, *slot);
            }
            (_, Some(Object::EndpointSlice(new))) => {
                let version = new.meta.resource_version.0;
                self.slice_changed(ctx, new, Some(version));
            }
            (Some(Object::EndpointSlice(gone)), None) => {
                self.slice_changed(ctx, gone, None);
                self.written.remove(&gone.meta.uid);
            }
            (Some(_) | None, Some(_)) | (Some(_), None) | (None, None) => {}
        }
    }

    fn note(&mut self, slot: u32, service: &Service, is_there: bool) {
        self.by_labels = LabelMemo::default();
        // A pod that is selected has every label of the selector: one is enough to find the Service by.
        let Some((key, value)) = service.spec.selector.pairs().first() else { return };
        let label = (service.meta.namespace.clone(), key.clone(), value.clone());
        let services = self.by_label.entry(label).or_default();
        if is_there {
            services.insert(slot);
        } else {
            services.remove(&slot);
        }
    }

    /// Services that select pods with these labels.
    fn selecting(&mut self, ctx: &Ctx<'_>, namespace: &Namespace, labels: &Labels) -> Selecting {
        if let Some((_, known)) = self.by_labels.get(labels).filter(|(of, _)| of == namespace) {
            return known.clone();
        }
        let selecting = self.find_selecting(ctx, namespace, labels);
        self.by_labels.keep(labels, (namespace.clone(), selecting.clone()));
        selecting
    }

    fn find_selecting(&self, ctx: &Ctx<'_>, namespace: &Namespace, labels: &Labels) -> Selecting {
        let found = labels
            .pairs()
            .iter()
            .filter_map(|(key, value)| self.by_label.get(&(namespace.clone(), key.clone(), value.clone())));
        let selects = |slot: &u32| {
            let service = ctx.view().services.get(Ix::<Service>::new(*slot));
            service.is_some_and(|service| {
                service.spec.selector.pairs().iter().all(|(key, value)| labels.get(key) == Some(value))
            })
        };
        let selecting: BTreeSet<u32> = found.flatten().copied().filter(selects).collect();
        selecting.into_iter().collect()
    }

    /// Puts down what is to be looked at because of a change of a pod (`GetPodUpdateProjectionKey`, `GetServicesToUpdate`).
    pub(super) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &PodChange<'_>) {
        let (old, new) = (change.old, change.new);
        let Some(pod) = new.or(old).filter(|_| !self.by_label.is_empty()) else { return };
        let namespace = &pod.meta.namespace;
        let services: Selecting = match (old, new) {
            (Some(old), Some(new)) => {
                // Two deletion timestamps never count as the same.
                let is_changed = old.is_terminating()
                    || new.is_terminating()
                    || change.was_ready != change.is_ready
                    || old.status.pod_ip != new.status.pod_ip;
                let is_host_changed = !Arc::ptr_eq(&old.spec, &new.spec)
                    && (&old.spec.hostname, &old.spec.subdomain) != (&new.spec.hostname, &new.spec.subdomain);
                if old.meta.labels != new.meta.labels || is_host_changed {
                    let after = self.selecting(ctx, namespace, &new.meta.labels);
                    let before = self.selecting(ctx, namespace, &old.meta.labels);
                    let both: BTreeSet<u32> = after.iter().chain(&before).copied().collect();
                    let is_meant = |slot: &u32| is_changed || after.contains(slot) != before.contains(slot);
                    both.into_iter().filter(is_meant).collect()
                } else if is_changed {
                    self.selecting(ctx, namespace, &new.meta.labels)
                } else {
                    return;
                }
            }
            (Some(_) | None, Some(_) | None) => self.selecting(ctx, namespace, &pod.meta.labels),
        };
        for service in services {
            ctx.enqueue(Controller::EndpointSlice, service);
        }
    }

    /// A slice that somebody else changed is looked at.
    fn slice_changed(&self, ctx: &mut Ctx<'_>, slice: &EndpointSlice, version: Option<u64>) {
        let labels = &slice.meta.labels;
        let is_known = self.written.get(&slice.meta.uid) == Some(&version)
            // The last state of one that goes, and one that was there before.
            || version.is_none() && !self.written.contains_key(&slice.meta.uid);
        if labels.value(MANAGED_BY) != Some(MANAGER) || is_known {
            return;
        }
        let Some(name) = labels.get(SERVICE_NAME) else { return };
        let key = Key { namespace: slice.meta.namespace.clone(), name: Name::new(name.clone()) };
        if let Some(service) = ctx.view().services.find(&key) {
            ctx.enqueue_after(Controller::EndpointSlice, service.raw(), OTHERS_CHANGES);
        }
    }
}

/// Looks at a Service.
pub(super) fn sync(
    ctx: &mut Ctx<'_>,
    index: &Index,
    memory: &mut Endpoints,
    slot: u32,
) -> Result<(), ApiError> {
    let Some(service) = ctx.view().services.get(Ix::<Service>::new(slot)).cloned() else { return Ok(()) };
    // Somebody else keeps the endpoints of the others.
    if &*service.spec.r#type == "ExternalName" || service.spec.selector.is_empty() {
        return Ok(());
    }
    let table = &ctx.view().endpoint_slices;
    let owned = index.owned_by(Kind::EndpointSlice, &service.meta.uid).into_iter();
    let existing: Vec<Arc<EndpointSlice>> = owned
        .filter_map(|slot| table.get(Ix::new(slot)).cloned())
        .filter(|slice| slice.meta.labels.value(MANAGED_BY) == Some(MANAGER) && !slice.meta.is_terminating())
        .collect();
    let families = families(&service);
    let (known, mut others): (Vec<_>, Vec<_>) =
        existing.into_iter().partition(|slice| families.contains(&slice.address_type));
    let mut failure = None;
    let mut plan = Plan::default();
    let pods = desired::selected(ctx.view(), &service);
    for family in families {
        let slices = known.iter().filter(|slice| slice.address_type == family).cloned().collect();
        let desired = desired::of(ctx.view(), &service, &family, &pods);
        failure = failure.or(desired.failure.clone());
        plan.add(&service, &family, slices, desired);
    }
    plan.delete.append(&mut others);
    if ctx.api.serving().traces {
        let trigger = memory.triggers.trigger(ctx.view(), &service);
        plan.create.iter_mut().chain(&mut plan.update).for_each(|slice| trigger::note(slice, trigger));
    }
    plan.carry_out(ctx, memory, &service)?;
    match failure {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

impl Plan {
    /// Adds what the slices of one family need (`reconcileByAddressType`).
    fn add(&mut self, service: &Service, family: &str, existing: Vec<Arc<EndpointSlice>>, desired: Desired) {
        let mut by_ports: BTreeMap<PortsKey, Vec<Arc<EndpointSlice>>> = BTreeMap::new();
        let count = existing.len();
        for slice in existing {
            by_ports.entry(ports_key(&slice.ports)).or_default().push(slice);
        }
        let mut plan = Self::default();
        for (key, Group { ports, endpoints }) in desired.by_ports {
            let slices = by_ports.remove(&key).unwrap_or_default();
            let new = || new_slice(service, family, ports.clone());
            fill::fill(&mut plan, service, new, slices, endpoints);
        }
        plan.delete.extend(by_ports.into_values().flatten());
        if count == plan.delete.len() && plan.create.is_empty() {
            // There is always a slice, if an empty one.
            let empty = new_slice(service, family, Vec::new());
            match plan.delete.as_slice() {
                [known] if is_same(known, &empty) => plan.delete.clear(),
                _ => plan.create.push(empty),
            }
        }
        plan.reuse();
        self.create.append(&mut plan.create);
        self.update.append(&mut plan.update);
        self.delete.append(&mut plan.delete);
    }

    fn carry_out(self, ctx: &mut Ctx<'_>, memory: &mut Endpoints, service: &Service) -> Result<(), ApiError> {
        if !service.meta.is_terminating() {
            for slice in self.create {
                let made = match ctx.api.create(slice) {
                    Err(error) if pods::is_namespace_terminating(&error) => return Ok(()),
                    made => made?,
                };
                memory.written.insert(made.meta.uid.clone(), Some(made.meta.resource_version.0));
            }
        }
        for slice in self.update {
            let updated = ctx.api.update(slice)?;
            memory.written.insert(updated.meta.uid.clone(), Some(updated.meta.resource_version.0));
        }
        for slice in self.delete {
            ctx.api.delete(Kind::EndpointSlice, &slice.meta.key(), &DeleteOptions::default())?;
            memory.written.insert(slice.meta.uid.clone(), None);
        }
        Ok(())
    }
}

/// A slice without endpoints, not yet stored.
fn new_slice(service: &Service, family: &str, ports: Vec<EndpointPort>) -> EndpointSlice {
    EndpointSlice {
        meta: Meta {
            namespace: service.meta.namespace.clone(),
            generate_name: Some(Text::from(format!("{}-", service.meta.name))),
            labels: labels(service),
            owner_references: vec![pods::controller_reference(service)].into(),
            ..Meta::default()
        },
        address_type: Text::from(family),
        endpoints: Vec::new(),
        ports,
    }
}

/// Whether a slice is the empty one already.
fn is_same(known: &EndpointSlice, empty: &EndpointSlice) -> bool {
    known.endpoints.is_empty()
        && known.ports.is_empty()
        && known.meta.labels == empty.meta.labels
        && known.address_type == empty.address_type
}
