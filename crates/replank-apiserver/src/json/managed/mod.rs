//! Who manages which fields of an object: every write over the wire is recorded, and server-side apply merges by it
//! (apimachinery `util/managedfields`, structured-merge-diff `merge`).

mod entries;
pub(super) mod scale;
mod schema;
mod set;
mod walk;

use serde_json::Value;

use crate::server::{ApiError, Cause};
use entries::{Entries, Entry, Manager};
use set::Set;
use walk::Comparison;

pub(super) use schema::Part;

/// Managers by update are joined where they are more than these.
const UPDATERS_MAX: usize = 10;

/// What is the same for all writes of a kind at one address.
#[derive(Clone)]
pub(super) struct Keeper<'s> {
    /// The type of the object.
    pub(super) of: Part<'s>,
    /// What a new object is before anything is written into it: the members that Go never leaves out.
    pub(super) empty: Value,
    /// The version in which it is written.
    pub(super) api_version: String,
    /// `status` and the like; empty for the object itself.
    pub(super) subresource: &'static str,
    /// Fields that a write at this address does not change: nobody manages them by it.
    pub(super) reset: &'static [&'static str],
    /// The moment.
    pub(super) now: String,
    /// The other versions in which fields are managed; `None` where there is one alone.
    pub(super) versions: Option<&'s dyn Others>,
}

/// Other versions in which fields of an object are managed.
pub(super) trait Others {
    /// The type of the object in a version.
    fn part(&self, api_version: &str) -> Option<Part<'_>>;

    /// The object in a version.
    ///
    /// # Errors
    /// Why it cannot be converted.
    fn convert(&self, value: &Value, api_version: &str) -> Result<Other, ApiError>;
}

/// An object in another version.
#[derive(Debug)]
pub(super) enum Other {
    /// What it is there.
    Known(Value),
    /// There is no such version any more: nobody manages fields in it.
    Gone,
    /// Nobody knows how it is there: it is taken to be the same.
    Unknown,
}

/// Fields of which nobody keeps account.
const STRIPPED: [&str; 12] = [
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.clusterName",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
];

/// Annotation of client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What an apply has come to.
pub(super) struct Applied {
    /// The object, its managers written into it.
    pub(super) object: Value,
}

impl Keeper<'_> {
    /// Records an update or a creation (`live` is `None`) in the new state.
    ///
    /// # Errors
    /// Where the states cannot be compared in the versions of others.
    pub(super) fn update(&self, live: Option<&Value>, new: &mut Value, name: &str) -> Result<(), ApiError> {
        let is_subresource = !self.subresource.is_empty();
        let was = live.unwrap_or(&self.empty);
        // Of what has no types nobody keeps account, and what there was is forgotten.
        if [was, new].into_iter().any(|value| walk::untypable(self.of, value).is_some()) {
            entries::write(new, &Entries::new());
            return Ok(());
        }
        let entries = if !is_subresource && entries::is_reset(new) {
            Entries::new()
        } else {
            let given = if is_subresource { Entries::new() } else { entries::read(new) };
            if given.is_empty() { entries::read(was) } else { given }
        };
        // What nobody has ever kept account of is not begun with by an update.
        if entries.is_empty() && live.is_some() {
            entries::write(new, &entries);
            return Ok(());
        }
        let manager = self.manager(name, false);
        let mut entries = self.updated(was, new, entries, &manager)?;
        cap(&mut entries);
        entries::write(new, &entries);
        Ok(())
    }

    fn manager(&self, name: &str, applies: bool) -> Manager {
        Manager {
            name: if name.is_empty() { "unknown".to_owned() } else { name.to_owned() },
            applies,
            api_version: if applies { String::new() } else { self.api_version.clone() },
            subresource: self.subresource.to_owned(),
        }
    }

    /// The entries after an update: what has changed is taken from all others.
    fn updated(
        &self,
        was: &Value,
        new: &Value,
        mut entries: Entries,
        manager: &Manager,
    ) -> Result<Entries, ApiError> {
        let (was, new) = (bare(was), bare(new));
        let mut compared = self.compared(&was, &new);
        let own = compared.here();
        let changed = own.modified.union(&own.added);
        for entry in entries.values_mut() {
            match compared.at(&entry.api_version)? {
                Some(seen) => {
                    let changed = seen.modified.union(&seen.added);
                    entry.set = entry.set.difference(&changed).difference(&seen.removed);
                }
                None => entry.set = Set::default(),
            }
        }
        let own =
            changed.recursive_difference(&set::of_paths(self.reset)).difference(&set::of_paths(&STRIPPED));
        if !own.is_empty() {
            let entry = entries.entry(manager.clone()).or_default();
            entry.set = entry.set.union(&own);
            entry.api_version.clone_from(&self.api_version);
            entry.time = Some(self.now.clone());
        }
        entries.retain(|_, entry| !entry.set.is_empty());
        Ok(entries)
    }

    /// What differs between two states, in each version in which somebody manages fields.
    fn compared<'k>(&'k self, was: &'k Value, new: &'k Value) -> Compared<'k> {
        let seen = walk::compare(self.of, was, new).without(&set::of_paths(self.reset));
        Compared { keeper: self, was, new, known: vec![(self.api_version.clone(), Some(seen))] }
    }

    /// The type of the object in a version, and how a value is there.
    fn other<'k>(&'k self, value: &Value, api_version: &str) -> Result<Option<(Part<'k>, Value)>, ApiError> {
        let same = || Ok(Some((self.of, value.clone())));
        let Some(versions) = self.versions.filter(|_| api_version != self.api_version) else { return same() };
        match versions.convert(value, api_version)? {
            Other::Gone => Ok(None),
            Other::Unknown => same(),
            Other::Known(there) => match versions.part(api_version) {
                Some(of) => Ok(Some((of, there))),
                None => same(),
            },
        }
    }

    /// A value of another version in that of the request.
    fn back(&self, value: Value) -> Result<Value, ApiError> {
        let Some(versions) = self.versions else { return Ok(value) };
        match versions.convert(&value, &self.api_version)? {
            Other::Known(value) => Ok(value),
            Other::Gone | Other::Unknown => Ok(value),
        }
    }

    /// Applies a configuration to an object that may not be there yet.
    ///
    /// # Errors
    /// 409 where others manage fields that it changes, 500 where it cannot be merged.
    pub(super) fn apply(
        &self,
        live: Option<&Value>,
        applied: &Value,
        name: &str,
        force: bool,
    ) -> Result<Applied, ApiError> {
        let was = live.unwrap_or(&self.empty);
        let mut entries = entries::read(was);
        let untypable = walk::untypable(self.of, was);
        if entries.is_empty() && live.is_some() {
            if let Some(why) = untypable {
                let what = "failed to create manager for existing fields: failed to convert new object";
                return Err(ApiError::internal(&format!("{what} ({}) to smd typed: {why}", shown(was))));
            }
            // Whatever is there was written before anybody kept account.
            let manager = self.manager("before-first-apply", false);
            entries = self.updated(&self.empty, was, entries, &manager)?;
        }
        let result = match self.merged(was, applied, entries.clone(), name, force) {
            Err(Refused::Conflicts(conflicts)) if name == "kubectl" => {
                self.allowed(was, applied, entries, conflicts)
            }
            other => other,
        };
        let (mut object, entries) = result.map_err(|refused| refused.into_error(applied))?;
        if name == "kubectl" && last_applied(&object).is_some() {
            let mut text = applied.clone();
            if let Some(annotations) =
                text.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
            {
                annotations.remove(LAST_APPLIED);
            }
            object["metadata"]["annotations"][LAST_APPLIED] = format!("{text}\n").into();
        }
        entries::write(&mut object, &entries);
        Ok(Applied { object })
    }

    /// Merges, unless somebody else manages what would change.
    fn merged(
        &self,
        was: &Value,
        applied: &Value,
        mut entries: Entries,
        name: &str,
        force: bool,
    ) -> Result<(Value, Entries), Refused> {
        walk::check(self.of, applied).map_err(Refused::Schema)?;
        let live = bare(was);
        let merged = walk::merge(self.of, &live, &bare(applied)).map_err(Refused::Merge)?;
        let manager = self.manager(name, true);
        let last = entries.get(&manager).cloned();
        let reset = set::of_paths(self.reset);
        let set = walk::to_set(self.of, &bare(applied)).recursive_difference(&reset);
        let entry = Entry { set, api_version: self.api_version.clone(), time: Some(self.now.clone()) };
        let before = entries.insert(manager.clone(), entry);
        let new = match last.filter(|last| !last.set.is_empty()) {
            Some(last) => self.pruned(&merged, &entries, &last)?,
            None => merged,
        };
        let mut compared = self.compared(&live, &new);
        let mut conflicts = Vec::new();
        for (other, entry) in entries.iter_mut().filter(|(other, _)| **other != manager) {
            let Some(seen) = compared.at(&entry.api_version)? else {
                entry.set = Set::default();
                continue;
            };
            let both = entry.set.intersection(&seen.modified.union(&seen.added));
            if !both.is_empty() {
                conflicts.push((other.clone(), both.clone()));
            }
            entry.set = entry.set.difference(&both).difference(&seen.removed);
        }
        if !force && !conflicts.is_empty() {
            return Err(Refused::Conflicts(conflicts));
        }
        if let Some(entry) = entries.get_mut(&manager) {
            entry.set = entry.set.difference(&set::of_paths(&STRIPPED));
            // What leaves the object as it is gets no time of its own.
            if new == live {
                entry.time = before.and_then(|before| before.time);
            }
        }
        entries.retain(|_, entry| !entry.set.is_empty());
        Ok((with_meta(new, was), entries))
    }

    /// What is merged, less what was applied before and is no more, unless somebody else manages it.
    /// Each manager's fields are looked at in its own version.
    fn pruned(&self, merged: &Value, entries: &Entries, last: &Entry) -> Result<Value, ApiError> {
        let Some((of, there)) = self.other(merged, &last.api_version)? else { return Ok(merged.clone()) };
        let gone = walk::with_named(of, &last.set);
        let mut pruned = self.back(walk::remove(of, &there, &gone))?;
        let mut versions: Vec<&String> = entries.values().map(|entry| &entry.api_version).collect();
        versions.sort();
        versions.dedup();
        for version in versions {
            let Some((of, whole)) = self.other(merged, version)? else { continue };
            let Some((_, left)) = self.other(&pruned, version)? else { continue };
            let named = |set: &Set| walk::with_named(of, set);
            let managed = entries.values().filter(|entry| entry.api_version == *version);
            let managed = managed.fold(Set::default(), |all, entry| all.union(&entry.set));
            let kept = named(&walk::to_set(of, &left)).union(&named(&managed));
            let all = named(&walk::to_set(of, &whole));
            pruned = self.back(walk::remove(of, &whole, &all.difference(&kept)))?;
        }
        // What hangs on nobody stays, unless it was applied before.
        let Some((_, left)) = self.other(&pruned, &last.api_version)? else { return Ok(pruned) };
        let left = walk::with_named(of, &walk::to_set(of, &left));
        let all = walk::with_named(of, &walk::to_set(of, &there));
        self.back(walk::remove(of, &there, &all.difference(&left).intersection(&gone)))
    }

    /// Conflicts with what client-side apply has written are none for kubectl: it goes over to server-side apply.
    fn allowed(
        &self,
        was: &Value,
        applied: &Value,
        entries: Entries,
        conflicts: Conflicts,
    ) -> Result<(Value, Entries), Refused> {
        let text = last_applied(was).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(before) = text.filter(|before| before["apiVersion"] == self.api_version.as_str()) else {
            return Err(Refused::Conflicts(conflicts));
        };
        let compared = walk::compare(self.of, &bare(&before), &bare(was));
        let changed = compared.modified.union(&compared.added).union(&compared.removed);
        let allowed = walk::to_set(self.of, &bare(&before)).difference(&changed);
        let left: Conflicts = conflicts
            .into_iter()
            .map(|(who, set)| (who, set.difference(&allowed)))
            .filter(|(_, set)| !set.is_empty())
            .collect();
        if left.is_empty() {
            return self.merged(was, applied, entries, "kubectl", true);
        }
        Err(Refused::Conflicts(left))
    }
}

/// What differs between two states, version by version.
struct Compared<'k> {
    keeper: &'k Keeper<'k>,
    was: &'k Value,
    new: &'k Value,
    known: Vec<(String, Option<Comparison>)>,
}

impl Compared<'_> {
    /// In the version of the request.
    fn here(&self) -> Comparison {
        self.known.first().and_then(|(_, seen)| seen.clone()).unwrap_or_default()
    }

    /// In another version; `None` where there is none such any more.
    fn at(&mut self, api_version: &str) -> Result<Option<Comparison>, ApiError> {
        if let Some((_, seen)) = self.known.iter().find(|(known, _)| known == api_version) {
            return Ok(seen.clone());
        }
        let reset = set::of_paths(self.keeper.reset);
        // What is not there yet is in no version.
        let was = match self.was.get("apiVersion") {
            Some(_) => self.keeper.other(self.was, api_version)?.map(|(_, was)| was),
            None => Some(self.was.clone()),
        };
        let new = self.keeper.other(self.new, api_version)?;
        let seen = was.zip(new).map(|(was, (of, new))| walk::compare(of, &was, &new).without(&reset));
        self.known.push((api_version.to_owned(), seen.clone()));
        Ok(seen)
    }
}

/// Others, and what of theirs would change.
type Conflicts = Vec<(Manager, Set)>;

enum Refused {
    Conflicts(Conflicts),
    /// What is wrong with another version.
    Other(ApiError),
    Schema(String),
    Merge(String),
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self::Other(error)
    }
}

impl Refused {
    fn into_error(self, applied: &Value) -> ApiError {
        match self {
            Self::Conflicts(conflicts) => conflict(conflicts),
            Self::Other(error) => error,
            Self::Schema(why) => ApiError::internal(&format!(
                "failed to create typed patch object ({}): {why}",
                shown(applied)
            )),
            Self::Merge(why) => ApiError::internal(&format!("failed to merge config: {why}")),
        }
    }
}

/// An object by its namespace, name, version and kind.
fn shown(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion");
    let version = if api_version.contains('/') { String::new() } else { "/".to_owned() } + api_version;
    let (namespace, name, kind) = (text("/metadata/namespace"), text("/metadata/name"), text("/kind"));
    format!("{namespace}/{name}; {version}, Kind={kind}")
}

fn conflict(mut conflicts: Conflicts) -> ApiError {
    conflicts.sort_by_key(|(who, _)| who.id());
    let pairs: Vec<(String, String)> = conflicts
        .into_iter()
        .flat_map(|(who, set)| set.shown().into_iter().map(move |path| (who.shown(), path)))
        .collect();
    let message = match pairs.as_slice() {
        [(who, path)] => format!("Apply failed with 1 conflict: conflict with {who}: {path}"),
        pairs => {
            let mut lines = Vec::new();
            let mut last = "";
            for (who, path) in pairs {
                if last != who {
                    lines.push(format!("conflicts with {who}:"));
                    last = who;
                }
                lines.push(format!("- {path}"));
            }
            format!("Apply failed with {} conflicts: {}", pairs.len(), lines.join("\n"))
        }
    };
    let causes = pairs.into_iter().map(|(who, path)| Cause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {who}"),
        field: Some(path),
    });
    ApiError::apply_conflict(message, causes.collect())
}

fn last_applied(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    Some(text).filter(|text| !text.is_empty())
}

/// Joins the oldest managers by update where there are too many, those of one version to one.
fn cap(entries: &mut Entries) {
    let mut updaters: Vec<Manager> = entries.keys().filter(|manager| !manager.applies).cloned().collect();
    let mut left = updaters.len();
    updaters.sort_by(|one, other| (&entries[one].time, one).cmp(&(&entries[other].time, other)));
    let mut firsts: Vec<Manager> = Vec::new();
    for manager in updaters {
        if left <= UPDATERS_MAX {
            break;
        }
        let bucket =
            Manager { name: "ancient-changes".to_owned(), subresource: String::new(), ..manager.clone() };
        let Some(first) = firsts.iter().find(|first| first.api_version == manager.api_version).cloned()
        else {
            firsts.push(manager);
            continue;
        };
        if !entries.contains_key(&bucket)
            && let Some(entry) = entries.remove(&first)
        {
            entries.insert(bucket.clone(), entry);
        }
        if let Some(gone) = entries.remove(&manager)
            && let Some(entry) = entries.get_mut(&bucket)
        {
            entry.set = entry.set.union(&gone.set);
            entry.time = gone.time;
        }
        left -= 1;
    }
}

/// An object without its managers: they do not manage themselves.
fn bare(object: &Value) -> Value {
    let mut bare = object.clone();
    if let Some(meta) = bare.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.remove("managedFields");
    }
    bare
}

/// Apply does not touch who an object is.
fn with_meta(mut new: Value, was: &Value) -> Value {
    let Some(list) = was.pointer("/metadata/managedFields").cloned() else { return new };
    if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.insert("managedFields".to_owned(), list);
    }
    new
}

#[cfg(test)]
mod tests;
