//! Puts texts in the place of files, each whole or not at all, whenever the process is ended. Nothing is synced: a power failure within seconds can leave an empty file.
//!
//! A new file for each of thousands of texts, and the old one deleted, is slow: ext4 passes over every inode that was deleted in the last seconds. So where the
//! system can exchange two names, the file that was replaced takes the next text. Making 4,442 files on ext4 was 15 % of the samples of a fix.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

/// Ends the name of a file that is being written.
const NEW: &str = ".replank-new";

/// Files that were replaced and may take another text. They are deleted in the end.
#[derive(Default)]
pub(super) struct Replacing {
    spares: Mutex<Vec<PathBuf>>,
}

impl Replacing {
    /// Puts a text in the place of a file, by its real path so that a link stays a link; with its rights. Of a dump the old one is kept beside it.
    pub(super) fn put(&self, path: &Path, text: &str, backup: bool) -> Result<(), Failure> {
        if backup {
            let kept = beside(path, ".bak");
            if kept.exists() {
                let message = format!("{} already exists and was not overwritten", kept.display());
                return Err(Failure::usage_message(message).next("move the earlier backup away"));
            }
            fs::copy(path, &kept).map_err(|error| failure(&kept, error))?;
        }
        let old = fs::metadata(path).map_err(|error| failure(path, error))?;
        if let Some(spare) = self.spare(&old, text)
            && self.moved(&spare, path, &old).is_ok()
        {
            return Ok(());
        }
        // Also where a spare is of the same device and cannot come: from below another mount.
        let new = written(path, text)?;
        self.moved(&new, path, &old).map_err(|error| failure(path, error))
    }

    /// What was written, with the rights of the old file, in its place; if that cannot be, it is gone.
    fn moved(&self, new: &Path, path: &Path, old: &Metadata) -> io::Result<()> {
        let moved = fs::set_permissions(new, old.permissions()).and_then(|()| self.exchanged(new, path, old));
        if moved.is_err() {
            drop(fs::remove_file(new));
        }
        moved
    }

    /// The text in a file that was replaced, where there is one that can take it.
    fn spare(&self, old: &Metadata, text: &str) -> Option<PathBuf> {
        let spare = self.spares.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        if takes(&spare, old) && fs::write(&spare, text).is_ok() {
            return Some(spare);
        }
        drop(fs::remove_file(&spare));
        None
    }

    /// The new file in the place of the old one, which becomes a spare if nobody else has it.
    fn exchanged(&self, new: &Path, path: &Path, old: &Metadata) -> io::Result<()> {
        if is_alone(old) && exchange(new, path) {
            self.spares.lock().unwrap_or_else(PoisonError::into_inner).push(new.to_owned());
            return Ok(());
        }
        fs::rename(new, path)
    }
}

impl Drop for Replacing {
    fn drop(&mut self) {
        for spare in self.spares.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            drop(fs::remove_file(spare));
        }
    }
}

/// The text in a new file beside the one whose place it is to take.
fn written(path: &Path, text: &str) -> Result<PathBuf, Failure> {
    let new = beside(path, NEW);
    let written = File::create(&new).and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
    match written {
        Ok(()) => Ok(new),
        Err(error) => {
            drop(fs::remove_file(&new));
            Err(failure(path, error))
        }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

fn failure(path: &Path, error: io::Error) -> Failure {
    Failure::internal(anyhow::Error::new(error).context(format!("{} cannot be written", path.display())))
}

/// Whether a spare can stand for a file: on the same device, of the same owner.
#[cfg(unix)]
fn takes(spare: &Path, old: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |meta: &Metadata| (meta.dev(), meta.uid(), meta.gid());
    fs::symlink_metadata(spare)
        .is_ok_and(|spare| spare.is_file() && is_alone(&spare) && of(&spare) == of(old))
}

/// Whether a file has one name: what is written into it is seen nowhere else.
#[cfg(unix)]
fn is_alone(meta: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(meta) == 1
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(unix))]
fn takes(_spare: &Path, _old: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_alone(_meta: &Metadata) -> bool {
    false
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn exchange(_one: &Path, _other: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own, with files of such texts.
    fn tree(name: &str, texts: &[&str]) -> (PathBuf, Vec<PathBuf>) {
        let dir = std::env::temp_dir().join(format!("replank-replacing-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&dir));
        fs::create_dir_all(&dir).unwrap();
        let files = (0..texts.len()).map(|number| dir.join(format!("{number}.yaml"))).collect::<Vec<_>>();
        files.iter().zip(texts).for_each(|(file, text)| fs::write(file, text).unwrap());
        (dir, files)
    }

    fn names(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn each_file_has_its_own_text_and_nothing_is_left() {
        let (dir, files) = tree("own", &["a, which is long", "b", "c"]);
        let replacing = Replacing::default();
        for (number, file) in files.iter().enumerate() {
            replacing.put(file, &number.to_string(), false).unwrap();
        }
        drop(replacing);
        let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        assert_eq!((texts, names(&dir)), (vec!["0".into(), "1".into(), "2".into()], 3));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn another_name_of_a_file_keeps_the_old_text_and_rights_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let (dir, files) = tree("links", &["a", "b", "c"]);
        let other = dir.join("other");
        fs::hard_link(&files[1], &other).unwrap();
        fs::set_permissions(&files[2], fs::Permissions::from_mode(0o600)).unwrap();
        let replacing = Replacing::default();
        files.iter().for_each(|file| replacing.put(file, "new", false).unwrap());
        drop(replacing);
        assert_eq!(fs::read_to_string(&other).unwrap(), "b");
        let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files[2]), names(&dir)), (0o600, 4));
        fs::remove_dir_all(dir).unwrap();
    }
}
