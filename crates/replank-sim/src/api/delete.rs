//! Deleting objects: grace, finalizers, propagation (apiserver `registry/generic/registry/store.go`, core/pod strategy).

use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::{Kind, Object};
use replank_model::text::{Text, Uid};
use replank_model::time::Span;

use super::error::ApiError;
use super::store::{Api, check_incarnation};

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
        self.check_preconditions(&known, options)?;
        let object = self.with_propagation(known, options.propagation);
        match self.grace(&object, options.grace_seconds) {
            Grace::Keep => Ok(object),
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
        let (kind, key) = (known.kind(), known.meta().key());
        if let Some(uid) = &options.uid {
            check_incarnation(kind, &key, known.meta(), uid)?;
        }
        match options.version {
            Some(version) if version != known.meta().resource_version => {
                let why = format!(
                    "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object meta: {}",
                    version.0,
                    known.meta().resource_version.0
                );
                Err(ApiError::conflict(kind, &key, &why))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn with_propagation(&self, object: Object, propagation: Option<Propagation>) -> Object {
        let wanted = match propagation {
            None => return object,
            Some(Propagation::Background) => None,
            Some(Propagation::Foreground) => Some(FOREGROUND),
            Some(Propagation::Orphan) => Some(ORPHAN),
        };
        object.map_meta(|meta| {
            meta.finalizers.retain(|name| &**name != FOREGROUND && &**name != ORPHAN);
            if let Some(name) = wanted {
                meta.finalizers.push(Text::from(name));
            }
        })
    }

    /// The grace that a deletion gets: only pods have any (core/pod `CheckGracefulDelete`).
    fn grace(&self, object: &Object, asked: Option<i64>) -> Grace {
        let current = object.meta().deletion_grace_period_seconds;
        let grace = match object {
            Object::Pod(pod) => {
                let wanted = asked.unwrap_or_else(|| pod.grace_seconds()).max(0);
                if pod.node.is_none() || pod.is_terminal() { 0 } else { wanted }
            }
            _ => 0,
        };
        match current {
            Some(current) if object.meta().is_terminating() && grace >= current && current > 0 => Grace::Keep,
            _ if object.meta().is_terminating() && current == Some(0) => Grace::Keep,
            _ => Grace::Seconds(grace),
        }
    }
}

/// What a deletion does to the grace.
enum Grace {
    /// The object is on its way out already, no slower.
    Keep,
    /// The object gets so many seconds.
    Seconds(i64),
}
