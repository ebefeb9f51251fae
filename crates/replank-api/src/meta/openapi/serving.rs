//! Answers of `/openapi/v2` and `/openapi/v3`: made when first asked for, kept until a definition changes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hyper::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_TYPE, EXPIRES, HeaderValue, LOCATION, VARY};
use replank_schema::discovery;
use serde_json::{Map, Value, json};

use super::built_in::{Paths, below, others};
use super::custom::Custom;
use super::document;
use super::proto;
use super::shape::Form;
use crate::answer::{self, Answer, JSON, TEXT};
use crate::meta::ask::Ask;
use crate::meta::discovery::Definition;
use crate::meta::written;

/// All documents, while the definitions are what they are.
#[derive(Debug)]
pub(crate) struct Documents {
    minor: u32,
    definitions: Vec<Definition>,
    /// Those of 3.0 by their keys, such as `apis/apps/v1`.
    v3: BTreeMap<String, OnceLock<Arc<Document>>>,
    v2: OnceLock<Document>,
    v2_proto: OnceLock<Bytes>,
}

/// A document as it is sent.
#[derive(Debug)]
struct Document {
    body: Bytes,
    tag: String,
}

impl Document {
    fn of(value: &Value) -> Self {
        let body = Bytes::from(value.to_string());
        Self { tag: written::tag(&body), body }
    }
}

impl Documents {
    /// The documents of what is served beside some definitions.
    pub(crate) fn new(definitions: Vec<Definition>, minor: u32) -> Self {
        let mut keys: Vec<String> = ["api", "api/v1", "apis"].map(str::to_owned).to_vec();
        for group in &discovery().groups {
            keys.push(format!("apis/{}", group.name()));
            keys.extend(
                group.versions.iter().map(|version| format!("apis/{}/{}", group.name(), version.version)),
            );
        }
        keys.extend(others().iter().map(|(key, ..)| (*key).to_owned()));
        let custom = definitions.iter().flat_map(|one| one.versions().map(move |version| key(one, version)));
        keys.extend(custom);
        let v3 = keys.into_iter().map(|key| (key, OnceLock::new())).collect();
        Self { minor, definitions, v3, v2: OnceLock::new(), v2_proto: OnceLock::new() }
    }

    /// `/openapi/v3`: where the documents are. It is no JSON by its media type, upstream as here.
    pub(crate) fn index(&self) -> Answer {
        let paths: Map<String, Value> = self
            .v3
            .keys()
            .filter_map(|key| {
                let place = format!("/openapi/v3/{key}?hash={}", self.v3(key)?.tag);
                Some((key.clone(), json!({"serverRelativeURL": place})))
            })
            .collect();
        let mut answer = answer::whole(200, TEXT, json!({"paths": paths}).to_string());
        answer.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        answer
    }

    /// A document of 3.0. One that is asked for by a hash may be kept for good; an old hash leads to the new one.
    pub(crate) fn one(&self, ask: &Ask<'_>, key: &str) -> Answer {
        let Some(document) = self.v3(key) else { return empty(404) };
        if !ask
            .accepts()
            .iter()
            .any(|media| matches!(media.name.as_str(), "*/*" | "application/*" | "application/json"))
        {
            return empty(406);
        }
        let cache = match ask.query.text("hash") {
            None => "no-cache, private",
            Some(hash) if hash == document.tag => "public, immutable",
            Some(_) => {
                let mut answer = written::tagged(ask, JSON, &document.tag, "no-cache, private", Bytes::new());
                *answer.status_mut() = hyper::StatusCode::MOVED_PERMANENTLY;
                written::set(&mut answer, LOCATION, &format!("/openapi/v3/{key}?hash={}", document.tag));
                return answer;
            }
        };
        let mut answer = written::tagged(ask, JSON, &document.tag, cache, document.body.clone());
        answer.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if cache != "no-cache, private" {
            written::set(&mut answer, EXPIRES, &in_a_year());
        }
        answer
    }

    /// `/openapi/v2`, as JSON or protobuf, whichever the client takes first.
    pub(crate) fn all(&self, ask: &Ask<'_>) -> Answer {
        let document = self.v2.get_or_init(|| Document::of(&self.make_v2()));
        let (media_type, body) = ask
            .accepts()
            .iter()
            .find_map(|media| match media.name.as_str() {
                "application/json" | "application/*" | "*/*" => Some((JSON, document.body.clone())),
                "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" | proto::MEDIA => {
                    let made = self.v2_proto.get_or_init(|| proto::write(&self.make_v2()).into());
                    Some((proto::MEDIA, made.clone()))
                }
                _ => None,
            })
            .unzip();
        let (Some(media_type), Some(body)) = (media_type, body) else { return empty(406) };
        let mut answer = written::tagged(ask, media_type, &document.tag, "no-cache, private", body);
        answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        answer.headers_mut().append(VARY, HeaderValue::from_static("Accept"));
        answer.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        answer
    }

    fn v3(&self, key: &str) -> Option<Arc<Document>> {
        let made = self
            .v3
            .get(key)?
            .get_or_init(|| self.built_in(key).unwrap_or_else(|| Arc::new(self.make_v3(key))));
        Some(made.clone())
    }

    /// The document of something built in, which no definition changes: made once for all.
    fn built_in(&self, key: &str) -> Option<Arc<Document>> {
        static MADE: std::sync::Mutex<BTreeMap<(u32, String), Arc<Document>>> =
            std::sync::Mutex::new(BTreeMap::new());
        let is_custom = self.customs(key).next().is_some();
        if is_custom {
            return None;
        }
        let mut made = MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let make = || Arc::new(self.make_v3(key));
        Some(made.entry((self.minor, key.to_owned())).or_insert_with(make).clone())
    }

    fn customs<'a>(&'a self, of: &'a str) -> impl Iterator<Item = Custom<'a>> {
        let all = self.definitions.iter();
        let versions = all
            .flat_map(|definition| definition.versions().map(move |version| Custom { definition, version }));
        versions.filter(move |custom| key(custom.definition, custom.version) == of)
    }

    fn make_v3(&self, key: &str) -> Document {
        let mut paths = match others().into_iter().find(|(known, ..)| *known == key) {
            Some((_, path, operation)) => Paths::from([(path.to_owned(), vec![operation])]),
            None => built_in_paths(key),
        };
        let mut own = Vec::new();
        for custom in self.customs(key) {
            own.extend(custom.definitions(Form::V3));
            paths.extend(custom.paths());
        }
        Document::of(&document::in_v3(&paths, own, self.minor))
    }

    fn make_v2(&self) -> Value {
        let mut paths = Paths::new();
        let mut own = Vec::new();
        for key in self.v3.keys() {
            paths.extend(built_in_paths(key));
            for custom in self.customs(key) {
                own.extend(custom.definitions(Form::V2));
                paths.extend(custom.paths());
            }
        }
        paths.extend(others().map(|(_, path, operation)| (path.to_owned(), vec![operation])));
        document::in_v2(&paths, own, self.minor)
    }
}

/// The built-in paths of a document: those below its key, unless a longer key has them.
fn built_in_paths(key: &str) -> Paths {
    let parts: Vec<&str> = key.split('/').collect();
    let group = match parts.as_slice() {
        ["api"] | ["apis"] => return discovery_only(key),
        ["apis", group] => {
            return if is_known(group, None) { discovery_only(key) } else { Paths::new() };
        }
        ["api", version] => ("", *version),
        ["apis", group, version] => (*group, *version),
        _ => return Paths::new(),
    };
    if is_known(group.0, Some(group.1)) { below(&format!("/{key}/")) } else { Paths::new() }
}

fn discovery_only(key: &str) -> Paths {
    let prefix = format!("/{key}/");
    below(&prefix).into_iter().filter(|(path, _)| *path == prefix).collect()
}

fn is_known(group: &str, version: Option<&str>) -> bool {
    let known = discovery().all().find(|one| one.name() == group);
    known.is_some_and(|one| {
        version.is_none_or(|version| one.versions.iter().any(|known| known.version == version))
    })
}

fn key(definition: &Definition, version: &Value) -> String {
    format!("apis/{}/{}", definition.group(), version["name"].as_str().unwrap_or_default())
}

fn empty(code: u16) -> Answer {
    let mut answer = answer::whole(code, TEXT, Bytes::new());
    answer.headers_mut().remove(CONTENT_TYPE);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    answer
}

/// When what never changes is to be asked for again.
fn in_a_year() -> String {
    let then = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(365 * 24);
    then.strftime("%a, %d %b %Y %H:%M:%S UTC").to_string()
}
