//! Reads with several threads: one finds where items end, others make something of their texts, and what they make is taken in its order.
//!
//! Each thread frees what it has allocated itself: trees that wander between threads cost more than it saves to read them at once.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

use crate::document::{Found, ItemText, Part};
use crate::json::stream;
use crate::limits::Limits;
use crate::read::{self, Report};
use crate::source::{Fatal, Source};

/// What is handed over at once: a hand-over costs as much as a small document.
const TOGETHER: usize = 64;
/// The same in bytes of text: items may be large.
const TOGETHER_LEN: usize = 256 * 1024;
/// How many hand-overs may wait for each thread.
const AHEAD_MAX: usize = 4;

/// Makes something of what is found.
pub(crate) trait Maker: Send {
    /// What it makes.
    type Made: Send;

    /// Takes in something that was found; what it makes of it goes behind `made`.
    fn take(&mut self, found: Found, made: &mut Vec<Self::Made>);

    /// Takes in an item of a list from its text, where it can; else the item is read and handed to [`Maker::take`].
    fn take_text(&mut self, text: &ItemText, limits: &Limits, made: &mut Vec<Self::Made>) -> bool;
}

/// As [`read::read`]: what makers make of each thing that is found is handed to `each`, in the order of the sources. The makers come back with what they know.
///
/// # Errors
/// As there.
pub(crate) fn read<M: Maker>(
    sources: Vec<Source>,
    limits: &Limits,
    makers: Vec<M>,
    each: &mut dyn FnMut(M::Made),
) -> Result<(Report, Vec<M>), Fatal> {
    thread::scope(|scope| {
        let mut queues = Vec::new();
        let mut made = Vec::new();
        let mut working = Vec::new();
        for maker in makers {
            let (queue, parts) = sync_channel::<Vec<Part>>(AHEAD_MAX);
            let (sender, receiver) = sync_channel::<Vec<M::Made>>(AHEAD_MAX);
            queues.push(queue);
            made.push(receiver);
            working.push(scope.spawn(move || work(maker, limits, &parts, &sender)));
        }
        let reading = scope.spawn(move || {
            let mut batch = Batch { parts: Vec::with_capacity(TOGETHER), len: 0, queues, turn: 0 };
            let report = read::parts(sources, limits, true, &mut |part| batch.push(part));
            batch.hand_over();
            report
        });
        // Each has its turn, and so have the parts of the sources.
        let turns = made.iter().cycle().map_while(|receiver| receiver.recv().ok());
        turns.flatten().for_each(each);
        let makers = working.into_iter().map(joined).collect();
        Ok((joined(reading)?, makers))
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn work<M: Maker>(
    mut maker: M,
    limits: &Limits,
    parts: &Receiver<Vec<Part>>,
    sender: &SyncSender<Vec<M::Made>>,
) -> M {
    for parts in parts {
        let mut made = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Part::Found(found) => maker.take(found, &mut made),
                Part::Text(text) if maker.take_text(&text, limits, &mut made) => {}
                Part::Text(text) => {
                    stream::read_item(&text, limits, &mut |found| maker.take(found, &mut made));
                }
            }
        }
        // Who takes no more has panicked, and is heard of.
        if sender.send(made).is_err() {
            break;
        }
    }
    maker
}

struct Batch {
    parts: Vec<Part>,
    len: usize,
    queues: Vec<SyncSender<Vec<Part>>>,
    turn: usize,
}

impl Batch {
    fn push(&mut self, part: Part) {
        self.len += match &part {
            Part::Text(item) => item.text.len(),
            Part::Found(_) => 0,
        };
        self.parts.push(part);
        if self.parts.len() == TOGETHER || self.len >= TOGETHER_LEN {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let parts = std::mem::replace(&mut self.parts, Vec::with_capacity(TOGETHER));
        let turn = self.turn % self.queues.len().max(1);
        if let Some(queue) = self.queues.get(turn) {
            // Who takes no more has panicked, and is heard of.
            drop(queue.send(parts));
        }
        self.turn += 1;
        self.len = 0;
    }
}
