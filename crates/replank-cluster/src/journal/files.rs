//! The files of a cluster on disk: which there are, and how they are replaced.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use replank_model::object::{Object, Projector};
use serde_json::{Value, json};

use super::entry::{self, Latest};
use super::error::JournalError;
use super::frame;
use super::whole::Whole;

/// The form of the files. One that is read differently gets another number.
const FORMAT: &str = "replank-cluster 1";
/// Objects of a state that go into one record.
const OBJECTS_A_RECORD: usize = 1_000;

/// The files of a cluster on disk. Nobody else uses them as long as this is there.
#[derive(Clone, Debug)]
pub struct Files {
    dir: PathBuf,
    kubernetes: String,
    /// The generation of the state; 0 where there is none.
    pub(super) generation: u64,
    /// The last log.
    pub(super) last_log: u64,
    _lock: Arc<File>,
}

/// What was read.
#[derive(Debug)]
pub struct Kept {
    /// All objects.
    pub objects: Vec<Object>,
    /// The counter of versions.
    pub version: u64,
    /// The time in the world, in milliseconds.
    pub time: i64,
    /// What cannot be told from objects; empty for nothing.
    pub memory: String,
    /// How long the logs are, in bytes.
    pub log_len: u64,
}

impl Files {
    /// Takes a directory for this process, makes it where it is not there, and reads what it holds.
    ///
    /// # Errors
    /// Another process has it, it is none of ours, another version wrote it, or the system refuses.
    pub fn open(dir: &Path, kubernetes: &str) -> Result<(Self, Option<Kept>), JournalError> {
        let failed = |doing, path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::Io { doing, path, source }
        };
        fs::create_dir_all(dir).map_err(failed("make", dir))?;
        let path = dir.join("lock");
        let is_new = !path.exists();
        let state = dir.join("state");
        if is_new && fs::read_dir(dir).map_err(failed("read", dir))?.next().is_some() {
            return Err(JournalError::Foreign(dir.to_owned()));
        }
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(failed("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked(dir.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        let mut files = Self {
            dir: dir.to_owned(),
            kubernetes: kubernetes.to_owned(),
            generation: 0,
            last_log: 0,
            _lock: Arc::new(lock),
        };
        if !state.exists() {
            return Ok((files, None));
        }
        let kept = files.read(&state)?;
        Ok((files, Some(kept)))
    }

    /// Reads the state and the logs after it.
    fn read(&mut self, state: &Path) -> Result<Kept, JournalError> {
        let read = |path: &Path| {
            let failed = |source| JournalError::Io { doing: "read", path: path.to_owned(), source };
            fs::read(path).map_err(failed)
        };
        let damaged =
            |file: &Path, why: &str| JournalError::Damaged { file: file.to_owned(), why: why.to_owned() };
        let bytes = read(state)?;
        let (records, whole) = frame::read(&bytes);
        let (head, records) = records.split_first().ok_or_else(|| damaged(state, "it has no head"))?;
        if whole != bytes.len() {
            return Err(damaged(state, "it is shorter than it was written"));
        }
        self.generation = self.head(head)?;
        let mut latest = Latest::default();
        for record in records {
            latest.take(record).ok_or_else(|| damaged(state, "a record cannot be read"))?;
        }
        let mut logs: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for number in self.generation.. {
            let path = self.log(number);
            if !path.exists() {
                break;
            }
            self.last_log = number;
            let bytes = read(&path)?;
            logs.push((path, bytes));
        }
        let mut log_len = 0;
        let count = logs.len();
        for (at, (path, bytes)) in logs.iter().enumerate() {
            let (records, whole) = frame::read(bytes);
            if whole != bytes.len() {
                if at + 1 != count {
                    return Err(damaged(path, "a record in its middle cannot be read"));
                }
                cut(path, whole).map_err(|source| JournalError::Io {
                    doing: "cut",
                    path: path.clone(),
                    source,
                })?;
            }
            log_len += whole as u64;
            for record in records {
                latest.take(record).ok_or_else(|| damaged(path, "a record cannot be read"))?;
            }
        }
        let objects = objects(&latest).map_err(|why| damaged(state, &why))?;
        let memory = latest.memory.unwrap_or_default().to_owned();
        Ok(Kept { objects, version: latest.version, time: latest.time, memory, log_len })
    }

    /// Reads the first record of a state: its generation.
    fn head(&self, head: &[u8]) -> Result<u64, JournalError> {
        let head: Value = serde_json::from_slice(head).unwrap_or_default();
        let text = |member: &str| head.get(member).and_then(Value::as_str).unwrap_or("an unknown form");
        let (format, kubernetes) = (text("format"), text("kubernetes"));
        if format != FORMAT {
            let (dir, expected) = (self.dir.clone(), FORMAT.to_owned());
            return Err(JournalError::Version { dir, found: format.to_owned(), expected });
        }
        if kubernetes != self.kubernetes {
            let (dir, asked) = (self.dir.clone(), self.kubernetes.clone());
            return Err(JournalError::Kubernetes { dir, found: kubernetes.to_owned(), asked });
        }
        Ok(head.get("generation").and_then(Value::as_u64).unwrap_or(0))
    }

    /// The same directory, for another thread.
    pub(super) fn place(&self) -> Self {
        self.clone()
    }

    fn log(&self, generation: u64) -> PathBuf {
        self.dir.join(format!("log.{generation}"))
    }

    /// Begins a log.
    pub(super) fn create_log(&self, generation: u64) -> io::Result<File> {
        let log = OpenOptions::new().create(true).write(true).truncate(true).open(self.log(generation))?;
        log.sync_all()?;
        self.sync()?;
        Ok(log)
    }

    /// Goes on with a log; how long it is.
    pub(super) fn append_log(&self, generation: u64) -> io::Result<(File, u64)> {
        let log = OpenOptions::new().append(true).open(self.log(generation))?;
        let len = log.metadata()?.len();
        Ok((log, len))
    }

    pub(super) fn state_len(&self) -> u64 {
        fs::metadata(self.dir.join("state")).map_or(0, |known| known.len())
    }

    /// Writes a state beside the one that is there, and gives it its name; how long it is.
    pub(super) fn write_state(&self, generation: u64, whole: &Whole) -> io::Result<u64> {
        let path = self.dir.join("state.new");
        let mut file = io::BufWriter::with_capacity(1 << 20, File::create(&path)?);
        let mut bytes = Vec::new();
        let head = json!({"format": FORMAT, "kubernetes": self.kubernetes, "generation": generation});
        frame::put(&mut bytes, head.to_string().as_bytes());
        let mut record = entry::begin(whole.version, whole.time);
        if !whole.memory.is_empty() {
            entry::memory_is(&mut record, &whole.memory);
        }
        frame::put(&mut bytes, record.as_bytes());
        let mut len = 0;
        for objects in whole.objects.chunks(OBJECTS_A_RECORD) {
            let mut record = entry::begin(whole.version, whole.time);
            objects.iter().for_each(|object| entry::object_is(&mut record, object));
            frame::put(&mut bytes, record.as_bytes());
            file.write_all(&bytes)?;
            len += bytes.len() as u64;
            bytes.clear();
        }
        file.write_all(&bytes)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&path, self.dir.join("state"))?;
        self.sync()?;
        Ok(len + bytes.len() as u64)
    }

    /// Removes logs of which the state holds everything.
    pub(super) fn forget_before(&self, generation: u64) {
        for number in (0..generation).rev() {
            if fs::remove_file(self.log(number)).is_err() {
                return;
            }
        }
    }

    /// Makes names last.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }
}

fn cut(path: &Path, len: usize) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(len as u64)?;
    file.sync_all()
}

/// Reads the objects, in the order of their names.
fn objects(latest: &Latest<'_>) -> Result<Vec<Object>, String> {
    let mut projector = Projector::default();
    let mut things: Vec<(&str, &str)> = latest.things.iter().map(|(name, json)| (*name, *json)).collect();
    things.sort_unstable();
    let read = |(name, json): (&str, &str)| {
        let value: Value = serde_json::from_str(json).map_err(|error| format!("{name}: {error}"))?;
        projector.object(value).map_err(|error| format!("{name}: {error}"))
    };
    things.into_iter().map(read).collect()
}
