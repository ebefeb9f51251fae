//! What a kustomization says of objects that are elsewhere: patches, variables, replacements.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::load::{Loaded, parts};
use crate::table::Gvk;
use crate::tree::Tree;

/// A place within a tree.
pub(super) type Way = Vec<Step>;

/// One step of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(&'static str),
    Item(usize),
}

/// Which objects are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selector {
    pub(super) group: Option<String>,
    pub(super) version: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) name: Option<String>,
}

impl Selector {
    fn of_target(tree: &Tree) -> Self {
        let text = |key: &str| tree.get(key).and_then(Tree::as_text).map(str::to_owned);
        Self { group: text("group"), version: text("version"), kind: text("kind"), name: text("name") }
    }

    fn of_object(tree: &Tree, name: Option<&str>) -> Option<Self> {
        let gvk = Gvk::of(tree.get("apiVersion")?.as_text()?, tree.get("kind")?.as_text()?);
        Some(Self {
            group: Some(gvk.group),
            version: Some(gvk.version),
            kind: Some(gvk.kind),
            name: name.map(str::to_owned),
        })
    }

    /// Whether an object is meant that has these names. Names of targets are regular expressions: one that is more than a name
    /// may mean any.
    pub(super) fn means(&self, gvk: &Gvk, names: &[String]) -> bool {
        let is = |wanted: &Option<String>, has: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == has || is_expression(wanted))
        };
        is(&self.group, &gvk.group)
            && is(&self.version, &gvk.version)
            && is(&self.kind, &gvk.kind)
            && (self.name.is_none() || names.iter().any(|name| is(&self.name, name)))
    }

    /// Whether it would have to say another version.
    pub(super) fn names_version(&self) -> bool {
        self.version.is_some() || self.group.is_some()
    }
}

fn is_expression(text: &str) -> bool {
    text.contains(['*', '|', '(', '[', '+', '?', '^', '$', '\\'])
}

/// What becomes of the objects that are meant.
pub(super) enum How {
    /// A strategic merge patch.
    Merge(Value),
    /// A JSON patch.
    Operations(Vec<Value>),
    /// They are only named.
    Named,
}

/// Where it says the version of what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// `group` and `version` of a selector in the kustomization.
    Selector(Way, &'static str),
    /// An `apiVersion` in the kustomization.
    ApiVersion(Way, &'static str),
    /// A document of a file.
    File(PathBuf, usize),
    /// Text in the kustomization.
    Inline(Way, &'static str),
}

/// What a kustomization says of objects.
pub(super) struct Reference {
    pub(super) layer: usize,
    pub(super) selector: Selector,
    pub(super) how: How,
    pub(super) spots: Vec<Spot>,
    /// In words, for a person.
    pub(super) what: String,
}

/// Everything that a layer says of objects. `Err` names what cannot be read.
pub(super) fn references(loaded: &mut Loaded, layer: usize) -> Result<Vec<Reference>, String> {
    let tree = loaded.layers[layer].tree.clone();
    let mut all = Vec::new();
    let items = |key: &str| tree.get(key).map(Tree::items).unwrap_or_default();
    for (index, item) in items("patchesStrategicMerge").iter().enumerate() {
        let way = vec![Step::Key("patchesStrategicMerge"), Step::Item(index)];
        let text = item.as_text().unwrap_or_default();
        patch(loaded, layer, None, text, text.contains('\n'), &way, "patchesStrategicMerge", &mut all)?;
    }
    for (key, inline, field) in
        [("patches", "patch", "patches.target"), ("patchesJson6902", "patch", "patchesJson6902.target")]
    {
        for (index, item) in items(key).iter().enumerate() {
            let way = vec![
                Step::Key(if key == "patches" { "patches" } else { "patchesJson6902" }),
                Step::Item(index),
            ];
            let target = item.get("target").map(|target| {
                let mut way = way.clone();
                way.push(Step::Key("target"));
                (Selector::of_target(target), Spot::Selector(way, field))
            });
            let (text, is_inline) = match (item.get(inline), item.get("path")) {
                (Some(text), _) => (text.as_text().unwrap_or_default(), true),
                (None, Some(path)) => (path.as_text().unwrap_or_default(), false),
                (None, None) => continue,
            };
            let mut way = way.clone();
            way.push(Step::Key("patch"));
            patch(loaded, layer, target.as_ref(), text, is_inline, &way, "patches.patch", &mut all)?;
        }
    }
    for (index, item) in items("vars").iter().enumerate() {
        let Some(of) = item.get("objref") else { continue };
        let Some(selector) = Selector::of_object(of, of.get("name").and_then(Tree::as_text)) else {
            continue;
        };
        let way = vec![Step::Key("vars"), Step::Item(index), Step::Key("objref")];
        let spots = vec![Spot::ApiVersion(way, "vars.objref")];
        all.push(Reference { layer, selector, how: How::Named, spots, what: "vars.objref".to_owned() });
    }
    for (index, item) in items("replacements").iter().enumerate() {
        let way = [Step::Key("replacements"), Step::Item(index)];
        if item.get("path").is_some() {
            return Err("replacements in a file of their own are not followed".to_owned());
        }
        let mut selectors: Vec<(Way, &Tree)> = Vec::new();
        let below = |steps: &[Step]| way.iter().cloned().chain(steps.iter().cloned()).collect::<Way>();
        if let Some(source) = item.get("source") {
            selectors.push((below(&[Step::Key("source")]), source));
        }
        for (at, target) in item.get("targets").map(Tree::items).unwrap_or_default().iter().enumerate() {
            if let Some(select) = target.get("select") {
                let steps = [Step::Key("targets"), Step::Item(at), Step::Key("select")];
                selectors.push((below(&steps), select));
            }
            for (number, reject) in
                target.get("reject").map(Tree::items).unwrap_or_default().iter().enumerate()
            {
                let steps = [Step::Key("targets"), Step::Item(at), Step::Key("reject"), Step::Item(number)];
                selectors.push((below(&steps), reject));
            }
        }
        for (way, of) in selectors {
            let spots = vec![Spot::Selector(way, "replacements")];
            let selector = Selector::of_target(of);
            all.push(Reference { layer, selector, how: How::Named, spots, what: "replacements".to_owned() });
        }
    }
    labels(&tree, layer, &mut all);
    Ok(all)
}

/// One patch: what a file holds, or what stands in the kustomization.
fn patch(
    loaded: &mut Loaded,
    layer: usize,
    target: Option<&(Selector, Spot)>,
    text: &str,
    is_inline: bool,
    way: &Way,
    field: &'static str,
    all: &mut Vec<Reference>,
) -> Result<(), String> {
    let (file, content) = if is_inline {
        (None, text.to_owned())
    } else {
        let (path, content) =
            loaded.named(layer, text).ok_or_else(|| format!("the patch {text} cannot be read"))?;
        (Some(path), content)
    };
    let what = if is_inline { "an inline patch".to_owned() } else { format!("the patch {text}") };
    let parts = parts(&content);
    if parts.is_empty() {
        return Err(format!("{what} cannot be read"));
    }
    for (index, part) in parts.iter().enumerate() {
        let spot = file
            .as_ref()
            .map_or_else(|| Spot::Inline(way.clone(), field), |file| Spot::File(file.clone(), index));
        let (how, own) = match part.tree.value() {
            Value::Array(operations) => (How::Operations(operations), None),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                let own = Selector::of_object(&part.tree, part.tree.text_at(&["metadata", "name"]));
                (How::Merge(part.tree.value()), own)
            }
        };
        let mut spots: Vec<Spot> = target.iter().map(|(_, spot)| spot.clone()).collect();
        if own.is_some() {
            spots.push(spot);
        }
        let selector = match (target, own) {
            (Some((selector, _)), _) => selector.clone(),
            (None, Some(own)) => own,
            (None, None) => return Err(format!("{what} says nothing of what it is for")),
        };
        all.push(Reference { layer, selector, how, spots, what: what.clone() });
    }
    Ok(())
}

/// Labels and annotations that all objects get are patches of them; where they go into selectors, of all workloads.
fn labels(tree: &Tree, layer: usize, all: &mut Vec<Reference>) {
    let mut add = |selector: Selector, patch: Value| {
        let what = "labels or annotations for all objects".to_owned();
        all.push(Reference { layer, selector, how: How::Merge(patch), spots: Vec::new(), what });
    };
    let listed = tree.get("labels").map(Tree::items).unwrap_or_default().iter();
    let listed = listed.filter_map(|item| {
        let is_in_selectors = item.get("includeSelectors").and_then(Tree::as_bool) == Some(true);
        Some((item.get("pairs")?.value(), is_in_selectors))
    });
    let common = tree.get("commonLabels").map(|pairs| (pairs.value(), true));
    for (pairs, is_in_selectors) in common.into_iter().chain(listed) {
        add(Selector::default(), json!({"metadata": {"labels": pairs}}));
        for kind in
            ["Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"].iter().filter(|_| is_in_selectors)
        {
            let patch = json!({
                "metadata": {"labels": pairs},
                "spec": {"selector": {"matchLabels": pairs}, "template": {"metadata": {"labels": pairs}}},
            });
            add(Selector { kind: Some((*kind).to_owned()), ..Selector::default() }, patch);
        }
    }
    if let Some(annotations) = tree.get("commonAnnotations") {
        add(Selector::default(), json!({"metadata": {"annotations": annotations.value()}}));
    }
}
