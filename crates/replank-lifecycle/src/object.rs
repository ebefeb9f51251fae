//! The objects of a document: itself, or the items of the list that it is.

use crate::source::{At, Node};

/// The head of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'n, 't> {
    /// Group and version.
    pub(crate) api_version: &'n str,
    /// The kind.
    pub(crate) kind: &'n str,
    /// The name, `NAME-*` where the server is to make it, or empty.
    pub(crate) name: &'n str,
    /// The namespace that it names.
    pub(crate) namespace: Option<&'n str>,
    /// Where its version is written.
    pub(crate) at: At,
    /// What is kept of it.
    pub(crate) node: &'n Node<'t>,
}

/// Lists within lists that are followed.
const NESTING_MAX: u32 = 8;

/// Visits every object below a document's root. Items of a typed list have the list's version and kind, where they say
/// nothing themselves (apimachinery, unstructured/helpers.go).
pub(crate) fn visit<'n, 't>(root: &'n Node<'t>, each: &mut dyn FnMut(Object<'n, 't>)) {
    nested(root, None, NESTING_MAX, each);
}

fn nested<'n, 't>(
    node: &'n Node<'t>,
    list: Option<Object<'n, 't>>,
    depth: u32,
    each: &mut dyn FnMut(Object<'n, 't>),
) {
    if depth == 0 {
        return;
    }
    if !node.items().is_empty() {
        node.items().iter().for_each(|item| nested(item, None, depth - 1, each));
        return;
    }
    let own = (node.get("apiVersion"), node.get("kind"));
    let (api_version, kind, at) = match (own, list) {
        ((None, None), Some(list)) => {
            (list.api_version, list.kind.strip_suffix("List").unwrap_or_default(), node.at)
        }
        ((Some(version), Some(kind)), _) => {
            (version.text().unwrap_or_default(), kind.text().unwrap_or_default(), version.at)
        }
        ((Some(_), None) | (None, Some(_)) | (None, None), _) => return,
    };
    if api_version.is_empty() || kind.is_empty() {
        return;
    }
    let metadata = node.get("metadata");
    let of_metadata = |key: &str| metadata.and_then(|metadata| metadata.text_of(key));
    let object = Object {
        api_version,
        kind,
        name: of_metadata("name").or(of_metadata("generateName")).unwrap_or_default(),
        namespace: of_metadata("namespace"),
        at,
        node,
    };
    match node.get("items") {
        Some(items) if kind.ends_with("List") => {
            items.items().iter().for_each(|item| nested(item, Some(object), depth - 1, each));
        }
        Some(_) | None => each(object),
    }
}
