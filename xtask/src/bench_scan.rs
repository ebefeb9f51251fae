//! What a scan takes: a generated tree of manifests, scanned by the release binary with one thread and with two.
//!
//! The tree has the shape of a public catalogue of operators: many definitions of custom resources with deep schemas and
//! prose in them, bundles with icons and examples in block scalars, some small manifests; one definition of 10 MB; and the
//! same once more as JSON.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bench;

/// Files of the tree, as many as the largest public catalogue of operators has.
const FILES: usize = 10_000;
/// Bytes of it, in either notation.
const BYTES: usize = 250 << 20;
/// MB/s on one core that a scan is to reach at least.
const FLOORS: [(Notation, f64); 2] = [(Notation::Yaml, 30.0), (Notation::Json, 100.0)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    Yaml,
    Json,
}

impl Notation {
    const fn ending(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Json => "json",
        }
    }
}

/// Draws that are the same on every machine (Marsaglia, xorshift).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }

    pub(crate) fn words(&mut self, count: usize) -> String {
        const WORDS: [&str; 16] = [
            "operator",
            "manages",
            "the",
            "cluster",
            "volume",
            "endpoint",
            "policy",
            "replica",
            "of",
            "database",
            "when",
            "scales",
            "a",
            "namespace",
            "upgrade",
            "for",
        ];
        (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn run(binary: &Path) -> Result<()> {
    println!("| tree | files | MB | threads | wall | MB/s | peak memory | findings | floor |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for (notation, floor) in FLOORS {
        let (directory, bytes) = tree(notation)?;
        for threads in [1, 2] {
            let Measured { wall, peak_kib, findings } = measure(binary, &directory, threads)?;
            let speed = bytes as f64 / 1e6 / wall.as_secs_f64();
            let floor = match threads {
                1 if speed >= floor => format!("{floor} MB/s: met"),
                1 => format!("{floor} MB/s: missed"),
                _ => "–".to_owned(),
            };
            println!(
                "| {} | {FILES} | {} | {threads} | {:.2} s | {speed:.0} | {} MB | {findings} | {floor} |",
                notation.ending(),
                bytes / 1_000_000,
                wall.as_secs_f64(),
                peak_kib / 1_024,
            );
        }
    }
    Ok(())
}

/// Makes the tree unless it is there, and gives its size.
fn tree(notation: Notation) -> Result<(PathBuf, usize)> {
    let root = crate::root().join("target").join("bench").join(format!("scan-{}", notation.ending()));
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    let mut bytes = 0;
    for index in 0..FILES {
        let directory = root.join(format!("operator-{}", index % 300)).join(format!("1.{}.0", index / 300));
        std::fs::create_dir_all(&directory)?;
        let length = match index {
            0 => 10 << 20,
            // Few large ones and many small ones, which come to the whole.
            _ => match index % 10 {
                0 => 9 * BYTES / FILES / 2,
                1..4 => BYTES / FILES,
                _ => BYTES / FILES / 2,
            },
        };
        let text = manifest(index, length, notation, &mut draws)?;
        bytes += text.len();
        std::fs::write(directory.join(format!("{index}.{}", notation.ending())), text)?;
    }
    Ok((root, bytes))
}

/// One manifest of about so many bytes. Every third is at a version that is gone.
fn manifest(index: usize, length: usize, notation: Notation, draws: &mut Draws) -> Result<String> {
    let yaml = match index % 4 {
        3 => bundle(index, length, draws)?,
        _ => definition(index, length, draws)?,
    };
    match notation {
        Notation::Yaml => Ok(yaml),
        Notation::Json => {
            let mut json = String::new();
            let source = replank_intake::source::Source::bytes("generated", yaml.into_bytes());
            replank_intake::read::read(
                vec![source],
                &replank_intake::limits::Limits::default(),
                &mut |found| {
                    if let replank_intake::document::Found::Document(document) = found {
                        json = serde_json::to_string_pretty(&document.value).unwrap_or_default();
                    }
                },
            )?;
            Ok(json)
        }
    }
}

fn definition(index: usize, length: usize, draws: &mut Draws) -> Result<String> {
    let version = if index.is_multiple_of(3) { "v1beta1" } else { "v1" };
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/{version}\nkind: CustomResourceDefinition\nmetadata:\n  name: things{index}.example.com\n\
         spec:\n  group: example.com\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n"
    );
    let mut number = 0;
    while text.len() < length {
        number += 1;
        writeln!(text, "          field{number}:")?;
        // Schemas nest: each level within the one before.
        let mut indent = 12;
        for level in 0..1 + draws.below(6) {
            writeln!(text, "{:indent$}description: {}", "", draws.words(8))?;
            if draws.below(3) == 0 {
                writeln!(
                    text,
                    "{:indent$}x-long: |-\n{:indent$}  {}\n{:indent$}  {}",
                    "",
                    "",
                    draws.words(12),
                    "",
                    draws.words(9)
                )?;
            }
            writeln!(
                text,
                "{:indent$}type: object\n{:indent$}properties:\n{:indent$}  inner{level}:",
                "", "", ""
            )?;
            indent += 4;
        }
        writeln!(text, "{:indent$}type: string\n{:indent$}enum: [\"A\", \"B\"]", "", "")?;
    }
    text.push_str("    served: true\n    storage: true\n");
    Ok(text)
}

fn bundle(index: usize, length: usize, draws: &mut Draws) -> Result<String> {
    let mut text = format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: operator.v1.0.{index}\n  annotations:\n    \
         alm-examples: |-\n      [\n"
    );
    while text.len() < length / 4 {
        writeln!(
            text,
            "        {{\"apiVersion\": \"example.com/v1\", \"kind\": \"Thing\", \"spec\": {{\"a\": \"{}\"}}}},",
            draws.words(9)
        )?;
    }
    text.push_str("      ]\nspec:\n  icon:\n  - base64data: ");
    while text.len() < length / 2 {
        write!(text, "{:016x}", draws.below(usize::MAX))?;
    }
    text.push_str("\n  install:\n    spec:\n      clusterPermissions:\n      - rules:\n");
    while text.len() < length {
        writeln!(
            text,
            "        - apiGroups:\n          - apps\n          resources:\n          - {}\n          verbs:\n          - '*'",
            draws.words(1)
        )?;
    }
    Ok(text)
}

/// What one scan took and found.
pub(crate) struct Measured {
    pub(crate) wall: Duration,
    pub(crate) peak_kib: u64,
    pub(crate) findings: usize,
}

pub(crate) fn measure(binary: &Path, directory: &Path, threads: usize) -> Result<Measured> {
    let result = directory.with_extension("csv");
    let begun = Instant::now();
    let mut child = Command::new(binary)
        .args(["scan", "--no-gitignore", "-o", "csv", "--threads"])
        .arg(threads.to_string())
        .arg(directory)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&result)?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} cannot be run", binary.display()))?;
    let peak_kib = bench::watch(&mut child)?;
    let wall = begun.elapsed();
    let status = child.wait()?;
    // There are versions that are gone.
    if status.code() != Some(3) {
        bail!("{}: {status}", binary.display());
    }
    let findings = std::fs::read_to_string(&result)?.lines().count().saturating_sub(1);
    Ok(Measured { wall, peak_kib, findings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_generated_can_be_read_in_both_notations() {
        for index in [0, 1, 3] {
            for notation in [Notation::Yaml, Notation::Json] {
                let text = manifest(index, 20_000, notation, &mut Draws(7)).unwrap();
                assert!(text.len() > 15_000, "{index} {notation:?}: {} bytes", text.len());
                let mut documents = 0;
                let source = replank_intake::source::Source::bytes("generated", text.into_bytes());
                let limits = replank_intake::limits::Limits::default();
                replank_intake::read::read(vec![source], &limits, &mut |found| match found {
                    replank_intake::document::Found::Document(_) => documents += 1,
                    replank_intake::document::Found::List { .. } => {}
                    replank_intake::document::Found::Problem(problem) => panic!("{problem}"),
                })
                .unwrap();
                assert_eq!(documents, 1);
            }
        }
    }
}
