//! Documents, and the lists they may be.

use std::sync::Arc;

use serde_json::Value;

use crate::limits::Limits;
use crate::problem::{Lost, Place, Problem, ProblemKind};
use crate::window;

/// One JSON value that was read: a document, or an item of a document that is a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The path as it was given or found, or `<stdin>`.
    pub source: Arc<str>,
    /// Number of the document in its source, from 1; documents without content are not counted.
    pub index: u32,
    /// Position in the list, from 0, as in `.items[0]`; that of the outermost list where lists are nested.
    pub item: Option<u32>,
    /// Line where the document or item starts, from 1.
    pub line: u64,
    /// Everything that is in it.
    pub value: Value,
}

impl Document {
    /// Where it was read.
    pub fn place(&self) -> Place {
        Place {
            source: self.source.clone(),
            document: Some(self.index),
            item: self.item,
            line: Some(self.line),
            column: None,
        }
    }

    /// A problem that keeps the whole of it from being taken in.
    pub fn problem(&self, kind: ProblemKind) -> Problem {
        let lost = if self.item.is_some() { Lost::Item } else { Lost::Document };
        Problem { place: self.place(), kind, lost }
    }
}

/// What reading comes upon, in the order of the input.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A document or item.
    Document(Document),
    /// A list that says of which kind its items are: there may be none.
    List {
        /// `policy/v1`
        api_version: String,
        /// `PodDisruptionBudgetList`
        kind: String,
    },
    /// Something that is not as it must be.
    Problem(Problem),
}

/// What is known of a list apart from its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListHead {
    pub(crate) kind: Option<String>,
    pub(crate) api_version: Option<String>,
}

impl ListHead {
    /// Whether an object with an array `items` and this kind is a list. kubectl takes every object with such
    /// an array for a list; here one whose kind says otherwise is an object, of a custom resource perhaps.
    pub(crate) fn can_be_list(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind.ends_with("List"))
    }

    /// Whether its kind says that it is a list.
    pub(crate) fn is_typed_list(&self) -> bool {
        self.kind.as_deref().is_some_and(|kind| kind.ends_with("List"))
    }

    /// Gives an item of a typed list its kind and version, which the API server leaves out in there
    /// (apimachinery, unstructured/helpers.go: only where both are missing).
    pub(crate) fn fill(&self, item: &mut Value) {
        if !lacks_type(item) {
            return;
        }
        let Some(object) = item.as_object_mut() else { return };
        let kind = self.kind.as_deref().and_then(|kind| kind.strip_suffix("List")).unwrap_or_default();
        if kind.is_empty() {
            return;
        }
        object.insert("kind".into(), kind.into());
        if let Some(api_version) = &self.api_version {
            object.insert("apiVersion".into(), api_version.as_str().into());
        }
    }
}

/// Whether a value is an object that has neither kind nor apiVersion.
pub(crate) fn lacks_type(item: &Value) -> bool {
    item.as_object().is_some_and(|object| {
        ["kind", "apiVersion"]
            .iter()
            .all(|key| object.get(*key).and_then(Value::as_str).is_none_or(str::is_empty))
    })
}

/// Says that a list goes on elsewhere, when its metadata says so (`kubectl get --raw` with a limit).
pub(crate) fn incomplete(metadata: &Value) -> Option<ProblemKind> {
    metadata.get("continue").and_then(Value::as_str).filter(|token| !token.is_empty())?;
    let remaining = match metadata.get("remainingItemCount").and_then(Value::as_u64) {
        Some(count) => format!("{count} items remain"),
        None => "some items remain".into(),
    };
    Some(ProblemKind::Incomplete { remaining })
}

/// The text of an item of a list, and where it stands.
pub(crate) struct ItemText {
    pub(crate) source: Arc<str>,
    /// Number of the document that is the list.
    pub(crate) index: u32,
    pub(crate) item: u32,
    pub(crate) start: window::Place,
    /// What was known of the list where the item stands.
    pub(crate) head: ListHead,
    pub(crate) text: Box<[u8]>,
}

impl ItemText {
    /// Where it stands.
    pub(crate) fn place(&self) -> Place {
        Place {
            source: self.source.clone(),
            document: Some(self.index),
            item: Some(self.item),
            line: Some(self.start.line),
            column: None,
        }
    }
}

/// What is handed on.
pub(crate) enum Part {
    /// Something that was found.
    Found(Found),
    /// The text of an item of a list, of which it is known where it ends.
    Text(ItemText),
}

/// Hands on what is found in one source.
pub(crate) struct Emit<'a> {
    pub(crate) source: Arc<str>,
    pub(crate) limits: &'a Limits,
    /// Number of the current document.
    pub(crate) index: u32,
    /// Whether items of lists are handed on as text, for others to read.
    pub(crate) defers: bool,
    pub(crate) each: &'a mut dyn FnMut(Part),
}

impl Emit<'_> {
    /// A document, or the items of one that is a list.
    pub(crate) fn document(&mut self, line: u64, value: Value) {
        self.value(None, line, value);
    }

    /// An item of a list, or its items where it is a list itself.
    pub(crate) fn item(&mut self, item: u32, line: u64, value: Value) {
        self.value(Some(item), line, value);
    }

    /// A list, apart from its items.
    pub(crate) fn list(&mut self, head: &ListHead) {
        if let Some(kind) = head.kind.as_ref().filter(|kind| head.is_typed_list() && *kind != "List") {
            let api_version = head.api_version.clone().unwrap_or_default();
            (self.each)(Part::Found(Found::List { api_version, kind: kind.clone() }));
        }
    }

    fn value(&mut self, item: Option<u32>, line: u64, mut value: Value) {
        let Some((head, items)) = take_list(&mut value) else {
            let source = self.source.clone();
            let document = Document { source, index: self.index, item, line, value };
            (self.each)(Part::Found(Found::Document(document)));
            return;
        };
        self.list(&head);
        for (position, mut inner) in (0..).zip(items) {
            head.fill(&mut inner);
            self.value(item.or(Some(position)), line, inner);
        }
        if let Some(kind) = value.get("metadata").and_then(incomplete) {
            self.problem(item, Some((line, None)), kind, Lost::RestOfList);
        }
    }

    pub(crate) fn problem(
        &mut self,
        item: Option<u32>,
        at: Option<(u64, Option<u64>)>,
        kind: ProblemKind,
        lost: Lost,
    ) {
        let place = Place {
            source: self.source.clone(),
            document: Some(self.index).filter(|&index| index > 0),
            item,
            line: at.map(|(line, _)| line),
            column: at.and_then(|(_, column)| column),
        };
        (self.each)(Part::Found(Found::Problem(Problem { place, kind, lost })));
    }
}

/// The head and items of a value that is a list; the items are taken out of it.
fn take_list(value: &mut Value) -> Option<(ListHead, Vec<Value>)> {
    let object = value.as_object_mut()?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let head = ListHead { kind: text("kind"), api_version: text("apiVersion") };
    let items = match object.get_mut("items") {
        Some(Value::Array(items)) if head.can_be_list() => std::mem::take(items),
        // What Go prints for a list that was never filled.
        Some(Value::Null) if head.is_typed_list() => Vec::new(),
        None if head.kind.as_deref() == Some("List") => Vec::new(),
        _ => return None,
    };
    Some((head, items))
}
