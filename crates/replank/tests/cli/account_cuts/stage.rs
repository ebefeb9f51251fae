//! One run of a case, on an account of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::case::{Case, Fault, Kill, Verb};
use super::checks;
use crate::aws_account::Account;
use crate::common::{Ran, plan};
use crate::handle_aws::{befalls, hook, queue};
use crate::roll_aws_live::{snapshot, wait};

const MANAGED: &str = "eks.amazonaws.com/nodegroup";
const SPEC: &str = "groups: [web], target: {kubernetesVersion: '1.36'}";
const SPEED: u32 = 60;
pub(super) const NODE: &str = "ip-10-0-0-2.eu-west-1.compute.internal";
/// What takes longer never ends.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is wrong after a run, and all that its processes said.
pub(super) struct Found {
    pub(super) wrong: Vec<String>,
    pub(super) told: String,
    pub(super) was_killed: bool,
}

/// A moment that is waited for.
#[derive(Default)]
struct Moment(Mutex<bool>, Condvar);

impl Moment {
    fn comes(&self) {
        *self.0.lock().expect("nobody panics") = true;
        self.1.notify_all();
    }

    fn awaited(&self) {
        let held = self.0.lock().expect("nobody panics");
        drop(self.1.wait_timeout_while(held, PATIENCE, |has_come| !*has_come).expect("nobody panics"));
    }
}

/// Runs a case on an account of its own.
pub(super) fn tried(case: &Case) -> Found {
    let word = if case.kill.is_some() { "kill" } else { "cut" };
    let name = format!("account-{word}-{}", case.seed);
    let label = if case.verb.is_managed() { MANAGED } else { "group" };
    let seed = case.seed.to_string();
    let account = Account::served_with(&name, &snapshot(label), (label, SPEED), &["--seed", &seed]);
    wait(&account, "all pods are Ready", |account| {
        let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
        budget["status"]["currentHealthy"] == 6 && budget["status"]["disruptionsAllowed"] == 1
    });
    account.listen();
    if !case.verb.is_managed() {
        let process = "&AutoScalingGroupName=web&ScalingProcesses.member.1=AZRebalance";
        account.auto_scaling("ResumeProcesses", process);
    }
    let url = matches!(case.verb, Verb::RollBeside | Verb::Handle).then(|| {
        hook(&account, "replank-drain", 300);
        queue(&account)
    });
    if case.verb == Verb::Handle {
        befalls(&account, &format!("spot instance {NODE} is taken back"));
    }
    let file = plan(&format!("{name}/plan.yaml"), SPEC);
    let grouped = ["--group-label", label];
    let begins: Vec<&str> = match (case.verb, url.as_deref()) {
        (Verb::Handle, Some(url)) => vec!["handle", "--queue-url", url, "--idle", "25s"],
        (_, Some(url)) => [&["roll", "-f", &file, "--yes", "--queue-url", url], &grouped[..]].concat(),
        (_, None) => [&["roll", "-f", &file, "--yes"], &grouped[..]].concat(),
    };
    let goes_on: Vec<&str> = match (case.verb, url.as_deref()) {
        (Verb::Handle, _) => begins.clone(),
        (_, Some(url)) => vec!["roll", "resume", "test", "--queue-url", url],
        (_, None) => vec!["roll", "resume", "test"],
    };
    let changes = Arc::new(Moment::default());
    let mut told = String::new();
    let (mut wrong, mut was_killed) = (Vec::new(), false);
    thread::scope(|scope| {
        for fault in &case.faults {
            if fault.after.is_none() {
                befalls(&account, &fault.words);
            }
            let (account, changes) = (&account, &changes);
            scope.spawn(move || meddle(account, fault, changes));
        }
        let is_beside = case.verb == Verb::RollBeside;
        let (mut ran, mut is_killed) = watched(&account, &begins, (case.kill, is_beside), &changes);
        was_killed = is_killed;
        told += &format!("$ {}\n{}{}", begins.join(" "), ran.stdout, ran.stderr);
        // Whoever was killed, or could not begin, is followed by another.
        let (began, mut is_first) = (Instant::now(), true);
        while ran.code != Some(0) && began.elapsed() < PATIENCE {
            if !is_killed && !checks::may_end(&account, case, (&ran, is_first)) {
                wrong.push(format!("it ended with {:?}", ran.code));
                break;
            }
            changes.comes();
            thread::sleep(Duration::from_secs(2));
            let has_record = !checks::records(&account).is_empty();
            let next = if has_record || case.verb == Verb::Handle { &goes_on } else { &begins };
            ran = account.run(next);
            (is_killed, is_first) = (false, false);
            told += &format!("$ {}\n{}{}", next.join(" "), ran.stdout, ran.stderr);
            if is_over_already(&ran) {
                break;
            }
        }
        changes.comes();
    });
    // Everything is well again, and what was late has come.
    let cleared = account.run(&["cluster", "faults", "clear"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    // What was hidden by a process that is gone, or comes again, is there when that is over.
    let url_of_handle = url.as_deref().filter(|_| case.verb == Verb::Handle);
    let began = Instant::now();
    while url_of_handle.is_some_and(|url| checks::left(&account, url) > 0) && began.elapsed() < PATIENCE {
        let ran = account.run(&goes_on);
        told += &format!("$ {}\n{}{}", goes_on.join(" "), ran.stdout, ran.stderr);
        if ran.code != Some(0) {
            wrong.push(format!("it ended with {:?} when nothing was wrong any more", ran.code));
            break;
        }
    }
    wrong.extend(checks::wrong(&account, case, url.as_deref()));
    Found { wrong, told, was_killed }
}

/// A process that was killed after it had finished has nothing left for another.
fn is_over_already(ran: &Ran) -> bool {
    ran.code == Some(2) && ran.stderr.contains("no run")
}

/// Lets something go wrong for a while.
fn meddle(account: &Account, fault: &Fault, changes: &Moment) {
    if let Some(after) = fault.after {
        changes.awaited();
        thread::sleep(after);
        befalls(account, &fault.words);
    }
    thread::sleep(fault.lasts);
    let listed = account.run(&["cluster", "faults", "list", "-o", "json"]).json();
    let started = listed["started"].as_array().cloned().unwrap_or_default();
    let own = started.iter().find(|one| one["words"] == *fault.words && one["cleared"].is_null());
    if let Some(number) = own.and_then(|one| one["number"].as_u64()) {
        account.run(&["cluster", "faults", "clear", &number.to_string()]);
    }
}

/// Runs a process to its end, or until it is killed; whether it was. The moment comes when it says that it changes something.
fn watched(
    account: &Account,
    arguments: &[&str],
    (kill, is_beside): (Option<Kill>, bool),
    changes: &Arc<Moment>,
) -> (Ran, bool) {
    let mut command = account.call(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be run");
    let mut errors = child.stderr.take().expect("a pipe");
    let reads = thread::spawn(move || {
        let mut text = String::new();
        errors.read_to_string(&mut text).map(|_| text)
    });
    let (mut said, mut lines, mut is_killed) = (String::new(), 0, false);
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("it is text");
        let is_change = is_change(&line);
        lines += usize::from(is_change);
        if is_change {
            changes.comes();
        }
        if is_beside && line.contains("evicting pod") && !said.contains("evicting pod") {
            befalls(account, &format!("spot instance {NODE} is taken back"));
        }
        said += &(line + "\n");
        if let Some(kill) = kill.filter(|kill| is_change && kill.lines == lines) {
            thread::sleep(kill.after);
            child.kill().expect("it can be ended");
            is_killed = true;
        }
    }
    let status = child.wait().expect("it ends");
    let stderr = reads.join().expect("it ends").expect("it is text");
    (Ran { code: status.code(), stdout: said, stderr }, is_killed && status.code().is_none())
}

/// Whether a line tells of something that is changed.
fn is_change(line: &str) -> bool {
    // `handle` tells the time first, `roll` does not.
    let rest = line.split_once(' ').map_or("", |(_, rest)| rest);
    let verbs = [
        "tagging",
        "removing the tag",
        "changing",
        "suspending",
        "resuming",
        "cordoning",
        "uncordoning",
        "evicting",
        "deleting",
        "terminating",
        "replacing",
        "completing",
        "asking EKS",
    ];
    verbs.iter().any(|verb| line.starts_with(verb) || rest.starts_with(verb))
}

/// An object of the cluster, as far as it is there.
pub(super) fn items(account: &Account, path: &str) -> Vec<Value> {
    account.get(path)["items"].as_array().cloned().unwrap_or_default()
}
