//! What an API server serves: its resources, each in one version.

use serde_json::Value;

use crate::connect::{Connection, JSON};
use crate::error::{LiveError, Missing};

/// A resource that can be listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Plural name, as in URLs.
    pub plural: String,
    /// Kind.
    pub kind: String,
    /// Whether its objects are in namespaces.
    pub is_namespaced: bool,
}

/// Discovery of everything in two requests (1.27 and newer; older servers answer with what they know).
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

impl Resource {
    /// `apps/v1`, or `v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        match &*self.group {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The path of its collection, of one namespace or of all.
    #[must_use]
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let namespace = namespace.map(|namespace| format!("namespaces/{namespace}/")).unwrap_or_default();
        format!("{root}/{}/{namespace}{}", self.api_version(), self.plural)
    }

    /// The rule by which it may be listed.
    #[must_use]
    pub fn rule(&self) -> Missing {
        Missing { group: self.group.clone(), resource: self.plural.clone(), verbs: &["list"] }
    }
}

/// Every resource that can be listed, in the version that the server prefers.
///
/// # Errors
/// Where the server cannot be asked.
pub(crate) async fn served(connection: &Connection) -> Result<Vec<Resource>, LiveError> {
    let mut preferred: Vec<Resource> = Vec::new();
    for one in served_in_all_versions(connection).await? {
        let is_known = |known: &Resource| known.group == one.group && known.plural == one.plural;
        if !preferred.iter().any(is_known) {
            preferred.push(one);
        }
    }
    preferred.sort();
    Ok(preferred)
}

/// Every resource that can be listed, in each version that is served, the one that the server prefers first.
///
/// # Errors
/// Where the server cannot be asked.
pub(crate) async fn served_in_all_versions(connection: &Connection) -> Result<Vec<Resource>, LiveError> {
    let mut all = Vec::new();
    for root in ["/api", "/apis"] {
        let told = connection.json(root, AGGREGATED, of(root)).await?;
        match told["kind"].as_str() {
            Some("APIGroupDiscoveryList") => all.extend(aggregated(&told)),
            Some(_) | None => plain(connection, root, &told, &mut all).await?,
        }
    }
    Ok(all)
}

fn of(path: &str) -> Missing {
    Missing { group: String::new(), resource: path.to_owned(), verbs: &["get"] }
}

/// Groups with their versions and resources; the version that is preferred comes first.
fn aggregated(told: &Value) -> Vec<Resource> {
    let mut all: Vec<Resource> = Vec::new();
    for group in items(&told["items"]) {
        let name = text(&group["metadata"]["name"]);
        for version in items(&group["versions"]) {
            for one in items(&version["resources"]) {
                let kind = &one["responseKind"];
                let resource = Resource {
                    group: name.to_owned(),
                    version: text(&version["version"]).to_owned(),
                    plural: text(&one["resource"]).to_owned(),
                    kind: text(&kind["kind"]).to_owned(),
                    is_namespaced: one["scope"] == "Namespaced",
                };
                put(&mut all, resource, &one["verbs"]);
            }
        }
    }
    all
}

/// The same, group by group, of a server that does not know the other form.
async fn plain(
    connection: &Connection,
    root: &str,
    told: &Value,
    all: &mut Vec<Resource>,
) -> Result<(), LiveError> {
    let versions: Vec<(String, String)> = if root == "/api" {
        items(&told["versions"]).map(|version| (String::new(), text(version).to_owned())).collect()
    } else {
        let preferred = |group: &Value| {
            (text(&group["name"]).to_owned(), text(&group["preferredVersion"]["version"]).to_owned())
        };
        let others = |group: &Value| {
            let name = text(&group["name"]).to_owned();
            items(&group["versions"])
                .map(|one| (name.clone(), text(&one["version"]).to_owned()))
                .collect::<Vec<_>>()
        };
        items(&told["groups"]).flat_map(|group| [vec![preferred(group)], others(group)].concat()).collect()
    };
    let mut seen: Vec<(String, String)> = Vec::new();
    for (group, version) in versions {
        let one = (group.clone(), version.clone());
        if seen.contains(&one) {
            continue;
        }
        seen.push(one);
        let path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        // A group whose API server is away hides only itself.
        let answer = connection.get(&path, JSON).await?;
        let Ok(told) = serde_json::from_slice::<Value>(&answer.body) else { continue };
        for one in items(&told["resources"]) {
            let resource = Resource {
                group: group.clone(),
                version: version.clone(),
                plural: text(&one["name"]).to_owned(),
                kind: text(&one["kind"]).to_owned(),
                is_namespaced: one["namespaced"] == true,
            };
            put(all, resource, &one["verbs"]);
        }
    }
    Ok(())
}

/// Takes a resource in unless it cannot be listed.
fn put(all: &mut Vec<Resource>, resource: Resource, verbs: &Value) {
    let can_be_listed = items(verbs).any(|verb| verb == "list") && !resource.plural.contains('/');
    if can_be_listed {
        all.push(resource);
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resource_is_taken_in_each_version_if_it_can_be_listed() {
        let resource = |name: &str, verbs: &[&str]| json!({"resource": name, "responseKind": {"group": "g", "version": "", "kind": "K"}, "scope": "Namespaced", "verbs": verbs});
        let told = json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "g"}, "versions": [
            {"version": "v2", "resources": [resource("ks", &["list"]), resource("asks", &["create"])]},
            {"version": "v1", "resources": [resource("ks", &["list"]), resource("olds", &["list"])]}]}]});
        let found: Vec<String> = aggregated(&told).iter().map(|one| one.path(Some("n"))).collect();
        assert_eq!(
            found,
            ["/apis/g/v2/namespaces/n/ks", "/apis/g/v1/namespaces/n/ks", "/apis/g/v1/namespaces/n/olds"]
        );
    }
}
