//! The objects of a document, converted one by one.

use super::outcome::Why;
use super::rules;
use crate::convert::{self, Hold, Note, Way};
use crate::definition;
use crate::finding::Beside;
use crate::judge::{Judged, Measure};
use crate::object as head;
use crate::rule;
use crate::scan::policy;
use crate::scan::reference::FIELDS as REFERENCES;
use crate::schema::Schema;
use crate::source::{At, Node};
use crate::table::Gvk;
use crate::tree::{Entry, OriginIndex, Plain, Tree, What};

pub(super) use super::outcome_of_object::{Done, Outcome};

/// The group of CustomResourceDefinitions.
const DEFINITIONS: &str = "apiextensions.k8s.io";
/// Lists within lists that are followed.
const NESTING_MAX: u32 = 8;

/// Whether anything of a document is to be changed.
pub(super) fn is_concerned(measure: &Measure, root: &Node<'_>) -> bool {
    let mut concerned = false;
    each_judged(measure, root, |_, _| concerned = true);
    concerned
}

/// Hands on everything in a document that is to be changed: versions of objects, those in references, and what rules name.
pub(super) fn each_judged(measure: &Measure, root: &Node<'_>, mut each: impl FnMut(Gvk, At)) {
    head::visit(root, &mut |object| {
        if let Some(judged) = measure.judge(object.api_version, object.kind) {
            each(judged.row.gvk.clone(), object.at);
        }
        for (key, _) in REFERENCES {
            let Some(of) = object.node.path(&["spec", key]) else { continue };
            let (Some(version), Some(kind)) = (of.get("apiVersion"), of.text_of("kind")) else { continue };
            if let Some(judged) = version.text().and_then(|text| measure.judge(text, kind)) {
                each(judged.row.gvk.clone(), version.at);
            }
        }
        policy::each(measure, &object, &mut |_, old, at| {
            if old.beside == Beside::Missing {
                each(old.row.gvk.clone(), at);
            }
        });
    });
}

/// One object that is not written anywhere, converted; as it is, where it needs nothing. `Err` says in words why it cannot be.
pub(super) fn converted(
    measure: &Measure,
    schema: &Schema,
    object: &serde_json::Value,
) -> Result<serde_json::Value, String> {
    let mut tree = Tree::from_value(object);
    let mut why = None;
    convert_all(measure, schema, &mut tree, &|_, _, _| true, &mut |_, outcome| {
        if let Err(left) = outcome {
            why = Some(left.1.to_string());
        }
    });
    why.map_or_else(|| Ok(tree.value()), Err)
}

/// Which objects are converted: by their number in the document, the version they use, and the node that says it.
pub(super) type Chosen<'c> = &'c dyn Fn(usize, &Gvk, Option<OriginIndex>) -> bool;

/// Converts the chosen objects of a document and returns the outcome of each, with the node that holds its version.
pub(super) fn convert_all(
    measure: &Measure,
    schema: &Schema,
    tree: &mut Tree,
    chosen: Chosen<'_>,
    each: &mut dyn FnMut(Option<OriginIndex>, Outcome),
) {
    let mut walk = Walk { one: One { measure, schema }, chosen, each, number: 0 };
    walk.nested(tree, None, NESTING_MAX);
}

/// Version and kind that the items of a typed list have, where they say none.
type Head = Option<(String, String)>;

struct Walk<'w> {
    one: One<'w>,
    chosen: Chosen<'w>,
    each: &'w mut dyn FnMut(Option<OriginIndex>, Outcome),
    number: usize,
}

impl Walk<'_> {
    fn nested(&mut self, tree: &mut Tree, head: Head, depth: u32) {
        if depth == 0 {
            return;
        }
        let text = |key: &str| tree.text_at(&[key]).map(str::to_owned);
        let head = text("apiVersion").zip(text("kind")).or(head);
        let (version, kind) = head.clone().unwrap_or_default();
        if kind.ends_with("List") && tree.get("items").is_some() {
            let is_converted = self.one.judged(tree).is_some();
            if is_converted {
                self.typed_list(tree);
            }
            let of_item = kind.strip_suffix("List").unwrap_or_default();
            let items = tree.get_mut("items").map(Tree::items_mut).unwrap_or_default();
            for item in items {
                if is_converted {
                    self.references(item);
                    self.rules(item, (&version, of_item));
                } else {
                    let head = (!of_item.is_empty()).then(|| (version.clone(), of_item.to_owned()));
                    self.nested(item, head, depth - 1);
                }
            }
        } else if !tree.items().is_empty() {
            tree.items_mut().iter_mut().for_each(|item| self.nested(item, None, depth - 1));
        } else {
            // Whatever else is looked for in it needs it as it was, if it cannot be converted; and so does the list around it.
            let needed = depth < NESTING_MAX
                || rule::sort_of(&version, &kind).is_some()
                || REFERENCES.iter().any(|(key, _)| tree.path(&["spec", key]).is_some());
            self.object(tree, needed);
            self.references(tree);
            self.rules(tree, (&version, &kind));
        }
    }

    fn rules(&mut self, tree: &mut Tree, head: (&str, &str)) {
        let Self { one, chosen, each, number } = self;
        let mut is_chosen = |used: &Gvk, from: Option<OriginIndex>| {
            *number += 1;
            chosen(*number - 1, used, from)
        };
        rules::rules(one.measure, tree, head, &mut is_chosen, &mut **each);
    }

    /// Whether the next one is to be converted.
    fn is_chosen(&mut self, used: &Gvk, from: Option<OriginIndex>) -> bool {
        self.number += 1;
        (self.chosen)(self.number - 1, used, from)
    }

    /// Nothing is left of what cannot be converted, unless it is `needed`.
    fn object(&mut self, tree: &mut Tree, needed: bool) {
        let Some(judged) = self.one.judged(tree) else { return };
        let from = tree.get("apiVersion").and_then(|of| of.from);
        let used = judged.row.gvk.clone();
        if self.is_chosen(&used, from) {
            let outcome = self.one.object(tree, needed);
            (self.each)(from, outcome.map_err(|why| Box::new((used, why))));
        }
    }

    fn references(&mut self, tree: &mut Tree) {
        for (key, field) in REFERENCES {
            let Some(of) = tree.path_mut(&["spec", key]) else { continue };
            let Some(judged) = self.one.judged(of) else { continue };
            let from = of.get("apiVersion").and_then(|of| of.from);
            let used = judged.row.gvk.clone();
            if self.is_chosen(&used, from) {
                let outcome = self.one.reference(of, field);
                (self.each)(from, outcome.map_err(|why| Box::new((used, why))));
            }
        }
    }

    /// A list of one kind: its version is that of all items that say none, so that all are converted or none.
    fn typed_list(&mut self, tree: &mut Tree) {
        let Some(judged) = self.one.judged(tree) else { return };
        let from = tree.get("apiVersion").and_then(|of| of.from);
        let used = judged.row.gvk.clone();
        if !self.is_chosen(&used, from) {
            return;
        }
        let mut made = tree.clone();
        let outcome = self.one.typed_list(&mut made, &used);
        if outcome.is_ok() {
            *tree = made;
        }
        (self.each)(from, outcome.map_err(|why| Box::new((used, why))));
    }
}

/// What is known besides the object.
struct One<'o> {
    measure: &'o Measure,
    schema: &'o Schema,
}

impl<'o> One<'o> {
    fn judged(&self, tree: &Tree) -> Option<Judged<'o>> {
        self.measure.judge(tree.text_at(&["apiVersion"])?, tree.text_at(&["kind"])?)
    }

    /// What takes the place of a version, if the cluster serves it by the time the text is used.
    fn successor(&self, judged: &Judged<'_>) -> Result<Gvk, Why> {
        let measure = self.measure;
        let Some(to) = measure.table.replacement(judged.row, measure.range.target) else {
            return Err(Why::Hold(convert::without_successor(&judged.row.gvk)));
        };
        let from = measure.table.lookup_gvk(to).and_then(|row| row.introduced);
        let is_kubernetes = judged.row.product == crate::table::Product::Kubernetes;
        match (measure.range.current, from) {
            (Some(current), Some(from)) if is_kubernetes && from > current => {
                Err(Why::NotYet { to: Box::new(to.clone()), from })
            }
            (_, _) => Ok(to.clone()),
        }
    }

    fn object(&self, tree: &mut Tree, needed: bool) -> Result<Done, Why> {
        let Some(judged) = self.judged(tree) else { return Err(Why::OfList) };
        let has = |key: &str| tree.text_at(&["metadata", key]).is_some();
        if has("uid") && has("resourceVersion") {
            return Err(Why::Live);
        }
        let to = self.successor(&judged)?;
        let target = self.measure.range.target;
        let from = judged.row.gvk.clone();
        let before = if needed { tree.clone() } else { std::mem::replace(tree, Tree::of(What::Null)) };
        let (made, notes) =
            convert::converted(&self.measure.table, before, &to, target).map_err(Why::Hold)?;
        self.check(&made, &to).map_err(Why::Hold)?;
        *tree = made;
        Ok(done(tree, None, from, to, notes))
    }

    /// What Kubernetes 1.36 has a type for has to be of that type.
    fn check(&self, made: &Tree, to: &Gvk) -> Result<(), Hold> {
        if !self.schema.serves(to) {
            return Ok(());
        }
        let value = Plain::of_tree(made);
        let mut problems = self.schema.check_plain(&value);
        problems.truncate(PROBLEMS_MAX);
        if !problems.is_empty() {
            return Err(Hold::Refused { problems });
        }
        if to.group == DEFINITIONS && to.kind == "CustomResourceDefinition" {
            let mut problems = definition::check_plain(&value);
            problems.truncate(PROBLEMS_MAX);
            if !problems.is_empty() {
                return Err(Hold::Definition { problems });
            }
        }
        Ok(())
    }

    fn reference(&self, of: &mut Tree, field: &'static str) -> Result<Done, Why> {
        let Some(judged) = self.judged(of) else { return Err(Why::OfList) };
        let to = self.successor(&judged)?;
        if to.kind != judged.row.gvk.kind {
            return Err(Why::Hold(Hold::NoWay(Way::new(&judged.row.gvk, &to))));
        }
        of.set("apiVersion", Tree::text(&to.api_version()));
        Ok(Done {
            name: of.text_at(&["name"]).unwrap_or_default().to_owned(),
            namespace: None,
            field: Some(field),
            from: judged.row.gvk.clone(),
            to,
            notes: Vec::new(),
        })
    }

    fn typed_list(&self, list: &mut Tree, used: &Gvk) -> Result<Done, Why> {
        let judged = self.judged(list).ok_or(Why::OfList)?;
        let to = self.successor(&judged)?;
        let mut notes = Vec::new();
        let head = [("apiVersion", used.api_version()), ("kind", used.kind.clone())];
        let items = list.get_mut("items").map(Tree::items_mut).unwrap_or_default();
        for item in items {
            let bare = item.get("apiVersion").is_none() && item.get("kind").is_none();
            if bare {
                head.iter()
                    .rev()
                    .for_each(|(key, text)| item.insert_first(Entry::new(key, Tree::text(text))));
            }
            if self.judged(item).is_some() {
                notes.extend(self.object(item, true)?.notes);
            }
            if bare {
                for (key, _) in &head {
                    drop(item.take(key));
                }
            }
        }
        list.set("apiVersion", Tree::text(&to.api_version()));
        notes.sort();
        notes.dedup();
        Ok(done(list, None, used.clone(), to, notes))
    }
}

/// Problems that are told of one object.
const PROBLEMS_MAX: usize = 3;

fn done(tree: &Tree, field: Option<&'static str>, from: Gvk, to: Gvk, notes: Vec<Note>) -> Done {
    let of_metadata = |key: &str| tree.text_at(&["metadata", key]).map(str::to_owned);
    Done {
        name: of_metadata("name").or(of_metadata("generateName")).unwrap_or_default(),
        namespace: of_metadata("namespace"),
        field,
        from,
        to,
        notes,
    }
}
