//! The software bill of materials: CycloneDX 1.5, of what is linked into the program. The same input gives the same text: no time, no serial number.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Of what cargo resolved for a target, with the checksums of Cargo.lock, and the hash of the program.
pub(super) fn of(metadata: &Value, lock: &str, program: &str) -> Result<Value> {
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let packages: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
    let needs: BTreeMap<&str, Vec<&str>> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, linked(node)))).collect();
    let own = packages.iter().find(|(_, package)| package["name"] == "replank").map(|(id, _)| *id);
    let own = own.context("there is no crate replank")?;
    let mut reached = BTreeSet::from([own]);
    let mut open = vec![own];
    while let Some(id) = open.pop() {
        for next in needs.get(id).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    let checksums = checksums(lock);
    let component = |id: &str| -> Option<Value> { Some(component(packages.get(id)?, &checksums)) };
    let mut components: Vec<Value> =
        reached.iter().filter(|id| **id != own).filter_map(|id| component(id)).collect();
    components.sort_by_key(|one| one["bom-ref"].to_string());
    let reference = |id: &str| packages.get(id).map(|package| purl(package));
    let mut dependencies: Vec<Value> = reached
        .iter()
        .filter_map(|id| {
            let mut on: Vec<String> =
                needs.get(id).into_iter().flatten().filter_map(|id| reference(id)).collect();
            on.sort();
            Some(json!({"ref": reference(id)?, "dependsOn": on}))
        })
        .collect();
    dependencies.sort_by_key(|one| one["ref"].to_string());
    let mut program_of = component(own).context("the crate replank")?;
    program_of["type"] = "application".into();
    program_of["hashes"] = json!([{"alg": "SHA-256", "content": program}]);
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program_of},
        "components": components,
        "dependencies": dependencies,
    }))
}

/// What a crate is linked with: neither what only its tests need nor what only its build script does.
fn linked(node: &Value) -> Vec<&str> {
    let is_linked = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let all = node["deps"].as_array().into_iter().flatten();
    let mut ids: Vec<&str> =
        all.filter(is_linked).filter_map(|dependency| dependency["pkg"].as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn text<'v>(package: &'v Value, member: &str) -> &'v str {
    package[member].as_str().unwrap_or_default()
}

/// A crate's address (github.com/package-url/purl-spec).
fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let mut one = json!({"type": "library", "bom-ref": purl(package), "name": name, "version": version, "purl": purl(package)});
    if let Some(licence) = package["license"].as_str() {
        // `/` is how `OR` was written once.
        one["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(checksum) = checksums.get(&(name.to_owned(), version.to_owned())) {
        one["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(repository) = package["repository"].as_str() {
        one["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    one
}

/// The hashes of crates' archives, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let blocks = lock.split("[[package]]").skip(1);
    let of = |block: &str| {
        let member = |name: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
            line.strip_suffix('"').map(str::to_owned)
        };
        Some(((member("name")?, member("version")?), member("checksum")?))
    };
    blocks.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_in_it_and_nothing_else() {
        let package = |name: &str, licence: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": licence});
        let need = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let node = |name: &str, needs: Value| json!({"id": name, "deps": needs});
        let metadata = json!({
            "packages": [package("replank", "Apache-2.0"), package("a", "MIT/Apache-2.0"), package("b", "MIT"), package("test", "MIT"), package("script", "MIT")],
            "resolve": {"nodes": [
                node("replank", json!([need("a", Value::Null), need("test", json!("dev"))])),
                node("a", json!([need("b", Value::Null), need("script", json!("build"))])),
                node("b", json!([])), node("test", json!([])), node("script", json!([])),
            ]},
        });
        let lock = "[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"r\"\nchecksum = \"0b\"\n";
        let sbom = of(&metadata, lock, "ff").expect("an SBOM");
        let names: Vec<&str> =
            sbom["components"].as_array().expect("a list").iter().map(|one| text(one, "name")).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(sbom["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(sbom["components"][1]["hashes"][0]["content"], "0b");
        assert_eq!(sbom["metadata"]["component"]["hashes"][0]["content"], "ff");
        assert_eq!(
            sbom["dependencies"][2],
            json!({"ref": "pkg:cargo/replank@1.0.0", "dependsOn": ["pkg:cargo/a@1.0.0"]})
        );
    }
}
