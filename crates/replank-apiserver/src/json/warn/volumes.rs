//! Files of one volume that are put where others are (`warningsForOverlappingVirtualPaths`).

use serde_json::{Map, Value};

use crate::json::members::{list, text};

/// A path within a volume, and where it comes from; nothing where the volume has one source.
#[derive(Clone, PartialEq, Eq)]
struct Put {
    path: String,
    from: String,
}

impl Put {
    fn new(path: &str, from: &str) -> Self {
        Self { path: path.trim_end_matches('/').to_owned(), from: from.to_owned() }
    }

    fn shown(&self) -> String {
        match &*self.from {
            "" => format!("{:?}", self.path),
            from => format!("{:?} ({from})", self.path),
        }
    }

    /// Whether one is where the other is, or below it.
    fn meets(&self, other: &Self) -> bool {
        let (one, other) = (format!("{}/", self.path), format!("{}/", other.path));
        one.len() > 1 && other.len() > 1 && (one.starts_with(&other) || other.starts_with(&one))
    }
}

/// What is said of a pod's volumes.
pub(super) fn warnings(volumes: &[Value], told: &mut Vec<String>) {
    for volume in volumes {
        let name = text(volume, "name");
        let single = [
            ("configMap", "name", "ConfigMap"),
            ("secret", "secretName", "Secret"),
            ("downwardAPI", "", "DownwardAPI"),
        ];
        for (kind, key, shown) in single {
            let Some(source) = volume.get(kind) else { continue };
            let what = described(source, key, shown);
            overlaps(name, &what, &mut Vec::new(), items(source, ""), told);
        }
        let mut known = Vec::new();
        for source in volume.get("projected").map(|of| list(of, "sources")).unwrap_or_default() {
            if source.as_object().is_none_or(Map::is_empty) {
                told.push(format!("volume {name:?} (Projected) has no sources provided"));
            }
            overlaps(name, "Projected", &mut known, projected(source), told);
        }
    }
}

fn overlaps(volume: &str, what: &str, known: &mut Vec<Put>, puts: Vec<Put>, told: &mut Vec<String>) {
    for put in puts {
        for other in known.iter().filter(|other| put.meets(other)) {
            told.push(format!(
                "volume {volume:?} ({what}): overlapping paths: {} with {}",
                put.shown(),
                other.shown()
            ));
        }
        known.push(put);
    }
}

/// `ConfigMap "name"`
fn described(source: &Value, key: &str, kind: &str) -> String {
    if key.is_empty() { kind.to_owned() } else { format!("{kind} {:?}", text(source, key)) }
}

fn items(source: &Value, from: &str) -> Vec<Put> {
    list(source, "items").iter().map(|item| Put::new(text(item, "path"), from)).collect()
}

/// What the first source that there is puts where.
fn projected(source: &Value) -> Vec<Put> {
    let of = |kind: &str| source.get(kind).filter(|one| !one.is_null());
    for (kind, key, shown) in
        [("configMap", "name", "ConfigMap"), ("secret", "name", "Secret"), ("downwardAPI", "", "DownwardAPI")]
    {
        if let Some(one) = of(kind).filter(|one| one.get("items").is_some()) {
            return items(one, &described(one, key, shown));
        }
    }
    if let Some(token) = of("serviceAccountToken") {
        return vec![Put::new(text(token, "path"), "ServiceAccountToken")];
    }
    if let Some(bundle) = of("clusterTrustBundle") {
        let key = if bundle.get("name").is_some() { "name" } else { "signerName" };
        return vec![Put::new(text(bundle, "path"), &described(bundle, key, "ClusterTrustBundle"))];
    }
    let certificate = of("podCertificate").unwrap_or(&Value::Null);
    let files = [
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    ];
    let given = files.into_iter().filter(|(key, _)| !text(certificate, key).is_empty());
    given.map(|(key, shown)| Put::new(text(certificate, key), shown)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_that_is_where_another_is_is_told() {
        let volumes = json!([
            {"name": "c", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}, {"key": "l", "path": "p/"}, {"key": "m", "path": "q"}]}},
            {"name": "s", "secret": {"secretName": "s", "items": [{"key": "k", "path": "a"}, {"key": "l", "path": "a/b"}, {"key": "m", "path": "ab"}]}},
            {"name": "p", "projected": {"sources": [{}, {"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "c", "items": [{"key": "k", "path": "token/x"}]}}]}}]);
        let mut told = Vec::new();
        warnings(volumes.as_array().expect("a list"), &mut told);
        assert_eq!(
            told,
            [
                r#"volume "c" (ConfigMap "c"): overlapping paths: "p" with "p""#,
                r#"volume "s" (Secret "s"): overlapping paths: "a/b" with "a""#,
                r#"volume "p" (Projected) has no sources provided"#,
                r#"volume "p" (Projected): overlapping paths: "token/x" (ConfigMap "c") with "token" (ServiceAccountToken)"#,
            ]
        );
    }
}
