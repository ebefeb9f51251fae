//! The wire format of protobuf: tags, numbers, lengths.

/// What is no protobuf, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    /// They do not begin with the four bytes of an envelope.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    Prefix,
    /// Nothing is in the envelope.
    #[error("empty body")]
    Empty,
    /// The bytes end too early.
    #[error("unexpected EOF")]
    End,
    /// A number has more than 64 bits.
    #[error("proto: integer overflow")]
    Overflow,
    /// A field has another type than it should.
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WireType {
        /// The type that it has.
        wire: u8,
        /// The field.
        field: String,
    },
    /// A tag that there cannot be.
    #[error("proto: illegal tag {number} (wire type {wire})")]
    Tag {
        /// Its number.
        number: u64,
        /// Its type.
        wire: u8,
    },
    /// Messages in messages, too deep.
    #[error("proto: nesting depth exceeded")]
    Depth,
    /// No message is known for what the envelope names.
    #[error(
        "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
    )]
    NoKind {
        /// The kind.
        kind: String,
        /// Its group and version.
        api_version: String,
    },
    /// What should be JSON is not.
    #[error("{0}")]
    Json(String),
}

/// A value on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

impl Raw<'_> {
    /// Its wire type.
    pub(super) fn wire(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32 => 5,
        }
    }
}

/// Takes fields off the front of some bytes.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next field with its number; groups are skipped.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Raw<'a>)>, Broken> {
        let mut groups = 0_usize;
        while !self.0.is_empty() {
            let tag = self.varint()?;
            let (number, wire) = (tag >> 3, (tag & 7) as u8);
            let illegal = || Broken::Tag { number, wire };
            if number == 0 {
                return Err(illegal());
            }
            let raw = match wire {
                0 => Raw::Varint(self.varint()?),
                1 => Raw::Fixed64(u64::from_le_bytes(self.array()?)),
                2 => {
                    let length = usize::try_from(self.varint()?).map_err(|_| Broken::End)?;
                    Raw::Bytes(self.take(length)?)
                }
                3 => {
                    groups += 1;
                    continue;
                }
                4 => {
                    groups = groups.checked_sub(1).ok_or_else(illegal)?;
                    continue;
                }
                // No field of the API has four bytes: their value is not looked at.
                5 => {
                    self.take(4)?;
                    Raw::Fixed32
                }
                _ => return Err(illegal()),
            };
            if groups == 0 {
                return Ok(Some((u32::try_from(number).map_err(|_| illegal())?, raw)));
            }
        }
        if groups > 0 { Err(Broken::End) } else { Ok(None) }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Broken::End)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        self.take(N)?.try_into().map_err(|_| Broken::End)
    }

    pub(super) fn varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(Broken::End)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken::Overflow)
    }
}

/// Appends a number.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field that is a number.
pub(super) fn put_number(out: &mut Vec<u8>, number: u32, value: i64) {
    put_varint(out, u64::from(number) << 3);
    put_varint(out, value.cast_unsigned());
}

/// Appends a field that is a floating-point number.
pub(super) fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    put_varint(out, u64::from(number) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field that has a length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_varint(out, u64::from(number) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
