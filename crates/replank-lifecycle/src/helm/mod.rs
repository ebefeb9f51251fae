//! What Helm keeps of a release: unpacked on the way, one at a time, and only what is needed of it.

mod base64;
mod chart;
mod malformed;
mod open;
mod pack;
mod release;
mod tiller;

use std::io::Read as _;

use serde::Deserialize;
use serde::de::IgnoredAny;

pub use chart::{ChartRelease, Dependency, chart};
pub(crate) use pack::Packed;

use open::open;
pub(crate) use release::Release;
pub use release::ReleaseError;

/// Helm 3 (`pkg/storage/driver/util.go`): base64 of JSON, in gzip since 3.0; a Secret's own encoding adds a base64 around it.
pub(crate) fn v3(data: &str) -> Result<Release, ReleaseError> {
    let written: Written = serde_json::from_reader(open(data)?.bytes)?;
    Ok(Release {
        name: written.name,
        namespace: written.namespace,
        revision: written.version,
        status: written.info.status,
        manifest: written.manifest,
        hooks: written.hooks.into_iter().map(|hook| hook.manifest).collect(),
    })
}

/// Helm 2 (Tiller, `pkg/storage/driver`): the same around a message of protobuf.
pub(crate) fn v2(data: &str) -> Result<Release, ReleaseError> {
    let mut bytes = Vec::new();
    open(data)?.bytes.read_to_end(&mut bytes)?;
    Ok(tiller::read(&bytes)?)
}

/// What is needed of `release.Release` (helm, pkg/release); the chart, which is most of it, is passed over.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    version: u64,
    #[serde(default)]
    info: Info,
    #[serde(default)]
    manifest: String,
    #[serde(default)]
    hooks: Vec<Hook>,
    #[serde(default, rename = "chart")]
    _chart: IgnoredAny,
}

#[derive(Default, Deserialize)]
struct Info {
    #[serde(default)]
    status: String,
}

#[derive(Deserialize)]
struct Hook {
    #[serde(default)]
    manifest: String,
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use replank_intake::base64::encode;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    const JSON: &str = r#"{"name":"web","namespace":"shop","version":7,"info":{"status":"deployed"},"chart":{"templates":[{"data":"eA=="}]},
        "manifest":"---\napiVersion: v1\n","hooks":[{"manifest":"kind: Job\n"}]}"#;

    #[test]
    fn all_forms_of_storage_are_unpacked() {
        let packed = encode(&gzip(JSON.as_bytes()));
        for data in [
            packed.clone(),
            encode(packed.as_bytes()),
            encode(JSON.as_bytes()),
            encode(encode(JSON.as_bytes()).as_bytes()),
        ] {
            let release = v3(&data).unwrap();
            assert_eq!((&*release.name, release.revision, &*release.status), ("web", 7, "deployed"));
            assert_eq!(release.manifest, "---\napiVersion: v1\n");
            assert_eq!(release.hooks, ["kind: Job\n"]);
        }
    }

    /// Tiller wrote releases unpacked at first (helm v2, `pkg/storage/driver/util.go`).
    #[test]
    fn messages_that_are_not_packed_are_read() {
        let message = b"\x0a\x03web\x2a\x08kind: A\n\x38\x02";
        for data in [
            encode(message),
            encode(encode(message).as_bytes()),
            encode(&gzip(message)),
            encode(encode(&gzip(message)).as_bytes()),
        ] {
            let release = v2(&data).unwrap();
            assert_eq!((&*release.name, &*release.manifest, release.revision), ("web", "kind: A\n", 2));
        }
    }

    #[test]
    fn damage_is_told() {
        let packed = encode(&gzip(JSON.as_bytes()));
        assert!(matches!(
            v3(&packed[..packed.len() / 2]),
            Err(ReleaseError::Form(_) | ReleaseError::Unpack(_))
        ));
        assert!(v3("!!!").is_err());
        assert!(v3("").is_err());
        assert!(v2(&packed).is_err());
    }
}
