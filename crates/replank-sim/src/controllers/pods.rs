//! Making, adopting, releasing and deleting pods on behalf of an owner (pkg/controller `controller_utils.go`,
//! `controller_ref_manager.go`).

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::meta::{Meta, OwnerReference};
use replank_model::object::pod::{Pod, PodTemplate};
use replank_model::object::{Kind, Resource};
use replank_model::selector::Selector;
use replank_model::text::Text;
use replank_model::view::{Ix, Tabled};

use super::Ctx;
use super::index::Index;
use replank_apiserver::{ApiError, DeleteOptions, EventType};

/// The reference by which an object is managed.
pub(crate) fn controller_reference<R: Resource>(owner: &R) -> OwnerReference {
    let meta = owner.meta();
    OwnerReference {
        api_version: Text::from(R::KIND.api_version()),
        kind: Text::from(R::KIND.as_str()),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// A pod as a template describes it, not yet stored. It shares the template's spec.
pub(crate) fn from_template<R: Resource>(owner: &R, template: &PodTemplate) -> Pod {
    let meta = owner.meta();
    Pod {
        meta: Meta {
            namespace: meta.namespace.clone(),
            generate_name: Some(Text::from(format!("{}-", meta.name))),
            labels: template.meta.labels.clone(),
            annotations: template.meta.annotations.clone(),
            finalizers: template.meta.finalizers.clone(),
            owner_references: vec![controller_reference(owner)].into(),
            ..Meta::default()
        },
        spec: template.spec.clone(),
        ..Pod::default()
    }
}

/// Tells of an owner that it has a new pod, and of one that it has one less.
pub(crate) fn tell<R: Tabled>(
    ctx: &mut Ctx<'_>,
    owner: &R,
    (reason, teller): (&'static str, &'static str),
    pod: &str,
) {
    if !ctx.api.serving().traces {
        return;
    }
    let done = if reason == "SuccessfulDelete" { "Deleted" } else { "Created" };
    ctx.api.tell(teller, &owner.clone().into(), reason, &format!("{done} pod: {pod}"));
}

/// Tells of an owner that a pod of it was refused, unless its namespace goes.
pub(crate) fn tell_failure<R: Tabled>(ctx: &mut Ctx<'_>, owner: &R, teller: &'static str, error: &ApiError) {
    if ctx.api.serving().traces && !is_namespace_terminating(error) {
        let why = format!("Error creating: {}", error.message);
        ctx.api.record_of(teller, &owner.clone().into(), EventType::Warning, ("FailedCreate", &why));
    }
}

/// Deletes a pod, this incarnation of it. A pod that is already gone is not a failure.
pub(crate) fn delete(ctx: &mut Ctx<'_>, pod: &Pod) -> Result<(), ApiError> {
    let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
    match ctx.api.delete(Kind::Pod, &pod.meta.key(), &options) {
        Ok(_) => Ok(()),
        Err(error) if error.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}

/// All pods that an owner manages and those of its namespace that nobody does, sorted by name.
pub(crate) fn own_and_orphaned<R: Resource>(ctx: &Ctx<'_>, index: &Index, owner: &R) -> Vec<Arc<Pod>> {
    let meta = owner.meta();
    let pods = &ctx.view().pods;
    let mut found = owned(ctx, owner);
    let orphans = index.orphans(Kind::Pod, &meta.namespace);
    if orphans.is_empty() {
        return found;
    }
    found.extend(orphans.into_iter().filter_map(|slot| pods.get(Ix::new(slot)).cloned()));
    found.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    found
}

/// All pods that an owner manages, sorted by name.
pub(crate) fn owned<R: Resource>(ctx: &Ctx<'_>, owner: &R) -> Vec<Arc<Pod>> {
    let view = ctx.view();
    let mut found: Vec<Arc<Pod>> =
        view.pods_of(&owner.meta().uid).iter().filter_map(|ix| view.pods.get(*ix).cloned()).collect();
    found.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    found
}

/// A question about labels, asked once of those that are one and the same: pods of one template share theirs, and those that were loaded a few.
pub(crate) struct PerLabels<F> {
    ask: F,
    known: [Option<(Labels, bool)>; 4],
    next: usize,
}

impl<F: Fn(&Labels) -> bool> PerLabels<F> {
    pub(crate) fn new(ask: F) -> Self {
        Self { ask, known: [const { None }; 4], next: 0 }
    }

    pub(crate) fn answer(&mut self, labels: &Labels) -> bool {
        if let Some((_, answer)) = self.known.iter().flatten().find(|(known, _)| known.same(labels)) {
            return *answer;
        }
        let answer = (self.ask)(labels);
        self.known[self.next] = Some((labels.clone(), answer));
        self.next = (self.next + 1) % self.known.len();
        answer
    }
}

/// What becomes of an object that may belong to an owner (`ClaimObject`).
enum Claim {
    /// It is the owner's.
    Kept,
    /// It is made the owner's.
    Adopted,
    /// It is let go.
    Released,
    /// It is none of the owner's business.
    Other,
}

fn claim_of(owner: &Meta, dependent: &Meta, fits: bool) -> Claim {
    match dependent.controller() {
        Some(reference) if reference.uid != owner.uid => Claim::Other,
        Some(_) if fits => Claim::Kept,
        Some(_) if owner.is_terminating() => Claim::Other,
        Some(_) => Claim::Released,
        None if owner.is_terminating() || !fits || dependent.is_terminating() => Claim::Other,
        None => Claim::Adopted,
    }
}

/// Adopts and releases, and returns those objects that are the owner's. `finalizer` is given with adoption, and taken with
/// release.
pub(crate) fn claim<O: Resource, R: Tabled>(
    ctx: &mut Ctx<'_>,
    owner: &O,
    selector: &Selector,
    objects: Vec<Arc<R>>,
    finalizer: Option<&str>,
    fits: impl Fn(&R) -> bool,
) -> Result<Vec<Arc<R>>, ApiError> {
    let mut claimed = Vec::with_capacity(objects.len());
    let mut failure = None;
    let mut selects = PerLabels::new(|labels| selector.matches(|key| labels.value(key)));
    for object in objects {
        let matches = selects.answer(&object.meta().labels) && fits(&object);
        match claim_of(owner.meta(), object.meta(), matches) {
            Claim::Kept => claimed.push(object),
            Claim::Other => {}
            Claim::Adopted => match adopt(ctx, owner, &*object, finalizer) {
                Ok(adopted) => claimed.push(adopted),
                Err(error) if error.code == 404 => {}
                Err(error) => failure = Some(error),
            },
            Claim::Released => match release(ctx, owner, &*object, finalizer) {
                Ok(_) => {}
                Err(error) if error.code == 404 => {}
                Err(error) => failure = Some(error),
            },
        }
    }
    match failure {
        None => Ok(claimed),
        Some(error) => Err(error),
    }
}

fn adopt<O: Resource, R: Tabled>(
    ctx: &mut Ctx<'_>,
    owner: &O,
    object: &R,
    finalizer: Option<&str>,
) -> Result<Arc<R>, ApiError> {
    let reference = controller_reference(owner);
    ctx.api.modify::<R>(&object.meta().key(), |object| {
        let meta = object.meta_mut();
        meta.owner_references.retain(|known| known.uid != reference.uid);
        meta.owner_references.push(reference);
        if let Some(name) = finalizer.filter(|name| !meta.finalizers.iter().any(|known| **known == **name)) {
            meta.finalizers.push(Text::from(name));
        }
    })
}

fn release<O: Resource, R: Tabled>(
    ctx: &mut Ctx<'_>,
    owner: &O,
    object: &R,
    finalizer: Option<&str>,
) -> Result<Arc<R>, ApiError> {
    let uid = &owner.meta().uid;
    ctx.api.modify::<R>(&object.meta().key(), |object| {
        let meta = object.meta_mut();
        meta.owner_references.retain(|known| known.uid != *uid);
        if let Some(name) = finalizer {
            meta.finalizers.retain(|known| **known != *name);
        }
    })
}

/// Whether a refusal says that the namespace is on its way out: nothing can be made there any more.
pub(crate) fn is_namespace_terminating(error: &ApiError) -> bool {
    error.causes.iter().any(|cause| cause.reason == "NamespaceTerminating")
}
