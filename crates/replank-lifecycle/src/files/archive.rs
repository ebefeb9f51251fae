//! Packed charts: what `helm package` makes, a tar archive in gzip.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Bytes that an archive may unpack to: Helm itself takes 100 MiB (helm, pkg/chart/loader/archive).
const UNPACKED_MAX: u64 = 100 << 20;

/// The size of a header, and what contents are filled up to.
const BLOCK: usize = 512;

/// The archive, unpacked, if bytes are one.
pub(super) fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    let mut reader = MultiGzDecoder::new(bytes).take(UNPACKED_MAX);
    let mut head = Vec::new();
    reader.by_ref().take(BLOCK as u64).read_to_end(&mut head).ok()?;
    if head.get(257..262) != Some(b"ustar") {
        return None;
    }
    unpacked.append(&mut head);
    // What is cut off is read as far as it goes.
    drop(reader.read_to_end(&mut unpacked));
    Some(unpacked)
}

/// The files of an archive, with their paths (POSIX.1-2017, pax interchange format; GNU's long names).
pub(super) fn members(archive: &[u8]) -> Vec<(String, &[u8])> {
    let (mut members, mut at, mut long) = (Vec::new(), 0, None);
    while let Some(header) = archive.get(at..at + BLOCK) {
        let Some(size) = size(&header[124..136]).filter(|_| header.iter().any(|byte| *byte != 0)) else {
            break;
        };
        let start = at + BLOCK;
        let Some(content) = start.checked_add(size).and_then(|end| archive.get(start..end)) else { break };
        match header[156] {
            b'L' => long = Some(text(content)),
            b'x' => long = path_of(content).or(long),
            b'0' | 0 => members.push((long.take().unwrap_or_else(|| name(header)), content)),
            // Directories, links and devices.
            _ => long = None,
        }
        at = start + size.div_ceil(BLOCK) * BLOCK;
    }
    members
}

/// Octal digits, as far as they go.
fn size(field: &[u8]) -> Option<usize> {
    let digits: String = text(field).trim().to_owned();
    if digits.is_empty() { Some(0) } else { usize::from_str_radix(&digits, 8).ok() }
}

/// Bytes up to the first that is nothing.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn name(header: &[u8]) -> String {
    let (prefix, name) = (text(&header[345..500]), text(&header[..100]));
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// `path` of a pax header: records of `LENGTH KEY=VALUE\n`.
fn path_of(content: &[u8]) -> Option<String> {
    let mut rest = content;
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&rest[..space]).ok()?.parse().ok()?;
        let record = rest.get(space + 1..length)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            return Some(String::from_utf8_lossy(path).trim_end_matches('\n').to_owned());
        }
        rest = rest.get(length..)?;
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// An archive of files, in gzip.
    pub(in super::super) fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&archive(files)).unwrap();
        encoder.finish().unwrap()
    }

    fn entry(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
        let mut header = vec![0; BLOCK];
        header[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = kind;
        header[257..262].copy_from_slice(b"ustar");
        header.extend_from_slice(content);
        header.resize(header.len().div_ceil(BLOCK) * BLOCK, 0);
        header
    }

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            files.iter().flat_map(|(name, content)| entry(name.as_bytes(), b'0', content)).collect();
        bytes.extend([0; 2 * BLOCK]);
        bytes
    }

    #[test]
    fn files_come_with_their_paths() {
        let mut bytes = entry(b"a/", b'5', b"");
        let long = format!("a/{}.yaml", "x".repeat(120));
        bytes.extend(entry(b"././@LongLink", b'L', format!("{long}\0").as_bytes()));
        bytes.extend(entry(&long.as_bytes()[..100], b'0', b"1"));
        let record = format!(" path=a/{}\n", "y".repeat(120));
        let record = format!("{}{record}", record.len() + 3);
        bytes.extend(entry(b"pax", b'x', record.as_bytes()));
        bytes.extend(entry(b"short", b'0', &[b'2'; 600]));
        bytes.extend(archive(&[("a/b.yaml", b"3")]));
        let found = members(&bytes);
        let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, [&*long, &format!("a/{}", "y".repeat(120)), "a/b.yaml"]);
        assert_eq!(found[2].1, b"3");
    }

    #[test]
    fn what_is_no_archive_or_damaged_does_no_harm() {
        assert_eq!(unpacked(b"\x1f\x8bxx"), None);
        let whole = archive(&[("a", b"1"), ("b", b"2")]);
        for end in 0..whole.len() {
            assert!(members(&whole[..end]).len() <= 2);
        }
        let mut wrong = whole;
        wrong[124..135].copy_from_slice(b"77777777777");
        assert_eq!(members(&wrong), []);
        assert!(unpacked(&packed(&[("a", b"1")])).is_some());
    }
}
