//! Carries one command out: sends it, waits where the server is busy, and reads back what became of it where no answer came.

use std::sync::Arc;
use std::time::Duration;

use replank_model::object::meta::ResourceVersion;
use replank_model::text::Text;
use replank_model::time::Time;
use replank_protocol::command::CommandKey;
use replank_protocol::mark::{RESTARTED_BY, RUN};
use replank_protocol::outcome::{Answer, Refusal};
use serde_json::Value;

use super::backoff::Backoff;
use super::event::Event;
use super::heard::{Meaning, meaning};
use super::line::{Heard, Line, Silence};
use super::prepare::{Prepared, Sign};
use crate::connect::Call;

/// How often reading back is tried where it is not answered either.
const READS: usize = 4;
/// How often a request is sent that was read back to have had no effect, and that is conditional on a version, so that it cannot have one twice.
const SENDS: usize = 3;

/// What became of a command.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) answer: Answer,
    /// The version at which the object was written, where the answer says so.
    pub(super) version: Option<ResourceVersion>,
}

/// What reading back shows.
#[derive(Debug, PartialEq)]
enum Back {
    /// The effect is there.
    Shown(Option<ResourceVersion>),
    /// It is not, and cannot come any more.
    Never(Refusal),
    /// It is not, and may still come.
    NotYet,
    /// Nothing: it was not answered either.
    Unread(String),
}

/// Carries a command out. Leave to send the first request has been given.
pub(super) async fn carry(line: Arc<Line>, key: CommandKey, prepared: Prepared, deadline: Time) -> Carried {
    Carrier { line: &line, key, prepared, deadline, sends: 0, is_uncertain: false }.carry().await
}

struct Carrier<'l> {
    line: &'l Line,
    key: CommandKey,
    prepared: Prepared,
    deadline: Time,
    sends: usize,
    /// Whether a request was sent of which no answer came.
    is_uncertain: bool,
}

impl Carrier<'_> {
    async fn carry(mut self) -> Carried {
        let (mut backoff, mut has_leave) = (Backoff::new(self.key.0.to_string()), true);
        loop {
            if !std::mem::take(&mut has_leave) && !self.line.leave(self.deadline).await {
                return self.late();
            }
            if !self.line.may_write() {
                return self.late();
            }
            let heard = match self.line.ask(&self.prepared.call, Some(self.deadline)).await {
                Ok(heard) => heard,
                Err(Silence::Late) => return self.late(),
                Err(Silence::Unsent(_)) => {
                    tokio::time::sleep(backoff.next()).await;
                    continue;
                }
                Err(Silence::Lost(why)) => match self.lost(why).await {
                    Some(carried) => return carried,
                    None => continue,
                },
            };
            match meaning(&heard, self.prepared.sort) {
                Meaning::Done(body) => return done(version(&body)),
                Meaning::Throttled(pause) => {
                    let pause = pause.unwrap_or_else(|| backoff.next());
                    self.line.pause(&self.prepared.call, pause).await;
                }
                Meaning::Lost(why) => {
                    if let Some(carried) = self.lost(why).await {
                        return carried;
                    }
                }
                Meaning::Tested(message) => return self.tested(message, &heard).await,
                // What was sent before may be what stands in the way.
                Meaning::Refused(refusal @ (Refusal::Conflict { .. } | Refusal::Gone { .. })) => {
                    return if self.is_uncertain { self.settle(refusal).await } else { refused(refusal) };
                }
                Meaning::Refused(refusal) => return refused(refusal),
            }
        }
    }

    /// The deadline has passed.
    fn late(&self) -> Carried {
        if self.is_uncertain {
            return unknown("no answer came before the deadline".to_owned());
        }
        refused(Refusal::Late)
    }

    /// No answer came: what became of the command, or nothing if it may be sent once more.
    async fn lost(&mut self, why: String) -> Option<Carried> {
        self.is_uncertain = true;
        self.sends += 1;
        self.line.story(Event::ReadBack { key: self.key.clone(), why: why.clone() }).await;
        match self.read_back().await {
            Back::Shown(version) => Some(done(version)),
            Back::Never(refusal) => Some(refused(refusal)),
            Back::NotYet if self.prepared.sign.is_conditional() && self.sends < SENDS => None,
            Back::NotYet => Some(unknown(format!("no answer came ({why}), and no effect is to be seen yet"))),
            Back::Unread(again) => {
                Some(unknown(format!("no answer came ({why}), nor to reading back ({again})")))
            }
        }
    }

    /// A refusal that may be due to what was sent before.
    async fn settle(&mut self, refusal: Refusal) -> Carried {
        match self.read_back().await {
            Back::Shown(version) => done(version),
            Back::Never(_) | Back::NotYet => refused(refusal),
            Back::Unread(why) => {
                unknown(format!("an answer was lost, and reading back was not answered ({why})"))
            }
        }
    }

    /// A patch that was not carried out: the object tells why.
    async fn tested(&mut self, message: String, heard: &Heard) -> Carried {
        let failed = Refusal::Failed { code: heard.code, message: Text::from(message) };
        match self.read_back().await {
            Back::Shown(version) if self.is_uncertain => done(version),
            Back::Never(refusal) => refused(refusal),
            // Somebody else has made it so.
            Back::Shown(version) if version != self.prepared.sign.version() => {
                let message = format!("{} has been modified", self.prepared.object);
                refused(Refusal::Conflict { message: Text::from(message) })
            }
            // It is at the version that was tested for, or cannot be read: the server has refused what was to be written.
            Back::Shown(_) | Back::NotYet | Back::Unread(_) => refused(failed),
        }
    }

    /// Reads what the command was to change.
    async fn read_back(&self) -> Back {
        let (mut backoff, mut why) = (Backoff::new(format!("{}/read", self.key)), String::new());
        let call = Call::get(&*self.prepared.path);
        for _ in 0..READS {
            // A deadline is for what has an effect: what became of it is read after that, too.
            while let Err(wait) = self.line.bucket.take() {
                tokio::time::sleep(wait).await;
            }
            match self.line.ask(&call, None).await {
                Ok(heard) if heard.code == 200 => match serde_json::from_slice(&heard.body) {
                    Ok(object) => return self.prepared.shows(Some(&object)),
                    Err(error) => why = error.to_string(),
                },
                Ok(heard) if heard.code == 404 => return self.prepared.shows(None),
                Ok(heard) => why = format!("{}: {}", heard.code, heard.message()),
                Err(silence) => why = silence.words(),
            }
            tokio::time::sleep(backoff.next().min(Duration::from_secs(5))).await;
        }
        Back::Unread(why)
    }
}

impl Sign {
    /// The version that the request is for.
    fn version(&self) -> Option<ResourceVersion> {
        match self {
            Self::Patched(version, _) => Some(*version),
            Self::Ended { version } => *version,
            Self::Created(_) => None,
        }
    }

    /// Whether a request of which the effect is not there can be sent once more, and has its effect once at most.
    fn is_conditional(&self) -> bool {
        match self {
            Self::Patched(..) | Self::Created(_) => true,
            Self::Ended { version } => version.is_some(),
        }
    }
}

impl Prepared {
    /// What an object, or its absence, says of the command.
    fn shows(&self, object: Option<&Value>) -> Back {
        let Some(object) = object else {
            return match &self.sign {
                Sign::Patched(..) => {
                    Back::Never(Refusal::Gone { message: Text::from(format!("{} not found", self.object)) })
                }
                Sign::Ended { .. } => Back::Shown(None),
                Sign::Created(_) => Back::NotYet,
            };
        };
        let is_same = object["metadata"]["uid"] == *self.object.uid.as_str();
        let conflict = |words: &str| {
            let message = format!("{} {words}", self.object);
            Back::Never(Refusal::Conflict { message: Text::from(message) })
        };
        match &self.sign {
            Sign::Patched(..) if !is_same => conflict("is another incarnation"),
            Sign::Patched(_, operations) if operations.iter().all(|one| one.is_in(object)) => {
                Back::Shown(version(object))
            }
            Sign::Patched(of, _) if version(object) == Some(*of) => Back::NotYet,
            Sign::Patched(..) => conflict("has been modified"),
            Sign::Ended { .. } if !is_same => Back::Shown(None),
            Sign::Ended { .. } if object["metadata"]["deletionTimestamp"].is_string() => Back::Shown(None),
            Sign::Ended { version: Some(of) } if version(object) != Some(*of) => {
                conflict("has been modified")
            }
            Sign::Ended { .. } => Back::NotYet,
            Sign::Created(run) if names(object, run.as_str()) => Back::Shown(version(object)),
            Sign::Created(_) => conflict("is there already, and is not this run's"),
        }
    }
}

/// Whether an object says that it is a run's.
fn names(object: &Value, run: &str) -> bool {
    let annotations = &object["metadata"]["annotations"];
    [RUN, RESTARTED_BY].iter().any(|key| annotations[key] == *run)
}

fn version(object: &Value) -> Option<ResourceVersion> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok().map(ResourceVersion)
}

fn done(version: Option<ResourceVersion>) -> Carried {
    Carried { answer: Answer::Done, version }
}

fn refused(refusal: Refusal) -> Carried {
    Carried { answer: Answer::Refused(refusal), version: None }
}

fn unknown(message: String) -> Carried {
    Carried { answer: Answer::Unknown { message: Text::from(message) }, version: None }
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;
    use replank_model::object::{Kind, ObjectRef};
    use serde_json::json;

    use super::*;
    use crate::drive::heard::Sort;
    use crate::drive::patch::Operation;

    fn prepared(sign: Sign) -> Prepared {
        let object = ObjectRef { kind: Kind::Node, key: Key::cluster("n1"), uid: "u".into() };
        let path = "/api/v1/nodes/n1".to_owned();
        Prepared { call: Call::get(&*path), sort: Sort::Plain, path, object, sign }
    }

    fn object(uid: &str, version: u64) -> Value {
        json!({"metadata": {"name": "n1", "uid": uid, "resourceVersion": version.to_string()}, "spec": {}})
    }

    #[test]
    fn a_lost_patch_is_there_or_may_come_or_cannot_any_more() {
        let cordon = Operation::Add("/spec/unschedulable".into(), true.into());
        let patched = prepared(Sign::Patched(ResourceVersion(5), vec![cordon]));
        let mut cordoned = object("u", 6);
        cordoned["spec"]["unschedulable"] = true.into();
        assert_eq!(patched.shows(Some(&cordoned)), Back::Shown(Some(ResourceVersion(6))));
        assert_eq!(patched.shows(Some(&object("u", 5))), Back::NotYet);
        assert!(matches!(patched.shows(Some(&object("u", 6))), Back::Never(Refusal::Conflict { .. })));
        assert!(matches!(patched.shows(Some(&object("v", 5))), Back::Never(Refusal::Conflict { .. })));
        assert!(matches!(patched.shows(None), Back::Never(Refusal::Gone { .. })));
        assert!(patched.sign.is_conditional());
    }

    #[test]
    fn a_lost_eviction_shows_by_the_pod_and_is_not_sent_again() {
        let ended = prepared(Sign::Ended { version: None });
        let mut going = object("u", 6);
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        for there in [Some(&going), Some(&object("v", 9)), None] {
            assert_eq!(ended.shows(there), Back::Shown(None));
        }
        assert_eq!(ended.shows(Some(&object("u", 6))), Back::NotYet);
        assert!(!ended.sign.is_conditional());
        // A deletion of one version cannot come to an object that has moved on.
        let of_version = prepared(Sign::Ended { version: Some(ResourceVersion(5)) });
        assert!(matches!(of_version.shows(Some(&object("u", 6))), Back::Never(Refusal::Conflict { .. })));
    }

    #[test]
    fn what_was_made_is_ours_if_it_names_the_run() {
        let created = prepared(Sign::Created("run-1".into()));
        let mut ours = object("x", 6);
        ours["metadata"]["annotations"] = json!({RUN: "run-1"});
        assert_eq!(created.shows(Some(&ours)), Back::Shown(Some(ResourceVersion(6))));
        ours["metadata"]["annotations"] = json!({RUN: "run-2"});
        assert!(matches!(created.shows(Some(&ours)), Back::Never(Refusal::Conflict { .. })));
        assert_eq!(created.shows(None), Back::NotYet);
    }
}
