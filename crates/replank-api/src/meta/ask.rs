//! What is asked of a path that is no resource.

use hyper::Method;
use hyper::header::{ACCEPT, HeaderMap, HeaderName, IF_NONE_MATCH, USER_AGENT};

use crate::query::Query;

/// What is asked of a path that is no resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// How.
    pub(crate) method: &'a Method,
    /// Of which path.
    pub(crate) path: &'a str,
    /// What stands behind the `?`.
    pub(crate) query: &'a Query,
    /// All headers.
    pub(crate) headers: &'a HeaderMap,
}

/// A media type that a client takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Media {
    /// Such as `application/json`, in small letters.
    pub(crate) name: String,
    /// What follows it: `g=apidiscovery.k8s.io`.
    parameters: Vec<(String, String)>,
    weight: f32,
}

impl Media {
    /// A parameter of it.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn read(text: &str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let pairs = parts.filter_map(|part| part.split_once('='));
        let pairs: Vec<(String, String)> = pairs
            .map(|(name, value)| (name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
            .collect();
        let weight = pairs.iter().find(|(name, _)| name == "q").and_then(|(_, q)| q.parse().ok());
        Self { name, parameters: pairs, weight: weight.unwrap_or(1.0) }
    }
}

impl Ask<'_> {
    /// What the client takes, the best first; anything where it says nothing.
    pub(crate) fn accepts(&self) -> Vec<Media> {
        let text = self.header(&ACCEPT).unwrap_or_default();
        let mut all: Vec<Media> =
            text.split(',').filter(|one| !one.trim().is_empty()).map(Media::read).collect();
        if all.is_empty() {
            all.push(Media::read("*/*"));
        }
        all.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        all
    }

    /// Whether the client takes JSON, as go-restful asks of what it serves alone: by its name or as one of all.
    pub(crate) fn takes_json(&self) -> bool {
        self.accepts().iter().any(|media| matches!(media.name.as_str(), "*/*" | "application/json"))
    }

    /// Whether the client has what stands behind a tag.
    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        let known = self.header(&IF_NONE_MATCH).unwrap_or_default();
        known.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
    }

    /// Whether JSON is to be laid out for people: asked for, or by a browser or a command-line tool (apiserver, negotiate.go).
    pub(crate) fn is_for_people(&self) -> bool {
        let agent = self.header(&USER_AGENT).unwrap_or_default();
        let by_agent = ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known));
        self.query.boolean("pretty").unwrap_or(by_agent)
    }

    fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn media_types_come_by_weight_and_then_as_written() {
        let mut headers = HeaderMap::new();
        let text = "text/html;q=0.5, application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/yaml";
        headers.insert(ACCEPT, HeaderValue::from_static(text));
        let ask = Ask { method: &Method::GET, path: "/apis", query: &Query::default(), headers: &headers };
        let accepted = ask.accepts();
        let names: Vec<&str> = accepted.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["application/json", "application/yaml", "text/html"]);
        assert_eq!(accepted[0].parameter("as"), Some("APIGroupDiscoveryList"));
    }

    #[test]
    fn json_is_taken_by_its_name_or_as_one_of_all() {
        for (text, takes) in [
            ("text/html", false),
            ("application/*", false),
            ("text/html, */*", true),
            ("application/json;as=Table", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(text));
            let ask =
                Ask { method: &Method::GET, path: "/version", query: &Query::default(), headers: &headers };
            assert_eq!(ask.takes_json(), takes, "{text}");
        }
    }

    #[test]
    fn a_tag_is_known_with_others_beside_it() {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"A\", W/\"B\""));
        let ask = Ask { method: &Method::GET, path: "/", query: &Query::default(), headers: &headers };
        assert!(ask.has_tag("\"A\"") && ask.has_tag("\"B\"") && !ask.has_tag("\"C\""));
    }
}
