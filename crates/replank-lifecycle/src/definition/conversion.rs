//! How objects are converted between the versions of a definition.

use crate::tree::Plain;

use super::names;
use super::place::Place;
use super::problem::Problems;

/// Says what is wrong with `spec.conversion`.
pub(super) fn check(of: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let get = |key: &str| of.get(key).filter(|value| !value.is_null());
    let strategy = get("strategy").and_then(Plain::as_text).unwrap_or_default();
    if !matches!(strategy, "None" | "Webhook") {
        problems.refuse(at.child("strategy"), "has to be None or Webhook");
    }
    let webhook = get("webhook");
    let within = |key: &str| webhook.and_then(|of| of.get(key)).filter(|value| !value.is_null());
    let reviews: Vec<&str> = within("conversionReviewVersions")
        .and_then(Plain::as_list)
        .map(|all| all.iter().map(|item| item.as_text().unwrap_or_default()).collect())
        .unwrap_or_default();
    if strategy != "Webhook" {
        if within("clientConfig").is_some() {
            problems.refuse(at.child("webhookClientConfig"), "only allowed with the strategy Webhook");
        }
        if !reviews.is_empty() {
            problems.refuse(at.child("conversionReviewVersions"), "only allowed with the strategy Webhook");
        }
        return;
    }
    match within("clientConfig") {
        None => problems.refuse(at.child("webhookClientConfig"), "required by the strategy Webhook"),
        Some(client) => self::client(client, &at.child("webhookClientConfig"), problems),
    }
    let at = at.child("conversionReviewVersions");
    if reviews.is_empty() {
        return problems.refuse(at, "required by the strategy Webhook");
    }
    for (index, version) in reviews.iter().enumerate() {
        if reviews[..index].contains(version) {
            problems.refuse(at.item(index), "stands there twice");
        } else if let Some(why) = names::label_1035(version) {
            problems.refuse(at.item(index), why);
        }
    }
    if !reviews.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        problems.refuse(at, "has to have v1 or v1beta1");
    }
}

/// Where the webhook is (`apiserver/pkg/util/webhook/validation.go`).
fn client(of: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let get = |key: &str| of.get(key).filter(|value| !value.is_null());
    match (get("url").and_then(Plain::as_text), get("service")) {
        (Some(url), None) => self::url(url, &at.child("url"), problems),
        (None, Some(service)) => self::service(service, &at.child("service"), problems),
        (Some(_), Some(_)) | (None, None) => {
            problems.refuse(at.clone(), "has to have url or service, not both");
        }
    }
}

fn url(url: &str, at: &Place, problems: &mut Problems) {
    let scheme = url.get(..8).filter(|scheme| scheme.eq_ignore_ascii_case("https://"));
    let Some(rest) = scheme.map(|scheme| &url[scheme.len()..]) else {
        return problems.refuse(at.clone(), "has to begin with https://");
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() {
        problems.refuse(at.clone(), "has to name a host");
    } else if host.contains('@') || rest.contains(['?', '#']) {
        problems.refuse(at.clone(), "may have no user, query or fragment");
    } else if !rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/:[]".contains(&byte)) {
        problems.unknown(at.clone(), "not checked here");
    }
}

fn service(of: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let text = |key: &str| of.get(key).and_then(Plain::as_text).unwrap_or_default();
    for key in ["name", "namespace"] {
        if text(key).is_empty() {
            problems.refuse(at.child(key), "required");
        }
    }
    let port = of.get("port").and_then(Plain::as_i64).unwrap_or(443);
    if !(1..=65_535).contains(&port) {
        problems.refuse(at.child("port"), "has to be between 1 and 65535");
    }
    let path = text("path");
    if of.get("path").and_then(Plain::as_text).is_some() {
        self::path(path, &at.child("path"), problems);
    }
}

fn path(path: &str, at: &Place, problems: &mut Problems) {
    if path.is_empty() || path == "/" {
        return;
    }
    if path == "//" {
        return problems.refuse(at.clone(), "a part of it is empty");
    }
    if !path.starts_with('/') {
        problems.refuse(at.clone(), "has to begin with /");
    }
    let parts = path.strip_prefix('/').unwrap_or(path);
    let parts = parts.strip_suffix('/').unwrap_or(parts);
    for part in parts.split('/') {
        if part.is_empty() {
            problems.refuse(at.clone(), "a part of it is empty");
        } else if let Some(why) = names::subdomain(part) {
            problems.refuse(at.clone(), why);
        }
    }
}
