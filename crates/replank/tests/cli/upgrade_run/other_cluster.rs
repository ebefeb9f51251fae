//! A cluster is not upgraded by the account of another one that has the same name.

use serde_json::{Value, json};

use super::{LABEL, RECORDS, RUN, SPEED, cluster, flat, served, snapshot, updates};
use crate::aws_account::Account;
use crate::common::Ran;

/// The command with the context of one cluster, and the account of the other.
fn crossed(own: &Account, theirs: &Account, arguments: &[&str]) -> Ran {
    let mut call = own.call(arguments);
    call.envs(theirs.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned());
    call.output().expect("it can be run").into()
}

#[test]
fn one_of_the_same_name_in_another_region_is_refused_for_run_resume_and_rollback() {
    let own = served("upgrade-run-here", &["--aws-deny", "eks:UpdateClusterVersion"]);
    let elsewhere: Value =
        serde_json::from_str(&snapshot().to_string().replace("eu-west-1", "us-east-1")).expect("it is JSON");
    let more = ["--kubernetes-version", "1.35"];
    let theirs = Account::served_with("upgrade-run-there", &elsewhere, (LABEL, SPEED), &more);
    assert_eq!(theirs.variable("AWS_REGION"), "us-east-1");
    let (label, named) = (["--group-label", LABEL], ["--cluster", "rehearsal"]);
    let run = crossed(&own, &theirs, &[RUN, &label, &["--no-rehearsal"]].concat());
    let rollback = crossed(&own, &theirs, &[&["upgrade", "rollback", "--yes"], &named[..], &label].concat());
    assert_eq!(own.get(RECORDS)["items"], json!([]));
    // One that stays recorded, as its first step may not be asked for.
    let begun = own.run(&[RUN, &label, &["--no-rehearsal"]].concat());
    assert_eq!(begun.code, Some(2), "{begun:?}");
    let record = own.get(RECORDS)["items"][0]["data"].clone();
    assert!(record["upgrade"].is_string(), "{begun:?}");
    let resume = crossed(&own, &theirs, &["upgrade", "resume"]);
    let moved = crossed(&own, &theirs, &["upgrade", "resume", "--region", "us-east-1"]);
    for (ran, words) in [
        (&run, "that cluster is in us-east-1"),
        (&rollback, "that cluster is in us-east-1"),
        // It asks as it did when it was begun, and the endpoint is that of another region.
        (&resume, "Credential should be scoped to a valid region, not 'eu-west-1'"),
        (&moved, "was begun in region eu-west-1, and us-east-1 is given"),
    ] {
        assert_eq!(ran.code, Some(2), "{words}: {ran:?}");
        assert!(flat(&ran.stderr).contains(words), "{words}: {ran:?}");
    }
    assert!(updates(&theirs, "").is_empty());
    assert_eq!(cluster(&theirs)["version"], "1.35");
    assert_eq!(own.get(RECORDS)["items"][0]["data"], record);
}
