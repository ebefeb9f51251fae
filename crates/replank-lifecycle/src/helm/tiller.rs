//! Releases of Helm 2: a message of protobuf, of which the few fields that matter are read.
//!
//! | field of `hapi.release.Release` | number |
//! |---|---|
//! | name, info, manifest, hooks, version, namespace | 1, 2, 5, 6, 7, 8 |
//! | `Info.status`, `Status.code`, `Hook.manifest` | 1, 1, 4 |
//!
//! Source: helm v2, `_proto/hapi/release/{release,info,status,hook}.proto`; packed as `pkg/storage/driver/util.go` does.

use super::Release;

pub(super) use super::malformed::Malformed;

/// What a message begins with: the key of its first field, the name, of wire type 2.
pub(super) const FIRST: u8 = 1 << 3 | 2;

/// One field.
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
    /// Of a fixed width, which no field that matters has.
    Other,
}

struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Fields<'b> {
    fn varint(&mut self) -> Result<u64, Malformed> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Malformed { at: start })?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed { at: start })
    }

    fn take(&mut self, length: u64) -> Result<&'b [u8], Malformed> {
        let malformed = Malformed { at: self.at };
        let length = usize::try_from(length).ok();
        let end = length.and_then(|length| self.at.checked_add(length));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => Err(malformed),
        }
    }

    /// The next field's number and value (encoding.md of protobuf: wire types 0, 1, 2 and 5).
    fn next(&mut self) -> Result<Option<(u64, Field<'b>)>, Malformed> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let at = self.at;
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Number(self.varint()?),
            1 => self.take(8).map(|_| Field::Other)?,
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Field::Other)?,
            _ => return Err(Malformed { at }),
        };
        Ok(Some((key >> 3, field)))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn read(bytes: &[u8]) -> Result<Release, Malformed> {
    let mut release = Release { status: "unknown".to_owned(), ..Release::default() };
    let mut fields = Fields { bytes, at: 0 };
    while let Some((number, field)) = fields.next()? {
        match (number, field) {
            (1, Field::Bytes(bytes)) => release.name = text(bytes),
            (2, Field::Bytes(bytes)) => release.status = status(bytes)?.to_owned(),
            (5, Field::Bytes(bytes)) => release.manifest = text(bytes),
            (6, Field::Bytes(bytes)) => release.hooks.extend(inner(bytes, 4)?.map(text)),
            (7, Field::Number(number)) => release.revision = number,
            (8, Field::Bytes(bytes)) => release.namespace = text(bytes),
            (_, Field::Number(_) | Field::Bytes(_) | Field::Other) => {}
        }
    }
    if release.name.is_empty() { Err(Malformed { at: 0 }) } else { Ok(release) }
}

/// The last value of a field that holds bytes.
fn inner(bytes: &[u8], wanted: u64) -> Result<Option<&[u8]>, Malformed> {
    let mut found = None;
    let mut fields = Fields { bytes, at: 0 };
    while let Some((number, field)) = fields.next()? {
        match field {
            Field::Bytes(bytes) if number == wanted => found = Some(bytes),
            Field::Number(_) | Field::Bytes(_) | Field::Other => {}
        }
    }
    Ok(found)
}

/// `Status.Code`, in Helm 3's words.
fn status(info: &[u8]) -> Result<&'static str, Malformed> {
    let mut code = 0;
    let mut fields = Fields { bytes: inner(info, 1)?.unwrap_or_default(), at: 0 };
    while let Some((number, field)) = fields.next()? {
        match field {
            Field::Number(value) if number == 1 => code = value,
            Field::Number(_) | Field::Bytes(_) | Field::Other => {}
        }
    }
    Ok(match code {
        1 => "deployed",
        2 => "uninstalled",
        3 => "superseded",
        4 => "failed",
        5 => "uninstalling",
        6 => "pending-install",
        7 => "pending-upgrade",
        8 => "pending-rollback",
        _ => "unknown",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2, value.len() as u8];
        field.extend(value);
        field
    }

    #[test]
    fn the_few_fields_are_read() {
        let mut message = bytes(1, b"web");
        message.extend(bytes(2, &bytes(1, &[0x08, 0x01])));
        message.extend([0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x2d, 0, 0, 0, 0]);
        message.extend(bytes(5, b"kind: A\n"));
        message.extend(bytes(6, &bytes(4, b"kind: B\n")));
        message.extend([0x38, 0x87, 0x01]);
        message.extend(bytes(8, b"shop"));
        let release = read(&message).unwrap();
        assert_eq!((&*release.name, &*release.namespace, release.revision), ("web", "shop", 135));
        assert_eq!((&*release.status, &*release.manifest), ("deployed", "kind: A\n"));
        assert_eq!(release.hooks, ["kind: B\n"]);
        for cut in 1..message.len() {
            // Wherever it is cut, nothing panics; it is complete only between two fields.
            if let Ok(cut) = read(&message[..cut]) {
                assert_eq!(cut.name, "web");
            }
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert!(read(b"").is_err());
        assert!(read(b"{\"name\": \"web\"}").is_err());
        assert!(read(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).is_err());
    }
}
