//! Writing objects: names, uids, versions, generations, preconditions.
//!
//! All truth of the simulated cluster is in one [`View`], which only [`Api`] changes. Every change is kept until the world
//! hands it to those who watch.

use std::collections::VecDeque;
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::meta::{Key, Meta, ResourceVersion};
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Text, Uid};
use replank_model::time::Time;
use replank_model::view::{Change, Tabled, View};
use rustc_hash::FxHashMap;

use super::error::ApiError;
use crate::draw::{Draws, Purpose};

/// The API server.
#[derive(Debug)]
pub struct Api {
    /// The present moment; the world sets it before every event.
    now: Time,
    view: View,
    version: u64,
    changes: VecDeque<Change>,
    draws: Draws,
    /// How many names were made from each prefix.
    generated: FxHashMap<Text, u64>,
}

impl Api {
    /// An API server over a view that is taken as it is.
    pub(crate) fn new(now: Time, view: View, draws: Draws) -> Self {
        let version = view.objects().iter().map(|object| object.meta().resource_version.0).max().unwrap_or(0);
        Self { now, view, version, changes: VecDeque::new(), draws, generated: FxHashMap::default() }
    }

    /// Everything there is.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The present moment as objects record it: Kubernetes' timestamps are whole seconds.
    #[must_use]
    pub fn timestamp(&self) -> Time {
        self.now.floor_seconds()
    }

    pub(crate) fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// The next change that nobody has been told of.
    pub(crate) fn next_change(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// Stores a new object and gives it a name (if it has only a prefix), a uid, a version and its time.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken.
    pub fn create<R: Tabled>(&mut self, object: R) -> Result<Arc<R>, ApiError> {
        let created = self.create_object(object.into())?;
        Ok(R::of(&created).expect("an object keeps its kind").clone())
    }

    /// As [`Api::create`], for an object whose kind is not known beforehand.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken.
    pub fn create_object(&mut self, object: Object) -> Result<Object, ApiError> {
        let kind = object.kind();
        let mut meta = object.meta().clone();
        if meta.name.is_empty() {
            meta.name = self.generate_name(&meta.generate_name.clone().unwrap_or_default());
        }
        let key = meta.key();
        if self.view.object(kind, &key).is_some() {
            return Err(ApiError::already_exists(kind, &key));
        }
        let (uid, now) = (self.new_uid(kind, &key), self.timestamp());
        let object = object.map_meta(|m| {
            m.name = key.name.clone();
            m.uid = uid;
            m.creation_timestamp = Some(now);
            m.generation = 1;
            m.deletion_timestamp = None;
            m.deletion_grace_period_seconds = None;
        });
        Ok(self.store(object))
    }

    /// Stores a new state of an object. A state equal to the stored one is no write.
    ///
    /// # Errors
    /// `NotFound`, or `Conflict` if the object is another incarnation, or has changed since the version that the new state
    /// carries (0 carries none).
    pub fn update<R: Tabled>(&mut self, object: R) -> Result<Arc<R>, ApiError> {
        let updated = self.update_object(object.into())?;
        Ok(R::of(&updated).expect("an object keeps its kind").clone())
    }

    /// As [`Api::update`], for an object whose kind is not known beforehand.
    ///
    /// # Errors
    /// See [`Api::update`].
    pub fn update_object(&mut self, object: Object) -> Result<Object, ApiError> {
        let (kind, key) = (object.kind(), object.meta().key());
        let Some(known) = self.view.object(kind, &key) else { return Err(ApiError::not_found(kind, &key)) };
        check_incarnation(kind, &key, known.meta(), &object.meta().uid)?;
        let version = object.meta().resource_version;
        if version != ResourceVersion::default() && version != known.meta().resource_version {
            let why =
                "the object has been modified; please apply your changes to the latest version and try again";
            return Err(ApiError::conflict(kind, &key, why));
        }
        let counted = !known.same_spec(&object);
        let object = object.map_meta(|meta| {
            meta.resource_version = known.meta().resource_version;
            meta.generation = known.meta().generation + i64::from(counted);
        });
        if object == known {
            return Ok(known);
        }
        if is_released(&object) {
            return Ok(self.remove(object));
        }
        Ok(self.store(object))
    }

    /// Reads an object, changes it and stores it.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn modify<R: Tabled>(&mut self, key: &Key, change: impl FnOnce(&mut R)) -> Result<Arc<R>, ApiError> {
        let Some(known) = self.view.find::<R>(key) else { return Err(ApiError::not_found(R::KIND, key)) };
        let mut object = R::clone(known);
        change(&mut object);
        self.update(object)
    }

    /// A name from a prefix, as the API server makes it (apiserver `pkg/storage/names`): five letters and digits, none
    /// that could spell a word.
    pub fn generate_name(&mut self, prefix: &Text) -> Name {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        const PREFIX_MAX: usize = 58;
        let count = self.generated.entry(prefix.clone()).or_default();
        *count += 1;
        let drawn = self.draws.draw(prefix, Purpose::Name, *count);
        let mut rest = drawn.0;
        let mut name: String = prefix.chars().take(PREFIX_MAX).collect();
        for _ in 0..5 {
            let at = usize::try_from(rest % 27).expect("less than 27");
            name.push(char::from(LETTERS[at]));
            rest /= 27;
        }
        Name::from(name)
    }

    /// Writes a state to the store under a new version.
    pub(super) fn store(&mut self, object: Object) -> Object {
        self.version += 1;
        let version = ResourceVersion(self.version);
        let object = object.map_meta(|meta| meta.resource_version = version);
        let change = self.view.apply(Delta::Put(object.clone()));
        debug_assert!(change != Change::Stale, "the store's own version is the newest");
        self.changes.push_back(change);
        object
    }

    /// Takes an object out of the store; its last state carries the version of the removal.
    pub(super) fn remove(&mut self, object: Object) -> Object {
        self.version += 1;
        let version = ResourceVersion(self.version);
        let object = object.map_meta(|meta| meta.resource_version = version);
        let change = self.view.apply(Delta::Gone(object.reference()));
        debug_assert!(change != Change::Stale, "the store removes what it has");
        self.changes.push_back(change);
        object
    }

    /// Changes what is not a Kubernetes object: groups and instances.
    pub(crate) fn apply_cloud(&mut self, delta: Delta) {
        self.version += 1;
        let change = self.view.apply(delta);
        self.changes.push_back(change);
    }

    /// A uid in the form of a random UUID, from the object's name and the moment.
    fn new_uid(&self, kind: Kind, key: &Key) -> Uid {
        let entity = format!("{kind}/{key}@{}", self.now.as_millis());
        let high = self.draws.draw(&entity, Purpose::Uid, 0).0;
        let low = self.draws.draw(&entity, Purpose::Uid, 1).0;
        Uid::from(format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | (low >> 48) & 0x3fff,
            low & 0xffff_ffff_ffff
        ))
    }
}

/// Whether an object on its way out has nothing left that holds it.
fn is_released(object: &Object) -> bool {
    let meta = object.meta();
    meta.deletion_timestamp.is_some()
        && meta.finalizers.is_empty()
        && meta.deletion_grace_period_seconds.unwrap_or(0) == 0
}

/// Refuses a uid that is not the stored one; an empty uid stands for any.
pub(super) fn check_incarnation(kind: Kind, key: &Key, known: &Meta, uid: &Uid) -> Result<(), ApiError> {
    if uid.is_empty() || *uid == known.uid {
        return Ok(());
    }
    let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", known.uid);
    Err(ApiError::conflict(kind, key, &why))
}
