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
    /// Parts of what it is about could not be seen.
    Incomplete,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// All, by code.
    pub(crate) const ALL: [Self; 8] = [
        Self::Passes,
        Self::Internal,
        Self::Usage,
        Self::Findings,
        Self::Blocked,
        Self::Refused,
        Self::Incomplete,
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
            Self::Incomplete => 6,
            Self::Interrupted => 130,
        }
    }

    /// What it means, one line.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Passes => {
                "success: the rehearsal passes (every node replaced, no findings); everything fits; the check, leftover or scan found nothing; no version's support ends too soon; nothing blocks an upgrade step; a migration has no downtime; every node is cordoned, uncordoned or drained"
            }
            Self::Internal => "internal error: a fault in the program or the machine",
            Self::Usage => {
                "usage error: an argument, a file or a plan is invalid; nothing was rehearsed or placed"
            }
            Self::Findings => {
                "completed with findings: every node that can be emptied was replaced, but something needs attention; a pod does not fit; the check or leftover found something; the scan found removed API versions; a version's support ends within the given time; an upgrade step needs attention; the explained autoscaler's sync fails, in part or as a whole, or a replayed one cannot scale at the end; a migration has downtime; two journals differ"
            }
            Self::Blocked => {
                "blocked: no node could be replaced, or not every one for want of capacity or time (with --require all, for any reason), an upgrade step must not start, a migration cannot be completed, or a node is not drained; the report names the cause"
            }
            Self::Refused => {
                "refused: a blocking finding exists and the plan sets blockingFindings: refuse, or EKS does not take the version; nothing was started"
            }
            Self::Incomplete => {
                "incomplete: parts of the input could not be read or are not in it, so that success is not known; --allow-incomplete accepts them by name"
            }
            Self::Interrupted => "interrupted by Ctrl-C; partial results are printed",
        }
    }

    /// The end that belongs to a verdict.
    pub(crate) const fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Passes => Self::Passes,
            Verdict::Findings | Verdict::Partial => Self::Findings,
            Verdict::Incomplete => Self::Incomplete,
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
        let rows: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit())
            .collect();
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
