//! A cluster on disk: it survives SIGKILL.
//!
//! `state` holds everything as it was once; `log.N` what has changed since, record by record, each written and synced before anybody is told of what it
//! says. When the log has grown, a new state is written beside the old one and takes its name. What a crash cuts off at the end of a log was never
//! acknowledged.

mod entry;
mod error;
mod files;
mod frame;
#[cfg(test)]
mod tests;
mod whole;

use std::fs::File;
use std::io::{self, Write};
use std::thread::JoinHandle;

use replank_model::view::Change;

pub use error::JournalError;
pub use files::{Files, Kept};
pub(crate) use whole::Whole;

/// A log is replaced when it is longer than this, and longer than the state that it began with.
const LOG_MAX: u64 = 32 * 1024 * 1024;

/// A cluster on disk that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    files: Files,
    log: File,
    generation: u64,
    log_len: u64,
    state_len: u64,
    buffer: Vec<u8>,
    /// What was last written: the counter, and what cannot be told from objects.
    version: u64,
    memory: String,
    writing: Option<JoinHandle<io::Result<u64>>>,
}

impl Journal {
    /// Begins to write. All that is there is written first, so that what was read is not needed any more.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn begin(files: Files, whole: &Whole) -> io::Result<Self> {
        let generation = files.generation + 1;
        let log = files.create_log(generation)?;
        let state_len = files.write_state(generation, whole)?;
        files.forget_before(generation);
        Ok(Self {
            files,
            log,
            generation,
            log_len: 0,
            state_len,
            buffer: Vec::new(),
            version: whole.version,
            memory: whole.memory.clone(),
            writing: None,
        })
    }

    /// Goes on with the log that was read.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn resume(files: Files, version: u64) -> io::Result<Self> {
        let generation = files.last_log;
        let (log, log_len) = files.append_log(generation)?;
        let state_len = files.state_len();
        Ok(Self {
            files,
            log,
            generation,
            log_len,
            state_len,
            buffer: Vec::new(),
            version,
            memory: String::new(),
            writing: None,
        })
    }

    /// Writes what has changed; it lasts when this returns.
    ///
    /// # Errors
    /// What the system says. What was to be written may be there or not: nobody may be told of it, and nothing may be written after it.
    pub(crate) fn write(
        &mut self,
        version: u64,
        time: i64,
        changes: &[Change],
        memory: &str,
    ) -> io::Result<()> {
        let mut record = entry::begin(version, time);
        let empty = record.len();
        changes.iter().for_each(|change| entry::change(&mut record, change));
        if memory != self.memory {
            entry::memory_is(&mut record, memory);
            memory.clone_into(&mut self.memory);
        }
        // A version that somebody may have seen is not given again, even where no object shows it.
        if record.len() == empty && version == self.version {
            return Ok(());
        }
        self.version = version;
        self.buffer.clear();
        frame::put(&mut self.buffer, record.as_bytes());
        self.log.write_all(&self.buffer)?;
        self.log.sync_data()?;
        self.log_len += self.buffer.len() as u64;
        Ok(())
    }

    /// Writes a new state where the log has become long: in another thread, while this one goes on in a new log.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn compact(&mut self, whole: impl FnOnce() -> Whole) -> io::Result<()> {
        if let Some(writing) = self.writing.take_if(|writing| writing.is_finished()) {
            self.state_len = writing.join().map_err(|_| io::Error::other("writing the state panicked"))??;
        }
        if self.writing.is_some() || self.log_len < LOG_MAX.max(self.state_len) {
            return Ok(());
        }
        let generation = self.generation + 1;
        self.log = self.files.create_log(generation)?;
        (self.generation, self.log_len) = (generation, 0);
        let (files, whole) = (self.files.place(), whole());
        let write = move || {
            let written = files.write_state(generation, &whole)?;
            files.forget_before(generation);
            Ok(written)
        };
        self.writing = Some(std::thread::Builder::new().name("state".to_owned()).spawn(write)?);
        Ok(())
    }
}

impl Drop for Journal {
    /// Waits for a state that is being written; whatever becomes of it, the logs are there.
    fn drop(&mut self) {
        if let Some(writing) = self.writing.take() {
            drop(writing.join());
        }
    }
}
