//! Which encoding a client is answered in: its `Accept` (apiserver `endpoints/handlers/negotiation`, and go-restful before it).

use replank_apiserver::ApiError;

use crate::query::Query;

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

impl Encoding {
    /// In the order in which a server offers them.
    const ALL: [Self; 3] = [Self::Json, Self::Yaml, Self::Protobuf];

    /// Its media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The media type of a watch.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Json | Self::Yaml => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// What of an object is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All of it.
    Object,
    /// Rows of a table, in a version of `meta.k8s.io`.
    Table(&'static str),
    /// Its metadata, in a version of `meta.k8s.io`.
    Metadata(&'static str),
    /// The same, of a list.
    MetadataList(&'static str),
}

/// What a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Media {
    /// How it is written.
    pub(crate) encoding: Encoding,
    /// What is written.
    pub(crate) shape: Shape,
    /// Whether JSON is indented.
    pub(crate) is_pretty: bool,
}

/// What a path offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Objects of a definition have no messages.
    pub(crate) is_custom: bool,
    /// A list may be watched, and offers streams besides.
    pub(crate) is_list: bool,
    /// Events are asked for.
    pub(crate) is_watch: bool,
    /// Which forms there are beside whole objects.
    pub(crate) shapes: Shapes,
}

/// Which forms a path offers beside whole objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shapes {
    /// None.
    Whole,
    /// Metadata: what is asked and not kept has no table.
    Metadata,
    /// Tables and metadata.
    All,
}

/// What was agreed on: for the answer, and for a Status that says why there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    /// Of the answer.
    pub(crate) media: Media,
    /// Of a Status; `None`: indented JSON, since nothing that it could be was asked for.
    pub(crate) status: Option<Media>,
}

/// Nothing was agreed on.
#[derive(Debug)]
pub(crate) struct Refused {
    /// 406.
    pub(crate) error: ApiError,
    /// How it is said.
    pub(crate) status: Option<Media>,
}

/// Agrees on an encoding.
///
/// # Errors
/// 406.
pub(crate) fn accept(
    header: &str,
    agent: &str,
    query: &Query,
    endpoint: Endpoint,
) -> Result<Accepted, Box<Refused>> {
    let is_pretty = is_pretty(query, agent);
    let plain = Endpoint { shapes: Shapes::Whole, is_watch: false, ..endpoint };
    let status = negotiate(header, Endpoint { is_custom: false, ..plain }, is_pretty);
    if !endpoint.is_custom && !is_offered(header, endpoint.is_list) {
        let offered = offered(endpoint.is_list).join(", ");
        let message = format!("406: Not Acceptable\n\nAvailable representations: {offered}");
        return Err(Box::new(Refused { error: ApiError::unrouted(406, "NotAcceptable", &message), status }));
    }
    let found = negotiate(header, endpoint, is_pretty);
    let found = found.filter(|media| !endpoint.is_watch || media.encoding != Encoding::Yaml);
    match found {
        Some(media) => Ok(Accepted { media, status }),
        None => {
            let types = match endpoint.is_watch {
                true => "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
                false => "application/json, application/yaml, application/vnd.kubernetes.protobuf",
            };
            let message = format!("only the following media types are accepted: {types}");
            Err(Box::new(Refused { error: ApiError::not_acceptable(&message), status }))
        }
    }
}

fn offered(is_list: bool) -> Vec<&'static str> {
    let mut all: Vec<&str> = Encoding::ALL.map(Encoding::media_type).to_vec();
    if is_list {
        all.extend(["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]);
    }
    all
}

/// go-restful looks first, at the types without their parameters, and knows no `application/*`.
pub(crate) fn is_offered(header: &str, is_list: bool) -> bool {
    let offered = offered(is_list);
    header.trim().is_empty()
        || header.split(',').any(|clause| {
            let word = clause.split(';').next().unwrap_or_default().trim();
            word == "*/*" || offered.contains(&word)
        })
}

/// JSON is indented for those who ask for it, and for people who look at it with curl or a browser.
fn is_pretty(query: &Query, agent: &str) -> bool {
    match query.text("pretty") {
        Some(word) => matches!(word, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        None => ["curl", "Wget", "Mozilla/5.0"].iter().any(|prefix| agent.starts_with(prefix)),
    }
}

/// One clause of an `Accept`.
struct Clause<'a> {
    main: &'a str,
    sub: &'a str,
    weight: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut all: Vec<Clause<'_>> = header
        .split(',')
        .filter_map(|text| {
            let mut parts = text.split(';');
            let word = parts.next().unwrap_or_default().trim();
            let (main, sub) = word.split_once('/').or((word == "*").then_some(("*", "*")))?;
            let pairs = parts.filter_map(|part| part.split_once('='));
            let parameters: Vec<_> = pairs.map(|(name, value)| (name.trim(), value.trim())).collect();
            let weight = parameters.iter().find(|(name, _)| *name == "q");
            let weight = weight.and_then(|(_, value)| value.parse().ok()).unwrap_or(1.0);
            Some(Clause { main: main.trim(), sub: sub.trim(), weight, parameters })
        })
        .collect();
    let rank = |one: &Clause<'_>| (one.main == "*", one.sub == "*");
    all.sort_by(|one, other| other.weight.total_cmp(&one.weight).then(rank(one).cmp(&rank(other))));
    all
}

fn negotiate(header: &str, endpoint: Endpoint, is_pretty: bool) -> Option<Media> {
    if header.trim().is_empty() {
        return Some(Media { encoding: Encoding::Json, shape: Shape::Object, is_pretty });
    }
    for clause in clauses(header) {
        for encoding in Encoding::ALL {
            let (main, sub) = encoding.media_type().split_once('/').unwrap_or_default();
            let is_it = match (clause.main, clause.sub) {
                ("*", "*") => true,
                (one, "*") => one == main,
                (one, other) => one == main && other == sub,
            };
            if is_it && let Some(media) = agreed(&clause, encoding, endpoint, is_pretty) {
                return Some(media);
            }
        }
    }
    None
}

/// What a clause asks for, if it can be had in an encoding.
fn agreed(clause: &Clause<'_>, encoding: Encoding, endpoint: Endpoint, is_pretty: bool) -> Option<Media> {
    let parameter = |wanted: &str| {
        let found = clause.parameters.iter().rev().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| *value)
    };
    let is_pretty = parameter("pretty").map_or(is_pretty, |word| word == "1");
    let shape = match parameter("as") {
        None => Shape::Object,
        Some(_) if endpoint.shapes == Shapes::Whole || parameter("g") != Some("meta.k8s.io") => return None,
        Some(word) => {
            let version = match parameter("v") {
                Some("v1") => "v1",
                Some("v1beta1") => "v1beta1",
                _ => return None,
            };
            match word {
                "Table" if encoding != Encoding::Protobuf && endpoint.shapes == Shapes::All => {
                    Shape::Table(version)
                }
                "PartialObjectMetadata" => Shape::Metadata(version),
                "PartialObjectMetadataList" => Shape::MetadataList(version),
                _ => return None,
            }
        }
    };
    let has_messages = !endpoint.is_custom || shape != Shape::Object;
    (encoding != Encoding::Protobuf || has_messages).then_some(Media { encoding, shape, is_pretty })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: Endpoint = Endpoint { is_custom: false, is_list: true, is_watch: false, shapes: Shapes::All };

    fn told(header: &str, endpoint: Endpoint) -> Result<(Encoding, Shape), String> {
        let accepted = accept(header, "", &Query::default(), endpoint);
        accepted.map(|one| (one.media.encoding, one.media.shape)).map_err(|refused| refused.error.message)
    }

    #[test]
    fn the_heaviest_clause_that_can_be_had_is_taken() {
        assert_eq!(told("", LIST), Ok((Encoding::Json, Shape::Object)));
        assert_eq!(told("text/html, */*", LIST), Ok((Encoding::Json, Shape::Object)));
        let both = "application/json;q=0.1, application/yaml;q=0.9";
        assert_eq!(told(both, LIST), Ok((Encoding::Yaml, Shape::Object)));
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(told(kubectl, LIST), Ok((Encoding::Json, Shape::Table("v1"))));
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(told(metadata, LIST), Ok((Encoding::Protobuf, Shape::MetadataList("v1"))));
        let custom = Endpoint { is_custom: true, ..LIST };
        let protobuf = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(told(protobuf, custom), Ok((Encoding::Json, Shape::Object)));
        assert_eq!(told(metadata, custom), Ok((Encoding::Protobuf, Shape::MetadataList("v1"))));
    }

    #[test]
    fn what_cannot_be_had_is_refused_in_the_words_of_who_looks_first() {
        let restful = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
            application/vnd.kubernetes.protobuf";
        let get = Endpoint { is_list: false, ..LIST };
        for header in ["application/cbor", "application/*", "garbage", "text/plain"] {
            assert_eq!(told(header, get), Err(restful.to_owned()), "{header}");
        }
        let streams = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
        assert_eq!(told("text/html", LIST), Err(format!("{restful}{streams}")));
        let table = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
        let only = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
        assert_eq!(told(table, get), Err(only.to_owned()));
        assert_eq!(told("application/json;as=Table", get), Err(only.to_owned()));
        let question = Endpoint { is_list: false, shapes: Shapes::Metadata, ..LIST };
        assert_eq!(told("application/json;as=Table;v=v1;g=meta.k8s.io", question), Err(only.to_owned()));
        let metadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        assert_eq!(told(metadata, question), Ok((Encoding::Json, Shape::Metadata("v1"))));
        let watch = Endpoint { is_watch: true, ..LIST };
        assert!(told("application/yaml", watch).unwrap_err().contains("application/json;stream=watch"));
        assert_eq!(
            told("application/vnd.kubernetes.protobuf;stream=watch", watch).map(|one| one.0),
            Ok(Encoding::Protobuf)
        );
    }
}
