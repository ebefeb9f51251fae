//! Writes the new version where patches and selectors name the old one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::decided::Planned;
use super::form::{Reference, Spot, Step};
use super::load::{Layer, Loaded, parts};
use crate::table::Gvk;
use crate::tree::{Style, Tree};

use super::super::lay::{Edit, lay};

/// The edits of each file. `Err` says why a file cannot be edited.
pub(super) fn plans(
    loaded: &Loaded,
    decided: &[(&Reference, Option<(Gvk, Gvk)>)],
) -> Result<BTreeMap<PathBuf, Vec<Planned>>, String> {
    let mut all: BTreeMap<PathBuf, Vec<Planned>> = BTreeMap::new();
    for (reference, to) in decided {
        let Some((from, to)) = to else { continue };
        for spot in &reference.spots {
            let (file, planned) = one(loaded, reference, spot, from, to)?;
            let Some(planned) = planned else { continue };
            let of = all.entry(file).or_default();
            // A patch file may be named by several layers.
            if !of.iter().any(|other| other.edits == planned.edits) {
                of.push(planned);
            }
        }
    }
    for planned in all.values_mut() {
        planned.sort_by_key(|of| of.at);
        let mut edits: Vec<&Edit> = planned.iter().flat_map(|of| &of.edits).collect();
        edits.sort_by_key(|edit| edit.range.start);
        if edits.windows(2).any(|pair| pair[0].range.end > pair[1].range.start) {
            return Err("two changes of it are at the same place".to_owned());
        }
    }
    Ok(all)
}

fn one(
    loaded: &Loaded,
    reference: &Reference,
    spot: &Spot,
    from: &Gvk,
    to: &Gvk,
) -> Result<(PathBuf, Option<Planned>), String> {
    let layer = &loaded.layers[reference.layer];
    let name = reference.selector.name.clone().unwrap_or_default();
    let planned = |edits: Vec<Edit>, field: Option<&'static str>| {
        let at = edits.first().map(|edit| edit.range.start)?;
        Some(Planned { edits, at, name: name.clone(), field, from: from.clone(), to: to.clone() })
    };
    match spot {
        Spot::File(file, index) => {
            let text = loaded.texts.get(file).ok_or("a patch was not read")?;
            let part = parts(text).into_iter().nth(*index).ok_or("a patch was not read")?;
            let mut tree = part.tree.clone();
            if tree.text_at(&["apiVersion"]) == Some(&to.api_version()) {
                return Ok((file.clone(), None));
            }
            tree.set("apiVersion", Tree::text(&to.api_version()));
            let edits = lay(text, &part.origins, &tree).map_err(|why| why.0.to_owned())?;
            Ok((file.clone(), planned(edits, None)))
        }
        Spot::ApiVersion(way, field) => {
            let edits = set(layer, way, &[("apiVersion", to.api_version())])?;
            Ok((layer.file.clone(), planned(edits, Some(field))))
        }
        Spot::Selector(way, field) => {
            let pairs = [("group", to.group.clone()), ("version", to.version.clone())];
            let edits = set(layer, way, &pairs)?;
            Ok((layer.file.clone(), planned(edits, Some(field))))
        }
        Spot::Inline(way, field) => {
            let edits = inline(layer, way, from, to)?;
            Ok((layer.file.clone(), planned(edits, Some(field))))
        }
    }
}

fn at<'t>(tree: &'t Tree, way: &[Step]) -> Option<&'t Tree> {
    way.iter().try_fold(tree, |tree, step| match step {
        Step::Key(key) => tree.get(key),
        Step::Item(index) => tree.items().get(*index),
    })
}

fn at_mut<'t>(tree: &'t mut Tree, way: &[Step]) -> Option<&'t mut Tree> {
    way.iter().try_fold(tree, |tree, step| match step {
        Step::Key(key) => tree.get_mut(key),
        Step::Item(index) => tree.items_mut().get_mut(*index),
    })
}

/// Writes over those of these keys that are there.
fn set(layer: &Layer, way: &[Step], pairs: &[(&str, String)]) -> Result<Vec<Edit>, String> {
    let mut tree = layer.tree.clone();
    let Some(map) = at_mut(&mut tree, way) else { return Ok(Vec::new()) };
    for (key, value) in pairs {
        if map.get(key).is_some_and(|old| old.as_text() != Some(value)) {
            map.set(key, Tree::text(value));
        }
    }
    lay(&layer.text, &layer.origins, &tree).map_err(|why| why.0.to_owned())
}

/// Writes over the version of a patch that stands in a kustomization as text.
fn inline(layer: &Layer, way: &[Step], from: &Gvk, to: &Gvk) -> Result<Vec<Edit>, String> {
    const NOT_FOUND: &str = "the version of an inline patch was not found";
    let node = at(&layer.tree, way).ok_or(NOT_FOUND)?;
    let origin = node.from.map(|from| &layer.origins.nodes[from]).ok_or(NOT_FOUND)?;
    if origin.style == Style::Alias {
        return Err("an inline patch is an alias".to_owned());
    }
    // Of text in any style the version is a word that stands there as it is.
    let written = &layer.text[origin.range.clone()];
    let old = from.api_version();
    let mut edits = Vec::new();
    for (start, _) in written.match_indices("apiVersion") {
        let rest = &written[start + "apiVersion".len()..];
        let value = rest.trim_start_matches(['"', '\'', ' ', ':', '\t', '\\']);
        let ends = |next: char| !(next.is_ascii_alphanumeric() || matches!(next, '.' | '/' | '-'));
        if value.starts_with(&old) && value[old.len()..].chars().next().is_none_or(ends) {
            let at = origin.range.start + start + "apiVersion".len() + (rest.len() - value.len());
            edits.push(Edit { range: at..at + old.len(), text: to.api_version() });
        }
    }
    match edits.len() {
        1 => Ok(edits),
        // It has the target's version, or that of nobody: with a target it does not count.
        0 if written.contains(&to.api_version()) => Ok(edits),
        _ => Err(NOT_FOUND.to_owned()),
    }
}
