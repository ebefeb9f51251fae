//! Records in a file: each with its length and a checksum, so that one that was cut off by a crash is told from one that is whole.

use xxhash_rust::xxh3::xxh3_64;

/// Length (4 bytes) and checksum (8 bytes), both little-endian, before each record.
const HEAD_LEN: usize = 12;

/// Appends a record.
pub(super) fn put(into: &mut Vec<u8>, record: &[u8]) {
    let len = u32::try_from(record.len()).expect("a record is smaller than 4 GiB");
    into.extend_from_slice(&len.to_le_bytes());
    into.extend_from_slice(&xxh3_64(record).to_le_bytes());
    into.extend_from_slice(record);
}

/// The records of a file as far as they are whole, and how many bytes these are. What follows was never acknowledged.
pub(super) fn read(bytes: &[u8]) -> (Vec<&[u8]>, usize) {
    let mut records = Vec::new();
    let mut at = 0;
    while let Some(record) = next(&bytes[at..]) {
        records.push(record);
        at += HEAD_LEN + record.len();
    }
    (records, at)
}

fn next(bytes: &[u8]) -> Option<&[u8]> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    let record = rest.get(..u32::from_le_bytes(*len) as usize)?;
    (xxh3_64(record) == u64::from_le_bytes(*sum)).then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_cut_off_or_damaged_ends_the_file() {
        let mut file = Vec::new();
        put(&mut file, b"one");
        let first = file.len();
        put(&mut file, b"two");
        assert_eq!(read(&file), (vec![&b"one"[..], b"two"], file.len()));
        for cut in first..file.len() {
            assert_eq!(read(&file[..cut]), (vec![&b"one"[..]], first), "cut at {cut}");
        }
        let last = file.len() - 1;
        file[last] ^= 1;
        assert_eq!(read(&file), (vec![&b"one"[..]], first));
    }
}
