//! The file that a journal is written to.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use replank_journal::{Entry, Sink};

use crate::failure::Failure;

/// A journal that is being written. A line is handed to the system as a whole, before what it tells of is done.
pub(crate) struct JournalFile {
    path: PathBuf,
    state: Rc<RefCell<State>>,
}

struct State {
    out: BufWriter<File>,
    /// The first write that failed. What comes after it is not written: a journal has no holes.
    error: Option<io::Error>,
}

impl fmt::Debug for JournalFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("JournalFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl JournalFile {
    /// Makes the file. One that is there is not overwritten: a journal is evidence.
    ///
    /// # Errors
    /// Where it is there already, or cannot be made.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create_new(path).map_err(|error| {
            let failed = Failure::usage_message(format!("cannot write journal {}: {error}", path.display()));
            if error.kind() == io::ErrorKind::AlreadyExists {
                failed.next("name another file: a journal is never overwritten")
            } else {
                failed
            }
        })?;
        let state = State { out: BufWriter::new(file), error: None };
        Ok(Self { path: path.to_owned(), state: Rc::new(RefCell::new(state)) })
    }

    /// Where an engine's lines go.
    pub(crate) fn sink(&self) -> Sink<'static> {
        let state = self.state.clone();
        Box::new(move |entry| state.borrow_mut().write(entry))
    }

    /// Ends it.
    ///
    /// # Errors
    /// Where a line could not be written.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        match self.state.borrow_mut().error.take() {
            None => Ok(()),
            Some(error) => {
                let name = self.path.display();
                Err(Failure::internal(error)
                    .next(format!("journal {name} is incomplete: free space, and keep what it has")))
            }
        }
    }
}

impl State {
    fn write(&mut self, entry: &Entry) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.out, entry)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .and_then(|()| self.out.flush());
        self.error = written.err();
    }
}
