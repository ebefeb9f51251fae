//! Decides what becomes of kustomizations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::decided::{Kustomized, Plan, Planned, Scanned};
use super::form::{self, How, Reference, Selector, Spot};
use super::load::{Loaded, objects};
use super::merge::{merged, patched, without_head};
use super::spots;
use crate::finding::Finding;
use crate::judge::Measure;
use crate::scan::Hint;
use crate::schema::Schema;
use crate::table::Gvk;
use crate::tree::Tree;

use super::super::fixing::fix;
use super::super::object;
use super::super::scanner::{Head, Scanner};

/// One whole object, before and after.
struct Object {
    head: Head,
    /// Its file, and its number there.
    file: PathBuf,
    number: usize,
}

impl Object {
    fn is_changed(&self) -> bool {
        self.head.old != self.head.new
    }
}

/// Whole objects of a file, before and after it is fixed; nothing in the place of one that stays as it is.
type Values = Vec<Option<(Value, Value)>>;

/// An object as a layer sees it, with the names that it has had.
#[derive(Clone)]
struct Seen {
    object: usize,
    names: Vec<String>,
}

struct Planner<'p> {
    measure: &'p Measure,
    schema: &'p Schema,
    tree: &'p dyn Scanned,
    loaded: Loaded,
    scanner: Scanner<'p>,
    objects: Vec<Object>,
    by_file: BTreeMap<PathBuf, Vec<usize>>,
    /// Of files with objects that a patch is for, until their group is done.
    values: BTreeMap<PathBuf, Values>,
    /// What each layer sees, before its own prefix.
    seen: BTreeMap<usize, Vec<Seen>>,
}

pub(super) fn plan(
    measure: &Measure,
    schema: &Schema,
    directories: &[PathBuf],
    tree: &dyn Scanned,
) -> Kustomized {
    let mut loaded = Loaded::default();
    for directory in directories {
        loaded.directory(directory);
    }
    let mut planner = Planner {
        measure,
        schema,
        tree,
        loaded,
        scanner: Scanner::new(measure, schema),
        objects: Vec::new(),
        by_file: BTreeMap::new(),
        values: BTreeMap::new(),
        seen: BTreeMap::new(),
    };
    let mut kustomized = Kustomized::default();
    for group in planner.groups() {
        planner.group(&group, &mut kustomized);
        planner.values.clear();
    }
    kustomized
}

impl Planner<'_> {
    /// The objects of a file, before and after it is fixed.
    fn file(&mut self, file: &Path) {
        if self.by_file.contains_key(file) {
            return;
        }
        let heads = match self.tree.heads(file) {
            Some(heads) => heads.to_vec(),
            None => {
                // What cannot be read has been told by the scan.
                let text = std::fs::read_to_string(file).unwrap_or_default();
                let is_concerned = self.tree.is_concerned(file);
                let lets_be =
                    |finding: &Finding| !is_concerned || self.tree.lets_be(file, finding.place.line);
                let name: Arc<str> = file.to_string_lossy().into();
                self.scanner.text(&name, &text, &Hint::default(), &lets_be).heads
            }
        };
        let first = self.objects.len();
        let objects = heads.into_iter().enumerate();
        self.objects.extend(objects.map(|(number, head)| Object { head, file: file.to_owned(), number }));
        let own = (first..self.objects.len()).collect();
        self.by_file.insert(file.to_owned(), own);
    }

    /// The objects of a file that change, as a whole.
    fn values(&mut self, file: &Path) -> &Values {
        if !self.values.contains_key(file) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let name: Arc<str> = file.to_string_lossy().into();
            let lets_be = |line: u32| self.tree.lets_be(file, line);
            let fixed = fix(self.measure, self.schema, &name, &text, &Hint::default(), &lets_be);
            let pairs = objects(&text).into_iter().zip(objects(&fixed.text));
            let change = |(before, after): (Option<Tree>, Option<Tree>)| {
                let (before, after) = (before?, after?);
                (gvk_of(&before) != gvk_of(&after)).then(|| (before.value(), after.value()))
            };
            self.values.insert(file.to_owned(), pairs.map(change).collect());
        }
        &self.values[file]
    }

    /// Layers that build on each other, or on the same files.
    fn groups(&self) -> Vec<Vec<usize>> {
        let count = self.loaded.layers.len();
        let mut group_of: Vec<usize> = (0..count).collect();
        let mut join = |a: usize, b: usize| {
            let (keep, gone) = (group_of[a].min(group_of[b]), group_of[a].max(group_of[b]));
            group_of.iter_mut().filter(|of| **of == gone).for_each(|of| *of = keep);
        };
        let mut first_of: BTreeMap<&Path, usize> = BTreeMap::new();
        for (index, layer) in self.loaded.layers.iter().enumerate() {
            layer.bases.iter().for_each(|base| join(index, *base));
            for file in &layer.resources {
                join(index, *first_of.entry(file).or_insert(index));
            }
        }
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (layer, group) in group_of.into_iter().enumerate() {
            groups.entry(group).or_default().push(layer);
        }
        groups.into_values().collect()
    }

    /// What a layer patches: what it lists itself, and what its bases come to.
    fn seen(&mut self, layer: usize) -> Vec<Seen> {
        if let Some(seen) = self.seen.get(&layer) {
            return seen.clone();
        }
        let of = &self.loaded.layers[layer];
        let (bases, resources) = (of.bases.clone(), of.resources.clone());
        let mut all = Vec::new();
        for file in &resources {
            for object in self.by_file.get(file).into_iter().flatten() {
                all.push(Seen { object: *object, names: vec![self.objects[*object].head.name.clone()] });
            }
        }
        for base in bases {
            let text =
                |key: &str| self.loaded.layers[base].tree.text_at(&[key]).unwrap_or_default().to_owned();
            let (prefix, suffix) = (text("namePrefix"), text("nameSuffix"));
            for mut seen in self.seen(base) {
                let last = seen.names.last().cloned().unwrap_or_default();
                seen.names.push(format!("{prefix}{last}{suffix}"));
                all.push(seen);
            }
        }
        self.seen.insert(layer, all.clone());
        all
    }

    fn group(&mut self, layers: &[usize], kustomized: &mut Kustomized) {
        let mut references = Vec::new();
        let mut problem = None;
        for layer in layers {
            match form::references(&mut self.loaded, *layer) {
                Ok(more) => references.extend(more),
                Err(why) => problem = problem.or(Some(why)),
            }
        }
        let files: BTreeSet<PathBuf> = layers
            .iter()
            .flat_map(|layer| {
                let layer = &self.loaded.layers[*layer];
                layer.resources.iter().chain([&layer.file]).cloned()
            })
            .chain(references.iter().flat_map(|reference| reference.spots.iter()).filter_map(
                |spot| match spot {
                    Spot::File(file, _) => Some(file.clone()),
                    Spot::Selector(..) | Spot::ApiVersion(..) | Spot::Inline(..) => None,
                },
            ))
            .collect();
        if !files.iter().any(|file| self.tree.is_concerned(file)) {
            return;
        }
        for layer in layers {
            for file in self.loaded.layers[*layer].resources.clone() {
                self.file(&file);
            }
        }
        let mut decided = Vec::new();
        for reference in &references {
            match self.decide(reference) {
                Ok(to) => decided.push((reference, to)),
                Err(why) => problem = problem.or(Some(why)),
            }
        }
        let changes = layers.iter().any(|layer| {
            let of = &self.loaded.layers[*layer].resources;
            of.iter().flat_map(|file| &self.by_file[file]).any(|object| self.objects[*object].is_changed())
        });
        let problem = problem.or_else(|| self.other_files(layers));
        let plans = match problem {
            Some(why) if changes => Err(why),
            // Nothing changes that somebody else would have to follow.
            Some(_) => Ok(BTreeMap::new()),
            None => spots::plans(&self.loaded, &decided).and_then(|plans| self.all_written(layers, plans)),
        };
        match plans {
            Ok(plans) => {
                // A patch is never taken for an object.
                for file in &files {
                    let is_resource = self.by_file.contains_key(file);
                    let is_layer = layers.iter().any(|layer| self.loaded.layers[*layer].file == *file);
                    if !is_resource && !is_layer && !plans.contains_key(file) {
                        let why = "it is a patch, and the object that it is for is not among the files, or stays as it is";
                        kustomized.plans.insert(file.clone(), Plan::Left(why.to_owned()));
                    }
                }
                kustomized
                    .plans
                    .extend(plans.into_iter().map(|(file, planned)| (file, Plan::Edited(planned))));
            }
            Err(why) => {
                kustomized.plans.extend(files.into_iter().map(|file| (file, Plan::Left(why.clone()))));
            }
        }
    }

    /// Nothing is written where only a part of it may be.
    fn all_written(
        &self,
        layers: &[usize],
        plans: BTreeMap<PathBuf, Vec<Planned>>,
    ) -> Result<BTreeMap<PathBuf, Vec<Planned>>, String> {
        let resources = layers.iter().flat_map(|layer| &self.loaded.layers[*layer].resources);
        let changed = resources
            .filter(|file| self.by_file[*file].iter().any(|object| self.objects[*object].is_changed()));
        match plans.keys().chain(changed).find(|file| !self.tree.is_written(file)) {
            Some(file) => Err(format!("{} is not among the files that were scanned", file.display())),
            None => Ok(plans),
        }
    }

    /// Files that tell kustomize of versions and are not followed here.
    fn other_files(&mut self, layers: &[usize]) -> Option<String> {
        let resources = layers.iter().flat_map(|layer| &self.loaded.layers[*layer].resources);
        let own: BTreeSet<usize> = resources.flat_map(|file| self.by_file[file].iter().copied()).collect();
        for layer in layers {
            for key in ["configurations", "transformers", "generators", "validators"] {
                let items =
                    self.loaded.layers[*layer].tree.get(key).map(Tree::items).unwrap_or_default().to_vec();
                for item in items {
                    let name = item.as_text().unwrap_or_default().to_owned();
                    let text = if name.contains('\n') {
                        Some(name.clone())
                    } else {
                        self.loaded.named(*layer, &name).map(|(_, text)| text)
                    };
                    let is_old = |object: &Object| {
                        object.is_changed()
                            && text.as_ref().is_none_or(|text| text.contains(&object.head.old.version))
                    };
                    if own.iter().any(|object| is_old(&self.objects[*object])) {
                        return Some(format!("{key} may name versions that change"));
                    }
                }
            }
        }
        None
    }

    /// The version that a reference has to name from now on, if it has to name another one.
    fn decide(&mut self, reference: &Reference) -> Result<Option<(Gvk, Gvk)>, String> {
        let Reference { layer, selector, how, what, .. } = reference;
        let seen = self.seen(*layer);
        let meant: Vec<&Seen> = seen
            .iter()
            .filter(|seen| selector.means(&self.objects[seen.object].head.old, &seen.names))
            .collect();
        let mut to: Option<(Gvk, Gvk)> = None;
        let mut stays = false;
        for one in &meant {
            let object = &self.objects[one.object];
            if !object.is_changed() {
                stays = true;
                continue;
            }
            let own = (object.head.old.clone(), object.head.new.clone());
            self.commutes(one.object, how).map_err(|why| format!("{what} {why}"))?;
            match &to {
                Some(other) if other.1.api_version() != own.1.api_version() && selector.names_version() => {
                    return Err(format!("{what} means objects that get different versions"));
                }
                Some(_) => {}
                None => to = Some(own),
            }
        }
        if stays && to.is_some() && selector.names_version() {
            return Err(format!("{what} means objects of which only some are changed"));
        }
        // Once versions have changed it may mean more than before.
        let after = match &to {
            None => selector.clone(),
            Some((_, to)) => Selector {
                group: selector.group.as_ref().map(|_| to.group.clone()),
                version: selector.version.as_ref().map(|_| to.version.clone()),
                ..selector.clone()
            },
        };
        let means_after =
            seen.iter().filter(|seen| after.means(&self.objects[seen.object].head.new, &seen.names)).count();
        if means_after != meant.len() {
            return Err(format!("{what} would mean other objects than before"));
        }
        Ok(to)
    }

    /// Whether patching the changed object gives what changing the patched object gives.
    fn commutes(&mut self, object: usize, how: &How) -> Result<(), String> {
        let apply = |to: &Value| match how {
            How::Merge(patch) => Some(merged(to, &without_head(patch))),
            How::Operations(operations) => patched(to, operations),
            How::Named => Some(to.clone()),
        };
        let stays = match how {
            How::Merge(patch) => patch.get("$patch").is_some(),
            How::Operations(_) => false,
            How::Named => true,
        };
        if stays {
            return Ok(());
        }
        let (measure, schema) = (self.measure, self.schema);
        let Object { head, file, number } = &self.objects[object];
        let (to, file, number) = (head.new.clone(), file.clone(), *number);
        let Some(Some((before, after))) = self.values(&file).get(number) else { return Ok(()) };
        let (Some(first), Some(second)) = (apply(before), apply(after)) else {
            return Err("cannot be followed here".to_owned());
        };
        let changed = object::converted(measure, schema, &first)
            .map_err(|why| format!("applied, the object cannot be changed: {why}"))?;
        if changed == second { Ok(()) } else { Err(format!("would give another object once it is {to}")) }
    }
}

fn gvk_of(tree: &Tree) -> Option<Gvk> {
    Some(Gvk::of(tree.text_at(&["apiVersion"])?, tree.text_at(&["kind"])?))
}
