//! The manifest by which krew installs the program as a kubectl plugin (krew.sigs.k8s.io, "Plugin manifest").

use anyhow::{Result, bail};

/// A platform, as kubectl and krew call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Platform {
    /// `linux`, `darwin`, `windows`.
    pub(super) os: &'static str,
    /// `amd64`, `arm64`.
    pub(super) arch: &'static str,
}

/// The platform of one of Rust's targets.
pub(super) fn platform(target: &str) -> Result<Platform> {
    let arch = match target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        Some(_) | None => bail!("krew has no name for the processor of {target}"),
    };
    let os = ["linux", "darwin", "windows"].into_iter().find(|os| target.contains(os));
    match os {
        Some(os) => Ok(Platform { os, arch }),
        None => bail!("krew has no name for the system of {target}"),
    }
}

/// The manifest: an archive and its hash for each platform.
pub(super) fn manifest(version: &str, uri: &str, archives: &[(Platform, String, String)]) -> String {
    let mut text = format!(
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: replank
spec:
  version: v{version}
  homepage: {home}
  shortDescription: Rehearse and carry out node replacement
  description: |
    Rehearses the replacement of a cluster's nodes on a simulated copy, finds
    what would block it or cause downtime, and carries it out: cordon, drain,
    roll, interruptions and the number of nodes.
  platforms:
",
        home = uri.split("/releases").next().unwrap_or(uri),
    );
    for (Platform { os, arch }, name, hash) in archives {
        let bin = if *os == "windows" { "replank.exe" } else { "replank" };
        text.push_str(&format!(
            "  - selector:
      matchLabels:
        os: {os}
        arch: {arch}
    uri: {uri}/v{version}/{name}
    sha256: {hash}
    bin: {bin}
    files:
    - from: {bin}
      to: .
    - from: LICENSE
      to: .
"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_archive_has_its_platform_and_its_hash() {
        let of = |target: &str| platform(target).expect("krew knows it");
        let archives = [
            (of("aarch64-unknown-linux-musl"), "a.tar.gz".to_owned(), "0a".to_owned()),
            (of("x86_64-unknown-linux-musl"), "b.tar.gz".to_owned(), "0b".to_owned()),
        ];
        let text = manifest("1.2.3", "https://host/replank/releases/download", &archives);
        assert!(text.contains("  version: v1.2.3\n  homepage: https://host/replank\n"), "{text}");
        let of_first = "        os: linux\n        arch: arm64\n    uri: https://host/replank/releases/download/v1.2.3/a.tar.gz\n    sha256: 0a\n";
        assert!(text.contains(of_first), "{text}");
        assert!(text.contains("        arch: amd64\n") && text.contains("    sha256: 0b\n"), "{text}");
        assert!(platform("riscv64gc-unknown-linux-gnu").is_err() && platform("x86_64-unknown-none").is_err());
    }
}
