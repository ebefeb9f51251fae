//! CustomResourceDefinitions (`apiextensions-apiserver/pkg/apis/apiextensions/v1beta1/{defaults,conversion}.go`, and the
//! validation of `v1`).

mod preserve;

use super::{Hold, Purpose, Work, default};
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

/// What stood once for all versions, and stands with each of them.
const OF_VERSIONS: [(&str, &str); 3] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
];

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &Work<'_>) -> Result<(), Hold> {
    if from.version == "v1" {
        return Ok(());
    }
    if work.purpose == Purpose::Write {
        approved(object)?;
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    // An empty scope is one that was left out.
    if spec.get("scope").is_some_and(|scope| scope.as_text().is_none()) {
        spec.set("scope", Tree::text("Namespaced"));
    }
    default(spec, "scope", Tree::text("Namespaced"), &["group", "names"]);
    let preserves = match spec.get("preserveUnknownFields").map(Tree::as_bool) {
        Some(Some(value)) => value,
        Some(None) | None => true,
    };
    versions(spec)?;
    conversion_up(spec);
    if preserves {
        // It is stored as true: only who writes false turns it off.
        if spec.get("preserveUnknownFields").is_some() {
            spec.set("preserveUnknownFields", Tree::of(crate::tree::What::Bool(false)));
        } else {
            let no = Tree::of(crate::tree::What::Bool(false));
            default(spec, "preserveUnknownFields", no, &["group", "names", "scope"]);
        }
    }
    let Some(versions) = spec.get_mut("versions") else { return Ok(()) };
    for version in versions.items_mut() {
        columns(version, "JSONPath", "jsonPath");
        let Some(schema) = version.map_of("schema", &["name", "served", "storage"]) else { continue };
        let Some(schema) = schema.map_of("openAPIV3Schema", &[]) else { continue };
        // A custom resource is an object, whether it says so or not.
        if schema.get("type").is_none() {
            let entry = Entry::new("type", Tree::text("object"));
            if schema.is_empty() { schema.set("type", entry.value) } else { schema.insert_behind(entry, &[]) }
        }
        if preserves {
            preserve::mark(schema);
        }
    }
    Ok(())
}

/// Groups of the Kubernetes community are protected: `v1` takes them only with the place of their approval (KEP-1111).
fn approved(object: &Tree) -> Result<(), Hold> {
    let group = object.text_at(&["spec", "group"]).unwrap_or_default();
    let within =
        |suffix: &str| group.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let protected = within("k8s.io") || within("kubernetes.io");
    let annotated = object.text_at(&["metadata", "annotations", "api-approved.kubernetes.io"]).is_some();
    if protected && !annotated {
        let path = "metadata.annotations[api-approved.kubernetes.io]".to_owned();
        return Err(Hold::Absent { path, why: "v1 requires it for groups under k8s.io and kubernetes.io" });
    }
    Ok(())
}

/// `version` becomes an entry of `versions`, and what stood for all of them goes to each.
fn versions(spec: &mut Tree) -> Result<(), Hold> {
    let version = spec.take_at("version");
    let has_versions = spec.get("versions").is_some_and(|versions| !versions.is_empty());
    if !has_versions {
        let Some((at, name)) = version else {
            let why = "v1 requires the list of versions";
            return Err(Hold::Absent { path: "spec.version".to_owned(), why });
        };
        let mut only = Tree::map([]);
        only.insert_behind(name.under("name"), &[]);
        only.set("served", Tree::of(crate::tree::What::Bool(true)));
        only.set("storage", Tree::of(crate::tree::What::Bool(true)));
        drop(spec.take("versions"));
        spec.insert_at(at, Entry::new("versions", Tree::list(vec![only])));
    }
    for (key, of_version) in OF_VERSIONS {
        let Some(mut entry) = spec.take(key) else { continue };
        let Some(versions) = spec.get_mut("versions") else { continue };
        for (at, version) in versions.items_mut().iter_mut().enumerate() {
            if version.get(of_version).is_some() {
                continue;
            }
            drop(version.take(of_version));
            let again = Entry::new(of_version, entry.value.copied());
            // The first has it as it was written; the others have copies.
            let written = if at == 0 { std::mem::replace(&mut entry, again) } else { again };
            version.insert_behind(written.under(of_version), &[]);
        }
    }
    Ok(())
}

fn conversion_up(spec: &mut Tree) {
    let Some(conversion) = spec.get_mut("conversion") else { return };
    let is_webhook = conversion.text_at(&["strategy"]) == Some("Webhook");
    let config = conversion.take_at("webhookClientConfig");
    let reviews = conversion.take_at("conversionReviewVersions");
    let Some(at) = config.as_ref().or(reviews.as_ref()).map(|(at, _)| *at).filter(|_| is_webhook) else {
        return;
    };
    let mut webhook = Tree::map([]);
    if let Some((_, config)) = config {
        webhook.insert_behind(config.under("clientConfig"), &[]);
    }
    let reviews = reviews.map_or_else(
        || Entry::new("conversionReviewVersions", Tree::list(vec![Tree::text("v1beta1")])),
        |(_, entry)| entry,
    );
    webhook.insert_behind(reviews, &[]);
    conversion.insert_at(at, Entry::new("webhook", webhook));
}

fn columns(version: &mut Tree, old: &str, new: &str) {
    if let Some(columns) = version.get_mut("additionalPrinterColumns") {
        columns.items_mut().iter_mut().for_each(|column| column.rename(old, new));
    }
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version == "v1" {
        return Ok(());
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let no = Tree::of(crate::tree::What::Bool(false));
    default(spec, "preserveUnknownFields", no, &["group", "names", "scope"]);
    if let Some(conversion) = spec.get_mut("conversion")
        && let Some((at, webhook)) = conversion.take_at("webhook")
    {
        let mut webhook = webhook.value;
        let reviews = webhook.take("conversionReviewVersions");
        let config = webhook.take("clientConfig").map(|entry| entry.under("webhookClientConfig"));
        for entry in [reviews, config].into_iter().flatten() {
            conversion.insert_at(at, entry);
        }
    }
    let Some(versions) = spec.get_mut("versions") else { return Ok(()) };
    versions.items_mut().iter_mut().for_each(|version| columns(version, "jsonPath", "JSONPath"));
    for (key, of_version) in OF_VERSIONS {
        hoist(spec, key, of_version);
    }
    Ok(())
}

/// What all versions have alike stands once: `v1beta1` refuses it with each of them.
fn hoist(spec: &mut Tree, key: &str, of_version: &str) {
    let Some(versions) = spec.get_mut("versions") else { return };
    let Some(first) = versions.items().first().and_then(|version| version.get(of_version)).map(Tree::copied)
    else {
        return;
    };
    let alike = |version: &Tree| version.get(of_version).is_some_and(|of| of.says(&first));
    if !versions.items().iter().all(alike) {
        return;
    }
    let mut hoisted = None;
    for version in versions.items_mut() {
        hoisted = version.take(of_version).or(hoisted);
    }
    if let Some(entry) = hoisted {
        spec.insert_behind(entry.under(key), &[]);
    }
}
