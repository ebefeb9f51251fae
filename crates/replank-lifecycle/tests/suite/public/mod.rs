//! Public manifests, where `REPLANK_DATA` names a directory that has them.

use replank_oracle::tell::tell;
use std::path::{Path, PathBuf};

/// All of them, with their texts, sorted by path; `None`, and said, where there are none.
pub(crate) fn manifests() -> Option<Vec<(PathBuf, String)>> {
    let Some(data) = std::env::var_os("REPLANK_DATA") else {
        tell("SKIPPED: REPLANK_DATA names no directory with public manifests");
        return None;
    };
    let mut found = Vec::new();
    files(&Path::new(&data).join("manifests"), &mut found);
    assert!(found.len() > 300, "{} files", found.len());
    found.sort();
    // What is not UTF-8 is looked at elsewhere.
    let text = |path: PathBuf| std::fs::read_to_string(&path).ok().map(|text| (path, text));
    Some(found.into_iter().filter_map(text).collect())
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
        {
            found.push(path);
        }
    }
}
