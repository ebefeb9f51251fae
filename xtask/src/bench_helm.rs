//! What a scan of Helm's storage takes: a generated dump of the Secrets that hold releases, with one thread.
//!
//! A release is what Helm 3 writes: JSON with the rendered manifest and the chart's templates, gzip at its best, base64, and base64 again
//! as every Secret's data are. Sizes are those of the dump.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::bench_scan::{Draws, Measured, measure};

/// Bytes of the dump.
const BYTES: usize = 50 << 20;
/// Deployments of a release's manifest.
const OBJECTS: usize = 60;
/// Peak of memory that a scan may need at most, in sizes of the dump.
const FLOOR: f64 = 2.0;

pub(crate) fn run(binary: &Path) -> Result<()> {
    println!(
        "\n| releases | MB | unpacked MB | objects gone | wall | MB/s | peak memory | findings | floor |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    // What is found is kept until it is told: the floor is for decoding, with few findings; the other row shows what many cost.
    for (gone, floor) in [(1, Some(FLOOR)), (OBJECTS, None)] {
        let dump = dump(gone)?;
        let Measured { wall, peak_kib, findings } = measure(binary, &dump.root, 1)?;
        let times = peak_kib as f64 * 1024.0 / dump.bytes as f64;
        let floor = match floor {
            Some(floor) if times <= floor => format!("{floor} times: met"),
            Some(floor) => format!("{floor} times: missed"),
            None => "–".to_owned(),
        };
        println!(
            "| {} | {} | {} | {gone} of {OBJECTS} in every third | {:.2} s | {:.0} | {} MB, {times:.2} times the dump | {findings} | {floor} |",
            dump.releases,
            dump.bytes / 1_000_000,
            dump.unpacked / 1_000_000,
            wall.as_secs_f64(),
            dump.bytes as f64 / 1e6 / wall.as_secs_f64(),
            peak_kib / 1_024,
        );
    }
    Ok(())
}

/// What was generated.
struct Dump {
    root: PathBuf,
    bytes: usize,
    /// Bytes of the releases before they were packed.
    unpacked: usize,
    releases: usize,
}

/// Writes a dump in which every third release has so many objects at a version that is gone.
fn dump(gone: usize) -> Result<Dump> {
    let root = crate::root().join("target").join("bench").join(format!("scan-helm-{gone}"));
    std::fs::create_dir_all(&root)?;
    let mut draws = Draws(0x2545_f491_4f6c_dd1d);
    let mut text = String::from("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n");
    let (mut releases, mut unpacked) = (0, 0);
    while text.len() < BYTES {
        let release = release(releases, gone, &mut draws)?;
        unpacked += release.len();
        if releases > 0 {
            text.push_str(",\n");
        }
        text.push_str(&secret(releases, &release)?);
        releases += 1;
    }
    text.push_str("\n]}\n");
    std::fs::write(root.join("secrets.json"), &text)?;
    Ok(Dump { root, bytes: text.len(), unpacked, releases })
}

fn release(number: usize, gone: usize, draws: &mut Draws) -> Result<String> {
    let mut manifest = String::new();
    let mut templates = Vec::new();
    for object in 0..OBJECTS {
        let is_gone = number.is_multiple_of(3) && object < gone;
        let version = if is_gone { "extensions/v1beta1" } else { "apps/v1" };
        let text = format!(
            "apiVersion: {version}\nkind: Deployment\nmetadata:\n  name: app-{number}-{object}\n  annotations:\n    about: {}\n\
             spec:\n  selector:\n    matchLabels: {{app: app-{object}}}\n  template:\n    metadata:\n      labels: {{app: app-{object}}}\n\
             \x20   spec:\n      containers:\n      - name: main\n        image: registry.example/app:{:016x}\n        args: [{}]\n",
            draws.words(40),
            draws.below(usize::MAX),
            draws.words(20).replace(' ', ", "),
        );
        templates.push(json!({"name": format!("templates/{object}.yaml"), "data": base64(text.as_bytes())}));
        write!(manifest, "---\n# Source: app/templates/{object}.yaml\n{text}")?;
    }
    Ok(json!({
        "name": format!("release-{number}"),
        "namespace": "apps",
        "version": 1,
        "info": {"status": "deployed", "last_deployed": "2026-05-04T10:00:00Z"},
        "chart": {"metadata": {"name": "app", "version": "1.0.0"}, "templates": templates, "values": {}},
        "manifest": manifest,
    })
    .to_string())
}

fn secret(number: usize, release: &str) -> Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(release.as_bytes())?;
    let data = base64(base64(&encoder.finish()?).as_bytes());
    let name = format!("sh.helm.release.v1.release-{number}.v1");
    let labels =
        json!({"owner": "helm", "name": format!("release-{number}"), "status": "deployed", "version": "1"});
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "apps", "labels": labels},
        "type": "helm.sh/release.v1",
        "data": {"release": data},
    })
    .to_string())
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = char::from(ALPHABET[bits >> (18 - 6 * place) & 63]);
            text.push(if place > chunk.len() { '=' } else { letter });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_the_rfc() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
