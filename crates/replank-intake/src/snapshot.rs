//! A cluster's objects, from whatever they were saved in.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::thread;

use replank_model::object::meta::Key;
use replank_model::object::pod::PodSpec;
use replank_model::object::{Kind, Object, Projector, render};
use replank_model::text::Text;
use replank_model::time::Time;
use replank_model::tree;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde_json::Value;

use crate::ahead;
use crate::check::{Identity, identify};
use crate::convert::{AsWritten, Conversion, Converted, Converter, Stands};
use crate::document::{Document, Found, ItemText};
use crate::json::stream::names_type;
use crate::limits::Limits;
use crate::now::{Basis, Now, NowFinder};
use crate::problem::{Lost, Place, Problem, ProblemKind};
use crate::read::Report;
use crate::refused::refusal;
use crate::source::{Fatal, PassedOver, Source};

/// Problems that are kept. More are counted: a thousand of them say that the input is something else.
const PROBLEMS_MAX: usize = 1000;

/// How a snapshot is loaded.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bounds on what is read.
    pub limits: Limits,
    /// The snapshot's moment, where the caller knows it (`--now`).
    pub now: Option<Time>,
    /// Whether it is kept where each object was read: code scanning wants to know.
    pub with_places: bool,
    /// Times after this one are not used as the snapshot's time.
    pub not_after: Option<Time>,
}

/// The objects of a cluster at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The objects, each once, by kind, namespace and name: their order does not depend on that of the input.
    pub objects: Vec<Object>,
    /// The moment the snapshot was made at; `None` where no object tells any time.
    pub now: Option<Now>,
    /// Where each object was read, in the order of the objects, if that was asked for.
    pub places: Vec<Place>,
    /// What was read, in numbers.
    pub summary: Summary,
    /// What was not as it must be, in the order of the input; the first thousand.
    pub problems: Vec<Problem>,
}

/// What was read, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files and streams that were read.
    pub sources: usize,
    /// Those of them without any document.
    pub empty_sources: Vec<Text>,
    /// Documents and items of lists that were read, whatever they are.
    pub documents: u64,
    /// Documents without content, which are not counted above.
    pub empty_documents: u64,
    /// Objects by kind; a kind that is not typed has its group behind it, as in `Workflow.argoproj.io`.
    pub objects: BTreeMap<String, u64>,
    /// Kinds of which there was a list that says so, perhaps an empty one: `PodDisruptionBudget`.
    pub listed: BTreeSet<String>,
    /// Objects that were there again, the same or in another state.
    pub duplicates: u64,
    /// Objects that were written in older words than those in which they are read, mostly an older API version.
    pub converted: BTreeMap<Conversion, u64>,
    /// All problems.
    pub problems: u64,
    /// Those of them because of which something is missing.
    pub losses: u64,
    /// Objects that are missing because of them, by kind; what other parts hold is not known.
    pub lost: BTreeMap<String, u64>,
    /// Files in directories that were not read.
    pub passed_over: Vec<PassedOver>,
}

/// What tells one object from another. Versions of one group are views of the same object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Slot {
    kind: Kind,
    /// Kind and group where the kind is not typed, else nothing.
    other: Option<(Text, Text)>,
    key: Key,
}

impl Slot {
    fn of(object: &Object) -> Self {
        let kind = object.kind();
        let other =
            (kind == Kind::Other).then(|| (Text::from(object.kind_name()), Text::from(group(object))));
        Self { kind, other, key: object.meta().key() }
    }
}

fn group(object: &Object) -> &str {
    object.api_version().split_once('/').map_or("", |(group, _)| group)
}

impl Snapshot {
    /// Loads everything that the sources hold, each object read as it was written.
    ///
    /// # Errors
    /// As [`Snapshot::load_with`].
    pub fn load(sources: Vec<Source>, options: &Options) -> Result<Self, Fatal> {
        Self::load_with(sources, options, &mut AsWritten)
    }

    /// Loads everything that the sources hold, objects of older API versions by way of a converter.
    ///
    /// An object that is there more than once is taken in the state with the highest `resourceVersion`, then the
    /// highest `generation`, then the JSON text that sorts last: so the order of sources and documents never
    /// matters. That states differ is a problem; that they are the same is not.
    ///
    /// # Errors
    /// Where a source cannot be found or opened, or where there is not one object in any of them.
    pub fn load_with(
        sources: Vec<Source>,
        options: &Options,
        converter: &mut dyn Converter,
    ) -> Result<Self, Fatal> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let making = || Making {
            converter: converter.another(),
            projector: Projector::default(),
            now: NowFinder::new(options.not_after),
        };
        let mut loading = Loading::default();
        let makers = std::iter::repeat_with(making).take(threads).collect();
        let (report, makers) = ahead::read(sources, &options.limits, makers, &mut |made| match made {
            Made::Object(object, place) => loading.object(object, place),
            Made::Document => loading.summary.documents += 1,
            Made::Converted(conversion) => *loading.summary.converted.entry(conversion).or_default() += 1,
            Made::List(kind) => loading.list(&kind),
            Made::Lost(kind, problem) => loading.problem_of(kind, problem),
            Made::Problem(problem) => loading.problem(problem),
        })?;
        let now = makers.into_iter().map(|maker| maker.now).reduce(NowFinder::and);
        loading.finish(report, now.and_then(|now| now.now()), options)
    }
}

/// Threads that make objects at the most: the one that finds their texts has no more for them.
const THREADS_MAX: usize = 4;

/// What one thread makes of what is found.
enum Made {
    /// A document or an item of a list, whatever becomes of it.
    Document,
    /// An object.
    Object(Object, Place),
    /// What was read in other words than those that were written.
    Converted(Conversion),
    /// A list that says of which kind its items are.
    List(String),
    /// A problem because of which an object of a kind is missing.
    Lost(Option<String>, Problem),
    /// Any other.
    Problem(Problem),
}

/// Makes objects of documents.
struct Making {
    converter: Box<dyn Converter + Send>,
    projector: Projector,
    now: NowFinder,
}

impl ahead::Maker for Making {
    type Made = Made;

    fn take(&mut self, found: Found, made: &mut Vec<Made>) {
        match found {
            Found::Document(document) => self.document(document, made),
            Found::List { kind, .. } => made.push(Made::List(kind)),
            Found::Problem(problem) => made.push(Made::Problem(problem)),
        }
    }

    fn take_text(&mut self, item: &ItemText, limits: &Limits, made: &mut Vec<Made>) -> bool {
        // A value takes two bytes at least: bounds are looked at where more is read.
        if item.text.len() / 2 > limits.nodes_max || !names_type(&item.text) {
            return false;
        }
        let Ok(text) = std::str::from_utf8(&item.text) else { return false };
        let (now, converter) = (&mut self.now, &mut self.converter);
        let pod = self
            .projector
            .pod_of_text(text, &mut |pod| leaves_owners(&mut **converter, pod) && now.see_pod(pod));
        let Some(pod) = pod.filter(|pod| refusal(pod).is_none()) else { return false };
        made.extend([Made::Document, Made::Object(pod, item.place())]);
        true
    }
}

/// Whether a converter leaves what a pod's metadata says of its owners.
fn leaves_owners(converter: &mut dyn Converter, pod: tree::Item<'_, '_>) -> bool {
    let owners = pod.get("metadata").and_then(|metadata| metadata.get("ownerReferences"));
    converter.leaves("v1", "Pod")
        && owners.into_iter().flat_map(tree::Item::items).all(|owner| {
            let text = |key: &str| owner.get(key).and_then(tree::Item::text);
            text("apiVersion").zip(text("kind")).is_none_or(|(version, kind)| converter.leaves(version, kind))
        })
}

impl Making {
    fn document(&mut self, mut document: Document, made: &mut Vec<Made>) {
        made.push(Made::Document);
        if let Err(kind) = identify(&document.value) {
            let name = kind_of(&document.value);
            return made.push(Made::Lost(name, document.problem(kind)));
        }
        self.now.see(&document.value);
        if !self.convert(&mut document, made) {
            return;
        }
        settle_namespace(&mut document.value);
        let name = kind_of(&document.value);
        let value = std::mem::take(&mut document.value);
        match self.projector.object(value) {
            Ok(object) => match refusal(&object) {
                None => made.push(Made::Object(object, document.place())),
                Some(why) => {
                    let object = format!("{} {}", object.kind_name(), object.meta().key());
                    made.push(Made::Lost(name, document.problem(ProblemKind::Refused { object, why })));
                }
            },
            Err(error) => {
                let kind = ProblemKind::Projection { message: error.to_string() };
                made.push(Made::Lost(name, document.problem(kind)));
            }
        }
    }

    /// Brings a document to the version in which its kind is read; whether it is to be read at all.
    fn convert(&mut self, document: &mut Document, made: &mut Vec<Made>) -> bool {
        let (why, stands) = match self.converter.convert(&mut document.value) {
            Converted::AsWritten => return true,
            Converted::To(conversion) => {
                made.push(Made::Converted(conversion));
                return true;
            }
            Converted::Not { why, stands } => (why, stands),
        };
        let object = identify(&document.value).map_or_else(|_| String::new(), |identity| in_words(&identity));
        let problem = document.problem(ProblemKind::OldVersion { object, why });
        made.push(match stands {
            Stands::Read => Made::Problem(Problem { lost: Lost::Nothing, ..problem }),
            Stands::Unknown => Made::Lost(kind_of(&document.value), problem),
        });
        stands == Stands::Read
    }
}

#[derive(Default)]
struct Loading {
    objects: Vec<(Slot, Object, Place)>,
    /// Where each object is among them: for look-up only.
    places: FxHashMap<Slot, usize>,
    /// Pods of one template share its spec, whoever has read them: by where a spec stands, the spec itself (so that no other comes to stand there) and the one
    /// that is shared.
    specs: FxHashMap<usize, (Arc<PodSpec>, Arc<PodSpec>)>,
    /// Those that are shared, by their hash.
    shared: FxHashMap<u64, Vec<Arc<PodSpec>>>,
    summary: Summary,
    problems: Vec<Problem>,
}

impl Loading {
    /// Has a pod share the spec of its siblings that another thread has read.
    fn share(&mut self, object: Object) -> Object {
        let Object::Pod(mut pod) = object else { return object };
        let at = Arc::as_ptr(&pod.spec) as usize;
        let shared = &mut self.shared;
        let (_, shared) = self.specs.entry(at).or_insert_with(|| {
            let alike = shared.entry(FxBuildHasher.hash_one(&*pod.spec)).or_default();
            if let Some(known) = alike.iter().find(|known| ***known == *pod.spec) {
                return (pod.spec.clone(), known.clone());
            }
            alike.push(pod.spec.clone());
            (pod.spec.clone(), pod.spec.clone())
        });
        if !Arc::ptr_eq(shared, &pod.spec) {
            let shared = shared.clone();
            Arc::make_mut(&mut pod).spec = shared;
        }
        Object::Pod(pod)
    }

    fn list(&mut self, kind: &str) {
        self.summary.listed.insert(kind.strip_suffix("List").unwrap_or(kind).to_owned());
    }

    fn object(&mut self, object: Object, place: Place) {
        let object = self.share(object);
        let slot = Slot::of(&object);
        let Some(&at) = self.places.get(&slot) else {
            self.places.insert(slot.clone(), self.objects.len());
            self.objects.push((slot, object, place));
            return;
        };
        let (_, known, known_place) = &mut self.objects[at];
        self.summary.duplicates += 1;
        let (order, why) = newer(&object, known);
        let (taken, left) = match order {
            Ordering::Equal => return,
            Ordering::Less => (known_place.clone(), place),
            Ordering::Greater => {
                *known = object;
                (place.clone(), std::mem::replace(known_place, place))
            }
        };
        let object = format!("{} {}", self.objects[at].1.kind_name(), slot.key);
        let kind = ProblemKind::Duplicate { object, taken: taken.to_string(), why };
        self.problem(Problem { place: left, kind, lost: Lost::Nothing });
    }

    /// A problem because of which an object of a kind is missing.
    fn problem_of(&mut self, kind: Option<String>, problem: Problem) {
        if let Some(kind) = kind {
            *self.summary.lost.entry(kind).or_default() += 1;
        }
        self.problem(problem);
    }

    fn problem(&mut self, problem: Problem) {
        self.summary.problems += 1;
        self.summary.losses += u64::from(problem.lost != Lost::Nothing);
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    fn finish(mut self, report: Report, now: Option<Now>, options: &Options) -> Result<Snapshot, Fatal> {
        self.summary.sources = report.sources.len();
        self.summary.empty_sources = report.empty_sources;
        self.summary.empty_documents = report.empty_documents;
        self.summary.passed_over = report.passed_over;
        if self.objects.is_empty() {
            return Err(Fatal::NoObject { sources: report.sources, problems: self.problems });
        }
        self.objects.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let places = match options.with_places {
            true => self.objects.iter().map(|(.., place)| place.clone()).collect(),
            false => Vec::new(),
        };
        let objects: Vec<Object> = self.objects.into_iter().map(|(_, object, _)| object).collect();
        for object in &objects {
            let name = match (object.kind(), group(object)) {
                (Kind::Other, group) if !group.is_empty() => format!("{}.{group}", object.kind_name()),
                _ => object.kind_name().to_owned(),
            };
            *self.summary.objects.entry(name).or_default() += 1;
        }
        let now = options.now.map(|time| Now { time, basis: Basis::Given }).or(now);
        Ok(Snapshot { objects, places, now, summary: self.summary, problems: self.problems })
    }
}

/// The kind that a document says it is of.
fn kind_of(value: &Value) -> Option<String> {
    value.get("kind").and_then(Value::as_str).filter(|kind| !kind.is_empty()).map(ToOwned::to_owned)
}

/// `extensions/v1beta1 Deployment shop/web`
fn in_words(identity: &Identity<'_>) -> String {
    let namespace = identity.namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{} {} {namespace}{}", identity.api_version, identity.kind, identity.name)
}

/// Which of two states of one object is taken, and by what.
fn newer(a: &Object, b: &Object) -> (Ordering, &'static str) {
    let (a_meta, b_meta) = (a.meta(), b.meta());
    let by_version = a_meta.resource_version.cmp(&b_meta.resource_version);
    let by_generation = a_meta.generation.cmp(&b_meta.generation);
    match (by_version, by_generation) {
        (Ordering::Equal, Ordering::Equal) => {
            let text = |object: &Object| render(object).to_string();
            (text(a).cmp(&text(b)), "its text, which sorts last: the two differ in nothing else")
        }
        (Ordering::Equal, order) => (order, "its higher metadata.generation"),
        (order, _) => (order, "its higher resourceVersion"),
    }
}

/// Puts an object of a namespaced kind that names no namespace into `default`, where kubectl would put it, and
/// takes a namespace away from kinds that have none. Kinds that are not typed stay as they are.
fn settle_namespace(value: &mut Value) {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(kind) = Kind::of(&text(value, "apiVersion"), &text(value, "kind")) else { return };
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let has_one = metadata.get("namespace").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    match (kind.is_namespaced(), has_one) {
        (true, false) => {
            metadata.insert("namespace".into(), "default".into());
        }
        (false, true) => {
            metadata.remove("namespace");
        }
        (true, true) | (false, false) => {}
    }
}
