//! `replank migrate --apply` and `--cancel`: the migration that was rehearsed, carried out on a live cluster.

use replank_core::migrate::{Goal, Migrated, Migration, Request, record_key};
use replank_live::Connection;
use replank_live::drive::{self, Driver, Event, Observer};
use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Answer, Command};
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use replank_rehearse::migration_step;

use super::args::MigrateArgs;
use super::rehearsed::{Rehearsed, goal, options, rehearsed};
use crate::confirm::confirm;
use crate::drain::RbacVerb;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::journal::JournalFile;
use crate::live::{carry_out, permitted, pressed, runtime};
use crate::printer::Printer;
use crate::report::words::span;
use crate::snapshot::Origin;

/// Carries a migration out, or takes it back.
///
/// # Errors
/// Where it is not begun: the arguments are wrong, the rehearsal has downtime or cannot be completed, nobody says yes. Or where the cluster is lost for long.
pub(super) fn run(
    args: &MigrateArgs,
    (kind, key): (Migrated, Key),
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let flag = if args.cancel { "--cancel" } else { "--apply" };
    if !args.snapshots.is_empty() {
        return Err(Failure::usage_message(format!(
            "{flag} changes a live cluster, and a snapshot is given"
        ))
        .next("leave SNAPSHOT out; --context names the cluster"));
    }
    let goal = goal(args, (kind, &key), printer)?;
    let runtime = runtime()?;
    let (connection, is_begun) = runtime.block_on(async {
        let connection = Connection::open(&args.live.asked()).await?;
        let verb = rbac_verb(kind, &goal);
        permitted(&connection, None, &verb.rules()).await?;
        permitted(&connection, Some(key.namespace.as_str()), verb.of_namespace()).await?;
        let record = record_key(kind.kind(), &key);
        let path = format!("/api/v1/namespaces/{}/configmaps/{}", record.namespace, record.name);
        let answer = connection.get(&path, "application/json").await?;
        Ok::<_, Failure>((connection, answer.code == 200))
    })?;
    let named = format!("{} {key}", kind.kind());
    let what = format!("{named} on context {}", connection.context());
    if is_begun {
        printer.story(&format!(
            "a migration of {what} was begun: it is {}",
            if args.cancel { "taken back" } else { "gone on with" }
        ));
    } else if args.cancel {
        printer.story(&format!("no migration of {what} was begun: nothing to take back"));
        return Ok(Exit::Passes);
    } else {
        let Some(origin) = Origin::of(&[], &args.live)? else {
            return Err(Failure::usage_message("no live cluster to migrate on"));
        };
        let Rehearsed { exit, is_nothing_to_move } =
            rehearsed(args, (kind, &key, goal.clone()), origin, printer)?;
        if exit == Exit::Passes && is_nothing_to_move {
            printer.story("nothing is to be moved: nothing was changed");
            return Ok(exit);
        }
        if exit != Exit::Passes {
            printer.warning("nothing was changed: a migration is carried out only if its rehearsal is done without downtime");
            return Ok(exit);
        }
    }
    let verb = if args.cancel { "take back the migration of" } else { "migrate" };
    confirm(args.yes, &format!("{verb} {what}"))?;
    let journal = args.journal.as_deref().map(JournalFile::create).transpose()?;
    let settings = options(args, &key);
    let run = settings.run.clone();
    let namespace = key.namespace.to_string();
    let request = Request { kind, key: key.clone(), goal, choice: args.path.choice() };
    let mut migration = Migration::new(request, settings);
    interrupt.hold();
    let mut look = Look { of: (kind.kind(), key), begun: None, cancels: args.cancel, printer };
    let ended = runtime.block_on(async {
        let mut driving = drive::Options::new(run);
        driving.records = Some(namespace);
        let driver = Driver::new(&connection, driving);
        let on = format!("context {}", connection.context());
        let kept = (journal.as_ref(), ["migrate", &on, &named]);
        let running = carry_out(driver, &mut migration, &mut look, kept);
        tokio::select! {
            ended = running => ended.map(Some),
            () = pressed(interrupt) => Ok(None),
        }
    });
    if let Some(Err(failure)) = journal.as_ref().map(JournalFile::finish) {
        printer.failure(&failure);
    }
    match ended? {
        Some(end) => finish(&end, args.cancel, printer),
        None => {
            printer.warning(
                "interrupted: what was begun stays as it is, and its record with it; the same command goes on, --cancel takes it back",
            );
            Ok(Exit::Interrupted)
        }
    }
}

/// Whose rules it needs.
fn rbac_verb(kind: Migrated, goal: &Goal) -> RbacVerb {
    match (kind, goal) {
        (Migrated::Deployment, Goal::Rollout(_)) => RbacVerb::MigrateRollout,
        (Migrated::Deployment, Goal::Selector(_) | Goal::Manifest(_)) => RbacVerb::Migrate,
        (Migrated::StatefulSet, _) => RbacVerb::MigrateStatefulset,
        (Migrated::DaemonSet, _) => RbacVerb::MigrateDaemonset,
        (Migrated::ReplicaSet, _) => RbacVerb::MigrateReplicaset,
    }
}

fn finish(end: &End, is_cancelled: bool, printer: &mut Printer) -> Result<Exit, Failure> {
    let (word, exit, waiting) = match end {
        End::Done if is_cancelled => {
            ("done: what it makes served already, so it was completed", Exit::Passes, &[][..])
        }
        End::Done => ("done", Exit::Passes, &[][..]),
        End::RolledBack(waiting) if is_cancelled => ("taken back", Exit::Passes, &waiting[..]),
        End::Cancelled(waiting) if is_cancelled => ("taken back", Exit::Passes, &waiting[..]),
        End::RolledBack(waiting) => ("rolled back", Exit::Blocked, &waiting[..]),
        End::Blocked(waiting) => ("blocked", Exit::Blocked, &waiting[..]),
        End::Cancelled(waiting) => ("cancelled", Exit::Blocked, &waiting[..]),
        End::Refused(waiting) => ("refused", Exit::Refused, &waiting[..]),
    };
    printer.data(&format!("migration {word}\n"))?;
    for one in waiting {
        printer.warning(&one.to_string());
    }
    Ok(exit)
}

/// Prints what is done, and hands in that it is to be taken back.
struct Look<'p> {
    of: (Kind, Key),
    begun: Option<Time>,
    /// Until it was handed in.
    cancels: bool,
    printer: &'p mut Printer,
}

impl Observer for Look<'_> {
    fn decided(&mut self, now: Time, _view: &View, _decision: &Decision) {
        self.begun.get_or_insert(now);
    }

    fn answered(&mut self, command: &Command, answer: &Answer, at: Time) {
        let since = span(at - self.begun.unwrap_or(at));
        let step = migration_step(command, self.of.0, &self.of.1);
        let line = match answer {
            Answer::Done => format!("+{since}  {step}\n"),
            Answer::Refused(refusal) => format!("+{since}  {step}: refused: {refusal}\n"),
            Answer::Unknown { message } => format!("+{since}  {step}: no answer: {message}\n"),
        };
        // A reader that stops early does not stop a migration half-way.
        drop(self.printer.told(&line));
    }

    fn story(&mut self, _at: Time, event: &Event) {
        if !event.is_routine() {
            self.printer.story(&event.to_string());
        }
    }

    fn intent(&mut self) -> Option<Intent> {
        std::mem::take(&mut self.cancels).then_some(Intent::Cancelled)
    }
}
