//! The encoding of certificates: DER (X.690), read and written.

/// Tags of what is read here.
pub(super) const INTEGER: u8 = 0x02;
/// A string of bits.
pub(super) const BITS: u8 = 0x03;
/// A string of bytes.
pub(super) const BYTES: u8 = 0x04;
/// The name of a thing, as numbers.
pub(super) const OID: u8 = 0x06;
/// A sequence.
pub(super) const SEQUENCE: u8 = 0x30;
/// A set.
pub(super) const SET: u8 = 0x31;
/// Members of a kind that the context tells.
pub(super) const CONTEXT: u8 = 0xa0;

/// One element: its tag, what is in it, and all of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element<'b> {
    pub(super) tag: u8,
    pub(super) content: &'b [u8],
    pub(super) whole: &'b [u8],
}

impl<'b> Element<'b> {
    /// The elements in it; `None` where it is not made of elements.
    pub(super) fn elements(self) -> Option<Vec<Element<'b>>> {
        elements(self.content)
    }

    /// The elements of a sequence.
    pub(super) fn sequence(self) -> Option<Vec<Element<'b>>> {
        if self.tag == SEQUENCE { self.elements() } else { None }
    }
}

/// All elements, one after the other.
pub(super) fn elements(mut bytes: &[u8]) -> Option<Vec<Element<'_>>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (element, rest) = next(bytes)?;
        all.push(element);
        bytes = rest;
    }
    Some(all)
}

/// The one element that bytes are.
pub(super) fn whole(bytes: &[u8]) -> Option<Element<'_>> {
    next(bytes).filter(|(_, rest)| rest.is_empty()).map(|(element, _)| element)
}

fn next(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    // Tags of several bytes stand in no certificate.
    if tag & 0x1f == 0x1f {
        return None;
    }
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        // Certificates are a few thousand bytes long.
        if count == 0 || count > 4 || rest.len() < count {
            return None;
        }
        let (digits, rest) = rest.split_at(count);
        (digits.iter().fold(0_usize, |length, digit| (length << 8) | usize::from(*digit)), rest)
    };
    if rest.len() < length {
        return None;
    }
    let (content, rest) = rest.split_at(length);
    let whole = &bytes[..bytes.len() - rest.len()];
    Some((Element { tag, content, whole }, rest))
}

/// An element with what is in it.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.extend(u8::try_from(length));
    } else {
        let digits: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|digit| *digit == 0).collect();
        out.extend(u8::try_from(digits.len()).map(|count| 0x80 | count));
        out.extend(digits);
    }
    out.extend_from_slice(content);
    out
}

/// A sequence of elements.
pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

/// A number that is not negative.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let mut content: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    if content.first().is_none_or(|first| *first >= 0x80) {
        content.insert(0, 0);
    }
    element(INTEGER, &content)
}

/// Whole bytes as a string of bits.
pub(super) fn bits(bytes: &[u8]) -> Vec<u8> {
    element(BITS, &[&[0], bytes].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_not() {
        let long = vec![7; 300];
        let inner = element(BYTES, &long);
        let all = sequence(&[&inner, &integer(&[0, 0x80])]);
        let read = whole(&all).and_then(Element::sequence).expect("it is whole");
        assert_eq!((read[0].content, read[1].content), (long.as_slice(), [0, 0x80].as_slice()));
        assert_eq!(read[0].whole, inner.as_slice());
        assert_eq!(whole(&all[..all.len() - 1]), None);
        assert_eq!(whole(&[all.as_slice(), &[0]].concat()), None);
    }
}
