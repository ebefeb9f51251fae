//! How the process ends: one closed table, printed by `--help` and held against `docs/exit-codes.md`.

use replank_rehearse::Verdict;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// It did what was asked for, and nothing stands in the way.
    Passes,
    /// A fault of the program or of the machine.
    Internal,
    /// What was asked for cannot be understood.
    Usage,
    /// It came to an end, with findings.
    Findings,
    /// It cannot come to an end.
    Blocked,
    /// A policy forbids it.
    Refused,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// All, by code.
    pub(crate) const ALL: [Self; 7] = [
        Self::Passes,
        Self::Internal,
        Self::Usage,
        Self::Findings,
        Self::Blocked,
        Self::Refused,
        Self::Interrupted,
    ];

    /// What the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Passes => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Findings => 3,
            Self::Blocked => 4,
            Self::Refused => 5,
            Self::Interrupted => 130,
        }
    }

    /// What it means, one line.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Passes => {
                "done; a rehearsal passes: every node was replaced and nothing was found; everything asked about fits; a check found nothing; nothing was left; a scan found nothing that fails; no support of a version ends too soon; nothing stands before a step of an upgrade; a migration leaves no gap"
            }
            Self::Internal => "internal error: a fault of the program or of the machine",
            Self::Usage => {
                "usage: an argument, a file or a plan is not right; nothing was rehearsed or placed"
            }
            Self::Findings => {
                "completed with findings: every node was replaced, and something should be changed; something asked about does not fit; a check found something; something was left; a scan found API versions that are gone; the support of a version ends within the time that was given; something should be looked at before a step of an upgrade; the sync of an autoscaler that was explained fails, in part or as a whole, or one that was replayed cannot scale at the end; a migration leaves a gap"
            }
            Self::Blocked => {
                "blocked: not every node could be replaced, a step of an upgrade may not begin, or a migration cannot be carried through; the report names what blocks"
            }
            Self::Refused => {
                "refused by policy: something blocking was found and the plan says blockingFindings: refuse; nothing was begun"
            }
            Self::Interrupted => "interrupted by Ctrl-C; what was known until then is printed",
        }
    }

    /// The end that belongs to a verdict.
    pub(crate) const fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Passes => Self::Passes,
            Verdict::Findings => Self::Findings,
            Verdict::Blocked => Self::Blocked,
            Verdict::Refused => Self::Refused,
        }
    }

    /// The table, as `--help` shows it.
    pub(crate) fn table() -> String {
        let mut table = String::from("Exit codes:\n");
        for exit in Self::ALL {
            table.push_str(&format!("  {:>3}  {}\n", exit.code(), exit.meaning()));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_table_is_this_one() {
        let page = include_str!("../../../docs/exit-codes.md");
        let rows: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| ") && !line.contains("code")).collect();
        let expected: Vec<String> =
            Exit::ALL.iter().map(|exit| format!("| {} | {} |", exit.code(), exit.meaning())).collect();
        assert_eq!(rows, expected, "docs/exit-codes.md differs from the program");
    }

    #[test]
    fn codes_are_distinct_and_sorted() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    }
}
