//! Deleting objects: grace, finalizers, propagation (apiserver `registry/generic/registry/store.go`, core/pod strategy).

use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::{Kind, Object};
use replank_model::text::{Text, Uid};
use replank_model::time::Span;

use super::error::ApiError;
use super::store::{Api, other_incarnation};

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
    /// Absent: background.
    pub propagation: Option<Propagation>,
    /// Only this incarnation.
    pub uid: Option<Uid>,
    /// Only this state.
    pub version: Option<ResourceVersion>,
}

/// Finalizer of a foreground deletion.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an orphaning deletion.
pub(crate) const ORPHAN: &str = "orphan";

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
        self.check_preconditions(known, options)?;
        let object = with_propagation(known.clone(), options.propagation);
        match grace(&object, options.grace_seconds) {
            Grace::Keep if object == *known => Ok(object),
            Grace::Keep => Ok(self.store(object)),
            Grace::Seconds(grace) => {
                let mut at = self.timestamp() + Span::from_secs(grace);
                let object = object.map_meta(|meta| {
                    // A second deletion may only shorten the first one's grace.
                    if let (Some(due), Some(given)) =
                        (meta.deletion_timestamp, meta.deletion_grace_period_seconds)
                    {
                        at = at.min(due - Span::from_secs(given) + Span::from_secs(grace));
                    } else if meta.generation > 0 {
                        meta.generation += 1;
                    }
                    meta.deletion_timestamp = Some(at);
                    meta.deletion_grace_period_seconds = Some(grace);
                });
                if grace == 0 && object.meta().finalizers.is_empty() {
                    // Watchers are told of the mark only where it was stored before.
                    return Ok(self.remove(object));
                }
                Ok(self.store(object))
            }
        }
    }

    fn check_preconditions(&self, known: &Object, options: &DeleteOptions) -> Result<(), ApiError> {
        let meta = known.meta();
        let mut broken = options.uid.as_ref().and_then(|uid| other_incarnation(meta, uid));
        if broken.is_none()
            && let Some(version) = options.version.filter(|version| *version != meta.resource_version)
        {
            broken = Some(format!(
                "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object meta: {}",
                version.0, meta.resource_version.0
            ));
        }
        match broken {
            Some(why) => Err(ApiError::conflict(self.resource_name(known), &meta.key(), &why)),
            None => Ok(()),
        }
    }
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
    object.map_meta(|meta| {
        meta.finalizers.retain(|name| !decided(name));
        if let Some(name) = wanted {
            meta.finalizers.push(Text::from(name));
        }
    })
}

/// The grace that a deletion gets: only pods have any (apiserver `rest.BeforeDelete`, core/pod `CheckGracefulDelete`).
fn grace(object: &Object, asked: Option<i64>) -> Grace {
    // Less than none is taken as a second.
    let asked = asked.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if object.meta().is_terminating() {
        let current = object.meta().deletion_grace_period_seconds.unwrap_or(0);
        return match asked {
            Some(asked) if asked < current => Grace::Seconds(asked),
            Some(_) | None => Grace::Keep,
        };
    }
    match object {
        Object::Pod(pod) if pod.node.is_some() && !pod.is_terminal() => {
            Grace::Seconds(asked.unwrap_or_else(|| pod.grace_seconds()))
        }
        _ => Grace::Seconds(0),
    }
}

/// What becomes of dependents where the request does not say: old kinds keep them, for old clients' sake
/// (`DefaultGarbageCollectionPolicy` of batch/v1 Job and v1 ReplicationController).
fn default_propagation(kind: Kind) -> Option<Propagation> {
    matches!(kind, Kind::Job | Kind::ReplicationController).then_some(Propagation::Orphan)
}

/// What a deletion does to the grace.
enum Grace {
    /// The object is on its way out already, no slower.
    Keep,
    /// The object gets so many seconds.
    Seconds(i64),
}
