//! Archives: tar in gzip, the same bytes for the same files.

use std::io::Write;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};

/// Bytes of a block.
const BLOCK: usize = 512;

/// What the archive of a version is called.
pub(super) fn name(version: &str, target: &str) -> String {
    format!("replank-{version}-{target}.tar.gz")
}

/// The target in such a name.
pub(super) fn target<'n>(name: &'n str, version: &str) -> Option<&'n str> {
    name.strip_prefix("replank-")?.strip_prefix(version)?.strip_prefix('-')?.strip_suffix(".tar.gz")
}

/// Files with their modes, packed. Nothing of the machine or the day is in it.
pub(super) fn packed(files: &[(&str, u32, &[u8])]) -> Result<Vec<u8>> {
    let mut out = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    for (name, mode, bytes) in files {
        out.write_all(&header(name, *mode, bytes.len())?)?;
        out.write_all(bytes)?;
        out.write_all(&vec![0; bytes.len().next_multiple_of(BLOCK) - bytes.len()])?;
    }
    out.write_all(&[0; 2 * BLOCK])?;
    out.finish().context("the archive cannot be packed")
}

/// The header of a file (POSIX ustar).
fn header(name: &str, mode: u32, size: usize) -> Result<[u8; BLOCK]> {
    ensure!(name.len() <= 100, "{name} is too long a name");
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    // The sum is taken with blanks in its own place.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\u{0}00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\u{0} ").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn tar_reads_it_and_it_is_the_same_twice() {
        let files: [(&str, u32, &[u8]); 2] = [("LICENSE", 0o644, b"text\n"), ("replank", 0o755, &[7; 1000])];
        let bytes = packed(&files).expect("it is packed");
        assert_eq!(bytes, packed(&files).expect("it is packed"));
        let list =
            Command::new("tar").args(["tvzf", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut list = list.expect("tar is there");
        list.stdin.take().expect("a pipe").write_all(&bytes).expect("tar reads");
        let output = list.wait_with_output().expect("tar ends");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success(), "{text}");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let told: Vec<_> = lines.iter().map(|words| (words[0], words[2], words[words.len() - 1])).collect();
        assert_eq!(told, [("-rw-r--r--", "5", "LICENSE"), ("-rwxr-xr-x", "1000", "replank")]);
    }

    #[test]
    fn a_name_tells_its_target() {
        let name = name("1.2.3", "x86_64-unknown-linux-musl");
        assert_eq!(target(&name, "1.2.3"), Some("x86_64-unknown-linux-musl"));
        assert_eq!(target(&name, "1.2"), None);
        assert_eq!(target("replank-1.2.3-x.cdx.json", "1.2.3"), None);
    }
}
