//! The rows of a file, a chunk at a time.
//!
//! They are read on their own thread: a read from a pipe may block for any time, and the program
//! must still react to a signal. At the end of the program the thread is abandoned.

use std::{
    io::{self, BufRead},
    thread,
};

use tokio::sync::mpsc;

use crate::csv_input::{FromRow, Row, RowError, Rows};

/// Rows that are stored together; the more rows, the more of one key share a statement.
const CHUNK: usize = 10_000;

/// Consecutive rows, including the wrong ones.
#[derive(Debug)]
pub(super) struct Chunk<T> {
    pub(super) rows: Vec<Row<T>>,
    pub(super) failed: Vec<RowError>,
    /// The line after them.
    pub(super) next_line: u64,
    /// The bytes of the file up to there.
    pub(super) bytes: u64,
    /// Why no chunk follows, unless it is the end of the file.
    pub(super) broken: Option<io::Error>,
}

/// The chunks of a file, none after its end.
pub(super) fn of<R, T>(mut rows: Rows<R, T>) -> io::Result<mpsc::Receiver<Chunk<T>>>
where
    R: BufRead + Send + 'static,
    T: FromRow + Send + 'static,
{
    // One chunk waits while another is stored.
    let (sender, chunks) = mpsc::channel(1);
    thread::Builder::new().spawn(move || {
        loop {
            let (chunk, is_last) = next(&mut rows);
            // The receiver is gone once the load has stopped.
            if sender.blocking_send(chunk).is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(chunks)
}

/// The next chunk, and whether it is the last one.
fn next<R: BufRead, T: FromRow>(rows: &mut Rows<R, T>) -> (Chunk<T>, bool) {
    let mut chunk = Chunk {
        rows: Vec::new(),
        failed: Vec::new(),
        next_line: 0,
        bytes: 0,
        broken: None,
    };
    let mut is_last = false;
    while !is_last && chunk.rows.len() + chunk.failed.len() < CHUNK {
        match rows.next_row() {
            Ok(Some(Ok(row))) => chunk.rows.push(row),
            Ok(Some(Err(error))) => chunk.failed.push(error),
            Ok(None) => is_last = true,
            Err(error) => {
                chunk.broken = Some(error);
                is_last = true;
            }
        }
    }
    chunk.next_line = rows.next_line();
    chunk.bytes = rows.bytes_read();
    (chunk, is_last)
}
