//! What of a served cluster is written down, and when.

use std::io;
use std::time::{Duration, Instant};

use replank_aws::Account;
use replank_model::view::Change;
use replank_sim::{Memory, World};
use serde::{Deserialize, Serialize};

use crate::faults::Faults;
use crate::journal::{Files, Journal, Kept, Whole};

/// A log that is shorter than this is gone on with; otherwise everything is written anew at the beginning.
const LOG_KEPT: u64 = 4 * 1024 * 1024;
/// What is remembered of a cloud as large as this is not written with every change, but so many bytes a second.
const MEMORY_SMALL: usize = 64 * 1024;
const MEMORY_PER_SECOND: usize = 8 * 1024 * 1024;

/// What cannot be told from objects, as it is written.
#[derive(Debug, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) world: Memory,
    pub(crate) faults: Faults,
    /// The account of AWS, where there was one.
    #[serde(default)]
    pub(crate) account: Option<Account>,
}

/// What is written down of a served cluster beside its objects.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'s> {
    pub(crate) world: &'s World,
    pub(crate) faults: &'s Faults,
    pub(crate) account: Option<&'s Account>,
}

impl Beside<'_> {
    /// A number that rises when it may have changed, but for the faults.
    fn touched(self) -> u64 {
        self.world.touched() + self.account.map_or(0, Account::touched)
    }
}

/// Writes a served cluster down.
#[derive(Debug)]
pub(crate) struct Keeper {
    journal: Journal,
    /// What was last written down, and as of when: a number of [`World::touched`], and how many faults had been started.
    memory: String,
    known: (u64, Faults),
    written: Instant,
}

impl Keeper {
    /// Begins to write. `kept` is what the files held that the world has gone on from.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn begin(files: Files, beside: Beside<'_>, kept: Option<(u64, u64)>) -> io::Result<Self> {
        let Beside { world, faults, .. } = beside;
        let memory = memory(beside);
        let journal = match kept {
            // Nothing has been written since it was read, and there is little to read the next time.
            Some((version, log_len)) if version == world.version() && log_len < LOG_KEPT => {
                Journal::resume(files, version)?
            }
            Some(_) | None => Journal::begin(files, &whole(world, &memory))?,
        };
        Ok(Self { journal, memory, known: (beside.touched(), faults.clone()), written: Instant::now() })
    }

    /// Makes changes last.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn keep(&mut self, beside: Beside<'_>, changes: &[Change]) -> io::Result<()> {
        let Beside { world, faults, .. } = beside;
        let per_second = self.memory.len() as f64 / MEMORY_PER_SECOND as f64;
        let is_time = self.memory.len() < MEMORY_SMALL
            || self.written.elapsed() >= Duration::from_secs_f64(per_second)
            || self.known.1 != *faults;
        if is_time && (self.known.0 != beside.touched() || self.known.1 != *faults) {
            self.memory = memory(beside);
            self.known = (beside.touched(), faults.clone());
            self.written = Instant::now();
        }
        self.journal.write(world.version(), world.now().as_millis(), changes, &self.memory)?;
        let memory = &self.memory;
        self.journal.compact(|| whole(world, memory))
    }
}

fn memory(beside: Beside<'_>) -> String {
    #[derive(Serialize)]
    struct Written<'w> {
        world: Box<serde_json::value::RawValue>,
        faults: &'w Faults,
        #[serde(skip_serializing_if = "Option::is_none")]
        account: Option<&'w Account>,
    }
    let Beside { world, faults, account } = beside;
    let world = serde_json::value::RawValue::from_string(world.memory()).expect("it is JSON");
    serde_json::to_string(&Written { world, faults, account }).expect("it is plain data")
}

fn whole(world: &World, memory: &str) -> Whole {
    Whole {
        version: world.version(),
        time: world.now().as_millis(),
        objects: world.view().objects(),
        memory: memory.to_owned(),
    }
}

/// Reads what cannot be told from objects.
///
/// # Errors
/// What the reader says.
pub(crate) fn remembered(kept: &Kept) -> Result<Remembered, serde_json::Error> {
    serde_json::from_str(&kept.memory)
}
