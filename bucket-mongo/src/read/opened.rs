//! Cursors that are closed even if nobody waits for them any more.

use std::{pin::pin, time::Duration};

use futures_util::future::{Either, select};
use mongodb::error::Error;
use tokio::{sync::oneshot, time::timeout};

/// How long to wait for the reply to a read that is no longer wanted.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Opens a cursor in a task of its own. If the caller dropped the find before its reply came, nobody would
/// know the cursor that the server opened, and it would stay open for ten minutes. So the task waits for the
/// reply and closes that cursor.
pub(crate) async fn opened<C: Send + 'static>(
    opening: impl Future<Output = Result<C, Error>> + Send + 'static,
) -> Result<C, Error> {
    let (waiting, gone) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let mut opening = pin!(opening);
        match select(&mut opening, gone).await {
            Either::Left((opened, _)) => opened.map(Some),
            Either::Right(_) => {
                // Dropped at once, and so closed. The wait is bounded, because it holds a connection.
                drop(timeout(LONGEST_WAIT, opening).await);
                Ok(None)
            }
        }
    });
    let opened = task.await;
    drop(waiting);
    match opened {
        Ok(Ok(Some(cursor))) => Ok(cursor),
        Ok(Ok(None)) => Err(Error::custom("the read was dropped")),
        Ok(Err(error)) => Err(error),
        Err(stopped) => Err(Error::custom(format!("the runtime stopped: {stopped}"))),
    }
}
