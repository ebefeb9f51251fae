//! `replank upgrade status` and `cancel`: how far an upgrade is, from its record; and its end before its time.

use replank_live::{Connection, Holder, Lease};
use replank_model::time::Time;
use serde_json::{Value, json};

use super::args::UpgradeStateArgs;
use super::keeper::{Keeper, Taken};
use super::record::{Kept, Recorded, State, all, one};
use super::resume::held_by;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live::runtime;
use crate::output::EventsFormat;
use crate::printer::Printer;
use crate::roll::identity;
use crate::zone::times;

/// Shows upgrades.
///
/// # Errors
/// Where they cannot be read.
pub(in crate::upgrade) fn status(args: &UpgradeStateArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let namespace = args.place.namespace.as_str();
    let found = runtime.block_on(async {
        let connection = Connection::open(&args.place.live.asked()).await?;
        let kept = match &args.cluster {
            Some(cluster) => vec![one(&connection, namespace, Some(cluster)).await?],
            None => all(&connection, namespace).await?,
        };
        let mut found = Vec::new();
        for kept in kept {
            let holder = Lease::holder(&connection, kept.place()).await?;
            found.push((kept, holder));
        }
        Ok::<_, Failure>(found)
    })?;
    if found.is_empty() && args.place.output == EventsFormat::Text {
        printer
            .story(&format!("there is no upgrade in namespace {namespace}: none was begun, or all are over"));
    }
    for (kept, holder) in &found {
        let text = match args.place.output {
            EventsFormat::Text => times(&told(kept, holder.as_ref())).into_owned(),
            EventsFormat::Json => format!("{}\n", value(kept, holder.as_ref())),
        };
        printer.data(&text)?;
    }
    Ok(Exit::Passes)
}

/// Ends an upgrade: its record is removed, and what was done stays.
///
/// # Errors
/// Where there is none, or another process works on it.
pub(in crate::upgrade) fn cancel(args: &UpgradeStateArgs, printer: &mut Printer) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let namespace = args.place.namespace.as_str();
    let (connection, kept) = runtime.block_on(async {
        let connection = Connection::open(&args.place.live.asked()).await?;
        let kept = one(&connection, namespace, args.cluster.as_deref()).await?;
        Ok::<_, Failure>((connection, kept))
    })?;
    let cluster = kept.upgrade.cluster.clone();
    let (own, name) = kept.place();
    // Nobody begins to work on it while it is removed.
    let keeper = match Keeper::take(args.place.live.asked(), (own.to_owned(), name.to_owned()), identity())? {
        Taken::Ours(keeper) => keeper,
        Taken::HeldBy(holder) => return Err(held_by(&cluster, &holder)),
    };
    // Whoever held the Lease until now may have written since.
    let kept = runtime.block_on(async {
        let kept = one(&connection, namespace, Some(&cluster)).await?;
        kept.remove(&connection).await?;
        Ok::<_, Failure>(kept)
    })?;
    drop(keeper);
    match args.place.output {
        EventsFormat::Text => {
            printer
                .told(&format!("the upgrade is ended: nothing further is begun\n{}", told(&kept, None)))?;
        }
        EventsFormat::Json => printer.data(&format!("{}\n", value(&kept, None)))?,
    }
    for step in kept.upgrade.steps.iter().filter(|step| step.state == State::Begun) {
        printer.story(&format!(
            "step begun and not done: {}: what EKS or a roll does for it goes on (replank roll status)",
            step.title
        ));
    }
    for step in kept.upgrade.steps.iter().rev().filter(|step| step.state != State::Open) {
        if let Some(back) = &step.back {
            printer.story(&format!("the way back of {}: {back}", step.title));
        }
    }
    Ok(Exit::Passes)
}

const fn word(state: State) -> &'static str {
    match state {
        State::Open => "open",
        State::Begun => "begun",
        State::Done => "done",
    }
}

fn told(kept: &Kept, holder: Option<&Holder>) -> String {
    let upgrade = &kept.upgrade;
    let by = holder
        .map_or_else(|| "no process works on it".to_owned(), |holder| format!("carried out by {holder}"));
    let left = upgrade.steps.iter().filter(|step| step.state != State::Done).count();
    let mut text = format!(
        "upgrade of {} from {} to {} in {}: begun {}; {by}; {left} of {} left\n",
        upgrade.cluster,
        upgrade.from,
        upgrade.to,
        upgrade.region,
        upgrade.begun.floor_seconds(),
        crate::report::words::count(upgrade.steps.len(), "step"),
    );
    for (at, step) in upgrade.steps.iter().enumerate() {
        text.push_str(&format!("{:>4}  {:5}  {}{}\n", at + 1, word(step.state), step.title, when(step)));
    }
    text
}

fn when(step: &Recorded) -> String {
    let at = |time: Time| time.floor_seconds().to_string();
    let failed = match step.failed {
        0 => String::new(),
        times => {
            let times = crate::report::words::count(usize::try_from(times).unwrap_or(usize::MAX), "time");
            format!("; EKS has said {times} that it failed")
        }
    };
    match (step.begun, step.done) {
        (Some(begun), Some(done)) => format!("  {} to {}{failed}", at(begun), at(done)),
        (Some(begun), None) => format!("  since {}{failed}", at(begun)),
        (None, _) => String::new(),
    }
}

fn value(kept: &Kept, holder: Option<&Holder>) -> Value {
    let mut value = json!(kept.upgrade);
    value["heldBy"] = json!(holder.map(ToString::to_string));
    value
}
