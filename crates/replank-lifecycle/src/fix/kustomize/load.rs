//! Kustomizations, and the files that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source::{self, Found, Node};
use crate::table::Gvk;
use crate::tree::{self, Origins, Tree};

use super::super::fixing::notation_of;

/// Names under which kustomize looks for a kustomization.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// One kustomization.
pub(super) struct Layer {
    pub(super) file: PathBuf,
    pub(super) text: String,
    pub(super) tree: Tree,
    pub(super) origins: Origins,
    /// Kustomizations that it builds on, by their index.
    pub(super) bases: Vec<usize>,
    /// Files of whole objects.
    pub(super) resources: Vec<PathBuf>,
}

/// One document of a file.
pub(super) struct Part {
    pub(super) tree: Tree,
    pub(super) origins: Origins,
}

/// Everything that was read.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) layers: Vec<Layer>,
    /// By their directory.
    by_directory: BTreeMap<PathBuf, usize>,
    /// Of patches, by their real paths: what is only built upon is read when it is needed, and not kept.
    pub(super) texts: BTreeMap<PathBuf, String>,
    /// Directories that are being read: who names one of them again names itself.
    open: BTreeSet<PathBuf>,
}

/// The kustomization of a directory, if it has one.
pub(super) fn file_in(directory: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| directory.join(name)).find(|file| file.is_file())
}

impl Loaded {
    /// Reads the kustomization of a directory with all that it builds on. `None` where that cannot be read.
    pub(super) fn directory(&mut self, directory: &Path) -> Option<usize> {
        let directory = directory.canonicalize().ok()?;
        if let Some(index) = self.by_directory.get(&directory) {
            return Some(*index);
        }
        if !self.open.insert(directory.clone()) {
            return None;
        }
        let file = file_in(&directory)?;
        let text = std::fs::read_to_string(&file).ok()?;
        let (tree, origins) = parts(&text).into_iter().next().map(|part| (part.tree, part.origins))?;
        let mut layer = Layer { file, text, tree, origins, bases: Vec::new(), resources: Vec::new() };
        for key in ["resources", "bases", "components"] {
            let items = layer.tree.get(key).map(Tree::items).unwrap_or_default().to_vec();
            for item in items {
                let named = item.as_text().map(|item| directory.join(item));
                let real = named.and_then(|path| path.canonicalize().ok());
                match real {
                    Some(path) if path.is_dir() => layer.bases.extend(self.directory(&path)),
                    Some(path) if path.is_file() => layer.resources.push(path),
                    // It is remote, or generated.
                    Some(_) | None => {}
                }
            }
        }
        self.layers.push(layer);
        let index = self.layers.len() - 1;
        self.by_directory.insert(directory, index);
        Some(index)
    }

    /// The text of a file, by its real path.
    pub(super) fn text(&mut self, path: &Path) -> Option<&str> {
        if !self.texts.contains_key(path) {
            let text = std::fs::read_to_string(path).ok()?;
            self.texts.insert(path.to_owned(), text);
        }
        self.texts.get(path).map(String::as_str)
    }

    /// The real path and text of a file that a layer names.
    pub(super) fn named(&mut self, layer: usize, name: &str) -> Option<(PathBuf, String)> {
        let directory = self.layers[layer].file.parent()?.to_owned();
        let path = directory.join(name).canonicalize().ok()?;
        let text = self.text(&path)?.to_owned();
        Some((path, text))
    }
}

/// Version, kind and name of every object of a text, without the rest of it.
pub(super) fn heads(text: &str) -> Vec<(Gvk, String)> {
    let mut all = Vec::new();
    source::read(&Arc::from(""), text, &mut |found| {
        let Found::Document(document) = found else { return };
        let root = &document.root;
        if let (Some(version), Some(kind)) = (root.text_of("apiVersion"), root.text_of("kind")) {
            let name = root.path(&["metadata", "name"]).and_then(Node::text).unwrap_or_default();
            all.push((Gvk::of(version, kind), name.to_owned()));
        }
    });
    all
}

/// The documents of a text, each with its places; those that cannot be read are left out.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut all = Vec::new();
    let name: Arc<str> = Arc::from("");
    source::read(&name, text, &mut |found| {
        if let Found::Document(document) = found {
            let range = document.range.clone();
            let notation = notation_of(&text[range.clone()]);
            if let Ok(Some((tree, origins))) = tree::read(text, range, notation) {
                all.push(Part { tree, origins });
            }
        }
    });
    all
}
