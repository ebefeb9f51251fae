//! From bytes as they are stored to UTF-8 text: gzip, UTF-16, and data that is not text.

use std::io::{self, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::problem::{ProblemKind, ReadFailure};
use crate::source::read_problem;

/// Bytes looked at to tell what a stream is.
const HEAD_BYTES: usize = 4096;

const GZIP: &[u8] = &[0x1f, 0x8b];

/// First bytes of what users name by mistake, and what it is.
const BINARIES: [(&[u8], &str); 7] = [
    (GZIP, "gzip inside gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "zstandard data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"k8s\0", "Kubernetes objects in protobuf, as etcd stores them"),
    (b"\x7fELF", "a program"),
];

/// How a stream was packed, which is needed to explain a failure to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
}

/// A stream of what should be UTF-8 text.
pub(crate) struct Text {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) packing: Packing,
}

/// Unpacks by content: gzip by its magic bytes, UTF-16 (as PowerShell's `>` writes) by its byte order mark.
pub(crate) fn open(stored: Box<dyn Read + Send>) -> Result<Text, ProblemKind> {
    let (head, stored) = look(stored).map_err(|error| read_problem(&error))?;
    let (head, unpacked, packing): (_, Box<dyn Read + Send>, _) = if head.starts_with(GZIP) {
        let (head, rest) =
            look(Box::new(MultiGzDecoder::new(stored))).map_err(|error| failure(&error, Packing::Gzip))?;
        (head, Box::new(rest), Packing::Gzip)
    } else {
        (head, Box::new(stored), Packing::Plain)
    };
    let reader: Box<dyn Read + Send> = match head.as_slice() {
        [0xff, 0xfe, ..] => Box::new(Utf16::new(unpacked, u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Box::new(Utf16::new(unpacked, u16::from_be_bytes)),
        head => match binary(head) {
            Some(looks_like) => return Err(ProblemKind::Binary { looks_like }),
            None => unpacked,
        },
    };
    Ok(Text { reader, packing })
}

fn binary(head: &[u8]) -> Option<&'static str> {
    let known = BINARIES.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, name)| name);
    // A tar archive's first block is the name of a file, padded with zeros.
    known.or_else(|| (head.get(257..262) == Some(b"ustar")).then_some("a tar archive"))
}

/// Explains why a stream broke off.
pub(crate) fn failure(error: &io::Error, packing: Packing) -> ProblemKind {
    let cause = match (packing, error.kind()) {
        (Packing::Gzip, io::ErrorKind::UnexpectedEof) => ReadFailure::TruncatedGzip,
        (Packing::Gzip, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => ReadFailure::CorruptGzip,
        (Packing::Gzip | Packing::Plain, _) => return read_problem(error),
    };
    ProblemKind::Read { message: error.to_string(), cause }
}

type Looked = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// Reads the first bytes and puts them back. An error after some bytes will come again when these are used up.
fn look(mut stored: Box<dyn Read + Send>) -> io::Result<(Vec<u8>, Looked)> {
    let mut head = Vec::new();
    let result = stored.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head);
    match result {
        Err(error) if head.is_empty() => Err(error),
        Err(error) => {
            let rest: Box<dyn Read + Send> = Box::new(Broken(Some(error)));
            Ok((head.clone(), Cursor::new(head).chain(rest)))
        }
        Ok(_) => Ok((head.clone(), Cursor::new(head).chain(stored))),
    }
}

/// Gives the error that was met while looking ahead, once its turn has come.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0.take() {
            Some(error) => Err(error),
            None => Ok(0),
        }
    }
}

/// Turns UTF-16 into UTF-8. Halves of surrogate pairs that stand alone become U+FFFD.
struct Utf16<R> {
    stored: R,
    unit: fn([u8; 2]) -> u16,
    /// Bytes and units that are not complete yet.
    odd: Option<u8>,
    high: Option<u16>,
    out: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16<R> {
    fn new(stored: R, unit: fn([u8; 2]) -> u16) -> Self {
        Self { stored, unit, odd: None, high: None, out: Vec::new(), given: 0 }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut stored = [0; HEAD_BYTES];
        let read = self.stored.read(&mut stored)?;
        self.out.clear();
        self.given = 0;
        let mut units = Vec::with_capacity(read / 2 + 2);
        units.extend(self.high.take());
        for &byte in &stored[..read] {
            match self.odd.take() {
                Some(first) => units.push((self.unit)([first, byte])),
                None => self.odd = Some(byte),
            }
        }
        if read > 0 && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            self.high = units.pop();
        }
        if read == 0 && self.odd.take().is_some() {
            units.push(char::REPLACEMENT_CHARACTER as u16);
        }
        for decoded in char::decode_utf16(units) {
            let decoded = decoded.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.out.extend(decoded.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if self.out.is_empty() && read > 0 { self.fill() } else { Ok(()) }
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() {
            self.fill()?;
        }
        let take = buffer.len().min(self.out.len() - self.given);
        buffer[..take].copy_from_slice(&self.out[self.given..self.given + take]);
        self.given += take;
        Ok(take)
    }
}
