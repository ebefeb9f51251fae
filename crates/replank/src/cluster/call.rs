//! `replank cluster advance`, `faults` and `status`: what is asked of a cluster that runs.

use std::path::PathBuf;

use anyhow::Context;
use replank_api::{CallError, Kubeconfig, Manage, call};
use serde_json::Value;

use super::args::{AdvanceArgs, CallArgs, FaultsArgs, FaultsCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::AnswerFormat;
use crate::printer::Printer;

/// Lets time pass.
///
/// # Errors
/// The cluster cannot be reached, or refuses.
pub(super) fn advance(args: &AdvanceArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let answer = ask(&args.call, &Manage::Advance { millis: args.span.as_millis() })?;
    print(&args.call, &answer, printer, |answer| format!("{}\n", text(answer, "now")))
}

/// How the cluster is.
///
/// # Errors
/// The cluster cannot be reached, or refuses.
pub(super) fn status(args: &CallArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let answer = ask(args, &Manage::Status)?;
    print(args, &answer, printer, |answer| {
        let members =
            ["now", "clock", "next", "nodes", "pods", "objects", "resourceVersion", "faults", "isKept"];
        let line = |member: &&str| format!("{:<17}{}\n", format!("{member}:"), text(answer, member));
        members.iter().map(line).collect()
    })
}

/// What goes wrong.
///
/// # Errors
/// The cluster cannot be reached, or refuses.
pub(super) fn faults(args: &FaultsArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let (call, manage) = match &args.command {
        FaultsCommand::List(call) => (call, Manage::Faults),
        FaultsCommand::Start { words, call } => (call, Manage::Start { words: words.join(" ") }),
        FaultsCommand::Clear { number, call } => (call, Manage::Clear { number: *number }),
    };
    let answer = ask(call, &manage)?;
    print(call, &answer, printer, |answer| {
        let of = |member: &str| answer.get(member).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut lines = String::new();
        for fault in of("started").iter().chain(&of("cleared")) {
            let how = match (text(fault, "cleared").as_str(), text(fault, "endsWith").as_str()) {
                ("-", "-") => String::new(),
                ("-", _) => ", goes on".to_owned(),
                (cleared, _) => format!(", ended {cleared}"),
            };
            lines += &format!(
                "{}: {} (started {}{how})\n",
                text(fault, "number"),
                text(fault, "words"),
                text(fault, "started")
            );
        }
        if lines.is_empty() {
            lines.push_str("nothing was made to go wrong\n");
        }
        let known: String = of("known").iter().map(|form| format!("  {}\n", text(form, "words"))).collect();
        if !known.is_empty() {
            lines += &format!("what can be started (docs/script.md says what each does):\n{known}");
        }
        lines
    })
}

/// A member as a person reads it.
fn text(value: &Value, member: &str) -> String {
    match value.get(member) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn print(
    args: &CallArgs,
    answer: &Value,
    printer: &mut Printer,
    told: impl FnOnce(&Value) -> String,
) -> Result<Exit, Failure> {
    let text = match args.output {
        AnswerFormat::Text => told(answer),
        AnswerFormat::Json => format!("{answer:#}\n"),
    };
    printer.data(&text)?;
    Ok(Exit::Passes)
}

fn ask(args: &CallArgs, manage: &Manage) -> Result<Value, Failure> {
    let config = config(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot begin threads").map_err(Failure::internal)?;
    runtime.block_on(call(&config, manage)).map_err(|error| {
        let next = match &error {
            CallError::Unreachable { .. } => Some("start one: replank cluster up --kubeconfig FILE"),
            CallError::Stranger { .. } => {
                Some("name the kubeconfig that `replank cluster up` has written: --kubeconfig FILE")
            }
            CallError::Refused(_) => None,
        };
        let failure = Failure::usage(error);
        match next {
            Some(next) => failure.next(next),
            None => failure,
        }
    })
}

/// The kubeconfig of a cluster that is being served; of no other, lest a token is shown to somebody else.
fn config(args: &CallArgs) -> Result<Kubeconfig, Failure> {
    let next = "name the file that `replank cluster up` has printed: --kubeconfig FILE";
    let of_environment = || std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
    let Some(path) = args.kubeconfig.clone().or_else(of_environment) else {
        return Err(Failure::usage_message("no kubeconfig is named, and KUBECONFIG is not set").next(next));
    };
    let read = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()));
    let bytes = read.map_err(|error| Failure::usage(error).next(next))?;
    let read =
        serde_json::from_slice::<Value>(&bytes).map_err(|_| "another program has written it".to_owned());
    let config = read.and_then(|file| Kubeconfig::read(&file));
    let config = config.and_then(|config| match config.context.starts_with("rehearsal-") {
        true => Ok(config),
        false => Err(format!("its context {} is none of a rehearsal", config.context)),
    });
    config.map_err(|why| {
        Failure::usage_message(format!("{} is no kubeconfig of a replank cluster: {why}", path.display()))
            .next(next)
    })
}
