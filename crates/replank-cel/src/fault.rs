//! What is wrong with an expression, and where.

use std::fmt;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, in characters.
    pub at: usize,
    /// What.
    pub message: String,
}

/// Faults of an expression. Displays as `cel-go` tells them: place, message, the line and a mark below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The expression.
    pub text: String,
    /// What is wrong with it.
    pub all: Vec<Fault>,
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<&str> = self.text.split('\n').collect();
        for (index, fault) in self.all.iter().enumerate() {
            let (mut line, mut column) = (0, fault.at);
            while line + 1 < lines.len() && column > lines[line].chars().count() {
                column -= lines[line].chars().count() + 1;
                line += 1;
            }
            if index > 0 {
                writeln!(f)?;
            }
            let dots = ".".repeat(column);
            write!(
                f,
                "ERROR: <input>:{}:{}: {}\n | {}\n | {dots}^",
                line + 1,
                column + 1,
                fault.message,
                lines[line]
            )?;
        }
        Ok(())
    }
}
