//! The rows of a file, a chunk at a time.
//!
//! They are read on a thread of their own: a read of a pipe takes as long as its writer likes, and a
//! signal must be heard meanwhile. The thread is left alone at the end of the program.

use std::{
    io::{self, BufRead},
    thread,
};

use tokio::sync::mpsc;

use crate::csv_input::{FromRow, Row, RowError, Rows};

/// Rows that are stored at the same time; the more, the more of one key go in one statement.
const CHUNK: usize = 10_000;

/// Rows that follow one another, with the wrong ones between them.
#[derive(Debug)]
pub(super) struct Chunk<T> {
    pub(super) rows: Vec<Row<T>>,
    pub(super) failed: Vec<RowError>,
    /// The line after them.
    pub(super) next_line: u64,
    /// The bytes of the file up to there.
    pub(super) bytes: u64,
    /// Why nothing follows, unless it is the end of the file.
    pub(super) broken: Option<io::Error>,
}

/// The chunks of a file, none after its end.
pub(super) fn of<R, T>(mut rows: Rows<R, T>) -> io::Result<mpsc::Receiver<Chunk<T>>>
where
    R: BufRead + Send + 'static,
    T: FromRow + Send + 'static,
{
    // One waits while another is stored.
    let (sender, chunks) = mpsc::channel(1);
    thread::Builder::new().spawn(move || {
        loop {
            let (chunk, is_last) = next(&mut rows);
            // Nobody waits for more once the load has stopped.
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
