//! Whether a program needs libraries of the machine, read off its ELF header.

/// A program header that names the dynamic loader (`PT_INTERP`).
const INTERPRETER: u32 = 3;

/// In words.
pub(super) fn linking(bytes: &[u8]) -> &'static str {
    match has_interpreter(bytes) {
        Some(true) => "dynamically linked",
        Some(false) => "statically linked",
        None => "no ELF of 64 bits",
    }
}

/// Whether a dynamic loader is named; nothing where it is no little-endian ELF of 64 bits.
fn has_interpreter(bytes: &[u8]) -> Option<bool> {
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let number = |at: usize, size: usize| -> Option<usize> {
        let mut whole = [0; 8];
        whole.get_mut(..size)?.copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
        usize::try_from(u64::from_le_bytes(whole)).ok()
    };
    let (first, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let kind = number(first.checked_add(index * size)?, 4)?;
        if u32::try_from(kind).ok()? == INTERPRETER {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header, and one program header of a kind.
    fn elf(kind: u32) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes
    }

    #[test]
    fn a_loader_is_found() {
        assert_eq!(linking(&elf(INTERPRETER)), "dynamically linked");
        assert_eq!(linking(&elf(1)), "statically linked");
        assert_eq!(linking(b"MZ"), "no ELF of 64 bits");
        assert_eq!(linking(&elf(1)[..64]), "no ELF of 64 bits");
    }
}
