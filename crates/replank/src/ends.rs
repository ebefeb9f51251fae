//! Which command ends with which code, and what it says there: one table, held against the command line and `docs/exit-codes.md`.

use crate::examples;
use crate::exit::Exit;

/// Codes that mean the same with every command.
#[cfg(test)]
const EVERYWHERE: [Exit; 3] = [Exit::Internal, Exit::Usage, Exit::Interrupted];

/// How one command ends.
#[derive(Debug)]
pub(crate) struct Ends {
    /// As it is typed, without `replank`.
    pub(crate) command: &'static str,
    /// What success means.
    pub(crate) passes: &'static str,
    /// What counts as a finding.
    pub(crate) findings: Option<&'static str>,
    /// What blocks.
    pub(crate) blocked: Option<&'static str>,
    /// What a policy refuses.
    pub(crate) refused: Option<&'static str>,
    /// Whether parts of the input that are missing are told by the code.
    pub(crate) incomplete: bool,
}

const NOTHING: Ends =
    Ends { command: "", passes: "printed", findings: None, blocked: None, refused: None, incomplete: false };

/// By the order of `replank --help`.
pub(crate) const ENDS: &[Ends] = &[
    Ends {
        command: "rehearse",
        passes: "every node replaced, no findings",
        findings: Some("findings, or some nodes cannot be emptied"),
        blocked: Some("no node replaced, or capacity or time ran out"),
        refused: Some("a blocking finding, and `blockingFindings: refuse`"),
        incomplete: true,
    },
    Ends { command: "snapshot", passes: "written", incomplete: true, ..NOTHING },
    Ends {
        command: "cordon",
        passes: "every node is cordoned",
        blocked: Some("a node is not: it is gone, or a webhook refuses"),
        ..NOTHING
    },
    Ends {
        command: "uncordon",
        passes: "every node is uncordoned",
        blocked: Some("a node is not: it is gone, or a webhook refuses"),
        ..NOTHING
    },
    Ends {
        command: "drain",
        passes: "every node is drained",
        blocked: Some("a node is not drained: its pods may not be moved, or `--timeout` is over"),
        ..NOTHING
    },
    Ends {
        command: "roll",
        passes: "every node is replaced",
        findings: Some("`--dry-run`: findings, or some nodes cannot be emptied"),
        blocked: Some("blocked, cancelled, or paused because it deviates from its rehearsal"),
        refused: Some(
            "not confirmed, another process works on the run, handles the queue's messages or scales the cluster, or another run wants the same nodes",
        ),
        incomplete: true,
    },
    Ends { command: "roll status", passes: "printed", ..NOTHING },
    Ends { command: "roll watch", passes: "the run is over", ..NOTHING },
    Ends { command: "roll pause", passes: "written down", ..NOTHING },
    Ends {
        command: "roll resume",
        passes: "handed to the process that works on it, or every node is replaced",
        blocked: Some("blocked, cancelled, or paused because it deviates from its rehearsal"),
        refused: Some("another process was faster"),
        ..NOTHING
    },
    Ends {
        command: "roll cancel",
        passes: "handed to the process that works on it, or cancelled",
        blocked: Some("something could not be given back"),
        refused: Some("another process was faster"),
        ..NOTHING
    },
    Ends {
        command: "roll undo",
        passes: "handed to the process that works on it, or taken back",
        blocked: Some("something could not be taken back"),
        refused: Some("another process was faster"),
        ..NOTHING
    },
    Ends {
        command: "handle",
        passes: "nothing to do for as long as `--idle` says",
        findings: Some("`--autoscale`: a pod stays pending for which no group has nodes"),
        refused: Some(
            "`--autoscale`: another process scales the cluster, or its own Cluster Autoscaler is running",
        ),
        ..NOTHING
    },
    Ends {
        command: "autoscale",
        passes: "nothing to do for as long as `--idle` says; `--dry-run`: every pod gets a node",
        findings: Some("a pod stays pending for which no group has nodes"),
        refused: Some("the cluster's own Cluster Autoscaler is running, or its Lease is held"),
        incomplete: true,
        ..NOTHING
    },
    Ends { command: "rbac", ..NOTHING },
    Ends {
        command: "place",
        passes: "everything fits; `--audit`: nothing found",
        findings: Some("a pod does not fit or is gated; `--audit`: something found"),
        incomplete: true,
        ..NOTHING
    },
    Ends {
        command: "check",
        passes: "nothing found that `--fail-on` counts",
        findings: Some("something found that `--fail-on` counts"),
        incomplete: true,
        ..NOTHING
    },
    Ends {
        command: "scale simulate",
        passes: "every pod gets a node",
        findings: Some("a pod stays pending"),
        incomplete: true,
        ..NOTHING
    },
    Ends { command: "explain", ..NOTHING },
    Ends {
        command: "scan",
        passes: "nothing found that `--fail-on` counts; `--fix`: nothing left to do by hand",
        findings: Some("something found that `--fail-on` counts; `--fix`: something left to do by hand"),
        incomplete: true,
        ..NOTHING
    },
    Ends { command: "data", ..NOTHING },
    Ends {
        command: "upgrade calendar",
        passes: "support lasts as long as asked",
        findings: Some("support ends within `--fail-within`"),
        ..NOTHING
    },
    Ends {
        command: "upgrade watch",
        passes: "nothing needs attention",
        findings: Some(
            "support ends within `--within`, what is installed does not go with the version, or the version is only assumed",
        ),
        incomplete: true,
        ..NOTHING
    },
    Ends {
        command: "upgrade plan",
        passes: "nothing stands in the way of a step",
        findings: Some("a step needs attention"),
        blocked: Some("a step must not start"),
        incomplete: true,
        ..NOTHING
    },
    Ends {
        command: "upgrade run",
        passes: "every step is done, or those that were asked for",
        findings: Some("`--dry-run`: a step needs attention"),
        blocked: Some("a step must not start, has failed, or is left to somebody else"),
        refused: Some("not confirmed, an upgrade is recorded already, or EKS does not offer the version"),
        incomplete: true,
    },
    Ends {
        command: "upgrade resume",
        passes: "every step is done, or those that were asked for",
        blocked: Some("a step must not start, has failed, or is left to somebody else"),
        refused: Some("another process works on it"),
        incomplete: true,
        ..NOTHING
    },
    Ends { command: "upgrade status", ..NOTHING },
    Ends {
        command: "upgrade rollback",
        passes: "the control plane runs the version before; `--dry-run`: EKS takes it back",
        blocked: Some("EKS does not take it back, or something stands in the way"),
        refused: Some("not confirmed, or an upgrade is recorded"),
        ..NOTHING
    },
    Ends {
        command: "upgrade cancel",
        passes: "ended",
        refused: Some("another process works on it"),
        ..NOTHING
    },
    Ends {
        command: "leftover",
        passes: "nothing left behind",
        findings: Some("something left behind"),
        incomplete: true,
        ..NOTHING
    },
    Ends { command: "report", passes: "reported", ..NOTHING },
    Ends {
        command: "diff",
        passes: "the two are alike",
        findings: Some("they differ, in time by more than `--tolerance`"),
        ..NOTHING
    },
    Ends {
        command: "migrate",
        passes: "done without downtime, or nothing to do",
        findings: Some("done with downtime"),
        blocked: Some("cannot be completed"),
        refused: Some("`--apply`: not confirmed"),
        incomplete: true,
    },
    Ends {
        command: "hpa explain",
        passes: "the sync succeeds",
        findings: Some("the sync fails, in part or as a whole"),
        incomplete: true,
        ..NOTHING
    },
    Ends {
        command: "hpa simulate",
        passes: "the autoscaler can scale at the end",
        findings: Some("the autoscaler cannot scale at the end"),
        incomplete: true,
        ..NOTHING
    },
    Ends { command: "cluster up", passes: "interrupted, and ended cleanly", ..NOTHING },
    Ends { command: "cluster advance", passes: "the time has passed", ..NOTHING },
    Ends { command: "cluster faults list", ..NOTHING },
    Ends { command: "cluster faults start", passes: "the fault acts", ..NOTHING },
    Ends { command: "cluster faults clear", passes: "the fault acts no more", ..NOTHING },
    Ends { command: "cluster status", ..NOTHING },
    Ends { command: "setup aws", passes: "printed or written", ..NOTHING },
    Ends { command: "completion", ..NOTHING },
    Ends { command: "man", passes: "printed or written", ..NOTHING },
];

impl Ends {
    /// What a code means here; nothing where the command never ends so.
    pub(crate) fn meaning(&self, exit: Exit) -> Option<&'static str> {
        match exit {
            Exit::Passes => Some(self.passes),
            Exit::Findings => self.findings,
            Exit::Blocked => self.blocked,
            Exit::Refused => self.refused,
            Exit::Incomplete => self.incomplete.then_some("yes"),
            Exit::Internal | Exit::Usage | Exit::Interrupted => Some("yes"),
        }
    }
}

/// The examples and the codes of a command, for its `--help`.
pub(crate) fn table(command: &str) -> String {
    let mut table = examples::section(command) + "Exit codes:\n";
    let ends = ENDS.iter().find(|ends| ends.command == command);
    for exit in Exit::ALL {
        let special = ends.and_then(|ends| ends.meaning(exit)).map(|meaning| meaning.replace('`', ""));
        let line = match (exit, special) {
            (Exit::Internal | Exit::Usage | Exit::Incomplete | Exit::Interrupted, Some(_)) => {
                exit.meaning().to_owned()
            }
            (_, Some(meaning)) => meaning,
            (_, None) => continue,
        };
        table.push_str(&format!("  {:>3}  {line}\n", exit.code()));
    }
    table
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn leaves(command: &clap::Command, path: &str, all: &mut Vec<String>) {
        let below: Vec<&clap::Command> =
            command.get_subcommands().filter(|below| below.get_name() != "help").collect();
        if below.is_empty() || !command.is_subcommand_required_set() {
            all.push(path.to_owned());
        }
        for command in below {
            leaves(command, format!("{path} {}", command.get_name()).trim_start(), all);
        }
    }

    #[test]
    fn every_command_has_its_row() {
        let mut commands = Vec::new();
        leaves(&Cli::command(), "", &mut commands);
        assert_eq!(commands, ENDS.iter().map(|ends| ends.command).collect::<Vec<_>>());
    }

    #[test]
    fn the_documented_rows_are_these() {
        let page = include_str!("../../../docs/exit-codes.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let columns: Vec<Exit> = Exit::ALL.into_iter().filter(|exit| !EVERYWHERE.contains(exit)).collect();
        let expected: Vec<String> = ENDS
            .iter()
            .map(|ends| {
                let cells: Vec<&str> =
                    columns.iter().map(|exit| ends.meaning(*exit).unwrap_or("–")).collect();
                format!("| `{}` | {} |", ends.command, cells.join(" | "))
            })
            .collect();
        assert_eq!(rows, expected, "docs/exit-codes.md differs from the program");
    }

    #[test]
    fn help_lists_the_codes_of_its_command() {
        let check = table("check");
        assert!(check.contains("  3  something found that --fail-on counts\n"), "{check}");
        assert!(
            check.contains("  6  incomplete: ") && !check.contains("  4  ") && !check.contains("  5  "),
            "{check}"
        );
    }
}
