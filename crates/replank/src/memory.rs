//! In which pages memory comes, and what of it is not given back piece by piece.

/// What watches or serves a cluster for as long as it runs: many small objects, of which a page that is mostly empty is kept for one.
const LASTING: [&str; 6] = ["cluster", "cordon", "drain", "handle", "roll", "uncordon"];

/// Leaves out huge pages of 2 MiB for what lasts. They make a rehearsal faster, which fills them; a served cluster held a third more with them, and created pods no faster.
///
/// Called before anything is allocated: what has a huge page keeps it. The verb is looked up where it mostly stands; where another word is taken for it, a little speed or memory is
/// lost and nothing else. A kernel that does not know of huge pages has none to leave out.
pub(crate) fn choose_pages() {
    let mut words = std::env::args_os().skip(1).filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    if words.next().is_some_and(|verb| LASTING.iter().any(|lasting| verb == *lasting)) {
        #[cfg(target_os = "linux")]
        rustix::thread::disable_transparent_huge_pages(true).ok();
    }
}

/// Leaves something large to the end of the process, which gives back all memory at once: to drop each object of a cluster takes as long as many of its events. For what a
/// command has until it ends, and nothing that has to be closed.
pub(crate) fn leave<T>(held: T) {
    std::mem::forget(held);
}
