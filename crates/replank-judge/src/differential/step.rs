//! One request to both servers: with each server's own versions and uids put in.

use serde_json::{Value, json};

use crate::wire::{Received, Sent};

/// What a request tries; a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Discovery, OpenAPI, version, health.
    Meta,
    /// Objects that are right.
    Create,
    /// Objects that are changed somewhere.
    CreateChanged,
    /// Bodies that are no such object.
    Malformed,
    /// Single objects.
    Get,
    /// Lists with selectors, pages and versions.
    List,
    /// Tables, metadata alone, YAML, and types that are not served.
    Forms,
    /// Whole objects in place of others.
    Update,
    /// JSON patches.
    JsonPatch,
    /// JSON merge patches.
    MergePatch,
    /// Strategic merge patches.
    StrategicPatch,
    /// Server-side apply.
    Apply,
    /// Status, scale and the other subresources.
    Subresource,
    /// Single deletions.
    Delete,
    /// Deletions of collections.
    DeleteCollection,
    /// Watches.
    Watch,
    /// Methods and paths that are not served.
    Path,
    /// Bodies and answers in YAML and protobuf.
    Encodings,
    /// Reviews of access and tokens.
    Review,
}

impl Class {
    /// All, in the order of the table.
    pub(super) const ALL: [Self; 19] = [
        Self::Meta,
        Self::Create,
        Self::CreateChanged,
        Self::Malformed,
        Self::Get,
        Self::List,
        Self::Forms,
        Self::Update,
        Self::JsonPatch,
        Self::MergePatch,
        Self::StrategicPatch,
        Self::Apply,
        Self::Subresource,
        Self::Delete,
        Self::DeleteCollection,
        Self::Watch,
        Self::Path,
        Self::Encodings,
        Self::Review,
    ];

    /// Its name in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "discovery and health",
            Self::Create => "create",
            Self::CreateChanged => "create, changed body",
            Self::Malformed => "create, malformed body",
            Self::Get => "get",
            Self::List => "list",
            Self::Forms => "table, metadata, YAML",
            Self::Update => "update",
            Self::JsonPatch => "JSON patch",
            Self::MergePatch => "merge patch",
            Self::StrategicPatch => "strategic patch",
            Self::Apply => "apply",
            Self::Subresource => "subresources",
            Self::Delete => "delete",
            Self::DeleteCollection => "delete collection",
            Self::Watch => "watch",
            Self::Path => "methods and paths",
            Self::Encodings => "YAML and protobuf",
            Self::Review => "reviews",
        }
    }
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// None.
    Empty,
    /// Text of some type, in which `${rv}`, `${uid}` and the others stand for the server's own.
    Text {
        /// `Content-Type`.
        content: String,
        /// The text.
        text: String,
    },
    /// The last object that was read as protobuf, as it was.
    LastBytes,
    /// The object that was read last, changed by a merge patch.
    Last {
        /// The patch.
        edits: Value,
    },
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Its row in the table.
    pub(super) class: Class,
    /// The method.
    pub(super) method: String,
    /// The path, with `${rv}` and the others.
    pub(super) path: String,
    /// `Accept`.
    pub(super) accept: String,
    /// The body.
    pub(super) body: Body,
    /// Whether controllers may have something to do after it: they get a moment.
    pub(super) settles: bool,
    /// Whether what it makes is taken away at once: where an object with a drawn name stands among others is left to chance.
    pub(super) is_fleeting: bool,
}

impl Step {
    /// A request for JSON without a body.
    pub(super) fn new(class: Class, method: &str, path: impl Into<String>) -> Self {
        Self {
            class,
            method: method.to_owned(),
            path: path.into(),
            accept: "application/json".to_owned(),
            body: Body::Empty,
            settles: false,
            is_fleeting: false,
        }
    }

    /// With a body of JSON.
    pub(super) fn json(self, body: &Value) -> Self {
        self.typed("application/json", body.to_string())
    }

    /// With a body of some type.
    pub(super) fn typed(mut self, content: &str, text: impl Into<String>) -> Self {
        self.body = Body::Text { content: content.to_owned(), text: text.into() };
        self
    }

    /// With the last object, changed.
    pub(super) fn last(mut self, edits: Value) -> Self {
        self.body = Body::Last { edits };
        self
    }

    /// What one server is sent.
    pub(super) fn fill(&self, memory: &Memory) -> Sent {
        let sent = Sent::new(&self.method, escaped(&memory.put_in(&self.path))).accepting(&self.accept);
        match &self.body {
            Body::Empty => sent,
            Body::Text { content, text } => sent.typed(content, memory.put_in(text).into_bytes()),
            Body::LastBytes => sent.typed("application/vnd.kubernetes.protobuf", memory.bytes.clone()),
            Body::Last { edits } => {
                let mut object = memory.last.clone();
                merge(&mut object, edits);
                sent.json(&object)
            }
        }
    }
}

/// What one server has told.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// The last single object.
    last: Value,
    /// The version of the first list, and of the last one.
    versions: Option<(String, String)>,
    /// Where the last page ended.
    next: String,
    /// The last single object in protobuf.
    bytes: Vec<u8>,
}

impl Memory {
    /// Takes in an answer.
    pub(super) fn learn(&mut self, received: &Received) {
        if received.status >= 300 {
            return;
        }
        if received.header("content-type").is_some_and(|text| text.contains("protobuf")) {
            self.bytes.clone_from(&received.body);
            return;
        }
        let body = received.json();
        let Some(version) = body["metadata"]["resourceVersion"].as_str() else { return };
        if body["items"].is_array() {
            let first = self.versions.take().map_or_else(|| version.to_owned(), |(first, _)| first);
            self.versions = Some((first, version.to_owned()));
            self.next = body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        } else if body["metadata"]["uid"].is_string() && body["kind"] != "PartialObjectMetadata" {
            self.last = body;
        }
    }

    /// Where the last object is in its collection.
    pub(super) fn last_name(&self) -> &str {
        self.last["metadata"]["name"].as_str().unwrap_or_default()
    }

    fn put_in(&self, text: &str) -> String {
        if !text.contains("${") {
            return text.to_owned();
        }
        let of_last = |member: &str| self.last["metadata"][member].as_str().unwrap_or("1");
        let (first, list) = self.versions.as_ref().map_or(("0", "0"), |(first, last)| (first, last));
        text.replace("${rv}", of_last("resourceVersion"))
            .replace("${uid}", of_last("uid"))
            .replace("${first}", first)
            .replace("${list}", list)
            .replace("${next}", &self.next)
    }
}

/// A path with names of any letters in it.
pub(super) fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A JSON merge patch (RFC 7396).
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let object = target.as_object_mut().expect("it is one by now");
    for (key, value) in members {
        if value.is_null() {
            object.remove(key);
        } else {
            merge(object.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
