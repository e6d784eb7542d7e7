//! Encoding, on a thread that may be busy: a row group takes a tenth of a second.

use arrow_array::RecordBatch;
use tokio::task;

use crate::{Error, Result, encode::Encoder};

/// Writes a batch. Gives the encoder back, with the bytes that are complete.
pub(crate) async fn encode(mut encoder: Encoder, batch: RecordBatch) -> Result<(Encoder, Vec<u8>)> {
    let work = task::spawn_blocking(move || {
        encoder.write(&batch)?;
        let bytes = encoder.take();
        Ok((encoder, bytes))
    });
    work.await.map_err(ended)?
}

/// The last bytes.
pub(crate) async fn finish(encoder: Encoder) -> Result<Vec<u8>> {
    let last = task::spawn_blocking(move || encoder.finish());
    last.await.map_err(ended)?
}

/// The runtime is shutting down, or the encoder has panicked.
fn ended(error: task::JoinError) -> Error {
    Error::at("the encoder")(error.into())
}
