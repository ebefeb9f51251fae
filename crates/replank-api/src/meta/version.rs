//! `/version`: which version of Kubernetes is served.

use serde::Serialize;

use crate::release::Release;

/// version.Info of apimachinery.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    major: String,
    minor: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    emulation_major: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    emulation_minor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_compatibility_major: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_compatibility_minor: Option<String>,
    git_version: String,
    git_commit: &'static str,
    git_tree_state: &'static str,
    build_date: &'static str,
    go_version: &'static str,
    compiler: &'static str,
    platform: String,
}

/// The first version that tells which others it emulates (KEP-4330).
const EMULATES_SINCE: u32 = 33;

/// What `/version` answers. Nothing here was built by Go: who looks at the commit, the compiler or the platform sees what it really is.
pub(crate) fn info(release: Release) -> Info {
    let emulates = (release.minor >= EMULATES_SINCE).then_some(release);
    Info {
        major: "1".to_owned(),
        minor: release.minor.to_string(),
        emulation_major: emulates.map(|_| "1".to_owned()),
        emulation_minor: emulates.map(|release| release.minor.to_string()),
        min_compatibility_major: emulates.map(|_| "1".to_owned()),
        min_compatibility_minor: emulates.map(|release| (release.minor - 1).to_string()),
        git_version: release.to_string(),
        git_commit: "replank",
        git_tree_state: "clean",
        build_date: "2026-06-01T00:00:00Z",
        go_version: "none",
        compiler: "rustc",
        platform: format!("{}/{}", std::env::consts::OS, architecture()),
    }
}

/// The machine, in Go's words, which clients compare.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_emulate_nothing() {
        let of = |release: Release| serde_json::to_value(info(release)).expect("plain data");
        let latest = of(Release::LATEST);
        assert_eq!(
            (&latest["gitVersion"], &latest["minCompatibilityMinor"]),
            (&"v1.36.2".into(), &"35".into())
        );
        let old = of(Release { minor: 24, patch: 17 });
        assert_eq!((&old["gitVersion"], old.get("emulationMinor")), (&"v1.24.17".into(), None));
    }
}
