//! URLs (apiserver `pkg/cel/library/urls.go`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::part::{Made, failed};
use crate::value::{Key, Url, Val};

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    Some(match (function, values) {
        ("url", [Val::Text(text)]) => match read(text) {
            Some(url) => Ok(Val::Url(Arc::new(url))),
            None => failed(format!(
                "URL parse error during conversion from string: parse {text:?}: invalid URI for request"
            )),
        },
        ("isURL", [Val::Text(text)]) => Ok(Val::Bool(read(text).is_some())),
        ("getScheme", [Val::Url(url)]) => Ok(Val::text(&url.scheme)),
        ("getHost", [Val::Url(url)]) => Ok(Val::text(&url.host)),
        ("getHostname", [Val::Url(url)]) => Ok(Val::text(hostname(&url.host).0)),
        ("getPort", [Val::Url(url)]) => Ok(Val::text(hostname(&url.host).1)),
        ("getEscapedPath", [Val::Url(url)]) => Ok(Val::text(&url.path)),
        ("getQuery", [Val::Url(url)]) => {
            let mut all: BTreeMap<Key, Vec<Val>> = BTreeMap::new();
            for pair in url.query.split('&').filter(|pair| !pair.is_empty()) {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                all.entry(Key::Text(unescape(key).into())).or_default().push(Val::text(&unescape(value)));
            }
            Ok(Val::Map(Arc::new(all.into_iter().map(|(key, values)| (key, Val::list(values))).collect())))
        }
        _ => return None,
    })
}

/// A URL that is absolute, or a path from the root (`url.ParseRequestURI`).
fn read(text: &str) -> Option<Url> {
    if text.is_empty() || text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return None;
    }
    let (scheme, rest) = match text.split_once("://") {
        _ if text.starts_with('/') => ("", text),
        Some((scheme, rest)) => (scheme, rest),
        None => return None,
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !scheme.is_empty() && !is_scheme {
        return None;
    }
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = match before.find('/') {
        _ if scheme.is_empty() => ("", before),
        Some(at) => before.split_at(at),
        None => (before, ""),
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    let port = hostname(host).1;
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Url {
        text: text.to_owned(),
        scheme: scheme.to_ascii_lowercase(),
        host: host.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
    })
}

/// Host and port; brackets around an address of IPv6 are not part of it.
fn hostname(host: &str) -> (&str, &str) {
    if let Some(rest) = host.strip_prefix('[')
        && let Some((host, port)) = rest.split_once(']')
    {
        return (host, port.strip_prefix(':').unwrap_or(""));
    }
    host.rsplit_once(':').unwrap_or((host, ""))
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let code =
                    std::str::from_utf8(&digits).ok().and_then(|text| u8::from_str_radix(text, 16).ok());
                bytes.push(code.unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
