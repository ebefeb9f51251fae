//! What the AWS command line says of an account, from the files of a directory.

use std::fs;
use std::path::{Path, PathBuf};

use replank_facts::network::Network;
use replank_facts::remedy::Addons;
use replank_facts::termination::account::{Account, AccountError};
use serde_json::Value;

use crate::failure::Failure;
use crate::printer::Printer;

/// How to get the answers.
const HOW: &str = "save there, with --output json, what these print: `aws autoscaling describe-auto-scaling-groups`; for security groups `aws ec2 \
                   describe-launch-template-versions`, `aws ec2 describe-security-groups` and `aws eks describe-cluster` (docs/check.md); for terminations `aws autoscaling \
                   describe-lifecycle-hooks`, `aws events list-rules`, `aws events list-rule-names-by-target` and `aws sqs get-queue-attributes --attribute-names All` \
                   (docs/termination.md); for add-ons `aws eks describe-addon` (docs/check.md)";

/// What an account's files say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    /// Hooks, rules and the queue.
    pub(crate) account: Account,
    /// Security groups and who has which.
    pub(crate) network: Network,
    /// Add-ons of EKS and who manages them.
    pub(crate) addons: Addons,
}

/// Reads every JSON file of a directory.
///
/// # Errors
/// Where it cannot be read, or none of its files has an answer that is known.
pub(crate) fn read(directory: &Path, printer: &mut Printer) -> Result<Answers, Failure> {
    let (mut account, mut network, mut addons) = (Account::default(), Network::default(), Addons::default());
    let mut known = 0_usize;
    for path in files(directory)? {
        let wrong = |error: anyhow::Error, what: &str| {
            Failure::usage(error.context(format!("{} {what}", path.display())))
        };
        let text =
            fs::read_to_string(&path).map_err(|error| wrong(anyhow::Error::new(error), "cannot be read"))?;
        let value: Value =
            serde_json::from_str(&text).map_err(|error| wrong(anyhow::Error::new(error), "is not JSON"))?;
        let is_other = network.read(&value) | addons.read(&value);
        match account.read(&value) {
            Ok(()) => known += 1,
            Err(AccountError::Form) if is_other => known += 1,
            Err(AccountError::Form) => {
                printer.warning(&format!("{} has no answer that is used: skipped", path.display()));
            }
            Err(error @ AccountError::Member(_)) => {
                return Err(wrong(anyhow::Error::new(error), "cannot be loaded"));
            }
        }
    }
    if known == 0 {
        let message = format!("{} has no file with an answer that is used", directory.display());
        return Err(Failure::usage_message(message).next(HOW));
    }
    Ok(Answers { account, network, addons })
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let wrong = |error: std::io::Error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", directory.display())))
            .next(HOW)
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
