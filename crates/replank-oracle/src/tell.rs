//! What a test says though it passes.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Writes a line that is seen although the test passes: libtest keeps what `println!` prints until a test fails.
pub fn tell(text: impl Display) {
    let written = writeln!(io::stderr().lock(), "{text}");
    assert!(written.is_ok(), "standard error cannot be written to: {written:?}");
}
