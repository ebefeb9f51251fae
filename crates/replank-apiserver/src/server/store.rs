//! Writing objects: names, uids, versions, generations, preconditions.
//!
//! All truth of the simulated cluster is in one [`View`], which only [`Api`] changes. Every change is kept until the world
//! hands it to those who watch.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::cluster::Other;
use replank_model::object::meta::{Key, Meta, ResourceVersion};
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object, Projector};
use replank_model::text::{Name, NodeName, Text, Uid};
use replank_model::time::Time;
use replank_model::view::{Change, Ix, Tabled, View};
use rustc_hash::FxHashMap;

use super::admission::Admitted;
use super::custom::Customs;
use super::error::{ApiError, ResourceName};
use super::events::EventLog;
use super::job;
use super::policies::Policies;
use super::serving::Serving;
use crate::clock::Clock;
use crate::draw::{Draws, Purpose, Source};

/// The API server.
#[derive(Debug)]
pub struct Api {
    clock: Clock,
    view: View,
    version: u64,
    changes: VecDeque<Change>,
    draws: Draws,
    /// How many names were made from each prefix.
    generated: FxHashMap<Text, u64>,
    /// Specs that admission has completed.
    pub(crate) admitted: Admitted,
    /// Reads JSON; shares what repeats.
    pub(crate) projector: Projector,
    /// What components tell about objects.
    pub(crate) events: EventLog,
    /// What definitions say of their objects.
    pub(crate) customs: Customs,
    /// Policies in CEL, where they have been read since they changed.
    pub(crate) policies: RefCell<Option<Arc<Policies>>>,
    /// Whether the present write is a script's, which may leave out what a simulation does not need.
    pub(crate) is_script: bool,
    /// How often an entity was made at the moment of the last creation, by what its uids come from: each time it gets another.
    made: (Time, FxHashMap<Source, u64>),
    /// Where names and entities are put together.
    words: String,
    /// What it does beyond what a rehearsal needs.
    serving: Serving,
    /// Changes new pods like a webhook that the cluster's provider runs.
    pub(super) webhook: Option<PodWebhook>,
    /// Records which fields a controller manages by a write, where clients look.
    pub(crate) accountant: Option<Accountant>,
    /// Who has sent the request that is being answered, where it came over the wire.
    pub(crate) caller: Option<super::caller::Caller>,
}

/// Returns the new pod as the webhook changes it; called after the admission plugins. The view is the server's state.
pub type PodWebhook = fn(&View, Arc<Pod>) -> Arc<Pod>;

/// Records in a new state of an object which fields a controller manages.
pub(crate) type Accountant = fn(&Api, &Object, Object) -> Object;

impl Api {
    /// An API server over a view that is taken as it is; every write happens at the time of the clock.
    #[must_use]
    pub fn new(clock: Clock, view: View, draws: Draws) -> Self {
        let version = view.metas().map(|meta| meta.resource_version.0).max().unwrap_or(0);
        Self {
            clock,
            view,
            version,
            changes: VecDeque::new(),
            draws,
            generated: FxHashMap::default(),
            admitted: Admitted::default(),
            projector: Projector::default(),
            events: EventLog::default(),
            customs: Customs::default(),
            policies: RefCell::default(),
            is_script: false,
            made: (Time::from_millis(0), FxHashMap::default()),
            words: String::new(),
            serving: Serving::default(),
            webhook: None,
            accountant: None,
            caller: None,
        }
    }

    /// Goes on with a counter of versions that is further than any object shows: the last write may have been a deletion.
    pub fn go_on_from(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// Does more from now on than a rehearsal needs.
    pub fn serve(&mut self, serving: Serving) {
        self.serving = serving;
        self.admitted.forget_all();
        let services = self.view.services.sorted();
        let services: Vec<Object> =
            services.into_iter().map(|(_, service)| Object::Service(service.clone())).collect();
        for service in services {
            self.note_addresses(None, Some(&service));
        }
    }

    /// Passes every new pod through a webhook of the cluster's provider, which no MutatingWebhookConfiguration in the cluster names.
    pub fn ask_about_pods(&mut self, webhook: PodWebhook) {
        self.webhook = Some(webhook);
    }

    /// Whether clients are served, who see more than a rehearsal needs.
    #[must_use]
    pub fn serves_clients(&self) -> bool {
        self.serving.is_any()
    }

    /// What it does beyond what a rehearsal needs.
    #[must_use]
    pub fn serving(&self) -> Serving {
        self.serving
    }

    /// The labels of a node that its pods are given when they are bound to it (plugin PodTopologyLabels). None in a rehearsal.
    #[must_use]
    pub fn topology_labels(&self, node: &NodeName) -> Vec<(Text, Text)> {
        const COPIED: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
        if !self.serving.traces {
            return Vec::new();
        }
        let Some(node) = self.view.node(node) else { return Vec::new() };
        let found =
            COPIED.iter().filter_map(|name| Some((Text::from(*name), node.meta.labels.get(name)?.clone())));
        found.collect()
    }

    /// The first draw of an entity for a purpose.
    pub(crate) fn draw(&self, entity: &str, purpose: Purpose) -> u64 {
        self.draws.draw(entity, purpose, 0).0
    }

    /// Everything there is.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The present moment as objects record it: Kubernetes' timestamps are whole seconds.
    #[must_use]
    pub fn timestamp(&self) -> Time {
        self.now().floor_seconds()
    }

    /// The version of the last write.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The next change that nobody has been told of.
    pub fn next_change(&mut self) -> Option<Change> {
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
    /// `AlreadyExists` if the name is taken; `Forbidden` where admission refuses the object.
    pub fn create_object(&mut self, object: Object) -> Result<Object, ApiError> {
        let (object, name) = self.named(object);
        self.check_own_pod(&object)?;
        let object = self.prepare_named(object, name)?;
        Ok(self.store(object))
    }

    /// A new object as it would be stored, less the version.
    pub(crate) fn prepare(&mut self, object: Object) -> Result<Object, ApiError> {
        let (object, name) = self.named(object);
        self.prepare_named(object, name)
    }

    fn prepare_named(&mut self, object: Object, name: NameIs) -> Result<Object, ApiError> {
        let object = self.admit(object)?;
        let key = object.meta().key();
        let known = match name {
            NameIs::Free => None,
            NameIs::Given => self.known(&object),
        };
        if let Some(known) = known {
            let mut refusal = ApiError::already_exists(self.resource_name(&object), &key);
            if known.meta().is_terminating() {
                refusal.message = format!("object is being deleted: {}", refusal.message);
            }
            return Err(refusal);
        }
        let kind = object.kind();
        let (uid, now) = (self.new_uid(&object, &key), self.timestamp());
        let object = object.map_meta(|meta| {
            meta.uid = uid;
            meta.creation_timestamp = Some(now);
            if kind != Kind::Other {
                meta.generation = i64::from(kind.has_generation());
            }
            meta.deletion_timestamp = None;
            meta.deletion_grace_period_seconds = None;
        });
        self.allocate(job::complete(object, self.serving.traces))
    }

    /// The object with a name, made from its prefix if it has none of its own. A name that is taken is made again, a few
    /// times (apiserver `registry/rest/create.go`).
    fn named(&mut self, mut object: Object) -> (Object, NameIs) {
        const TRIES_MAX: u32 = 8;
        if !object.meta().name.is_empty() {
            return (object, NameIs::Given);
        }
        let Some(prefix) = object.meta().generate_name.clone() else { return (object, NameIs::Given) };
        for _ in 0..TRIES_MAX {
            let name = self.generate_name(&prefix);
            object = object.map_meta(|meta| meta.name = name);
            if self.known(&object).is_none() {
                return (object, NameIs::Free);
            }
        }
        (object, NameIs::Given)
    }

    /// The stored object of the same kind and name.
    pub(crate) fn known(&self, object: &Object) -> Option<Object> {
        let key = object.meta().key();
        if let Object::Other(other) = object {
            self.view.other(other.group(), &other.kind, &key).cloned().map(Object::Other)
        } else {
            self.view.object(object.kind(), &key)
        }
    }

    /// What the server calls the resource of an object.
    pub(crate) fn resource_name(&self, object: &Object) -> ResourceName {
        if object.kind() != Kind::Other {
            return object.kind().into();
        }
        self.resource_type(object.api_version(), object.kind_name()).map_or_else(
            |_| ResourceName {
                group: object.api_version().split_once('/').map_or("", |(group, _)| group).into(),
                plural: format!("{}s", object.kind_name().to_lowercase()).into(),
                kind: object.kind_name().into(),
            },
            |resource| resource.name,
        )
    }

    /// Stores a new state of an object. A state equal to the stored one is not written.
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
        let known = self.meant(&object)?;
        let counted = !known.same_spec(&object);
        let object = self.accounted(&known, object);
        Ok(self.replace(known, object, counted))
    }

    /// The stored object that a new state is of.
    fn meant(&self, object: &Object) -> Result<Object, ApiError> {
        let key = object.meta().key();
        let Some(known) = self.known(object) else {
            return Err(ApiError::not_found(self.resource_name(object), &key));
        };
        if let Some(why) = other_incarnation(known.meta(), &object.meta().uid) {
            return Err(ApiError::conflict(self.resource_name(&known), &key, &why));
        }
        let version = object.meta().resource_version;
        if version != ResourceVersion::default() && version != known.meta().resource_version {
            let why =
                "the object has been modified; please apply your changes to the latest version and try again";
            return Err(ApiError::conflict(self.resource_name(&known), &key, why));
        }
        Ok(known)
    }

    /// As [`Api::update`], for a new state whose status differs from the stored one's, and nothing else does: nothing need be compared.
    ///
    /// # Errors
    /// See [`Api::update`].
    pub fn write_status<R: Tabled>(&mut self, object: R) -> Result<(), ApiError> {
        let object = object.into();
        let known = self.meant(&object)?;
        debug_assert!(known.same_spec(&object) && known != object, "the status changes, and nothing else");
        let object = self.accounted(&known, object);
        self.put_in_place(&known, object);
        Ok(())
    }

    /// Writes an object's status, and its annotations, as the status subresource takes them.
    ///
    /// # Errors
    /// See [`Api::update`].
    pub fn update_status<R: Tabled>(&mut self, object: &R) -> Result<(), ApiError> {
        self.update(object.clone()).map(|_| ())
    }

    /// Puts a new state in the place of the stored one.
    pub(crate) fn replace(&mut self, known: Object, object: Object, counted: bool) -> Object {
        // What has none was written without one, and goes on so; a driver's is begun with at the first change.
        let has_one = known.meta().generation > 0 || matches!(known, Object::CsiDriver(_));
        let object = object.map_meta(|meta| {
            meta.resource_version = known.meta().resource_version;
            meta.generation = known.meta().generation + i64::from(counted && has_one);
        });
        if object == known {
            return known;
        }
        self.put_in_place(&known, object)
    }

    fn put_in_place(&mut self, known: &Object, object: Object) -> Object {
        let object = self.with_phase_time(known, object);
        if is_released(&object) {
            return self.remove(object);
        }
        self.store(object)
    }

    /// A volume tells since when it is in its phase (core/persistentvolume strategy, `PrepareForUpdate`).
    fn with_phase_time(&self, known: &Object, object: Object) -> Object {
        match (known, object) {
            (Object::PersistentVolume(known), Object::PersistentVolume(mut volume))
                if self.serving.traces && known.status.phase != volume.status.phase =>
            {
                let now = self.timestamp();
                Arc::make_mut(&mut volume).status.last_phase_transition_time = Some(now);
                Object::PersistentVolume(volume)
            }
            (_, object) => object,
        }
    }

    /// Reads an object, changes it and stores it.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn modify<R: Tabled>(&mut self, key: &Key, change: impl FnOnce(&mut R)) -> Result<Arc<R>, ApiError> {
        let (known, object) = self.change_of(key, change)?;
        Ok(self.put_changed(known, object))
    }

    /// As [`Api::modify`], for an object whose slot is known: its name need not be looked for. `None` where there is none.
    pub fn modify_at<R: Tabled>(&mut self, ix: Ix<R>, change: impl FnOnce(&mut R)) -> Option<Arc<R>> {
        let known = self.view.table::<R>().get(ix)?.clone();
        let object = changed(&known, change);
        Some(self.put_changed(R::shared(known), object))
    }

    /// Stores an object that was read and changed.
    fn put_changed<R: Tabled>(&mut self, known: Object, object: Object) -> Arc<R> {
        let counted = !known.same_spec(&object);
        let object = self.accounted(&known, object);
        let stored = self.replace(known, object, counted);
        R::of(&stored).expect("an object keeps its kind").clone()
    }

    /// As [`Api::modify`], for a change of the status alone that does change it: nothing need be compared.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn modify_status<R: Tabled>(
        &mut self,
        key: &Key,
        change: impl FnOnce(&mut R),
    ) -> Result<Arc<R>, ApiError> {
        let (known, object) = self.change_of(key, change)?;
        debug_assert!(known.same_spec(&object) && known != object, "the status changes, and nothing else");
        let object = self.accounted(&known, object);
        let stored = self.put_in_place(&known, object);
        Ok(R::of(&stored).expect("an object keeps its kind").clone())
    }

    /// As [`Api::modify_status`], of the object in a slot; nothing where there is none.
    pub fn modify_status_at<R: Tabled>(&mut self, ix: Ix<R>, change: impl FnOnce(&mut R)) {
        let Some(known) = self.view.table::<R>().get(ix).cloned() else { return };
        let object = changed(&known, change);
        let known = R::shared(known);
        debug_assert!(known.same_spec(&object) && known != object, "the status changes, and nothing else");
        let object = self.accounted(&known, object);
        self.put_in_place(&known, object);
    }

    /// An object as it is stored, and changed.
    fn change_of<R: Tabled>(
        &self,
        key: &Key,
        change: impl FnOnce(&mut R),
    ) -> Result<(Object, Object), ApiError> {
        let Some(known) = self.view.object(R::KIND, key) else {
            return Err(ApiError::not_found(R::KIND, key));
        };
        let object = changed(R::of(&known).expect("a table has objects of one kind"), change);
        Ok((known, object))
    }

    /// The object with what clients see of who has written it.
    fn accounted(&self, known: &Object, object: Object) -> Object {
        match self.accountant {
            Some(account) => account(self, known, object),
            None => object,
        }
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
        let cut = prefix.char_indices().nth(PREFIX_MAX).map_or(prefix.len(), |(at, _)| at);
        self.words.clear();
        self.words.push_str(&prefix[..cut]);
        for _ in 0..5 {
            let at = usize::try_from(rest % 27).expect("less than 27");
            self.words.push(char::from(LETTERS[at]));
            rest /= 27;
        }
        Name::from(self.words.as_str())
    }

    /// Writes a state to the store under a new version.
    pub(crate) fn store(&mut self, object: Object) -> Object {
        if object.kind() == Kind::Service {
            let known = self.known(&object);
            self.note_addresses(known.as_ref(), Some(&object));
        }
        self.version += 1;
        let version = ResourceVersion(self.version);
        let mut object = object.map_meta(|meta| meta.resource_version = version);
        if let Object::Pod(pod) = &mut object {
            Arc::make_mut(pod).status.conditions.note();
        }
        self.forget_admitted(&object);
        self.forget_policies(&object);
        // It is handed over whole, so that the view can note in it where it is.
        let change = self.view.apply(Delta::Put(object));
        let Change::Object { new: Some(object), .. } = &change else {
            unreachable!("the store's own version is the newest");
        };
        let object = object.clone();
        self.changes.push_back(change);
        self.note_event(&object);
        object
    }

    /// Takes an object out of the store; its last state carries the version of the removal.
    pub(crate) fn remove(&mut self, object: Object) -> Object {
        self.version += 1;
        let version = ResourceVersion(self.version);
        let object = object.map_meta(|meta| meta.resource_version = version);
        self.forget_admitted(&object);
        self.forget_policies(&object);
        let change = self.view.apply(Delta::Gone(object.reference()));
        debug_assert!(change != Change::Stale, "the store removes what it has");
        self.changes.push_back(change);
        self.note_addresses(Some(&object), None);
        self.instance_gone(&object);
        object
    }

    /// Changes what is not a Kubernetes object: groups and instances.
    pub fn apply_cloud(&mut self, delta: Delta) {
        self.version += 1;
        let change = self.view.apply(delta);
        self.changes.push_back(change);
    }

    /// What admission made of a spec depends on the priority classes, on accounts, and on limits.
    fn forget_admitted(&mut self, changed: &Object) {
        let is_read = |other: &Other| matches!(&*other.kind, "ServiceAccount" | "LimitRange");
        let is_of_namespace = matches!(changed, Object::Other(other) if is_read(other));
        if changed.kind() == Kind::PriorityClass || is_of_namespace {
            self.admitted.forget_all();
        }
    }

    fn forget_policies(&mut self, changed: &Object) {
        if matches!(changed, Object::Other(other) if other.group() == "admissionregistration.k8s.io") {
            self.policies.take();
        }
    }

    /// A uid in the form of a random UUID, from the object's name and the moment.
    fn new_uid(&mut self, object: &Object, key: &Key) -> Uid {
        // Kinds of different groups may have one name.
        let kind = if object.kind() == Kind::Other {
            let group = object.api_version().split_once('/').map_or("", |(group, _)| group);
            Cow::Owned(format!("{}.{group}", object.kind_name()))
        } else {
            Cow::Borrowed(object.kind().as_str())
        };
        let now = self.now();
        if self.made.0 != now {
            self.made.0 = now;
            self.made.1.clear();
        }
        self.words.clear();
        self.words.push_str(&kind);
        if !key.namespace.is_empty() {
            self.words.push('/');
            self.words.push_str(key.namespace.as_str());
        }
        self.words.push('/');
        self.words.push_str(key.name.as_str());
        let written = write!(self.words, "@{}", now.as_millis());
        debug_assert!(written.is_ok(), "text takes everything");
        let source = self.draws.source(&self.words, Purpose::Uid);
        let times = self.made.1.entry(source).or_default();
        let count = *times;
        *times += 1;
        source.uid(count)
    }
}

/// An object as it would be after a change.
fn changed<R: Tabled>(known: &Arc<R>, change: impl FnOnce(&mut R)) -> Object {
    let mut object = R::clone(known);
    change(&mut object);
    object.into()
}

/// What is known of a new object's name.
#[derive(Clone, Copy, Debug)]
enum NameIs {
    /// It was made, and nobody has it.
    Free,
    /// It came with the object, or somebody has it in spite of all tries.
    Given,
}

/// Whether an object on its way out has nothing left that holds it.
fn is_released(object: &Object) -> bool {
    let meta = object.meta();
    // A namespace has finalizers of its own kind beside the usual ones.
    let is_held = matches!(object, Object::Namespace(namespace) if !namespace.spec.finalizers.is_empty());
    meta.deletion_timestamp.is_some()
        && !is_held
        && meta.finalizers.is_empty()
        && meta.deletion_grace_period_seconds.unwrap_or(0) == 0
}

/// What is wrong with a uid that is not the stored one; an empty uid stands for any.
fn other_incarnation(known: &Meta, uid: &Uid) -> Option<String> {
    let is_other = !uid.is_empty() && *uid != known.uid;
    is_other.then(|| {
        format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", known.uid)
    })
}
