//! Kustomizations, and the files that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source::{self, Found, Node, Way};
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

/// The documents of a text, each with its places; those that cannot be read are left out.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut all = Vec::new();
    each(text, &mut |_, part| all.extend(part));
    all
}

/// The documents of a text that are one object, in order; nothing in the place of one that cannot be read as a whole.
pub(super) fn objects(text: &str) -> Vec<Option<Tree>> {
    let mut all = Vec::new();
    each(text, &mut |root, part| {
        if root.text_of("apiVersion").is_some() && root.text_of("kind").is_some() {
            all.push(part.map(|part| part.tree));
        }
    });
    all
}

fn each(text: &str, hand_on: &mut dyn FnMut(&Node<'_>, Option<Part>)) {
    let name: Arc<str> = Arc::from("");
    source::read_ahead(&name, text, &|_| Way::Grow, &mut |found, grown| {
        if let Found::Document(document) = found {
            let range = document.range.clone();
            let read = || tree::read(text, range.clone(), notation_of(&text[range.clone()])).ok().flatten();
            let part = grown.or_else(read).map(|(tree, origins)| Part { tree, origins });
            hand_on(&document.root, part);
        }
    });
}
