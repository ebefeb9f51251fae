//! Deleting objects: grace, finalizers, propagation (apiserver `registry/rest/delete.go`,
//! `registry/generic/registry/store.go`, core/pod and core/namespace strategies).

use std::sync::Arc;

use replank_model::object::cluster::{NamespaceObject, NamespacePhase};
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::{Text, Uid};
use replank_model::time::{Span, Time};

use super::error::{ApiError, ResourceName};
use super::store::Api;

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector deletes them afterwards.
    Background,
    /// They go first.
    Foreground,
    /// They stay and lose the reference.
    Orphan,
}

/// How an object is to be deleted (meta/v1 DeleteOptions).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Seconds of grace; absent: what the object asks for.
    pub grace_seconds: Option<i64>,
    /// Absent: as the object's finalizers say, else as its kind does.
    pub propagation: Option<Propagation>,
    /// Only this incarnation.
    pub uid: Option<Uid>,
    /// Only this state.
    pub version: Option<ResourceVersion>,
}

/// Finalizer of a foreground deletion.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an orphaning deletion.
pub const ORPHAN: &str = "orphan";

impl Api {
    /// Deletes an object, or marks it for deletion where grace or finalizers hold it.
    ///
    /// # Errors
    /// `NotFound`, or `Conflict` if a precondition fails.
    pub fn delete(&mut self, kind: Kind, key: &Key, options: &DeleteOptions) -> Result<Object, ApiError> {
        let Some(known) = self.view().object(kind, key) else { return Err(ApiError::not_found(kind, key)) };
        self.delete_known(&known, options)
    }

    /// As [`Api::delete`], for a stored object of any kind.
    ///
    /// # Errors
    /// `Conflict` if a precondition fails.
    pub fn delete_known(&mut self, known: &Object, options: &DeleteOptions) -> Result<Object, ApiError> {
        check_preconditions(known, options)?;
        if let Object::Namespace(namespace) = known {
            return Ok(self.delete_namespace(namespace, options));
        }
        if let Object::CustomResourceDefinition(_) = known {
            return self.delete_definition(known, options);
        }
        match grace(known, options.grace_seconds) {
            Grace::Pending => Ok(known.clone()),
            Grace::None => Ok(self.delete_without_grace(known, options.propagation)),
            Grace::Seconds(seconds) => Ok(self.delete_gracefully(known, seconds, options.propagation)),
        }
    }

    /// What a deletion would leave of an object, and whether it would stay for a while.
    ///
    /// # Errors
    /// `Conflict` if a precondition fails.
    pub(crate) fn deletion_of(
        &self,
        known: &Object,
        options: &DeleteOptions,
    ) -> Result<(Object, bool), ApiError> {
        check_preconditions(known, options)?;
        let now = self.timestamp();
        if let Object::Namespace(namespace) = known {
            let mut namespace = NamespaceObject::clone(namespace);
            namespace.meta.deletion_timestamp = namespace.meta.deletion_timestamp.or(Some(now));
            namespace.status.phase = Some(NamespacePhase::Terminating);
            return Ok((with_propagation(namespace.into(), options.propagation), true));
        }
        Ok(match grace(known, options.grace_seconds) {
            Grace::Pending => (known.clone(), true),
            Grace::None => {
                let object = with_propagation(known.clone(), options.propagation);
                let is_held = !object.meta().finalizers.is_empty();
                (if is_held { held(object, now) } else { object }, is_held)
            }
            Grace::Seconds(seconds) => {
                let object = graceful(known.clone(), seconds, options.propagation, now);
                let is_left = seconds > 0 || !object.meta().finalizers.is_empty();
                (object, is_left)
            }
        })
    }

    fn delete_gracefully(&mut self, known: &Object, grace: i64, propagation: Option<Propagation>) -> Object {
        let now = self.timestamp();
        let object = graceful(known.clone(), grace, propagation, now);
        // The mark is stored even where the object goes at once: watchers see it, then the removal.
        let object = self.store(object);
        if grace == 0 && object.meta().finalizers.is_empty() { self.remove(object) } else { object }
    }

    fn delete_without_grace(&mut self, known: &Object, propagation: Option<Propagation>) -> Object {
        let object = with_propagation(known.clone(), propagation);
        if object.meta().finalizers.is_empty() {
            return self.remove(object);
        }
        let object = held(object, self.timestamp());
        if object == *known { object } else { self.store(object) }
    }

    /// Namespaces wait, as `Terminating`, until the namespace controller has emptied them.
    fn delete_namespace(&mut self, known: &Arc<NamespaceObject>, options: &DeleteOptions) -> Object {
        if known.meta.is_terminating() {
            return known.clone().into();
        }
        let mut namespace = NamespaceObject::clone(known);
        namespace.meta.deletion_timestamp = Some(self.timestamp());
        namespace.status.phase = Some(NamespacePhase::Terminating);
        let is_empty = namespace.spec.finalizers.is_empty();
        let object = with_propagation(namespace.into(), options.propagation);
        if is_empty && object.meta().finalizers.is_empty() {
            return self.remove(object);
        }
        self.store(object)
    }
}

/// A pod that is given so many seconds.
fn graceful(object: Object, grace: i64, propagation: Option<Propagation>, now: Time) -> Object {
    with_propagation(object, propagation).map_meta(|meta| {
        let asked = match (meta.deletion_timestamp, meta.deletion_grace_period_seconds) {
            (Some(due), Some(given)) => due - Span::from_secs(given),
            (Some(_) | None, Some(_) | None) => now,
        };
        if meta.deletion_timestamp.is_none() && meta.generation > 0 {
            meta.generation = meta.generation.saturating_add(1);
        }
        meta.deletion_timestamp = Some(asked + Span::from_secs(grace));
        meta.deletion_grace_period_seconds = Some(grace);
    })
}

/// An object that waits for its finalizers.
fn held(object: Object, now: Time) -> Object {
    object.map_meta(|meta| {
        if meta.deletion_timestamp.is_none() && meta.generation > 0 {
            meta.generation = meta.generation.saturating_add(1);
        }
        meta.deletion_timestamp = Some(meta.deletion_timestamp.map_or(now, |known| known.min(now)));
        meta.deletion_grace_period_seconds = Some(0);
    })
}

/// Preconditions are looked at before anything else. The refusal names the kind where others name the resource.
pub(crate) fn check_preconditions(known: &Object, options: &DeleteOptions) -> Result<(), ApiError> {
    let meta = known.meta();
    let name = || {
        let group = known.api_version().split_once('/').map_or("", |(group, _)| group);
        let kind = Text::from(known.kind_name());
        ResourceName { group: group.into(), plural: kind.clone(), kind }
    };
    // Two kinds have a deletion of their own, which finds it when it writes, and names the resource.
    if matches!(known.kind(), Kind::Namespace | Kind::CustomResourceDefinition) {
        return check_at_storage(known, options);
    }
    if let Some(uid) = options.uid.as_ref().filter(|uid| !uid.is_empty() && **uid != meta.uid) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            meta.uid
        );
        return Err(ApiError::conflict(name(), &meta.key(), &why));
    }
    match options.version.filter(|version| *version != meta.resource_version) {
        Some(version) => {
            let why = format!(
                "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record ({}). The \
                 object might have been modified",
                version.0, meta.resource_version.0
            );
            Err(ApiError::conflict(name(), &meta.key(), &why))
        }
        None => Ok(()),
    }
}

fn check_at_storage(known: &Object, options: &DeleteOptions) -> Result<(), ApiError> {
    let meta = known.meta();
    let given_uid = options.uid.as_ref().filter(|uid| !uid.is_empty() && **uid != meta.uid);
    let given_version = options.version.filter(|version| *version != meta.resource_version);
    let why = match (given_uid, given_version) {
        (Some(uid), _) => {
            format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", meta.uid)
        }
        (None, Some(version)) => format!(
            "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object meta: {}",
            version.0, meta.resource_version.0
        ),
        (None, None) => return Ok(()),
    };
    Err(ApiError::conflict(known.kind(), &meta.key(), &why))
}

/// The object with the finalizer that says what becomes of its dependents; one that is there stays where the request does
/// not say (`deletionFinalizersForGarbageCollection`).
fn with_propagation(object: Object, asked: Option<Propagation>) -> Object {
    let decided = |name: &Text| &**name == FOREGROUND || &**name == ORPHAN;
    let propagation = match asked {
        None if object.meta().finalizers.iter().any(decided) => return object,
        None => default_propagation(object.kind()),
        Some(asked) => Some(asked),
    };
    let wanted = match propagation {
        None => return object,
        Some(Propagation::Background) => None,
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
    };
    let there = object.meta().finalizers.iter().filter(|name| decided(name)).map(|name| &**name);
    if there.eq(wanted) {
        return object;
    }
    object.map_meta(|meta| {
        meta.finalizers.retain(|name| !decided(name));
        meta.finalizers.extend(wanted.map(Text::from));
    })
}

/// What a deletion does to the grace: only pods have any (`BeforeDelete`, core/pod `CheckGracefulDelete`).
fn grace(object: &Object, asked: Option<i64>) -> Grace {
    let Object::Pod(pod) = object else { return Grace::None };
    match pod.meta.deletion_grace_period_seconds.filter(|_| pod.is_terminating()) {
        None => Grace::Seconds(pod_grace(pod, asked)),
        // A second deletion may only shorten the first one's grace.
        Some(given) => match asked.map(|_| pod_grace(pod, asked)) {
            Some(asked) if asked < given => Grace::Seconds(asked),
            Some(_) | None => Grace::Pending,
        },
    }
}

/// Seconds that a pod is given at its end: none if nothing runs, one if less than none is asked for.
fn pod_grace(pod: &Pod, asked: Option<i64>) -> i64 {
    if pod.node.is_none() || pod.is_terminal() {
        return 0;
    }
    let wanted = asked.unwrap_or_else(|| pod.grace_seconds());
    if wanted < 0 { 1 } else { wanted }
}

/// What becomes of dependents where the request does not say: old kinds keep them, for old clients' sake
/// (`DefaultGarbageCollectionPolicy` of batch/v1 Job and v1 ReplicationController).
fn default_propagation(kind: Kind) -> Option<Propagation> {
    matches!(kind, Kind::Job | Kind::ReplicationController).then_some(Propagation::Orphan)
}

/// What a deletion does to the grace.
enum Grace {
    /// The object is on its way out already, no slower.
    Pending,
    /// The kind has no grace: the object goes, or waits for its finalizers.
    None,
    /// The object gets so many seconds.
    Seconds(i64),
}
