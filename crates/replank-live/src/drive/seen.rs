//! What is known of the cluster: from what lists and watches tell to what an engine observes.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use replank_model::delta::{Delta, Unread};
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::{Kind, Object, ObjectRef};
use replank_model::view::View;

use super::event::Event;
use super::source::Source;
use super::told::Seen;

/// How long a watch may be away until what destroys something waits for it.
const DOWN_MAX: Duration = Duration::from_secs(5);

/// A resource and where it stands.
#[derive(Debug)]
struct Followed {
    source: Source,
    /// Names that the list that is being read has shown so far, and what it changed.
    listing: Option<Listing>,
    /// Whether it has been listed once, or never will be.
    has_been_listed: bool,
    /// Since when it has not been seen, where it is not at the moment.
    down_since: Option<Instant>,
    /// Whether it was said that it is not.
    is_lost: bool,
}

#[derive(Debug, Default)]
struct Listing {
    keys: FxHashSet<Key>,
    added: usize,
    changed: usize,
}

/// See the module's page.
#[derive(Debug)]
pub(super) struct Cluster {
    followed: Vec<Followed>,
    pub(super) view: View,
}

/// What follows from what was seen.
#[derive(Debug, Default)]
pub(super) struct Learned {
    pub(super) deltas: Vec<Delta>,
    pub(super) events: Vec<Event>,
}

impl Cluster {
    pub(super) fn new(sources: Vec<Source>) -> Self {
        let followed = sources.into_iter().map(|source| Followed {
            source,
            listing: None,
            has_been_listed: false,
            down_since: Some(Instant::now()),
            is_lost: false,
        });
        Self { followed: followed.collect(), view: View::default() }
    }

    /// Whether every resource has been listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.followed.iter().all(|one| one.has_been_listed)
    }

    /// Resources of which it is not known how they are: they are listed anew, or have not been seen for a while.
    pub(super) fn unseen(&self) -> Vec<String> {
        let is_unseen = |one: &&Followed| {
            let is_down = one.down_since.is_some_and(|since| since.elapsed() > DOWN_MAX);
            is_down || one.listing.is_some()
        };
        self.followed.iter().filter(is_unseen).map(|one| one.source.name()).collect()
    }

    /// Whether objects of a kind are seen at all.
    pub(super) fn follows(&self, api_version: &str, kind: &str) -> bool {
        self.followed.iter().any(|one| one.source.holds(api_version, kind))
    }

    /// Takes in what was seen of the resource at a place.
    pub(super) fn see(&mut self, place: usize, all: Vec<Seen>) -> Learned {
        let mut learned = Learned::default();
        for seen in all {
            self.see_one(place, seen, &mut learned);
        }
        learned
    }

    fn see_one(&mut self, place: usize, seen: Seen, learned: &mut Learned) {
        let one = &mut self.followed[place];
        match seen {
            Seen::ListBegins => one.listing = Some(Listing::default()),
            Seen::ListEnds => self.list_ends(place, learned),
            Seen::Object(object) => {
                let key = object.meta().key();
                let known = known(&self.view, &object);
                if let Some(listing) = &mut one.listing {
                    listing.keys.insert(key);
                    match &known {
                        None => listing.added += 1,
                        Some(known) if is_same(known, &object) => return,
                        Some(_) => listing.changed += 1,
                    }
                }
                // Another incarnation of the name: the one before is gone.
                if let Some(known) = known.filter(|known| known.meta().uid != object.meta().uid)
                    && known.meta().resource_version <= object.meta().resource_version
                {
                    self.apply(Delta::Gone(known.reference()), learned);
                }
                self.apply(Delta::Put(object), learned);
            }
            Seen::Unread { object, node, why } => {
                if let Some(listing) = &mut one.listing {
                    listing.keys.insert(object.key.clone());
                }
                // Said once, however often it changes.
                if !self.view.unread().any(|known| known.object == object) {
                    let object = format!("{} {}", one.source.resource.kind, object.key);
                    learned.events.push(Event::Unread { object, why });
                }
                self.apply(Delta::Unread(Unread { object, node }), learned);
            }
            Seen::Gone(gone) => self.apply(Delta::Gone(gone), learned),
            Seen::Up => {
                let was_lost = std::mem::take(&mut one.is_lost);
                one.down_since = None;
                if was_lost && one.has_been_listed {
                    learned.events.push(Event::Back { resource: one.source.name() });
                }
            }
            Seen::Down => {
                one.down_since.get_or_insert_with(Instant::now);
                one.is_lost = true;
            }
            Seen::Never => {
                (one.has_been_listed, one.down_since, one.listing) = (true, None, None);
            }
        }
    }

    /// What a whole list does not name is gone.
    fn list_ends(&mut self, place: usize, learned: &mut Learned) {
        let one = &mut self.followed[place];
        let Some(listing) = one.listing.take() else { return };
        let is_first = !std::mem::replace(&mut one.has_been_listed, true);
        let source = one.source.clone();
        let gone: Vec<ObjectRef> = self
            .view
            .objects_of(source.kind)
            .iter()
            .filter(|object| source.holds(object.api_version(), object.kind_name()))
            .map(Object::reference)
            .chain(self.view.unread().map(|unread| unread.object.clone()).filter(|object| {
                // An object without a type that cannot be read is of one of several resources.
                object.kind == source.kind && source.kind != Kind::Other
            }))
            .filter(|object| !listing.keys.contains(&object.key))
            .collect();
        let removed = gone.len();
        for object in gone {
            self.apply(Delta::Gone(object), learned);
        }
        if !is_first {
            let Listing { added, changed, .. } = listing;
            learned.events.push(Event::Relisted { resource: source.name(), added, changed, removed });
        }
    }

    fn apply(&mut self, delta: Delta, learned: &mut Learned) {
        self.view.apply(delta.clone());
        learned.deltas.push(delta);
    }

    /// Whether what was written has been seen.
    pub(super) fn has_seen(&self, written: &Written) -> bool {
        let object = &written.object;
        let known = match &written.untyped {
            None => self.view.object(object.kind, &object.key),
            Some((group, kind)) => self.view.other(group, kind, &object.key).cloned().map(Object::Other),
        };
        match (known, &written.state) {
            (None, State::Going) => true,
            (None, State::Version { is_new, .. }) => !is_new,
            (Some(known), State::Going) => {
                known.meta().uid != object.uid || known.meta().deletion_timestamp.is_some()
            }
            (Some(known), State::Version { version, .. }) => known.meta().resource_version >= *version,
        }
    }
}

/// What was written, and is to be seen before anything else is decided.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) object: ObjectRef,
    /// Group and kind, where the kind has no type.
    pub(super) untyped: Option<(String, String)>,
    pub(super) state: State,
}

/// What of it is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// That it is on its way out, or gone.
    Going,
    /// This version of it, or a later one.
    Version {
        version: ResourceVersion,
        /// Whether it was not there before.
        is_new: bool,
    },
}

/// An object as it is known, of kinds without a type, too.
pub(super) fn known(view: &View, object: &Object) -> Option<Object> {
    let key = object.meta().key();
    if let Object::Other(other) = object {
        return view.other(other.group(), &other.kind, &key).cloned().map(Object::Other);
    }
    view.object(object.kind(), &key)
}

/// Whether a list shows nothing new of an object.
fn is_same(known: &Object, listed: &Object) -> bool {
    let (known, listed) = (known.meta(), listed.meta());
    known.uid == listed.uid
        && known.resource_version == listed.resource_version
        && known.resource_version != ResourceVersion::default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::drive::read::Reader;
    use crate::resource::Resource;

    fn pods() -> Source {
        let resource = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            plural: "pods".to_owned(),
            kind: "Pod".to_owned(),
            is_namespaced: true,
        };
        Source { resource, kind: Kind::Pod, label: None, namespace: None, is_optional: false }
    }

    /// A cluster of which only pods are followed.
    struct Stage {
        cluster: Cluster,
        reader: Reader,
    }

    impl Stage {
        fn new() -> Self {
            Self { cluster: Cluster::new(vec![pods()]), reader: Reader::default() }
        }

        fn list(&mut self, items: &[Value]) -> Learned {
            let items = items.iter().map(|item| self.reader.object(&pods(), item.clone()));
            let all = std::iter::once(Seen::ListBegins).chain(items).chain([Seen::ListEnds]);
            let all = all.collect();
            self.cluster.see(0, all)
        }
    }

    fn pod(name: &str, uid: &str, version: u64) -> Value {
        json!({"metadata": {"name": name, "namespace": "shop", "uid": uid, "resourceVersion": version.to_string()},
            "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}})
    }

    /// `+web-0`, `-web-0`, `?web-0`.
    fn said(learned: &Learned) -> Vec<String> {
        let say = |delta: &Delta| match delta {
            Delta::Put(object) => format!("+{}@{}", object.meta().name, object.meta().resource_version.0),
            Delta::Gone(gone) => format!("-{}@{}", gone.key.name, gone.uid),
            Delta::Unread(unread) => format!("?{} on {:?}", unread.object.key.name, unread.node),
            Delta::Group(_)
            | Delta::GroupGone(_)
            | Delta::Instance(_)
            | Delta::InstanceGone(_)
            | Delta::Message(_)
            | Delta::MessageGone(_) => panic!("{delta:?}"),
        };
        learned.deltas.iter().map(say).collect()
    }

    #[test]
    fn a_list_read_anew_becomes_what_was_added_changed_and_removed() {
        let mut stage = Stage::new();
        assert!(!stage.cluster.is_complete());
        let first = stage.list(&[pod("a", "1", 5), pod("b", "2", 5), pod("c", "3", 5), pod("d", "4", 5)]);
        assert_eq!(said(&first), ["+a@5", "+b@5", "+c@5", "+d@5"]);
        assert!(stage.cluster.is_complete() && first.events.is_empty());
        // a is as it was, b has changed, c is gone, d is another one of the name, e is new.
        let again = stage.list(&[pod("a", "1", 5), pod("b", "2", 8), pod("d", "7", 9), pod("e", "6", 7)]);
        assert_eq!(said(&again), ["+b@8", "-d@4", "+d@9", "+e@7", "-c@3"]);
        let relisted = Event::Relisted { resource: "pods".to_owned(), added: 1, changed: 2, removed: 1 };
        assert_eq!(again.events, [relisted]);
        assert_eq!(stage.cluster.view.pods_on(&"n1".into()).len(), 4);
    }

    #[test]
    fn what_is_missing_from_a_list_that_broke_off_is_not_gone() {
        let mut stage = Stage::new();
        stage.list(&[pod("a", "1", 5), pod("b", "2", 5)]);
        let page = stage.reader.object(&pods(), pod("a", "1", 5));
        let broken = stage.cluster.see(0, vec![Seen::ListBegins, page, Seen::Down]);
        assert_eq!(said(&broken), Vec::<String>::new());
        assert_eq!(stage.cluster.unseen(), ["pods"], "what destroys something waits meanwhile");
        stage.list(&[pod("a", "1", 5), pod("b", "2", 5)]);
        stage.cluster.see(0, vec![Seen::Up]);
        assert_eq!(stage.cluster.unseen(), Vec::<String>::new());
    }

    #[test]
    fn a_pod_that_cannot_be_read_is_on_its_node_until_it_is_gone() {
        let mut stage = Stage::new();
        let mut broken = pod("a", "1", 5);
        broken["status"]["conditions"] = json!([{"type": 7}]);
        let learned = stage.list(&[broken]);
        assert_eq!(said(&learned), ["?a on Some(\"n1\")"]);
        assert!(
            matches!(&learned.events[..], [Event::Unread { object, why }]
            if object == "Pod shop/a" && why.contains("status.conditions[0].type")),
            "{learned:?}"
        );
        assert_eq!(stage.cluster.view.unread_on(&"n1".into()).count(), 1);
        assert_eq!(stage.cluster.view.unread_on(&"n2".into()).count(), 0);
        // It is no longer listed.
        assert_eq!(said(&stage.list(&[])), ["-a@1"]);
        assert_eq!(stage.cluster.view.unread_on(&"n1".into()).count(), 0);
    }

    #[test]
    fn what_was_written_is_seen_once_the_watch_shows_it_or_something_later() {
        let mut stage = Stage::new();
        stage.list(&[pod("a", "1", 5)]);
        let object = ObjectRef { kind: Kind::Pod, key: Key::new("shop", "a"), uid: "1".into() };
        let written = |state| Written { object: object.clone(), untyped: None, state };
        let at = |version| written(State::Version { version: ResourceVersion(version), is_new: false });
        assert!(stage.cluster.has_seen(&at(5)) && !stage.cluster.has_seen(&at(6)));
        assert!(!stage.cluster.has_seen(&written(State::Going)));
        let mut going = pod("a", "1", 7);
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let seen = stage.reader.object(&pods(), going);
        stage.cluster.see(0, vec![seen]);
        assert!(stage.cluster.has_seen(&at(6)) && stage.cluster.has_seen(&written(State::Going)));
        stage.cluster.see(0, vec![Seen::Gone(object.clone())]);
        assert!(stage.cluster.has_seen(&at(9)) && stage.cluster.has_seen(&written(State::Going)));
        let new = State::Version { version: ResourceVersion(9), is_new: true };
        assert!(!stage.cluster.has_seen(&written(new)), "what was made has yet to come");
    }
}
