//! A large list goes through without being held. What the process holds tells; other tests run in it, for which half of the list's size is left.

use std::io::{self, Read};

use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read::read;
use replank_intake::source::Source;
use replank_oracle::tell::tell;

/// An endless list, cut after so many bytes. Nothing of it is stored.
struct Endless {
    prefix: &'static [u8],
    item: &'static [u8],
    given: usize,
    bytes_max: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let take = buffer.len().min(self.bytes_max - self.given);
        for (at, byte) in buffer[..take].iter_mut().enumerate() {
            let position = self.given + at;
            *byte = match position.checked_sub(self.prefix.len()) {
                None => self.prefix[position],
                Some(position) => self.item[position % self.item.len()],
            };
        }
        self.given += take;
        Ok(take)
    }
}

/// Peak of this process's resident memory in KiB, where the system tells.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[test]
fn a_list_is_not_held_in_memory() {
    const BYTES: usize = 100 << 20;
    let endless = Endless {
        prefix: b"{\"kind\": \"List\", \"items\": [",
        item: b"{\"kind\": \"Pod\", \"metadata\": {\"name\": \"some-pod-with-a-name\", \"labels\": {\"a\": \"b\"}}},\n",
        given: 0,
        bytes_max: BYTES,
    };
    let Some(before) = peak_kib() else {
        tell("skipped: this system does not tell the peak of memory");
        return;
    };
    let mut items = 0usize;
    let limits = Limits::default();
    read(vec![Source::Reader { name: "in".into(), reader: Box::new(endless) }], &limits, &mut |found| {
        items += usize::from(matches!(found, Found::Document(_)));
    })
    .expect("bytes can be opened");
    assert!(items > BYTES / 100, "{items}");
    let grown = peak_kib().unwrap_or(0).saturating_sub(before);
    assert!(grown < (BYTES >> 11) as u64, "memory grew by {grown} KiB while {BYTES} bytes were read");
}
